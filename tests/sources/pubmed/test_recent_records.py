"""A record that PubMed sent of late is not asked for again, by any session of the process."""

from __future__ import annotations

import datetime
from pathlib import Path

import anyio
import httpx
import pytest

from deepcritical_mcp.dates import current_date
from deepcritical_mcp.errors import ProviderError, ProviderUnavailableError
from deepcritical_mcp.models import Publication
from deepcritical_mcp.search.pipeline import SourceSearch
from deepcritical_mcp.search.witness import Witness
from deepcritical_mcp.sources.pubmed.recent import KEPT, RecentRecords
from deepcritical_mcp.sources.pubmed.records import read_records
from tests.export.recorded import FOLDER, needs_records
from tests.net.stand_in import Answer
from tests.publications import published
from tests.search.fake_session import FakeSession
from tests.search.pubmed_library import library, request
from tests.sources.ncbi import Ncbi, article, as_xml, efetch, ncbi, notice, pubmed

THREE = {pmid: article(pmid, f"Zinc, part {pmid}.") for pmid in ("11", "12", "13")}


def fetched_by(played: Ncbi) -> list[str]:
    """The ids of each request for records."""
    return [params["id"] for utility, params in played.asked if utility == "efetch"]


async def test_another_session_does_not_fetch_the_record_again_and_gets_the_same_answer():
    async with library(THREE) as lib:
        first = await lib.search.search(request(), lib.session)
        again = await lib.search.search(request(), FakeSession())
        lib.ncbi.hits = {"copper": ["12", "13"], "iron": ["13", "14"]}
        lib.ncbi.records["14"] = article("14")
        await lib.search.search(request("copper"), FakeSession())
        await lib.search.search(request("iron"), FakeSession())
    assert again.evidence == first.evidence
    assert fetched_by(lib.ncbi) == ["11,12,13", "14"]


async def test_five_sessions_that_search_for_the_same_cost_what_one_costs():
    async with library(THREE) as lib, anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(lib.search.search, request(), FakeSession())
    assert lib.ncbi.utilities == ["esearch", "efetch"]


async def test_what_the_status_is_now_is_asked_now_and_counts_from_then_on(http: httpx.AsyncClient):
    async with ncbi(THREE) as played:
        source = pubmed(played.url, http)
        held = (await source.fetch(["11"])).records["11"]
        retracted = notice("RetractionIn", "J Made-up Res. 2026", "99")
        played.records["11"] = article("11", types=("Journal Article", "Retracted Publication"), citation=retracted)
        assert (await source.fetch(["11"])).records["11"].status == "ok"
        checked = await Witness(pubmed=source).rechecked([held])
        assert (checked.publications[0].status, checked.answered) == ("retracted", {0})
        assert (await source.fetch(["11"])).records["11"].status == "retracted"
    assert fetched_by(played) == ["11"] * 2


async def test_what_was_sent_within_the_last_seconds_is_not_asked_again_and_all_else_in_one_request(
    http: httpx.AsyncClient,
):
    async with ncbi(THREE) as played:
        source = pubmed(played.url, http)
        await source.fetch(["11"])
        found = await source.fetch_anew(["11", "12", "13"], within=600)
        assert found.records.keys() == {"11", "12", "13"}
        await source.fetch_anew(["11", "12", "13"], within=600)
        await source.fetch_anew(["11", "12", "13"])
    assert fetched_by(played) == ["11", "12,13", "11,12,13"]


async def test_the_status_of_a_record_read_for_another_search_is_asked_before_it_is_relied_on(http: httpx.AsyncClient):
    async with ncbi(THREE) as played:
        source = pubmed(played.url, http)
        witness = Witness(pubmed=source)
        await source.fetch(["11", "12"])
        retracted = notice("RetractionIn", "J Made-up Res. 2026", "99")
        played.records["11"] = article("11", types=("Journal Article", "Retracted Publication"), citation=retracted)
        held = (await source.fetch(["11", "13"])).records  # 11 as it was, 13 as it is
        assert held["11"].status == "ok"
        for _ in range(2):  # another session may hold it as it was, too
            checked = await witness.rechecked([held["11"], held["13"]])
            assert [one.status for one in checked.publications] == ["retracted", "ok"]
    assert fetched_by(played) == ["11,12", "13", "11,13", "11,13"]


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


async def test_what_was_read_from_a_damaged_answer_is_fetched_again(http: httpx.AsyncClient):
    broken = as_xml(f"<PubmedArticleSet>{THREE['11']}{THREE['12'].replace('</Article>', '')}</PubmedArticleSet>")
    async with ncbi(THREE) as played:
        played.always["efetch"] = broken
        source = pubmed(played.url, http)
        assert list((await source.fetch(["11", "12"])).records) == ["11"]
        del played.always["efetch"]
        before = len(played.asked)
        assert list((await source.fetch(["11", "12"])).records) == ["11", "12"]
    assert fetched_by(played)[before:] == ["11,12"]


async def test_an_outage_is_not_kept(http: httpx.AsyncClient):
    async with ncbi(THREE) as played:
        played.always["efetch"] = Answer(503)
        source = pubmed(played.url, http)
        with pytest.raises(ProviderUnavailableError):
            await source.fetch(["11"])
        del played.always["efetch"]
        assert list((await source.fetch(["11"])).records) == ["11"]


def record(pmid: str, day: str = "", **fields: str) -> Publication:
    checked = day or datetime.datetime.now(datetime.UTC).date().isoformat()
    return published("Zinc closed wounds.", pmid=pmid, source="pubmed", title="Zinc", status_checked=checked, **fields)


async def test_a_record_counts_for_hours_and_for_its_day():
    now = 0.0
    recent = RecentRecords(clock=lambda: now)
    await recent.keep(["1", "2"], {"1": record("1"), "2": record("2", day="2020-01-01")})
    now = KEPT - 1
    assert [*await recent.recent(["1", "2"])] == ["1"]
    now = KEPT + 1
    assert await recent.recent(["1"]) == {}


async def test_memory_is_bounded_and_what_was_wanted_last_stays():
    recent = RecentRecords(max_bytes=2_000)
    for number in range(1, 20):
        await recent.keep([str(number)], {str(number): record(str(number))})
        assert [*await recent.recent(["1"])] == ["1"]
    assert [*await recent.recent(["2", "19"])] == ["19"]


@needs_records
async def test_recorded_records_come_back_as_they_were():
    read = 0
    for path in sorted((Path(FOLDER) / "efetch").glob("*.xml")):
        try:
            records = {one.pmid: one for one in read_records(path.read_bytes()).publications}
        except ProviderError:
            continue
        today = current_date().isoformat()
        records = {pmid: one.with_status(one.status, today) for pmid, one in records.items()}
        recent = RecentRecords()
        await recent.keep([*records], records)
        back = await recent.recent([*records])
        assert {pmid: one.model_dump() for pmid, one in back.items()} == {
            pmid: one.model_dump() for pmid, one in records.items()
        }
        read += len(records)
    assert read > 100


async def test_related_articles_and_lookups_use_the_same_records():
    async with library(THREE) as lib:
        await lib.search.search(request(), lib.session)
        lib.ncbi.links = {"pubmed_pubmed": [{"id": "12", "score": 9}]}
        related = SourceSearch(lib.search.source)
        await related.related("11", "similar", 5, FakeSession())
        note = published("Other words.", source="pubmed", title="Zinc", pmid="13")
        await related.verified([("13", note)], FakeSession())
    assert lib.ncbi.utilities == ["esearch", "efetch", "elink"]


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
