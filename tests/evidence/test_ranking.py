"""Hybrid ranking."""

from __future__ import annotations

from deepcritical_mcp.evidence.lexical import hybrid_score

MANY = 1_000_000


def test_one_stray_word_of_two_does_not_outrank_a_close_meaning() -> None:
    close, stray = hybrid_score(0.5, 0.0, 0.0, 2, 0.65), hybrid_score(0.2, 0.5, 0.5, 2, 0.65)

    assert close > stray


def test_without_words_the_cosine_counts_alone() -> None:
    assert hybrid_score(0.4, 0.9, 1.0, 0, 0.65) == 0.4
