"""Recorded studies of ClinicalTrials.gov: their records say what an independent reading says."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.models import MAX_TRIAL_PAPERS, NO_TITLE, UNKNOWN_DATE, Publication
from deepcritical_mcp.sources.trials.request import TrialRequest
from deepcritical_mcp.sources.trials.services import TrialRecords, Trials
from deepcritical_mcp.text import clean_line
from tests.net.stand_in import Answer, stand_in
from tests.sources.full_text_wire import as_json, make_trials_client

FOLDER = Path(os.environ.get("DEEPCRITICAL_SOURCES_DIR", ""))
pytestmark = pytest.mark.skipif("DEEPCRITICAL_SOURCES_DIR" not in os.environ, reason="needs recorded answers")


def rows() -> list[dict[str, Any]]:
    lines = (FOLDER / "trials.jsonl").read_text("utf-8").splitlines()
    return [row for row in map(json.loads, lines) if (FOLDER / row["file"]).exists()]


def studies() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each recorded study as it came, and its independent reading."""
    for row in rows():
        payload = json.loads((FOLDER / row["file"]).read_text("utf-8"))
        yield from zip(payload.get("studies", [payload]), row["studies"], strict=True)


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
