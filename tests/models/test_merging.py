"""What becomes of two descriptions of one publication."""

from datetime import UTC, datetime
from itertools import permutations, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.models import (
    NO_ABSTRACT,
    STATUSES,
    AuthorName,
    CheckedRecord,
    Evidence,
    Publication,
    ScreeningMark,
    StatusNotice,
    TextKind,
    decision_replaced,
    merged,
)

NOW = datetime(2026, 11, 23, 5, 0, 0, 7, UTC)
ABSTRACT = "Metformin lowered glucose in 120 adults."


def described(kind: TextKind, content: str, provider: str, **fields: Any) -> Publication:
    return Publication.of(kind, content, provider=provider, **fields)


def record(content: str = ABSTRACT, **fields: Any) -> Publication:
    return described(
        "abstract", content, "pubmed", **{"source": "pubmed", "title": "Metformin trial", "pmid": "1", **fields}
    )


def page(content: str = "A snippet of the trial.", **fields: Any) -> Publication:
    return described("page", content, "tavily", **{"source": "web", "title": "A trial | News", "pmid": "1", **fields})


def note(content: str = "I doubt the blinding.", **fields: Any) -> Publication:
    return described("note", content, "user", **{"source": "user", "title": "Doubts", "pmid": "1", **fields})


FULL_TEXT = described("full_text", "All of the trial. " * 90, "europepmc", source="pubmed", title="T", pmid="1")


def texts_of(publication: Publication) -> set[tuple[str, str, str]]:
    return {(text.kind, text.content, text.provider) for text in publication.texts}


def test_texts_of_different_kinds_are_all_kept_in_any_order() -> None:
    everything = (record(), FULL_TEXT, page(), note(), note("Ask the authors."))
    for first, *others in permutations(everything):
        whole = first
        for other in others:
            whole = merged(whole, other)
        assert texts_of(whole) == {text for one in everything for text in texts_of(one)}
        assert [text.kind for text in whole.texts] == ["abstract", "full_text", "page", "note", "note"]
        assert whole.id == first.id
        assert (whole.source, whole.title) == ("pubmed", "Metformin trial")


def test_of_two_texts_of_one_kind_the_fuller_one_is_kept() -> None:
    for one, other in ((record(), record("Short.")), (record("Short."), record())):
        assert [text.content for text in merged(one, other).texts] == [ABSTRACT]


def test_a_page_stands_for_a_record_without_an_abstract_and_the_user_s_words_never_do() -> None:
    pasted = described("page", "Pasted.", "user", source="pubmed", title="Pasted", pmid="1")
    for one, other in permutations((record(NO_ABSTRACT), pasted)):
        assert Evidence.of(merged(one, other)).content == NO_ABSTRACT
        assert (Evidence.of(merged(merged(one, other), page())).kind) == "page"
        assert Evidence.of(merged(merged(one, other), page())).content == "A snippet of the trial."


def test_a_user_s_page_and_the_web_s_page_never_overwrite_each_other() -> None:
    pasted = described("page", "Pasted.", "user", source="web", title="Pasted", pmid="1")
    for whole in (merged(page(), pasted), merged(pasted, page())):
        assert {text.content for text in whole.texts} == {"Pasted.", "A snippet of the trial."}
        assert whole.title == "A trial | News"
        assert Evidence.of(whole).content == "A snippet of the trial."
        assert Evidence.of(whole).notes == ()
        assert [(one.id, one.content) for one in [Evidence.of(whole, whole.texts[1])]] == [(f"{whole.id}~2", "Pasted.")]


def test_a_record_knows_better_than_a_page_and_a_page_better_than_a_user() -> None:
    of_record, of_page, of_note = (
        made(journal=f"J {name}", authors=(AuthorName(name),))
        for made, name in ((record, "Rec"), (page, "Page"), (note, "Note"))
    )
    for first, second, third in permutations((of_record, of_page, of_note)):
        whole = merged(merged(first, second), third)
        assert (whole.journal, whole.authors, whole.source) == ("J Rec", (AuthorName("Rec"),), "pubmed")
    for other in (merged(of_page, of_note), merged(of_note, of_page)):
        assert (other.journal, other.authors, other.source) == ("J Page", (AuthorName("Page"),), "web")


