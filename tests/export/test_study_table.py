"""A row for each record with what it says outright; empty where it does not."""

import csv
import io
import os
from pathlib import Path
from typing import Any

import pytest

from deepcritical_mcp.export.search_log import search_log_export
from deepcritical_mcp.export.study_table import (
    TABLE_FIELDS,
    people_included,
    studies_included,
    study_designs,
    study_table,
)
from deepcritical_mcp.models import Publication
from deepcritical_mcp.sources.pubmed.records import read_records
from tests.export.test_flow_numbers import search
from tests.publications import published

FOLDER = os.environ.get("DEEPCRITICAL_CITATIONS_DIR", "")
REGISTRATION = """Status: Completed.
Phase: Phase 2.
Design: Interventional; randomized; parallel; masking: double; purpose: treatment.
Enrollment: 194 (actual).
Countries: Norway (3 sites), United States (1 site).
Sponsor: Zinc Foundation (industry).
Brief summary: Zinc may help. Enrollment: 9."""
TRIAL = Publication.of(
    "registration",
    REGISTRATION,
    provider="trials",
    source="trial",
    title="Zinc for wounds",
    nct="NCT09000001",
    date="2020-04-01",
    registrations=("2015-001894-41",),
)


def record(abstract: str = "Zinc closed wounds.", title: str = "Zinc and wounds", **fields: Any) -> Publication:
    return published(abstract, source="pubmed", title=title, pmid="31000001", date="2020-03", **fields)


def row(one: Publication) -> dict[str, str]:
    (found,) = csv.DictReader(io.StringIO(study_table([one], "csv")))
    return found


def test_a_row_has_what_the_record_says() -> None:
    one = record(
        "METHODS: We randomly assigned 120 adults to zinc or placebo.\nTrial registration: NCT09000001.",
        title="Zinc ointment in Norway: a double-blind randomized trial",
        authors=("Berg, Jan", "Ruiz, Ana", "Silva, Rui"),
        publication_types=("Journal Article", "Randomized Controlled Trial"),
        mesh_terms=("Humans", "Zinc", "Adult", "Sweden"),
        grants=("R01, NIH, United States",),
        conflict_of_interest="None declared.",
        screening="excluded",
        screening_reason="No placebo",
        tags=("zinc", "rct"),
        status="retracted",
        doi="10.1000/1",
    )
    found = row(one)
    assert found == dict.fromkeys(TABLE_FIELDS, "") | {
        "id": "pubmed:31000001",
        "study": "Berg et al. 2020",
        "year": "2020",
        "title": "RETRACTED: Zinc ointment in Norway: a double-blind randomized trial",
        "doi": "10.1000/1",
        "form": "other",
        "design": "randomized controlled trial; double-blind",
        "n": "120",
        "population": "Humans; Adult",
        "country": "Norway",
        "registration": "NCT09000001",
        "funding": "R01, NIH, United States",
        "conflict_of_interest": "None declared.",
        "full_text": "no",
        "status": "retracted",
        "decision": "excluded",
        "reason": "No placebo",
        "decisions": "excluded: No placebo",
        "tags": "zinc; rct",
    }


def test_a_trial_has_the_facts_of_its_registration() -> None:
    empty = ("design", "n", "studies_included", "population", "country", "registration", "funding", "decision", "tags")
    assert [row(record())[name] for name in empty] == [""] * len(empty)
    found = row(TRIAL)
    expected = {
        "design": "Interventional; randomized; parallel",
        "n": "194 (actual)",
        "country": "Norway, United States",
        "phase": "Phase 2",
        "allocation": "randomized",
        "trial_status": "Completed",
        "registration": "NCT09000001; 2015-001894-41",
        "funding": "Zinc Foundation (industry)",
    }
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("status", "said", "n"),
    [
        ("Completed", "317 (actual)", "317 (actual)"),
        ("Recruiting", "40 (estimated)", "40 (planned)"),
        ("Not yet recruiting", "40", "40 (planned)"),
        ("Completed", "40", "40"),
    ],
)
def test_a_number_of_people_that_is_only_planned_is_marked(status: str, said: str, n: str) -> None:
    text = f"Status: {status}.\nEnrollment: {said}."
    one = Publication.of("registration", text, provider="trials", source="trial", title="Zinc", nct="NCT09000001")
    assert row(one)["n"] == n


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (";=1+1", "';'=1+1"),  # where spreadsheets divide lines at semicolons
        ("“-2+3", "'“-2+3"),
        ("Zinc; =cmd", "Zinc; '=cmd"),
        *((f"{start}cmd|' /C calc'!A0", f"'{start.strip()}cmd|' /C calc'!A0") for start in ("=", "+", "-", "@", "\t=")),
        ("(-)-Menthol", "(-)-Menthol"),
        ("17β-Estradiol: a; b", "17β-Estradiol: a; b"),
    ],
)
def test_csv_has_no_formula(text: str, written: str) -> None:
    assert study_table([record(title=text)], "csv", fields=["title"]) == f"title\r\n{written}\r\n"
    (entry,) = csv.DictReader(io.StringIO(search_log_export([search(query=text, title=text)], [], "csv")))
    assert entry["Query"] == written


