"""Contact details in the texts of a registration are removed, and nothing else."""

import json
from pathlib import Path

import pytest

from deepcritical_mcp.sources.trials.outline import REMOVED, without_contacts
from tests.sources.trials.registry import desk, trial

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
