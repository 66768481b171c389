"""ClinicalTrials.gov as a source: what it sends, what it says of itself, and recorded studies."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.models import MAX_TRIAL_PAPERS, NO_TITLE, UNKNOWN_DATE, Publication
from deepcritical_mcp.sources.trials.request import TrialRequest, country_names
from deepcritical_mcp.sources.trials.services import TrialRecords, Trials
from deepcritical_mcp.text import clean_line
from tests.net.stand_in import Answer, stand_in
from tests.sources.full_text_wire import as_json, make_trials_client
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


FOLDER = Path(os.environ.get("DEEPCRITICAL_SOURCES_DIR", ""))
needs_answers = pytest.mark.skipif("DEEPCRITICAL_SOURCES_DIR" not in os.environ, reason="needs recorded answers")


def rows() -> list[dict[str, Any]]:
    lines = (FOLDER / "trials.jsonl").read_text("utf-8").splitlines()
    return [row for row in map(json.loads, lines) if (FOLDER / row["file"]).exists()]


def studies() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each recorded study as it came, and its independent reading."""
    for row in rows():
        payload = json.loads((FOLDER / row["file"]).read_text("utf-8"))
        yield from zip(payload.get("studies", [payload]), row["studies"], strict=True)


@needs_answers
async def test_the_answer_to_a_search_is_read(http: httpx.AsyncClient):
    compared = 0
    async with stand_in() as server:
        trials = Trials(make_trials_client(server.url, http))
        for row in rows():
            if row["kind"] == "search":
                server.will(Answer(200, (FOLDER / row["file"]).read_bytes()))
                found = await trials.ask("zinc", TrialRequest(query="zinc"), offset=0, limit=1_000)
                assert list(found.ids) == [one["nctId"] for one in row["studies"]]
                assert found.total == (row.get("totalCount") or len(row["studies"]))
                compared += 1
    assert compared


@needs_answers
async def test_every_record_says_what_the_study_says(http: httpx.AsyncClient):
    compared = 0
    async with stand_in() as server:
        lookup = TrialRecords(make_trials_client(server.url, http))
        for payload, read in studies():
            server.will(as_json({"studies": [payload]}))
            (record,) = await lookup.records([RecordIds(nct=read["nctId"])])
            assert isinstance(record, Publication)
            assert fields(record) == expected(read), read["nctId"]
            facts = labels(record.text.content)
            wrong = {
                name: (facts.get(name), value) for name, value in said(read).items() if not says(facts, name, value)
            }
            assert wrong == {}, read["nctId"]
            assert papers(record) == named_papers(read)
            compared += 1
    assert compared


def fields(record: Publication) -> dict[str, object]:
    return {
        "nctId": record.nct,
        "title": record.title,
        "sponsor": "".join(map(str, record.authors)),
        "updated": record.revised_date,
        "types": record.publication_types,
        "others": {*record.registrations},
    }


def expected(read: dict[str, Any]) -> dict[str, object]:
    codes = [read["studyType"], *(one for one in read["phases"] if one != "NA"), read["overallStatus"]]
    types = [words(code) for code in codes if code]
    return {
        "nctId": read["nctId"],
        "title": clean_line(read["briefTitle"] or read["officialTitle"]) or NO_TITLE,
        "sponsor": clean_line(read["leadSponsor"]),
        "updated": read["lastUpdatePostDate"] or UNKNOWN_DATE,
        "types": (*types, *(["Results posted"] if read["hasResults"] else [])),
        "others": {*read["aliases"], *read["secondary_ids"]},
    }


def words(code: str) -> str:
    return (
        re.sub(r"^PHASE([0-9])", r"PHASE \1", code.replace("EARLY_PHASE", "EARLY_PHASE "))
        .replace("_", " ")
        .capitalize()
    )


def labels(content: str) -> dict[str, str]:
    """The labeled lines of a record."""
    facts, _, summary = content.partition("Brief summary: ")
    found = dict(line.split(": ", 1) for line in facts.splitlines() if line)
    return found | ({"Brief summary": summary} if summary else {})


def said(read: dict[str, Any]) -> dict[str, list[str]]:
    """What each line must say, in order."""
    dates = {"start": "startDate", "primary completion": "primaryCompletionDate", "completion": "completionDate"}
    return {
        "Acronym": [read["acronym"]],
        "Former numbers": read["aliases"],
        "Status": [read["overallStatus"].replace("_", " ")],
        "Why stopped": [re.sub(r"\\(.)", r"\1", read["whyStopped"])],
        "Phase": [words(one) if one != "NA" else "Not applicable" for one in read["phases"]],
        "Design": [read["studyType"], read["allocation"] if read["allocation"] != "NA" else ""],
        "Enrollment": [str(read["enrollment"]) if read["enrollment"] is not None else ""],
        "Conditions": read["conditions"],
        "Interventions": [one["name"] for one in read["interventions"]],
        "Primary outcomes": read["primaryOutcomes"],
        "Dates": [f"{name} {read[field]}" for name, field in dates.items() if read[field]],
        "Sponsor": [read["leadSponsor"]],
        "Results": ["posted"] if read["hasResults"] else [],
        "Countries": read["countries"],
        "Brief summary": [re.sub(r"\\(.)", r"\1", read["briefSummary"])],
    }


def says(facts: dict[str, str], name: str, values: list[str]) -> bool:
    """Whether a line says all of `values`; one that ends with "and 5 more" at least the others."""
    known, line = [letters(value) for value in values if value], facts.get(name, "")
    more = re.search(r"; and ([0-9]+) more\.$", line)
    missing = [value for value in known if value not in letters(line)]
    if more or "…" in line:
        return len(missing) <= int(more[1] if more else 1) + line.count("…")
    return not missing and bool(known) <= bool(line)


def letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).lower()


def papers(record: Publication) -> list[tuple[str, str]]:
    return [(one.kind, one.pmid) for one in record.status_notices if one.pmid]


def named_papers(read: dict[str, Any]) -> list[tuple[str, str]]:
    results = list(dict.fromkeys(read["result_pmids"]))
    derived = [one for one in dict.fromkeys(read["derived_pmids"]) if one not in results]
    return [*(("result", one) for one in results), *(("derived", one) for one in derived)][:MAX_TRIAL_PAPERS]
