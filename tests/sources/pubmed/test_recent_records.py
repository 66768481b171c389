"""A record that PubMed sent of late is not asked for again, by any session of the process."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio
import httpx
import pytest

from deepcritical_mcp.dates import current_date
from deepcritical_mcp.errors import ProviderError, ProviderRequestError, ProviderTimeoutError, ProviderUnavailableError
from deepcritical_mcp.models import Publication
from deepcritical_mcp.search.pipeline import SourceSearch
from deepcritical_mcp.search.witness import Witness
from deepcritical_mcp.sources.base import Fetched
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


async def test_searches_at_once_that_overlap_fetch_each_record_once():
    async with library(THREE) as lib:
        lib.ncbi.hits = {"zinc": ["11", "12"], "copper": ["12", "13"], "iron": ["13", "11"]}
        async with anyio.create_task_group() as tasks:
            for query in lib.ncbi.hits:
                tasks.start_soon(lib.search.search, request(query), FakeSession())
    ids = [id for some in fetched_by(lib.ncbi) for id in some.split(",")]
    assert sorted(ids) == ["11", "12", "13"]


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


class Records:
    """Records to fetch, and what was asked for; a request waits until it is let go."""

    def __init__(self, *, error: ProviderError | None = None, let_go: bool = True) -> None:
        self.asked: list[list[str]] = []
        self.error = error
        self.go = anyio.Event()
        if let_go:
            self.go.set()

    async def __call__(self, ids: Sequence[str]) -> Fetched:
        self.asked.append(list(ids))
        await self.go.wait()
        if self.error:
            raise self.error
        return Fetched({id: record(id) for id in ids if id != "0"})


async def test_a_record_counts_for_hours_and_for_its_day():
    now = 0.0
    recent, sent = RecentRecords(clock=lambda: now), Records()
    await recent.keep(["1", "2"], {"1": record("1"), "2": record("2", day="2020-01-01")})
    now = KEPT - 1
    assert list((await recent.fetch(["1", "2"], sent)).records) == ["1", "2"]
    now = KEPT + 1
    await recent.fetch(["1"], sent)
    assert sent.asked == [["2"], ["1"]]
    assert recent.size == 0


async def test_memory_is_bounded_and_what_was_wanted_last_stays():
    recent, sent = RecentRecords(max_bytes=2_000), Records()
    for number in range(1, 20):
        await recent.keep([str(number)], {str(number): record(str(number))})
        assert 0 < recent.size <= 2_000
        await recent.fetch(["1"], sent)
    assert sent.asked == []
    await recent.fetch(["2", "19"], sent)
    assert sent.asked == [["2"]]


async def test_a_cancelled_call_leaves_its_records_to_those_who_wait_for_them():
    recent, sent, found = RecentRecords(), Records(let_go=False), list[Mapping[str, Publication]]()

    async def fetch(ids: Sequence[str], scope: anyio.CancelScope) -> None:
        with scope:
            found.append((await recent.fetch(ids, sent)).records)

    scopes = [anyio.CancelScope() for _ in range(3)]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(fetch, ["1", "2"], scopes[0])
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(fetch, ["2", "3"], scopes[1])
        tasks.start_soon(fetch, ["2"], scopes[2])
        await anyio.wait_all_tasks_blocked()
        assert sent.asked == [["1", "2"], ["3"]]
        scopes[0].cancel()
        sent.go.set()
    assert sorted(map(list, found)) == [["2"], ["2", "3"]]
    assert sent.asked == [["1", "2"], ["3"], ["2"]]


@pytest.mark.parametrize(("error", "requests"), [(ProviderUnavailableError, 1), (ProviderRequestError, 3)])
async def test_an_outage_is_shared_but_not_what_is_wrong_with_a_request(error: type[ProviderError], requests: int):
    recent, sent, failed = RecentRecords(), Records(error=error("pubmed", "No."), let_go=False), list[str]()

    async def fetch() -> None:
        with pytest.raises(error):
            await recent.fetch(["1"], sent)
        failed.append("1")

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(fetch)
        await anyio.wait_all_tasks_blocked()
        sent.go.set()
    assert (len(failed), len(sent.asked)) == (3, requests)


async def test_an_answer_that_comes_while_kept_records_are_read_is_not_missed():
    recent, sent = RecentRecords(), Records(let_go=False)
    many = [str(number) for number in range(1000)]
    await recent.keep(many, {id: record(id) for id in many})

    async def one_more(ids: Sequence[str]) -> Fetched:
        found = await sent(ids)
        await recent.keep(ids, found.records)
        return found

    async def fetch(*ids: str) -> None:
        assert (await recent.fetch(ids, one_more)).records.keys() == {*ids}

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(fetch, "1000")
        await anyio.wait_all_tasks_blocked()
        sent.go.set()
        tasks.start_soon(fetch, *many, "1000")
    assert sent.asked == [["1000"]]


async def test_a_record_that_does_not_exist_is_asked_for_once_at_a_time():
    recent, sent = RecentRecords(), Records(let_go=False)
    answers: list[Fetched] = []

    async def fetch(*ids: str) -> None:
        answers.append(await recent.fetch(ids, sent))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(fetch, "0", "1")
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(fetch, "0")
        await anyio.wait_all_tasks_blocked()
        sent.go.set()
    assert sorted(map(list, (answer.records for answer in answers))) == [[], ["1"]]
    assert sent.asked == [["0", "1"]]


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
        back = (await recent.fetch([*records], Records(error=ProviderUnavailableError("pubmed", "No.")))).records
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


async def test_who_has_more_time_asks_again_where_another_ran_out_of_it():
    recent, asked, late = RecentRecords(), list[Sequence[str]](), anyio.Event()

    async def fetch(ids: Sequence[str]) -> Fetched:
        asked.append(ids)
        if len(asked) == 1:
            await late.wait()
            raise ProviderTimeoutError("pubmed", "PubMed did not answer in time.")
        return Fetched({id: published(f"Zinc {id}.", source="pubmed", title="Zinc", pmid=id) for id in ids})

    async def in_a_hurry() -> None:
        with anyio.fail_after(1), pytest.raises(ProviderTimeoutError):
            await recent.fetch(["11"], fetch)

    async def with_time() -> None:
        assert list((await recent.fetch(["11"], fetch)).records) == ["11"]

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(in_a_hurry)
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(with_time)
        await anyio.wait_all_tasks_blocked()
        late.set()
    assert asked == [["11"], ["11"]]


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
