"""A record that PubMed sent of late is not asked for again, by any session of the process."""

import datetime

import httpx
import pytest

from deepcritical_mcp.errors import ProviderUnavailableError
from deepcritical_mcp.models import Publication
from deepcritical_mcp.sources.pubmed.source import RecentRecords
from tests.net.stand_in import Answer
from tests.publications import published
from tests.search.fake_session import FakeSession
from tests.search.pubmed_library import library, request
from tests.sources.ncbi import Ncbi, article, as_xml, efetch, ncbi, notice, pubmed

THREE = {pmid: article(pmid, f"Zinc, part {pmid}.") for pmid in ("11", "12", "13")}


def fetched_by(played: Ncbi) -> list[str]:
    """The ids of each request for records."""
    return [params["id"] for utility, params in played.asked if utility == "efetch"]


async def test_a_record_that_pubmed_has_no_more_is_forgotten(http: httpx.AsyncClient):
    async with ncbi(THREE) as played:
        source = pubmed(played.url, http)
        await source.fetch(["11", "12"])
        played.always["efetch"] = efetch(THREE["12"], "<DeleteCitation><PMID>11</PMID></DeleteCitation>")
        await source.fetch_anew(["11", "12"])
        found = await source.fetch(["11", "12"])
    assert list(found.records) == ["12"]
    assert found.losses == {"11": "PMID 11 was withdrawn from PubMed."}
    assert fetched_by(played) == ["11,12", "11,12", "11"]


async def test_what_was_read_from_a_damaged_answer_or_not_at_all_is_fetched_again(http: httpx.AsyncClient):
    broken = as_xml(f"<PubmedArticleSet>{THREE['11']}{THREE['12'].replace('</Article>', '')}</PubmedArticleSet>")
    async with ncbi(THREE) as played:
        source = pubmed(played.url, http)
        played.always["efetch"] = Answer(503)
        with pytest.raises(ProviderUnavailableError):
            await source.fetch(["11", "12"])
        played.always["efetch"] = broken
        assert list((await source.fetch(["11", "12"])).records) == ["11"]
        del played.always["efetch"]
        before = len(played.asked)
        assert list((await source.fetch(["11", "12"])).records) == ["11", "12"]
    assert fetched_by(played)[before:] == ["11,12"]


def record(pmid: str, day: str = "", **fields: str) -> Publication:
    checked = day or datetime.datetime.now(datetime.UTC).date().isoformat()
    return published("Zinc closed wounds.", pmid=pmid, source="pubmed", title="Zinc", status_checked=checked, **fields)


async def test_memory_is_bounded_and_what_was_wanted_last_stays():
    recent = RecentRecords(max_bytes=2_000)
    for number in range(1, 20):
        await recent.keep([str(number)], {str(number): record(str(number))})
        assert [*await recent.recent(["1"])] == ["1"]
    assert [*await recent.recent(["2", "19"])] == ["19"]


async def test_a_search_for_retracted_papers_gives_none_as_it_was_before():
    async with library(THREE) as lib:
        await lib.search.search(request(), lib.session)
        retracted = notice("RetractionIn", "J Made-up Res. 2026", "99")
        types = ("Journal Article", "Retracted Publication")
        lib.ncbi.records["11"] = article("11", types=types, citation=retracted)
        query = "zinc AND retracted publication[pt]"
        lib.ncbi.hits = {query: ["11"]}
        found = await lib.search.search(request(query), FakeSession())
    assert [one.citation.status for one in found.evidence] == ["retracted"]
    assert fetched_by(lib.ncbi) == ["11,12,13", "11"]
