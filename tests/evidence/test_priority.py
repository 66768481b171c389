"""Which passages come first besides by words and meaning."""

from __future__ import annotations

from deepcritical_mcp.evidence.chunking import passages
from deepcritical_mcp.evidence.priority import priority
from deepcritical_mcp.reading import Section
from tests.evidence.stand_ins import paper

SAID = "Patients got simvastatin or placebo for 5 years."
FOUND = [
    one
    for one in passages(
        paper(
            [
                Section("s1", [SAID], path=("Methods", "Outcomes")),
                Section("s2", [SAID], path=("2. Results", "Patients")),
                Section("s3", ["Cancer arose in 814 v 803 patients (rate ratio 1.00)."], path=("RESULTS",)),
                Section("s4", ["Folate was 20 µg."], path=("Discussion",)),
            ],
            "A trial",
        )
    )
    if one.part
]


def test_what_reports_comes_before_what_prepares_and_figures_before_none() -> None:
    prepares, reports, figures, _ = (priority(one, "cancer incidence simvastatin versus placebo") for one in FOUND)
    assert prepares < reports <= figures


def test_another_quantity_counts_against_a_passage() -> None:
    assert priority(FOUND[3], "folate of 10 µg") < priority(FOUND[3], "folate of 20 µg")
    assert priority(FOUND[3], "folate for 12 weeks") == priority(FOUND[3], "folate of 20 µg")
