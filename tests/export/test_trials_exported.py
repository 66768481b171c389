"""Registrations of trials in each format: as reports with their number, as Zotero keeps those of ClinicalTrials.gov."""

from __future__ import annotations

import pytest

from deepcritical_mcp.export import ExportFormat
from deepcritical_mcp.models import AuthorName, Publication, StatusNotice
from tests.publications import export

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


@pytest.mark.parametrize("format", ["ris", "bibtex", "csl-json", "markdown"])
def test_a_date_of_the_data_that_is_unknown_is_not_made_up(format: ExportFormat) -> None:
    text = export((TRIAL.model_copy(update={"version": ""}),), format)
    assert "data of" not in text
    assert "2026" in text
