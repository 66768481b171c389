"""Hybrid ranking."""

from __future__ import annotations

from math import log1p

import pytest

from deepcritical_mcp.evidence.chunking import passages
from deepcritical_mcp.evidence.lexical import K1, B, LexicalIndex, hybrid_score, words_of
from deepcritical_mcp.evidence.paper_passages import priority
from deepcritical_mcp.reading import Section
from tests.evidence.stand_ins import paper

MANY = 1_000_000


def test_one_stray_word_of_two_does_not_outrank_a_close_meaning() -> None:
    close, stray = hybrid_score(0.5, 0.0, 0.0, 2, 0.65), hybrid_score(0.2, 0.5, 0.5, 2, 0.65)

    assert close > stray


def test_without_words_the_cosine_counts_alone() -> None:
    assert hybrid_score(0.4, 0.9, 1.0, 0, 0.65) == 0.4


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


def test_no_section_of_a_review_comes_before_another_for_its_title() -> None:
    names = ("Introduction", "Acute effects on balance", "Recommended training")
    sections = [Section(f"s{n}", ["Adults train."], path=(name,)) for n, name in enumerate(names, 1)]
    ours = [one for one in passages(paper(sections, "A position statement")) if one.part]
    assert len({priority(one, "how often should adults train") for one in ours}) == 1
