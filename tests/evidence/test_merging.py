"""What becomes of two records of one publication."""

from __future__ import annotations

from deepcritical_mcp.evidence.merging import OWN_WORDS, complete
from deepcritical_mcp.models import Citation, Evidence, StatusNotice

ABSTRACT = "Metformin lowered glucose in 120 adults."


def record(content: str = ABSTRACT, **fields: object) -> Evidence:
    citation = Citation.model_validate({"source": "pubmed", "title": "Metformin trial", "pmid": "1", **fields})
    return Evidence.of(citation, content, provider="pubmed", found_by=("metformin",))


def note(content: str = "I doubt the blinding.") -> Evidence:
    return Evidence.of(Citation(source="user", title="Doubts", pmid="1"), content, provider="user")


def test_a_user_s_words_about_a_paper_are_kept_beside_its_abstract_and_marked() -> None:
    merged = complete(record(), note())
    assert merged.content == f"{ABSTRACT}\n\n{OWN_WORDS}I doubt the blinding."
    assert merged.citation.title == "Metformin trial"


def test_the_order_of_arrival_does_not_matter() -> None:
    merged = complete(note(), record())
    assert merged.content == f"{ABSTRACT}\n\n{OWN_WORDS}I doubt the blinding."
    assert merged.citation.source == "pubmed"


def test_what_a_user_calls_a_record_is_none() -> None:
    typed_in = Citation(source="pubmed", title="Metformin cures all", pmid="1")
    hearsay = Evidence.of(typed_in, "It triples the lifespan.", provider="user")
    for merged in (complete(hearsay, record(status="retracted")), complete(record(status="retracted"), hearsay)):
        assert merged.citation.title == "Metformin trial"
        assert merged.citation.status == "retracted"
        assert merged.content == f"{ABSTRACT}\n\n{OWN_WORDS}It triples the lifespan."
        assert merged.provider == "pubmed"


def test_words_about_a_paper_without_an_abstract_are_marked_too() -> None:
    letter = record("Metformin trial")
    for merged in (complete(letter, note()), complete(note(), letter)):
        assert merged.content == f"Metformin trial\n\n{OWN_WORDS}I doubt the blinding."


def test_merging_again_changes_nothing() -> None:
    once = complete(record(), note())
    assert complete(once, note()) == once
    assert complete(once, record()) == once


def test_a_later_retraction_is_taken_over_and_never_lost() -> None:
    notice = StatusNotice(kind="retraction", pmid="9")
    retracted = record(status="retracted", status_notices=(notice,))
    assert complete(record(), retracted).citation.status == "retracted"
    assert complete(retracted, record()).citation.status_notices == (notice,)


def test_gaps_in_the_citation_are_filled_and_the_kept_id_stays() -> None:
    page = Evidence.of(
        Citation(source="web", title="Metformin trial", url="https://example.org/t", doi="10.1/x", date="2020-05"),
        "A snippet of the trial.",
        provider="brave",
        found_by=("metformin trial",),
    )
    merged = complete(record(date="2020"), page)
    assert merged.id == "pubmed:1"
    assert (merged.citation.doi, merged.citation.date, merged.citation.url) == (
        "10.1/x",
        "2020-05",
        "https://example.org/t",
    )
    assert merged.found_by == ("metformin", "metformin trial")
    assert merged.content == ABSTRACT
