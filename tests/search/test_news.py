"""Watch: what is new in a session, told once, whatever fails or is interrupted on the way."""

from collections.abc import Mapping, Sequence

import anyio
import anyio.lowlevel
import pytest

from deepcritical_mcp.dates import current_date
from deepcritical_mcp.errors import EvidenceStoreError, ProviderError, ProviderUnavailableError
from deepcritical_mcp.models import LoggedSearch, News, Publication
from deepcritical_mcp.search import news
from deepcritical_mcp.search.news import gather_news, watched_searches
from deepcritical_mcp.search.pipeline import SourceSearch
from deepcritical_mcp.search.witness import Witness
from tests.search.pubmed_library import Library, library, request
from tests.search.test_witness import ARTICLE, RETRACTED, FakeWitness
from tests.sources.ncbi import Answer, article

TWO = {"11": article("11", "First.", doi="10.5555/11"), "12": article("12", "Second.", doi="10.5555/12")}


class Watched:
    """A session that has searched for zinc, and what watches it."""

    def __init__(self, lib: Library) -> None:
        self.lib = lib
        self.witness = FakeWitness()
        self.searches: Mapping[str, SourceSearch] = {"pubmed": lib.search}
        self.log: Sequence[LoggedSearch] = ()

    async def news(self, seconds: float = news.SECONDS) -> News:
        return await gather_news(
            self.lib.session, self.searches, Witness([self.witness], self.lib.search.source), seconds=seconds
        )

    def add(self, *pmids: str) -> None:
        """Records that PubMed has added since."""
        self.lib.ncbi.records |= {pmid: article(pmid, f"Paper {pmid}.") for pmid in pmids}
        self.lib.ncbi.hits |= {term: [*pmids] for term in self.added_terms()}

    def added_terms(self) -> list[str]:
        entries = watched_searches(self.log, web=False)
        return [
            request(str(one.arguments["query"]), since=one.since).term(str(one.arguments["query"])) for one in entries
        ]


async def searched(lib: Library, *queries: str) -> Watched:
    for query in queries or ("zinc",):
        await lib.search.search(request(query), lib.session)
    watched = Watched(lib)
    watched.log = await lib.session.search_log()
    watched.add()
    return watched


async def test_a_record_that_was_added_since_is_kept_and_told_once():
    async with library(TWO) as lib:
        watched = await searched(lib)
        watched.add("13")
        first, second = await watched.news(), await watched.news()
    assert [(one.kind, one.id, one.search) for one in first.items] == [("new", "pubmed:13", 'PubMed: "zinc"')]
    assert first.summary == "1 new: 1 search repeated, the status of 3 records asked for."
    assert "Paper 13" in first.items[0].line
    assert second.summary == "Nothing new: 1 search repeated, the status of 3 records asked for."
    assert lib.session.kept["pubmed:13"].found_by == ("zinc",)
    entries = await lib.session.search_log()
    assert [(one.tool, one.new) for one in entries] == [("pubmed_search", 2), ("refresh", 1), ("refresh", 0)]
    assert any(one.startswith("added to PubMed since ") for one in entries[-1].filters)


async def test_the_same_search_is_run_once_however_often_it_was_asked():
    async with library(TWO) as lib:
        for more in ({}, {"offset": 1}, {"only_new": True}, {"max_results": 5}, {"min_date": "2020"}, {"sort": "date"}):
            await lib.search.search(request("zinc", **more), lib.session)
        await lib.search.search(request("zinc", has_abstract=True), lib.session)
        found = watched_searches(await lib.session.search_log(), web=False)
    assert [one.arguments.get("has_abstract", False) for one in found] == [False, True]


async def test_all_pages_of_what_was_added_are_read():
    async with library(TWO) as lib:
        watched = await searched(lib)
        watched.add(*map(str, range(1_001, 1_251)))
        found = await watched.news()
    assert len(found.items) == 250
    assert len(lib.session.kept) == 252


async def test_a_search_that_failed_is_made_up_for():
    async with library(TWO) as lib:
        lib.ncbi.first["esearch"] = [Answer(400)]
        with pytest.raises(ProviderError):
            await lib.search.search(request(), lib.session)
        found = await Watched(lib).news()
    assert [one.id for one in found.items] == ["pubmed:11", "pubmed:12"]


async def test_records_that_could_not_be_fetched_are_made_up_for():
    async with library(TWO) as lib:
        await lib.search.search(request("zinc", max_results=1), lib.session)
        lib.ncbi.always["efetch"] = Answer(500)
        missed = await lib.search.search(request("zinc", max_results=2), lib.session)
        del lib.ncbi.always["efetch"]
        watched = Watched(lib)
        watched.log = await lib.session.search_log()
        watched.add()
        first, second = await watched.news(), await watched.news()
        entries = await lib.session.search_log()
    assert any("PMID 12 could not be fetched" in error for error in missed.errors)
    assert [one.id for one in first.items] == ["pubmed:12"]
    assert second.items == ()
    assert [any(limit.startswith("added to") for limit in one.filters) for one in entries] == [
        *(False, False),  # asked for
        *(False, True),  # what was missed, and what was added since
        True,
    ]


