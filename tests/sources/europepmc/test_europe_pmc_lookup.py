"""Europe PMC's records of many documents in one request, over loopback."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import httpx

from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.sources.lookup import FoundRecords
from tests.net.stand_in import Asked, stand_in
from tests.sources.full_text_wire import hit, make_records, preprint, results


async def look_up(
    rows: Sequence[Mapping[str, object]], http: httpx.AsyncClient, *wanted: RecordIds
) -> tuple[FoundRecords, list[Asked]]:
    async with stand_in(results(*rows)) as server:
        return await make_records(server.url, http).records(wanted), server.asked


async def test_a_hundred_dois_are_sent_in_the_body(http: httpx.AsyncClient):
    rows = [hit(id=str(n), pmid=str(n), pmcid=None, doi=f"10.5555/zinc-{n:03}") for n in range(1, 101)]
    found, (asked,) = await look_up(rows, http, *(RecordIds(doi=f"10.5555/zinc-{n:03}") for n in range(1, 101)))
    assert [one.pmid for one in found.records if one] == [str(n) for n in range(1, 101)]
    assert asked.path == "/searchPOST"
    assert int(asked.form["pageSize"]) >= 100


async def test_the_article_comes_before_its_preprint(http: httpx.AsyncClient):
    found, _ = await look_up([preprint(doi="10.5555/zinc"), hit()], http, RecordIds(doi="10.5555/zinc"))
    (record,) = found.records
    assert record
    assert record.pmid == "31000001"


async def test_the_record_with_most_of_the_identifiers_is_the_one(http: httpx.AsyncClient):
    rows = [hit(id="1", pmid="1", pmcid=None), hit(pmcid=None, doi=None), hit(id="3", pmid="3", pmcid="PMC9000001")]
    found, _ = await look_up(rows, http, RecordIds(doi="10.5555/zinc", pmcid="PMC9000001"))
    (record,) = found.records
    assert record
    assert record.pmid == "3"


async def test_what_is_only_similar_is_not_a_record_of_it(http: httpx.AsyncClient):
    found, _ = await look_up([hit()], http, RecordIds(doi="10.5555/zinc.2"))
    assert found.records == (None,)


async def test_nothing_is_asked_for_what_it_cannot_know(http: httpx.AsyncClient):
    found, asked = await look_up([], http, RecordIds(nct="NCT00000001"))
    assert (found.records, asked) == ((None,), [])
    records = make_records("http://127.0.0.1:9", http)
    assert records.accepts(RecordIds(preprint_number="PPR1"))
    assert not records.accepts(RecordIds(nct="NCT00000001"))
