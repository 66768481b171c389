"""Hybrid ranking."""

from __future__ import annotations

import pytest

from deepcritical_mcp.evidence.embedding.calibration import EVEN_WORDS_WEIGHT, MINILM
from deepcritical_mcp.evidence.lexical import hybrid_score

MANY = 1_000_000


@pytest.mark.parametrize("weight", [EVEN_WORDS_WEIGHT, MINILM.words_weight])
def test_in_a_query_of_many_words_they_weigh_what_the_model_s_calibration_says(weight: float) -> None:
    assert hybrid_score(1.0, 0.0, 0.0, MANY, weight) == pytest.approx(1 - weight, abs=1e-5)
    assert hybrid_score(0.0, 1.0, 1.0, MANY, weight) == pytest.approx(weight, abs=1e-5)


def test_one_stray_word_of_two_does_not_outrank_a_close_meaning() -> None:
    close, stray = hybrid_score(0.5, 0.0, 0.0, 2, 0.65), hybrid_score(0.2, 0.5, 0.5, 2, 0.65)

    assert close > stray


def test_without_words_the_cosine_counts_alone() -> None:
    assert hybrid_score(0.4, 0.9, 1.0, 0, 0.65) == 0.4
