"""Hybrid ranking."""

from __future__ import annotations

from math import log1p

import pytest

from deepcritical_mcp.evidence.lexical import K1, B, LexicalIndex, hybrid_score, words_of


def test_one_stray_word_of_two_does_not_outrank_a_close_meaning() -> None:
    close, stray = hybrid_score(0.5, 0.0, 0.0, 2, 0.65), hybrid_score(0.2, 0.5, 0.5, 2, 0.65)

    assert close > stray


def test_scores_are_bm25_divided_by_the_highest_possible_score() -> None:
    index = LexicalIndex()
    for name, text in (("one", "statins statins muscle"), ("two", "muscle pain fatigue sleep"), ("three", "sleep")):
        index.add(name, words_of(text))

    scores = index.score("statins and muscle")

    rare, common = (log1p((3 - found + 0.5) / (found + 0.5)) for found in (1, 2))
    length = K1 * (1 - B + B * 3 / (8 / 3))
    expected = (rare * 2 / (2 + length) + common * 1 / (1 + length)) / (rare + common)
    assert scores.at("one") == pytest.approx((expected, 1.0))
    assert scores.at("three") == (0.0, 0.0)
    assert list(scores.top(3)) == ["one", "two"]
