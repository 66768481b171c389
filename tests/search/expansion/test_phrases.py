from __future__ import annotations

import pytest

from deepcritical_mcp.search.expansion.phrases import natural_order, phrases, stems


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("What does the WHO say about AIDS?", [("WHO", "say"), ("AIDS",)]),
        ("1,25-dihydroxyvitamin D3, Ca2+ and CD4+", [("1,25-dihydroxyvitamin", "D3"), ("Ca2+",), ("CD4+",)]),
        ("programmed cell death (apoptosis)", [("programmed", "cell", "death"), ("apoptosis",)]),
        ("lead impact near side", [("lead", "impact", "near", "side")]),
        ("what is the", []),
    ],
)  # fmt: skip
def test_phrases_lie_between_function_words_and_punctuation(text: str, found: list[tuple[str, ...]]):
    assert list(phrases(text)) == found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("neuroprotective", "neuroprotection"),
        ("haemorrhage and oedema", "hemorrhage edema"),
        ("tumours", "tumor"),
        ("randomised", "randomized"),
        ("TNF-α", "TNF-alpha"),
        ("Alzheimer's disease", "Alzheimers diseases"),
    ],
)
def test_forms_of_a_word_have_one_stem(one: str, other: str):
    assert stems(one) == stems(other)


def test_negations_and_ambiguous_words_count():
    assert stems("without diabetes") != stems("diabetes")
    assert stems("lead poisoning") != stems("poisoning")


def test_an_inverted_heading_is_read_in_natural_order():
    assert natural_order("Diabetes Mellitus, Type 2") == "Type 2 Diabetes Mellitus"
    assert natural_order("Leukemia, Lymphocytic, Chronic, B-Cell") == "Leukemia, Lymphocytic, Chronic, B-Cell"
