"""The log of searches: what is said of each, however it ended."""

import json
from collections.abc import Mapping

import anyio
import pytest

from deepcritical_mcp.models import LoggedSearch
from deepcritical_mcp.search.documents import FoundRecord
from deepcritical_mcp.search.search_steps import CUT_SHORT, Recording, lookup_entry
from deepcritical_mcp.search.snowballing import follow
from deepcritical_mcp.sources.base import SearchRequest
from deepcritical_mcp.sources.europepmc.preprint_request import PreprintRequest
from deepcritical_mcp.sources.pubmed.request import PubMedRequest
from deepcritical_mcp.sources.trials.request import TrialRequest
from deepcritical_mcp.sources.web.request import WebRequest
from tests.search.fake_session import FakeSession
from tests.search.pubmed_library import Library, library, linked_to, request
from tests.sources.ncbi import article

THREE = {"11": article("11", "First."), "12": article("12", "Second."), "13": article("13", "Third.")}


async def only_entry(session: FakeSession) -> LoggedSearch:
    (entry,) = await session.search_log()
    return entry


async def search(lib: Library, query: str = "zinc", **more: object) -> LoggedSearch:
    """The entry of the last search."""
    await lib.search.search(request(query, **more), lib.session)
    return (await lib.session.search_log())[-1]


async def test_a_search_is_logged_with_what_was_sent_and_what_came_of_it():
    async with library(THREE) as lib:
        lib.ncbi.hits["(zinc) AND hasabstract"] = ["13", "11", "12"]
        lib.ncbi.said["(zinc) AND hasabstract"] = {"querytranslation": '"zinc"[MeSH Terms] AND hasabstract'}
        entry = await search(lib, has_abstract=True, min_date="2020-01", max_results=2)
    (query,) = entry.queries
    assert (entry.tool, entry.kind, entry.source, entry.title) == ("pubmed_search", "search", "pubmed", "PubMed")
    assert query.sent == "(zinc) AND hasabstract [datetype=pdat; mindate=2020/01]"
    assert (query.query, query.translation) == ("zinc", '"zinc"[MeSH Terms] AND hasabstract')
    assert (query.status, query.results) == ("ok", 3)
    assert entry.filters == ("published from 2020-01", "only with an abstract", "at most 2 results")
    assert (entry.total, entry.first, entry.examined) == (3, 1, 2)
    assert (entry.ids, entry.new, entry.duplicates, entry.left_out, entry.errors) == (
        ("pubmed:13", "pubmed:11"),
        2,
        0,
        0,
        (),
    )
    assert PubMedRequest.model_validate_json(entry.request) == request(
        has_abstract=True, min_date="2020-01", max_results=2
    )


@pytest.mark.parametrize("utility", ["esearch", "efetch"])
async def test_a_search_that_is_cancelled_is_logged(utility: str):
    async with library(THREE) as lib, anyio.create_task_group() as tasks:

        async def progress(fraction: float, message: str) -> None:
            if ("fetching" in message) is (utility == "efetch"):
                tasks.cancel_scope.cancel()

        await lib.search.search(request(), lib.session, progress=progress)
    entry = await only_entry(lib.session)
    assert entry.errors == (CUT_SHORT,)
    assert entry.failed


GIVEN: Mapping[type[SearchRequest], Mapping[str, object]] = {
    PubMedRequest: {
        "sort": "date", "min_date": "2020", "max_date": "2021", "publication_types": ("review",), "has_abstract": True,
        "study_filter": "rct", "age_group": "aged", "humans_only": True, "author": "Smith J", "journal": "Lancet",
        "language": "ger", "include_retracted": False, "since": "2026-01-01",
    },
    PreprintRequest: {
        "min_date": "2020", "max_date": "2021", "servers": ("medrxiv",), "unpublished_only": True,
        "since": "2026-01-01",
    },
    TrialRequest: {
        "condition": "asthma", "intervention": "zinc", "status": ("completed",), "phase": ("phase2",),
        "study_type": "interventional", "has_results": True, "country": "France", "since": "2026-01-01",
    },
    WebRequest: {
        "min_score": 0.5, "search_depth": "basic", "topic": "news", "recency": "week", "include_domains": ("who.int",),
        "exclude_domains": ("example.org",),
    },
}  # fmt: skip


@pytest.mark.parametrize("kind", GIVEN)
def test_every_filter_of_every_source_is_told_in_words(kind: type[SearchRequest]):
    common = {"query": "zinc", "only_new": True, "max_results": 7, "offset": 3}
    given = {**GIVEN[kind], **common}
    assert given.keys() == kind.model_fields.keys() - {"variants"}
    plain = set(kind.model_validate({"query": "zinc"}).limits())
    for name in given.keys() - {"query"}:
        told = set(kind.model_validate({"query": "zinc", name: given[name]}).limits())
        assert told != plain, name


def test_a_check_of_a_draft_that_nobody_answered_failed():
    recording = Recording(lookup_entry("check_citations", ["references of a draft"]), FakeSession())
    recording.checked(["outage", "outage"], [], errors=["PubMed is down."])
    assert recording.entry.failed


async def test_a_key_in_an_address_that_is_looked_up_stays_out_of_the_log():
    session, address = FakeSession(), "https://b.example/x?page=2&api_key=SECRET123"
    async with Recording(lookup_entry("add_evidence", [address]), session) as recording:
        recording.looked_up([FoundRecord(None, "not_found", f"no page at {address}")], [], new=0)
    entry = await only_entry(session)
    assert "SECRET123" not in entry.model_dump_json()
    assert entry.queries[0].query == "https://b.example/x?page=2&api_key=…"


async def test_papers_that_cite_one_are_logged_as_such():
    async with library(THREE) as lib:
        lib.ncbi.links["pubmed_pubmed_citedin"] = ["12", "13"]
        await follow(lib.search, linked_to("11", "cited_by"), lib.session)
        entry = await only_entry(lib.session)
    assert (entry.tool, entry.kind, entry.source) == ("pubmed_related", "citations", "pubmed")
    assert [(one.query, one.status, one.results) for one in entry.queries] == [("articles that cite PMID 11", "ok", 2)]
    assert (entry.total, entry.examined, entry.ids, entry.new) == (2, 2, ("pubmed:13", "pubmed:12"), 2)
    assert json.loads(entry.request) == {"pmid": "11", "kind": "cited_by", "max_results": 5}
