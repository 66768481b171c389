"""PubMed's publication types."""

from __future__ import annotations

import pytest

from deepcritical_mcp.sources.pubmed.request import (
    PUBLICATION_TYPES,
    near_publication_types,
    publication_type,
)


def test_names_are_found_whatever_their_case_and_punctuation():
    assert publication_type("randomized controlled TRIAL") == "Randomized Controlled Trial"
    assert publication_type(" Meta Analysis ") == "Meta-Analysis"
    assert publication_type("Clinical Trial Phase III") == "Clinical Trial, Phase III"
    assert all(publication_type(name) == name for name in PUBLICATION_TYPES)


def test_other_names_are_none():
    assert publication_type("Randomised Controlled Trial") == ""
    assert publication_type("") == ""


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("Randomised Controlled Trial", "Randomized Controlled Trial"),
        ("RCT", "Randomized Controlled Trial"),
        ("reviews", "Review"),
        ("Metaanalysis", "Meta-Analysis"),
        ("Systemtic Review", "Systematic Review"),
        ("phase 3", "Clinical Trial, Phase III"),
        ("cohort study", "Observational Study"),
        ("erratum", "Published Erratum"),
        ("guidelines", "Guideline"),
    ],
)
def test_near_misses_lead_to_the_right_name(said: str, meant: str):
    assert meant in near_publication_types(said)


def test_nothing_is_suggested_for_what_is_like_nothing():
    assert near_publication_types("xyzzy") == []
