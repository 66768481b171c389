"""PubMed's publication types."""

from __future__ import annotations

import pytest

from deepcritical_mcp.sources.pubmed.request import (
    near_publication_types,
)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("Randomised Controlled Trial", "Randomized Controlled Trial"),
        ("reviews", "Review"),
        ("Systemtic Review", "Systematic Review"),
        ("phase 3", "Clinical Trial, Phase III"),
        ("cohort study", "Observational Study"),
    ],
)
def test_near_misses_lead_to_the_right_name(said: str, meant: str):
    assert meant in near_publication_types(said)


def test_nothing_is_suggested_for_what_is_like_nothing():
    assert near_publication_types("xyzzy") == []
