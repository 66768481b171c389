"""Titles and texts compared: what may differ between two copies of one document, and what may not."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.evidence.identity_values import copies
from deepcritical_mcp.evidence.titles import bare_title, likeness, tokens


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Ageing of grey matter in mould workers", "Aging of gray matter in mold workers", "same"),
        ("Cherry extract in gout", "Cherry extract in gout: a randomised controlled trial", "near"),
        ("Cherry extract in rheumatology clinics", "Cherry extract in rheumatolgy clinics", "near"),
        ("Cherry extract in gout", "Cherry extract in gout: economic evaluation", "other"),
        ("Microvascular disease in gout", "Macrovascular disease in gout", "other"),
        ("Urate < 360 and flares", "Urate > 360 and flares", "other"),
    ],
)
def test_titles_are_alike_but_for_spelling_misprints_and_design(one: str, other: str, expected: str) -> None:
    assert likeness(tokens(one), tokens(other)) == likeness(tokens(other), tokens(one)) == expected


@given(st.text(), st.text())
def test_any_two_texts_can_be_compared_in_either_order(one: str, other: str) -> None:
    assert likeness(tokens(one), tokens(other)) == likeness(tokens(other), tokens(one))
    copies(one, other)
    bare_title(one, other)


def test_what_was_compared_is_soon_forgotten() -> None:
    """20,000 texts were remembered in tokens: 10 MB more every minute under ordinary use, and cleared texts too."""
    before = sys.getallocatedblocks()
    for number in range(3_000):
        tokens(" ".join(f"word{number}x{place}" for place in range(40)))
    assert sys.getallocatedblocks() - before < 200_000
