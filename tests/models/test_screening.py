"""Decisions and tags: what selects them, how they read, and what becomes of them when descriptions are merged."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from deepcritical_mcp.models import (
    Publication,
    ScreeningMark,
    decision_line,
    decision_replaced,
    decision_sentence,
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


def test_what_nobody_decided_about_is_undecided() -> None:
    assert matches_mark(paper(tags=("rct",)), "undecided")
    assert not matches_mark(paper(), "decided")


def test_a_decision_reads_as_one_line() -> None:
    assert decision_line(EXCLUDED) == "excluded: no control group; tags: RCT, adults"
    assert decision_sentence(decision_line(EXCLUDED)) == "Decision: excluded: no control group; tags: RCT, adults"
    assert decision_sentence(decision_line(paper(tags=("RCT",)))) == "Tags: RCT"
    assert decision_sentence(decision_line(paper())) == ""


def test_a_reason_belongs_to_its_decision() -> None:
    again = ScreeningMark("x", "excluded").changes(EXCLUDED)
    other = ScreeningMark("x", "included").changes(EXCLUDED)
    assert again == {}, "the same decision without a reason keeps the reason"
    assert other["screening_reason"] == ""
    assert ScreeningMark("x", reason="other outcome").changes(EXCLUDED)["screening_reason"] == "other outcome"
    assert ScreeningMark("x", "undecided").changes(EXCLUDED)["screening"] == ""
    assert ScreeningMark("x", tags=()).changes(EXCLUDED)["tags"] == ()


def test_a_decision_outlasts_every_other_description() -> None:
    others = [paper(journal="Wounds"), published("A page on zinc.", source="web", title="Zinc", url="https://a.org")]
    for other in others:
        for first, second in ((EXCLUDED, other), (other, EXCLUDED)):
            both = merged(first, second)
            assert decision_line(both) == decision_line(EXCLUDED)


def test_the_later_of_two_decisions_holds_and_says_that_there_was_another() -> None:
    early = paper(screening="included", screening_reason="large", screened="2026-01-01T00:00:00Z", tags=("a",))
    late = paper(screening="excluded", screening_reason="no outcome", screened="2026-01-02T00:00:00Z", tags=("b",))
    back = paper(screened="2026-01-03T00:00:00Z")
    for first, second in permutations((early, late)):
        both = merged(first, second)
        assert both.screening == "excluded"
        assert both.screening_reason == "no outcome; merged with a description that was included"
        assert {*both.tags} == {"a", "b"}
        assert merged(both, back).screening == "", "a decision that was taken back later stays taken back"


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


def test_what_stays_was_not_replaced() -> None:
    assert decision_replaced(paper(), EXCLUDED) == ""
    assert decision_replaced(EXCLUDED, EXCLUDED) == ""
    fewer = EXCLUDED.model_copy(update={"tags": ("adults", "zinc"), "screened": "2026-01-02T00:00:00Z"})
    assert decision_replaced(EXCLUDED, fewer) == "tags: RCT"