async def test_a_retraction_is_told_once_and_kept():
    async with library(TWO) as lib:
        watched = await searched(lib)
        watched.witness.told["10.5555/11"] = (RETRACTED,)
        first, second = await watched.news(), await watched.news()
    assert [(one.kind, one.id) for one in first.items] == [("retracted", "pubmed:11")]
    assert first.items[0].line.startswith("RETRACTED: ")
    assert "Retraction Watch, 2021-05-04" in first.items[0].line
    assert second.items == ()
    assert lib.session.kept["pubmed:11"].status == "retracted"


async def test_a_status_that_nobody_could_be_asked_for_is_not_counted_and_is_no_success():
    async with library(TWO) as lib:
        watched = await searched(lib)
        lib.ncbi.always["efetch"] = Answer(500)
        watched.witness.error = ProviderUnavailableError("crossref", "Crossref is down.")
        found = await watched.news()
    assert (found.checked, found.is_complete) == (0, False)
    named = f"PMID 11, PMID 12 (status last asked {current_date().isoformat()}) could not be asked again"
    assert any(named in error for error in found.errors)
    said = "the status of 2 records asked for, but nobody answered about 2 of them (pubmed:11, pubmed:12)."
    assert found.summary.endswith(said)


async def test_a_preprint_that_was_published_is_told_with_the_article():
    preprint = Publication.of(
        "abstract", "Text.", provider="europepmc", source="preprint", title="A preprint", doi="10.1101/1"
    )
    async with library() as lib:
        await lib.session.add_evidence([preprint])
        watched = Watched(lib)
        watched.witness.told["10.1101/1"] = (ARTICLE,)
        first, second = await watched.news(), await watched.news()
    assert [one.kind for one in first.items] == ["published"]
    assert "10.5555/article" in first.items[0].line
    assert second.items == ()


async def test_an_outage_is_no_news_and_the_search_is_made_up_for_the_next_time():
    async with library(TWO) as lib:
        watched = await searched(lib, "zinc", "copper")
        watched.add("13")
        lib.ncbi.always["esearch"] = Answer(503)
        watched.witness.error = ProviderUnavailableError("crossref", "Crossref is down.")
        first = await watched.news()
        del lib.ncbi.always["esearch"]
        watched.witness.error = None
        second = await watched.news()
    assert (first.items, first.is_complete, first.repeated) == ((), False, 0)
    assert any("PubMed" in error for error in first.errors)
    assert any("Crossref is down" in error for error in first.errors)
    assert "Left for the next time: 2 searches" in first.summary
    assert [one.id for one in second.items] == ["pubmed:13"]


async def test_what_there_is_no_time_for_is_done_the_next_time(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(news, "AT_A_TIME", 1)
    async with library(TWO) as lib:
        watched = await searched(lib)
        watched.witness.told = {"10.5555/11": (RETRACTED,), "10.5555/12": (RETRACTED,)}
        nothing = await watched.news(seconds=0)
        found = await watched.news()
    assert (nothing.items, nothing.checked, nothing.repeated, nothing.is_complete) == ((), 0, 0, False)
    assert {one.id for one in found.items} == {"pubmed:11", "pubmed:12"}


async def test_the_check_of_statuses_goes_on_where_it_stopped(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(news, "AT_A_TIME", 1)
    async with library(TWO) as lib:
        watched = await searched(lib)
        asked = watched.witness.asked
        async with anyio.create_task_group() as tasks:

            async def progress(fraction: float, message: str) -> None:
                if len(asked) == 1:
                    tasks.cancel_scope.cancel()
                    await anyio.lowlevel.checkpoint()

            await gather_news(lib.session, watched.searches, Witness([watched.witness]), progress=progress)
        await watched.news()
    assert [list(one) for one in asked] == [["10.5555/11"], ["10.5555/12"]]


async def test_nothing_is_lost_when_the_session_cannot_be_written_in_between():
    async with library(TWO) as lib:
        watched = await searched(lib)
        watched.add("13")
        kept = lib.session.keep_document

        async def failing(name: str, content: str) -> None:
            if name == "news" and "pubmed:13" in content:
                raise EvidenceStoreError("The disk is full.")
            await kept(name, content)

        lib.session.keep_document = failing  # type: ignore[method-assign]
        with pytest.raises(EvidenceStoreError):
            await watched.news()
        lib.session.keep_document = kept  # type: ignore[method-assign]
        found = await watched.news()
    assert [one.id for one in found.items] == ["pubmed:13"]
