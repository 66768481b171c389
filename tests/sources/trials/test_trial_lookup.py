"""ClinicalTrials.gov's records of known trials, over loopback."""

from __future__ import annotations

import httpx
import pytest

from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.sources.trials.services import TrialRecords
from tests.net.stand_in import stand_in
from tests.sources.full_text_wire import make_trials_client
from tests.sources.trials.registry import registry, trial

FORMER = {"nctId": "NCT09000002", "briefTitle": "Zinc", "nctIdAliases": ["NCT00000009"]}


async def test_a_hundred_records_cost_one_request(http: httpx.AsyncClient):
    async with stand_in() as server:
        server.answer = registry(*(trial(number) for number in range(1, 101)))
        lookup = TrialRecords(make_trials_client(server.url, http))
        wanted = [RecordIds(nct=f"NCT{9_000_000 + number:08}") for number in range(100, 0, -1)]
        found = await lookup.records(wanted)
    assert [one and one.nct for one in found.records] == [ids.nct for ids in wanted]
    assert len(server.asked) == 1
    assert found.remarks == {}


async def test_what_is_unknown_or_moved_is_told(http: httpx.AsyncClient):
    async with stand_in() as server:
        server.answer = registry(trial(1), trial(2, identificationModule=FORMER))
        lookup = TrialRecords(make_trials_client(server.url, http))
        numbers = ("NCT09000007", "nct: NCT00000009", "NCT09000001", "NCT09000002")
        found = await lookup.records([RecordIds(nct=one) for one in numbers])
    assert [one and one.nct for one in found.records] == [None, "NCT09000002", "NCT09000001", "NCT09000002"]
    assert found.remarks == {
        0: "ClinicalTrials.gov has no trial NCT09000007.",
        1: "NCT00000009 is now registered as NCT09000002.",
    }
    assert found.records[1]
    assert "NCT00000009" in found.records[1].registrations


@pytest.mark.parametrize(
    ("ids", "is_accepted"),
    [
        (RecordIds(nct="NCT09000001"), True),
        (RecordIds(nct="ISRCTN12345678"), False),
        (RecordIds(pmid="1", nct="NCT09000001"), False),
        (RecordIds(doi="10.5555/zinc"), False),
    ],
)
async def test_only_registrations_are_looked_up(http: httpx.AsyncClient, ids: RecordIds, is_accepted: bool):
    assert TrialRecords(make_trials_client("http://127.0.0.1:1", http)).accepts(ids) is is_accepted
