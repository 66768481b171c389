"""ClinicalTrials.gov as a source and as a reader of registrations, over loopback and from recorded studies."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from deepcritical_mcp.errors import ProviderResponseError
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.models import MAX_TRIAL_PAPERS, NO_TITLE, UNKNOWN_DATE, Publication, own_spans
from deepcritical_mcp.reading import Reading
from deepcritical_mcp.sources.lookup import Copy, Wanted
from deepcritical_mcp.sources.trials.outline import REMOVED, without_contacts
from deepcritical_mcp.sources.trials.request import TrialRequest, country_names
from deepcritical_mcp.sources.trials.services import TrialRecords, Trials
from deepcritical_mcp.text import clean_line
from tests.net.stand_in import Answer, Asked, stand_in
from tests.sources.full_text_wire import as_json, make_trials, make_trials_client, study
from tests.sources.trials.registry import desk, registry, trial


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


WANTED = Wanted(RecordIds(nct="NCT09000001"))


async def read(answer: Answer, http: httpx.AsyncClient, wanted: Wanted = WANTED) -> Copy:
    async with stand_in(answer) as server:
        return await make_trials(server.url, http).read(wanted)


async def reading(payload: object, http: httpx.AsyncClient) -> Reading:
    found = (await read(as_json(payload), http)).reading
    assert found
    return found


def own_text(found: Reading, *path: str) -> str:
    """The text of the section or table with this path, without that of its parts."""
    spans: dict[tuple[str, ...], str] = {
        part.path: found.content[start:end].strip() for part, start, end in own_spans(found.parts, len(found.content))
    }
    return spans[path]


async def test_a_registration_comes_in_sections(http: httpx.AsyncClient):
    copy = await read(as_json(study()), http)
    assert (copy.status, copy.detail, copy.url) == ("full_text", "", "https://clinicaltrials.gov/study/NCT09000001")
    assert copy.reading
    found = copy.reading
    titles = ["Brief summary", "Identification", "Status", "Design", "Locations"]
    assert [part.path[-1] for part in found.parts] == titles
    assert [part.anchor for part in found.parts] == ["s1", "s2", "s3", "s4", "s5"]
    assert "Why it was stopped: Slow recruitment [see protocol]" in own_text(found, "Status")
    assert own_text(found, "Design").split("\n\n")[0] == "Phase: Phase 2, Phase 3"
    assert own_text(found, "Locations") == "1 site in 1 country\n\nNorway (1): Wound Clinic, Oslo"


async def test_no_contact_person_is_asked_for_or_passed_on(http: httpx.AsyncClient):
    async with stand_in(as_json(study())) as server:
        copy = await make_trials(server.url, http).read(WANTED)
    fields = server.asked[0].query["fields"].split(",")
    assert "LocationFacility" in fields
    assert not [name for name in fields if "Contact" in name or "OverallOfficial" in name or "MoreInfo" in name]
    assert copy.reading
    assert "ecret" not in copy.reading.content
    assert "555-0100" not in copy.reading.content


async def test_a_former_number_leads_to_the_present_one_and_says_so(http: httpx.AsyncClient):
    def moved(asked: Asked) -> Answer:
        if asked.path.endswith("NCT00000009"):
            return Answer(301, headers={"Location": "/studies/NCT09000001"})
        return as_json(study())

    async with stand_in() as server:
        server.answer = moved
        copy = await make_trials(server.url, http).read(Wanted(RecordIds(nct="NCT00000009")))
    assert (copy.status, copy.detail) == ("full_text", "NCT00000009 is now registered as NCT09000001.")
    assert copy.url.endswith("NCT09000001")


async def test_another_trial_than_the_one_asked_for_is_refused(http: httpx.AsyncClient):
    with pytest.raises(ProviderResponseError):
        await read(as_json(study()), http, Wanted(RecordIds(nct="NCT00000001")))


async def test_an_unknown_number_is_not_found(http: httpx.AsyncClient):
    copy = await read(Answer(404, b"NCT number NCT09000001 not found", "text/plain"), http)
    assert copy == Copy("not_found", "ClinicalTrials.gov has no trial NCT09000001.")


async def test_other_registries_numbers_are_not_asked_for(http: httpx.AsyncClient):
    async with stand_in() as server:
        trials = make_trials(server.url, http)
        wanted = Wanted(RecordIds(nct="ISRCTN12345678"))
        assert trials.accepts(wanted)
        copy = await trials.read(wanted)
        assert await trials.records_and_copies([wanted]) == [(None, copy)]
    assert copy.status == "not_found"
    assert "NCT numbers only" in copy.detail
    assert copy.elsewhere == ("https://www.isrctn.com/ISRCTN12345678",)
    assert server.asked == []


def table(found: Reading, caption: str) -> list[str]:
    """The paragraphs of the table with this caption."""
    spans = own_spans(found.parts, len(found.content))
    texts = [found.content[start:end].strip() for part, start, end in spans if part.kind == "table"]
    return next(text.split("\n\n") for text in texts if caption in text.split("\n\n")[0])


def counts(**values: str) -> list[dict[str, object]]:
    """Who was analyzed, by group."""
    rows = [{"groupId": group, "value": value} for group, value in values.items()]
    return [{"units": "Participants", "counts": rows}]


def with_results(**modules: object) -> dict[str, object]:
    return {**study(), "resultsSection": modules, "hasResults": True}


async def test_adverse_events_are_never_added_up(http: httpx.AsyncClient):
    zinc = {"seriousNumAffected": 1, "seriousNumAtRisk": 11, "deathsNumAffected": 0, "deathsNumAtRisk": 11}
    groups = [
        {"id": "EG000", "title": "Zinc", **zinc},
        {"id": "EG001", "title": "Zinc after week 12", "seriousNumAffected": 1, "seriousNumAtRisk": 9},
    ]
    stats = [
        {"groupId": "EG001", "numAffected": 1, "numAtRisk": 9, "numEvents": 2},
        {"groupId": "EG000", "numAffected": 0, "numAtRisk": 11},
    ]
    event = {"term": "Sepsis", "organSystem": "Infections", "stats": stats}
    module = {"eventGroups": groups, "seriousEvents": [event], "frequencyThreshold": "5"}
    found = await reading(with_results(adverseEventsModule=module), http)
    assert table(found, "Totals")[1].split("\n")[2:] == ["| Deaths | 0 / 11 |  |", "| Serious | 1 / 11 | 1 / 9 |"]
    assert table(found, "Serious adverse events")[1].split("\n")[-1] == "| Sepsis (Infections) | 0 / 11 | 1 / 9 [2] |"
    assert "cannot be added up" in table(found, "Totals")[2]


async def test_participants_are_followed_and_described(http: httpx.AsyncClient):
    started = {"groupId": "FG000", "numSubjects": "11", "comment": "one moved"}
    left = {"groupId": "FG000", "numSubjects": "2"}
    period = {
        "title": "Overall",
        "milestones": [{"type": "STARTED", "achievements": [started]}],
        "dropWithdraws": [{"type": "Lost to Follow-up", "reasons": [left]}],
    }
    flow = {"groups": [{"id": "FG000", "title": "Zinc", "description": "20 mg a day"}], "periods": [period]}
    female = {"title": "Female", "measurements": [{"groupId": "BG000", "value": "6"}]}
    kind = {"title": "Sex", "paramType": "COUNT_OF_PARTICIPANTS", "unitOfMeasure": "Participants"}
    measure = {**kind, "classes": [{"denoms": counts(BG000="11"), "categories": [female]}]}
    groups = [{"id": "BG000", "title": "Zinc"}]
    baseline = {"groups": groups, "denoms": counts(BG000="11"), "measures": [measure]}
    found = await reading(with_results(participantFlowModule=flow, baselineCharacteristicsModule=baseline), http)
    assert own_text(found, "Results", "Participant flow") == "Zinc: 20 mg a day"
    assert table(found, "Overall")[1].split("\n")[2:] == [
        "| Started | 11 (one moved) |",
        "| Left: Lost to Follow-up | 2 |",
    ]
    assert table(found, "Baseline")[1].split("\n")[2:] == [
        "| Analyzed: participants | 11 |",
        "| Sex (count of participants, Participants) – Female | 6 |",
    ]


async def test_what_nlm_matched_is_told_from_what_the_sponsor_named(http: httpx.AsyncClient):
    rows = [
        {"pmid": "1", "type": "RESULT", "citation": "Ruiz A. Zinc closes wounds. 2021."},
        {"pmid": "2", "type": "DERIVED", "citation": "Berg J. A re-analysis. 2022."},
    ]
    found = await reading(study(referencesModule={"references": rows}), http)
    assert found.parts[-1].kind == "references"
    assert own_text(found, "References").split("\n\n") == [
        "Ruiz A. Zinc closes wounds. 2021. PMID 1. [Result]",
        "Berg J. A re-analysis. 2022. PMID 2. [Found by NLM's matching]",
    ]


async def test_a_study_of_its_number_alone_has_no_text(http: httpx.AsyncClient):
    bare = {"protocolSection": {"identificationModule": {"nctId": "NCT09000001"}}}
    copy = await read(Answer(200, json.dumps(bare).encode()), http)
    assert copy.status == "no_text"


FORMATS = ("jsonl", "ris", "bibtex", "csl-json", "markdown")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Contact: Kari Lund, kari@lund.no, tel 555-222-3333.", f"Contact: Kari Lund, {REMOVED}, tel {REMOVED}."),
        ("call Dr. Lund at 555-123-4567 kari.lund@ward-3.lund.no", f"call Dr. Lund at {REMOVED} {REMOVED}"),
        ("Nurse Kim +1 (555) 777-8888, or kim_k+z@h.org.", f"Nurse Kim {REMOVED}, or {REMOVED}."),
        ("Tel: 1-800-555-1234 ext. 12", f"Tel: {REMOVED}"),
        ("Telephone number: 22 85 50 50.", f"Telephone number: {REMOVED}."),
        ("+33 (0)1 40 27 18 00 for all", f"{REMOVED} for all"),
        ("Please call the ward on 020 7946 0958 or 020 7946 0959", f"Please call the ward on {REMOVED} or {REMOVED}"),
    ],
)  # fmt: skip
def test_addresses_and_telephone_numbers_are_removed(text: str, left: str):
    assert without_contacts(text) == left
    assert without_contacts(left) == left


@pytest.mark.parametrize(
    "text",
    [
        "NCT01234567, NCT 01234567 and (NCT01234567)",
        "EudraCT 2013-001234-12, 2022-500123-45-00, ISRCTN12345678, CTRI/2019/05/019112, ACTRN12605000123456",
        "Call for the study number 2013-001234-12; contact for trial 05-123-4567",
        "doses of 250-500-1000 mg, 200-400-8000 units, 300-301-4025 mg",
        "protocol 301-302-2016, CC-401-302-2117, P05-301-302-4025",
        "10 000 000 cells/kg, 1 000 000 000 copies, +1 000 000 000, 5 x 10^7, 150,000,000",
        "200 400 8001 and 12 24 36 48 52 60 72",
        "phone 12-24-36-48",
        "phone contact on 01 12 2019 and on 01.12.2019",
        "CD4+ 200000000, CD34+ 1234567890, T cell 10000000, CAR-T cells: 10000000",
        "18-65 years, 6-12-18-24 months, 1-2-3-4-5-6-7, days 1, 8, 15 and 22, 0 12 24 36 48 weeks after the call",
    ],
)
def test_other_numbers_stay_as_they_are(text: str):
    assert without_contacts(text) == text


async def test_no_free_text_of_a_trial_passes_contacts_on(tmp_path: Path):
    secret = "Ask Kari, kari@lund.no, tel 555-222-3333."
    one = trial(
        1,
        statusModule={"overallStatus": "TERMINATED", "whyStopped": secret},
        descriptionModule={"briefSummary": secret, "detailedDescription": f"500 mg.\n\n{secret}"},
        eligibilityModule={"eligibilityCriteria": f"Inclusion:\n\n* {secret}", "studyPopulation": secret},
        armsInterventionsModule={
            "armGroups": [{"label": "Zinc", "description": secret}],
            "interventions": [{"name": "Zinc", "description": secret}],
        },
        outcomesModule={"primaryOutcomes": [{"measure": "Closure", "timeFrame": "2 weeks", "description": secret}]},
        conditionsModule={"conditions": ["Wounds"], "keywords": [secret]},
        referencesModule={"references": [{"type": "RESULT", "citation": secret}], "seeAlsoLinks": [
            {"label": secret, "url": "mailto:kari@lund.no"}]},
    )  # fmt: skip
    async with desk(tmp_path, one) as ours:
        answers = [
            await ours.call("trial_search", query="zinc"),
            await ours.call("get_full_text", id="NCT09000001", sections=["all"]),
            await ours.call("add_evidence", items=[{"nct": "NCT09000001"}], session_id="new"),
            await ours.call("get_evidence", ids=["nct:NCT09000001"]),
            *[await ours.call("export_evidence", format=one) for one in FORMATS],
        ]  # fmt: skip
    for text, structured in answers:
        assert "lund.no" not in text + json.dumps(structured)
        assert "555-222" not in text + json.dumps(structured)
    assert answers[0][0].count("contact removed") >= 4
    assert "500 mg." in answers[1][0]