@pytest.mark.parametrize(("one", "other"), [*product(STATUSES, repeat=2)])
def test_the_graver_status_counts_whoever_says_it_and_ok_always_has_a_day(one: Any, other: Any) -> None:
    order = ["unchecked", "ok", "notice", "superseded", "corrected", "concern", "retracted"]
    gravest = max(one, other, key=order.index)
    days = {status: "" if status == "unchecked" else "2026-11-20" for status in order}
    for kind, another in ((record, page), (page, record)):
        first, second = (
            made(status=status, status_checked=days[status]) for made, status in ((kind, one), (another, other))
        )
        assert merged(first, second).status == gravest
    for day, later in (("", ""), ("", "2026-11-20"), ("2026-11-20", "2026-11-21")):
        first, second = record(status=one, status_checked=day), page(status=other, status_checked=later)
        for whole in (first, second, merged(first, second), merged(second, first)):
            assert (whole.status == "ok") <= bool(whole.status_checked)
            assert (whole.status == "unchecked") <= (not whole.status_checked)
            assert Publication.model_validate_json(whole.model_dump_json(exclude_defaults=True)) == whole


@pytest.mark.parametrize(
    ("authority", "other", "expected"),
    [
        ("2020", "2020-05", "2020-05"),
        ("2020-05", "2020", "2020-05"),
        ("2020-05", "2020-05-17", "2020-05-17"),
        ("2020", "Unknown", "2020"),
        ("2020", "2021-01-01", "2020"),
    ],
)
def test_a_finer_date_counts_unless_it_contradicts(authority: str, other: str, expected: str) -> None:
    assert merged(record(date=authority), page(date=other)).date == expected
    assert merged(page(date=other), record(date=authority)).date == expected


@pytest.mark.parametrize("source", [record, page])
def test_what_the_user_claims_completes_nothing(source: Any) -> None:
    known = source(title="Metformin trial")
    claim = note("Read it.", doi="10.1234/abc", authors=(AuthorName("Faker", "F"),), status="retracted")
    for whole in (merged(known, claim), merged(claim, known)):
        assert whole.model_copy(update={"id": known.id, "texts": known.texts}) == known
        assert "Read it." in {text.content for text in whole.texts}


WORDS = st.text("abc", max_size=3)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(("url", "doi", "pmcid", "nct", "journal", "volume", "issue", "pages"), WORDS),
    "title": st.sampled_from(["", "One title", "Another"]),
    "date": st.sampled_from(["Unknown", "2020", "2020-05", "2020-05-17", "2021"]),
    **dict.fromkeys(("publication_types", "mesh_terms", "keywords", "found_by"), st.lists(WORDS, max_size=3)),
    "status": st.sampled_from([*STATUSES]),
    "status_notices": st.lists(st.builds(StatusNotice, kind=st.just("erratum"), pmid=WORDS), max_size=2),
    "authors": st.lists(st.builds(AuthorName, WORDS.filter(bool), WORDS), max_size=2),
}
CONTENTS = st.sampled_from([NO_ABSTRACT, "Short.", "Long enough.", "As long too."])
RECORDS, PAGES, NOTES = (st.builds(make, CONTENTS, **FIELDS) for make in (record, page, note))
UNITED = ("publication_types", "mesh_terms", "keywords", "found_by", "status_notices")


@given(st.permutations([RECORDS, PAGES, NOTES]).flatmap(lambda three: st.tuples(*three[:2])))
def test_two_descriptions_of_different_authority_merge_alike_in_any_order(
    pair: tuple[Publication, Publication],
) -> None:
    one, other = pair
    forth, back = merged(one, other), merged(other, one)
    apart = {"id": "", "found_by": ()}  # the kept id stays, and queries are listed as they came
    assert forth.model_copy(update=apart) == back.model_copy(update=apart)
    assert {*forth.found_by} == {*back.found_by}


