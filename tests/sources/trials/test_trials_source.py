"""ClinicalTrials.gov as a source: what it sends, what it says of itself, and numbers of trials in records of papers."""

import httpx
import pytest

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.models import Publication
from deepcritical_mcp.sources.trials.request import TrialRequest, country_names
from deepcritical_mcp.sources.trials.services import TrialRecords, Trials
from tests.net.stand_in import stand_in
from tests.sources.full_text_wire import make_trials_client
from tests.sources.trials.registry import registry, trial


async def test_deeper_pages_are_asked_for_without_a_token(http: httpx.AsyncClient):
    async with stand_in() as server:
        server.answer = registry(*(trial(number) for number in range(1, 31)))
        trials = Trials(make_trials_client(server.url, http))
        found = await trials.ask("zinc", TrialRequest(query="zinc"), offset=20, limit=5)
    assert found.ids == tuple(f"NCT090000{number}" for number in range(21, 26))
    assert found.total == 30
    sent = server.asked[0].query
    assert (sent["pageSize"], sent["countTotal"], sent["sort"]) == ("25", "true", "@relevance")
    assert sent["fields"] == "NCTId,NCTIdAlias,VersionHolder"
    assert "pageToken" not in sent


def test_only_nct_numbers_are_ids():
    trials = Trials(make_trials_client("http://127.0.0.1:1", httpx.AsyncClient()))
    assert trials.known_id("nct 09000001") == "NCT09000001"
    assert trials.stub("NCT09000001").id == "nct:NCT09000001"
    with pytest.raises(InvalidInputError, match="not an NCT number"):
        trials.known_id("ISRCTN12345678")


FORMER = {"nctId": "NCT09000002", "briefTitle": "Zinc", "nctIdAliases": ["NCT00000009"]}


async def test_a_hundred_records_cost_one_request(http: httpx.AsyncClient):
    async with stand_in() as server:
        server.answer = registry(*(trial(number) for number in range(1, 101)))
        lookup = TrialRecords(make_trials_client(server.url, http))
        wanted = [RecordIds(nct=f"NCT{9_000_000 + number:08}") for number in range(100, 0, -1)]
        found = await lookup.records(wanted)
    assert [isinstance(one, Publication) and one.nct for one in found] == [ids.nct for ids in wanted]
    assert len(server.asked) == 1


async def test_what_is_unknown_or_moved_is_told(http: httpx.AsyncClient):
    async with stand_in() as server:
        server.answer = registry(trial(1), trial(2, identificationModule=FORMER))
        lookup = TrialRecords(make_trials_client(server.url, http))
        numbers = ("NCT09000007", "nct: NCT00000009", "NCT09000001", "NCT09000002")
        found = await lookup.records([RecordIds(nct=one) for one in numbers])
        fetched = await Trials(make_trials_client(server.url, http)).fetch(["NCT00000009", "NCT09000007"])
    assert {number: one.nct for number, one in fetched.records.items()} == {"NCT00000009": "NCT09000002"}
    assert fetched.losses == {"NCT09000007": "ClinicalTrials.gov has no trial NCT09000007."}
    told, *records = found
    assert told == "ClinicalTrials.gov has no trial NCT09000007."
    assert [str(getattr(one, "nct", "")) for one in records] == ["NCT09000002", "NCT09000001", "NCT09000002"]
    assert isinstance(records[0], Publication)
    assert "NCT00000009" in records[0].registrations


def test_an_unknown_country_is_searched_as_written_and_told():
    names, remarks = country_names('Atlantis" OR "Norway')
    assert names == ("Atlantis", "Norway")
    assert remarks == ('country "Atlantis" is not a name known here and was searched as written.',)
