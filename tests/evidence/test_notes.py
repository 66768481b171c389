"""Notes of the user, and documents that a session keeps."""

from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from typing import Any

from deepcritical_mcp.config import Settings
from deepcritical_mcp.evidence.chunking import Scope
from deepcritical_mcp.evidence.storage.backend import Space
from deepcritical_mcp.evidence.storage.session_file import SessionFile
from deepcritical_mcp.evidence.storage.stored_items import KeptSession
from deepcritical_mcp.models import NO_ABSTRACT, Publication
from tests.evidence.stand_ins import Registries, piece
from tests.publications import export

PAPER = piece("Metformin lowered glucose in 120 adults.", "Metformin trial", pmid="1", doi="10.1/trial")
LETTER = piece(NO_ABSTRACT, "A letter on metformin", pmid="2")
PAGE = piece("A visit to the trial centre.", "The centre", source="web", url="https://example.org/centre")


def note(content: str, title: str = "", **about: Any) -> Publication:
    """As `add_evidence` makes it: without a title of its own, the note's beginning takes its place."""
    return piece(content, title or f"{content.rstrip('.')}…", source="user", **about)


DOUBT = note("I doubt the blinding.", pmid="1")
TITLED = note("The dose is twice that of the label.", "On the dose", doi="10.1/trial")
REPLY = note("No numbers are given.", pmid="2")
VISIT = note("Go there in spring.", url="https://example.org/centre")
LOOSE = note("What to read next.")
EXPECTED = {
    PAPER.id: {DOUBT.text.content, TITLED.text.content},
    LETTER.id: {REPLY.text.content},
    PAGE.id: {VISIT.text.content},
}
NOTES = (DOUBT, TITLED, REPLY, VISIT, LOOSE)


async def test_notes_are_found_as_the_user_s_and_with_the_paper(place: Settings, registries: Registries) -> None:
    store = await registries(place).open()
    await store.add_evidence([PAPER, LETTER, PAGE, *NOTES])
    theirs = (await store.search("was the trial blinded?", scope=Scope("user"), max_results=9)).evidence
    papers = (await store.search("metformin and glucose", scope=Scope("pubmed"), max_results=1)).evidence
    assert theirs[0].content == DOUBT.text.content
    assert {one.id for one in theirs} == {one.id for one in NOTES}
    assert {*papers[0].notes} == EXPECTED[PAPER.id]
    assert papers[0].content == PAPER.text.content


async def test_a_note_under_a_document_s_own_title_and_number_stays_the_user_s(registries: Registries) -> None:
    title, doi = "Metformin and the risk of cancer", "10.1000/risk"
    shown = "Metformin is widely used. In 24 cohorts its users had a lower incidence of cancer than users of insulin."
    said = "I doubt this: most of the 24 cohorts have immortal time bias, so it stays out of the section on risk."
    page = Publication.of("page", shown, provider="user", source="web", title=title, url="https://doi.org/10.1000/risk")
    own = note(said, title, doi=doi)
    record = piece("In 24 cohorts metformin lowered the risk.", title, pmid="7", doi=doi)
    for order in permutations((page, own)):
        store = await registries(Settings()).open()
        *_, outcome = await store.add_evidence(order)
        (found,) = (await store.search("bias in the cohorts", scope=Scope("user"), max_results=9)).evidence
        (kept,) = await store.page(0, 9)
        (exported,) = [export(list((await store.publications([kept.id])).values()), "markdown")]
        assert outcome.reason == "same DOI and a similar title; the text is kept with it as your note"
        assert (found.content, found.kind) == (said, "note")
        assert (kept.content, kept.notes) == (shown, (said,))
        assert exported.index(shown) < exported.index("The user's note, not part of the source:") < exported.index(said)
    for order in permutations((page, own, record)):
        store = await registries(Settings()).open()
        await store.add_evidence(order)
        assert {one.content: one.notes for one in await store.page(0, 9)} == {record.text.content: (said,), said: ()}


async def test_a_note_has_the_status_of_its_paper_and_what_was_never_checked_is_not_ok(
    place: Settings, registries: Registries
) -> None:
    store = await registries(place).open()
    checked = PAPER.with_status("ok", "2026-01-01")
    bad = LETTER.with_status("retracted", "2026-01-01")
    outcomes = await store.add_evidence([checked, bad, PAGE, *NOTES])
    assert {one.publication.id for one in outcomes if one.evidence.citation.status == "retracted"} == {bad.id, REPLY.id}
    for scope, expected in (
        (Scope(status="ok"), {PAPER.id, DOUBT.id, TITLED.id}),
        (Scope(status="retracted"), {bad.id, REPLY.id}),
    ):
        found = await store.search("metformin", max_results=9, scope=scope)
        assert {one.id for one in found.evidence} == expected
    assert (await store.get([REPLY.id]))[REPLY.id].citation.status == "retracted"
    assert (await store.publications([REPLY.id]))[REPLY.id].status == "retracted"


async def test_one_note_on_two_papers_is_kept_twice_and_told_apart_from_a_repetition(
    place: Settings, registries: Registries
) -> None:
    store = await registries(place).open()
    await store.add_evidence([PAPER, LETTER])
    same = [note("Read this.", pmid="1"), note("Read this.", pmid="2")]
    first, again = await store.add_evidence(same), await store.add_evidence(same)
    assert [outcome.status for outcome in first] == ["added", "added"]
    assert [outcome.status for outcome in again] == ["duplicate", "duplicate"]
    assert [outcome.evidence.id for outcome in again] == [outcome.evidence.id for outcome in first]
    assert [one.notes for one in await store.page(0, 2)] == [("Read this.",), ("Read this.",)]
    assert await store.count() == 4


ZINC = Publication.of("abstract", "Zinc helps the skin.", provider="pubmed", source="pubmed", title="Zinc", pmid="1")


async def test_a_document_survives_rest_with_and_without_evidence(place: Settings, registries: Registries):
    session = await registries(place).open()
    await session.keep_document("report", "of no evidence")
    await session.rest()
    assert await session.document("report") == "of no evidence"
    await session.add_evidence([ZINC])
    await session.rest()
    assert (await session.document("report"), await session.count()) == ("of no evidence", 1)


def test_a_new_session_may_be_read_while_something_is_first_kept_in_it():
    for _ in range(20):
        empty = SessionFile.create(None, KeptSession(model="model"))
        space = Space("new", empty, lambda info: SessionFile.create(None, info))
        with ThreadPoolExecutor(4) as threads:
            read = [threads.submit(space.documents, ["log-1"]) for _ in range(100)]
            space.keep_documents({"log-1": "a search"})
        assert all(one.result() in ({}, {"log-1": "a search"}) for one in read)
        space.close()
