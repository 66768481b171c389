"""Decisions and tags: what selects them, how they read, and what becomes of them when descriptions are merged."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from deepcritical_mcp.models import (
    Publication,
    ScreeningMark,
    decision_replaced,
    matches_mark,
    merged,
)
from tests.publications import published


def paper(**fields: Any) -> Publication:
    return published("Zinc closed wounds.", **{"source": "pubmed", "title": "Zinc", "pmid": "7", **fields})


EXCLUDED = paper(screening="excluded", screening_reason="no control group", tags=("RCT", "adults"))


@pytest.mark.parametrize("marked", ["", "excluded", "EXCLUDED", " decided ", "rct", "Adults"])
def test_a_mark_selects_what_has_it(marked: str) -> None:
    assert matches_mark(EXCLUDED, marked)


@pytest.mark.parametrize("marked", ["included", "cited", "undecided", "children", "no control group"])
def test_a_mark_leaves_out_what_does_not_have_it(marked: str) -> None:
    assert not matches_mark(EXCLUDED, marked)


def test_a_reason_belongs_to_its_decision() -> None:
    again = ScreeningMark("x", "excluded").changes(EXCLUDED)
    other = ScreeningMark("x", "included").changes(EXCLUDED)
    assert again == {}, "the same decision without a reason keeps the reason"
    assert other["screening_reason"] == ""
    assert ScreeningMark("x", reason="other outcome").changes(EXCLUDED)["screening_reason"] == "other outcome"
    assert ScreeningMark("x", "undecided").changes(EXCLUDED)["screening"] == ""
    assert ScreeningMark("x", tags=()).changes(EXCLUDED)["tags"] == ()


def test_every_decision_stays_in_the_history_whatever_is_merged() -> None:
    old = paper(screening="included", screening_reason="large", screened="2026-01-01T00:00:00Z")  # as of version 0.2
    assert old.history == ("2026-01-01T00:00:00Z: included: large",)
    mark = ScreeningMark("x", "excluded", "no controls", by="alice")
    changed = old.model_copy(update=mark.changes(old))
    assert changed.history == (*old.history, f"{changed.screened}, alice: excluded: no controls")
    assert decision_replaced(old, changed) == "included: large (2026-01-01T00:00:00Z)"
    for first, second in permutations((changed, paper(journal="Wounds"), old), 2):
        assert {*first.history, *second.history} == {*merged(first, second).history}
    back = changed.model_copy(update=ScreeningMark("x", "undecided").changes(changed))
    assert back.history == (*changed.history, f"{back.screened}: undecided")
    assert ScreeningMark("x", tags=("rct",)).changes(changed).keys() == {"screened", "tags"}
