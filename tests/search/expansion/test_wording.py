from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.search.expansion.wording import (
    american_spelling,
    british_spelling,
    full_eponyms,
    greek_as_letters,
    greek_as_words,
    natural_order,
    other_drug_names,
    other_hyphens,
    other_number,
    rewordings,
    without_possessives,
)

SPELLINGS = [
    ("haemorrhage", "hemorrhage"),
    ("oedema", "edema"),
    ("leukaemia", "leukemia"),
    ("anaemic", "anemic"),
    ("paediatric", "pediatric"),
    ("gastro-oesophageal", "gastro-esophageal"),
    ("diarrhoea", "diarrhea"),
    ("tumours", "tumors"),
    ("foetal", "fetal"),
    ("randomised", "randomized"),
    ("hospitalisation", "hospitalization"),
    ("oestrogen", "estrogen"),
    ("anaesthesia", "anesthesia"),
    ("coeliac", "celiac"),
    ("signalling", "signaling"),
    ("ageing", "aging"),
    ("aetiology", "etiology"),
]


@pytest.mark.parametrize(("british", "american"), SPELLINGS)
def test_spelling_goes_both_ways(british: str, american: str):
    assert american_spelling(british) == american
    assert british_spelling(american) == british
    assert american_spelling(american) == american
    assert british_spelling(british) == british


LOOK_ALIKES = "chemical academia epidemic tumorigenesis hemisphere raised metformin esterase systemic polemic"


@pytest.mark.parametrize("word", LOOK_ALIKES.split())
def test_words_that_only_look_like_it_are_left_alone(word: str):
    assert american_spelling(british_spelling(word)) == word
    assert british_spelling(word) == word


def test_capitals_are_kept():
    assert american_spelling("Haemophilia in UK patients") == "Hemophilia in UK patients"


def test_the_other_forms_of_a_word():
    assert other_drug_names("Acetaminophen toxicity") == "paracetamol toxicity"
    assert other_drug_names("adrenaline in sepsis") == "epinephrine in sepsis"
    assert full_eponyms("metformin alzheimer") == "metformin Alzheimer's disease"
    assert full_eponyms("parkinson disease tremor") == "parkinson disease tremor"
    assert greek_as_words("TNF-α and β-amyloid") == "TNF-alpha and beta-amyloid"
    assert greek_as_letters("TNF-alpha and alphabet") == "TNF-α and alphabet"
    assert other_hyphens("IL-6 BRCA1 anti-inflammatory") == "IL6 BRCA-1 anti inflammatory"
    assert other_hyphens("COVID-19") == "COVID19"
    assert without_possessives("Crohn's disease and Graves' disease") == "Crohn disease and Graves disease"
    assert other_number("heart diseases") == "heart disease"
    assert other_number("brain injury") == "brain injuries"
    assert other_number("differential diagnosis") == "differential diagnoses"
    assert other_number("dose of metformin") == "dose of metformin"
    assert natural_order("Diabetes Mellitus, Type 2") == "Type 2 Diabetes Mellitus"
    assert natural_order("Leukemia, Lymphocytic, Chronic, B-Cell") == "Leukemia, Lymphocytic, Chronic, B-Cell"


@given(st.text(max_size=100))
def test_a_rewording_is_never_the_text_itself(text: str):
    assert all(rewording.text.casefold() != text.casefold() for rewording in rewordings(text))
