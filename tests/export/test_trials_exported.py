"""Registrations of trials in each format: as reports with their number, as Zotero keeps those of ClinicalTrials.gov."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from deepcritical_mcp.export import ExportFormat
from deepcritical_mcp.models import AuthorName, Publication, StatusNotice
from tests.publications import export

pybtex: Any = import_module("pybtex.database")
rispy: Any = import_module("rispy")
TRIAL = Publication.of(
    "registration",
    "Status: Completed.\nBrief summary: Zinc may help.",
    provider="trials",
    source="trial",
    title="Zinc for wounds",
    nct="NCT09000001",
    url="https://clinicaltrials.gov/study/NCT09000001",
    date="2020-04-01",
    authors=(AuthorName("Zinc Foundation, Oslo"),),
    publisher="ClinicalTrials.gov",
    registrations=("NCT00000009",),
    revised_date="2022-03-04",
    version="2026-10-09",
    status_checked="2026-11-22",
    status_notices=(StatusNotice(kind="result", pmid="31000001", reference="Ruiz A. Zinc closes wounds."),),
)
NOTES = [
    "Paper named by the sponsor: Ruiz A. Zinc closes wounds, PMID 31000001.",
    "Registrations: NCT00000009.",
    "Updated 2022-03-04.",
    "Source: ClinicalTrials.gov, data of 2026-10-09.",
]


def test_markdown_has_the_vancouver_reference() -> None:
    text = export((TRIAL,), "markdown")
    assert "2020 Apr 1 \\[updated 2022 Mar 4; cited 2026 Nov 22\\]" in text
    assert "data of 2026-10-09" in text.replace("\\", "")
    assert "NCT09000001" in text


@pytest.mark.parametrize("format", ["ris", "bibtex", "csl-json", "markdown"])
def test_a_date_of_the_data_that_is_unknown_is_not_made_up(format: ExportFormat) -> None:
    text = export((TRIAL.model_copy(update={"version": ""}),), format)
    assert "data of" not in text
    assert "2026" in text