def test_a_review_does_not_have_the_designs_of_the_studies_that_it_is_about() -> None:
    review = record(publication_types=("Systematic Review",), mesh_terms=("Cohort Studies",))
    assert study_designs(review) == ("systematic review",)
    assert study_designs(record(mesh_terms=("Cohort Studies",))) == ("cohort study",)


@pytest.mark.parametrize(
    ("abstract", "n"),
    [
        ("A total of 80,442 patients with first stroke were analyzed.", "80442"),
        ("We randomly assigned 822 patients who had completed treatment to aspirin or placebo.", "822"),
        ("Between 2002 and 2005, 51 patients from two hospitals were randomly assigned to a diet (n = 26).", "51"),
        ("Our study included 101 patients (50 women and 51 men).", "101"),
        ("105 adult patients from 3 centres participated in the trial.", "105"),
        ("Twenty-four women were enrolled.", "24"),
        # More than one number could be meant, or it is another number.
        ("Twenty-five patients and fifteen healthy controls were recruited.", ""),
        ("We studied 106 patients with RA and 56 healthy individuals.", ""),
        ("One hundred and forty patients were recruited.", ""),
        ("The database included 1560 cases. A total of 12 patients were identified.", ""),
        ("Twenty-eight patients took zinc. In addition, 33 patients were included for comparison.", ""),
        ("Fifteen patients had surgery. The control group included 21 patients.", ""),
        ("In 2004 patients were enrolled at our clinic.", ""),
        ("We enrolled 120 patients. Of these, 98 patients met our inclusion criteria.", ""),
    ],
)
def test_the_number_of_people_is_there_only_without_any_doubt(abstract: str, n: str) -> None:
    assert people_included(abstract, ()) == n


@pytest.mark.parametrize(
    ("abstract", "designs", "studies", "people"),
    [
        ("Twenty-five studies with 1,925,964 patients were included.", ["meta-analysis"], "25", "1925964"),
        ("Thirty-one studies met the inclusion criteria.", ["systematic review"], "31", ""),
        ("One trial included 50 women.", ["systematic review"], "", ""),
        ("12 studies were included.", ["randomized trial"], "", ""),
    ],
)
def test_a_systematic_review_has_the_number_of_its_studies(
    abstract: str, designs: list[str], studies: str, people: str
) -> None:
    assert studies_included(abstract, designs) == studies
    assert people_included(abstract, designs) == people


def test_numbers_of_sequences_are_no_registrations_and_a_trial_that_is_only_mentioned_is_not_its_own() -> None:
    one = record(
        "It differs from NCT09000009 in dose.", registrations=("GENBANK AF005358", "ClinicalTrials.gov NCT09000001")
    )
    assert row(one)["registration"] == "NCT09000001", "the number tells its registry"
    assert row(record("Registered as ISRCTN12345678 (PROSPERO CRD42022360199)."))["registration"] == (
        "ISRCTN12345678; CRD42022360199"
    )


@pytest.mark.skipif(not FOLDER, reason="DEEPCRITICAL_CITATIONS_DIR is not set")
def test_of_real_records_the_numbers_are_those_that_were_read_by_eye() -> None:
    records = read_records(Path(FOLDER, "records.xml").read_bytes()).publications
    found = {one.pmid: people_included(one.text.content, study_designs(one)) for one in records}
    assert {pmid: n for pmid, n in found.items() if n} == {
        "11442735": "105",
        "17059514": "51",
        "31383387": "88",
        "31388316": "80442",
        "31479892": "63",
        "32260179": "1925964",
    }


def test_markdown_has_a_row_a_record_and_text_from_outside_does_nothing_in_it() -> None:
    written = study_table(
        [record(title="a | b <img src=x> ![x](http://evil.example)"), TRIAL], "markdown", fields=["id", "title"]
    )
    assert written.splitlines() == [
        "| id | title |",
        "| --- | --- |",
        "| pubmed:31000001 | `a \\| b <img src=x> ![x](http://evil.example)` |",
        "| nct:NCT09000001 | Zinc for wounds |",
    ]