@given(st.tuples(RECORDS, PAGES, NOTES))
def test_three_descriptions_lose_nothing_in_any_order(three: tuple[Publication, Publication, Publication]) -> None:
    known = three[0]
    results = [merged(merged(one, two), last) for one, two, last in permutations(three)]
    for whole in results:
        assert texts_of(whole) == texts_of(results[0])
        assert whole.status == results[0].status
        for name in UNITED:
            sources = three if name == "found_by" else three[:2]  # what the user claims completes nothing
            assert {*getattr(whole, name)} == {value for one in sources for value in getattr(one, name)}
        for name in ("url", "doi", "pmcid", "nct", "journal", "volume", "issue", "pages", "authors"):
            assert getattr(whole, name) == getattr(known, name) or not getattr(known, name)
            assert getattr(whole, name) or not any(getattr(one, name) for one in three[:2])


def test_the_latest_check_of_the_status_counts() -> None:
    for one, other in product(("2026-11-21", "2026-11-22", "Unknown", ""), repeat=2):
        whole = merged(record(status_checked=one), record(status_checked=other))
        assert whole.status_checked == max(one.removeprefix("Unknown"), other.removeprefix("Unknown"))


def test_what_an_earlier_version_kept_is_ok_only_as_of_a_day() -> None:
    kept = record().model_dump(mode="json", exclude={"status", "status_checked"})
    dated = Publication.model_validate({**kept, "status_checked": "2026-11-20"})
    assert (dated.status, dated.status_checked) == ("ok", "2026-11-20")
    for day in ({}, {"status_checked": "Unknown"}):
        never = Publication.model_validate({**kept, "status": "ok", **day})
        assert (never.status, never.status_checked) == ("unchecked", "")
    trial = Publication.model_validate({**kept, "source": "trial", "pmid": "", "status_checked": "2026-11-20"})
    assert (trial.status, trial.status_checked, trial.accessed) == ("unchecked", "", "2026-11-20")
    checked = CheckedRecord.model_validate({"id": "pubmed:1", "status": "ok"})
    assert (checked.status, checked.status_checked) == ("unchecked", "")


def test_every_decision_stays_in_the_history_whatever_is_merged() -> None:
    old = record(screening="included", screening_reason="large", screened="2026-01-01T00:00:00Z")  # as of version 0.2
    assert old.history == ("2026-01-01T00:00:00Z: included: large",)
    mark = ScreeningMark("x", "excluded", "no controls", by="alice")
    changed = old.model_copy(update=mark.changes(old, NOW))
    assert changed.history == (*old.history, f"{changed.screened}, alice: excluded: no controls")
    assert decision_replaced(old, changed) == "included: large (2026-01-01T00:00:00Z)"
    for first, second in permutations((changed, record(journal="Wounds"), old), 2):
        assert {*first.history, *second.history} == {*merged(first, second).history}
    back = changed.model_copy(update=ScreeningMark("x", "undecided").changes(changed, NOW))
    assert back.history == (*changed.history, f"{back.screened}: undecided")
    assert ScreeningMark("x", tags=("rct",)).changes(changed, NOW).keys() == {"screened", "tags"}


def test_when_something_was_decided_stays_whatever_is_added_or_merged() -> None:
    old = record(screening="included", screened="2026-01-01T00:00:00Z")  # as of version 0.2
    for mark in (ScreeningMark("x", tags=("rct",)), ScreeningMark("x", reason="large"), ScreeningMark("x", "cited")):
        assert old.model_copy(update=mark.changes(old, NOW)).decided == old.screened
    new = record().model_copy(update=ScreeningMark("x", "included").changes(record(), NOW))
    assert new.decided == "2026-11-23T05:00:00.000007Z"
    tagged = record(screened="2026-12-01T00:00:00Z", tags=("rct",))
    excluded = new.model_copy(update=ScreeningMark("x", "excluded").changes(new, NOW.replace(day=24)))
    for first, second, decided in ((old, new, old), (tagged, old, old), (new, excluded, excluded)):
        for one in (merged(first, second), merged(second, first)):
            assert (one.screening, one.decided or one.screened) == (
                decided.screening,
                decided.decided or decided.screened,
            )
