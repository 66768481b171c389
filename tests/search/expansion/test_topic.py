from __future__ import annotations

import pytest

from deepcritical_mcp.search.expansion.topic import (
    concept_terms,
    core,
    fit_web,
    key_phrases,
    language_of,
    read_topic,
    weight,
)


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        (
            "Do mitochondria play a role in remodelling lace plant leaves during programmed cell death?",
            ("mitochondria", "remodelling lace plant leaves", "programmed cell death"),
        ),
        ("Please find me recent papers about the gut microbiome in autism", ("gut microbiome", "autism")),
        ("What does the WHO say about AIDS?", ("WHO", "AIDS")),
        ("vitamin a and vitamin D deficiency", ("vitamin a", "vitamin D deficiency")),
        ("type I interferon", ("type I interferon",)),
        ("Is substance use disorder hereditary?", ("substance use disorder hereditary",)),
        ('Is "use of force" traumatic?', ("use of force", "traumatic")),
        ("1,25-dihydroxyvitamin D3, Ca2+ and CD4+ cells", ("1,25-dihydroxyvitamin D3", "Ca2+", "CD4+ cells")),
        ("metformin metformin METFORMIN", ("metformin",)),
        ("EFFECT OF METFORMIN ON DEMENTIA", ("METFORMIN", "DEMENTIA")),
    ],
)
def test_question_words_and_filler_are_off_and_phrases_kept(text: str, phrases: tuple[str, ...]):
    assert key_phrases(text) == phrases


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("metformin alzheimer", ""),
        ("the role of de novo mutations in autism", ""),
        ("efectos de la metformina en los ancianos con demencia", "Spanish"),
        ("effets de la metformine sur les patients et leur famille", "French"),
        ("Wirkung von Metformin auf die Demenz bei älteren Menschen", "German"),
        ("二甲双胍", "another script"),
        ("метформин", "another script"),
        ("TNF-α β-catenin", ""),
    ],
)
def test_the_language_is_noticed(text: str, language: str):
    assert language_of(text) == language


def test_drugs_diseases_and_symbols_weigh_most():
    assert weight("metformin") == weight("Alzheimer's") == weight("hepatitis") == weight("AMPK") == weight("p53") == 3
    assert weight("patients") == weight("outcome") == weight("2020") == 0
    assert core(["randomized treatment of older patients with pembrolizumab", "melanoma outcome"], most_words=2) == (
        "pembrolizumab melanoma"
    )


def test_words_of_a_name_are_kept_together():
    assert core(["SGLT2 inhibitors heart failure", "older patients"], most_words=3) == "SGLT2 heart failure"
    assert core(["intermittent fasting", "outcome", "type 2 diabetes"], most_words=3) == "type 2 diabetes"


def test_drugs_stand_for_themselves_among_the_concepts():
    assert concept_terms(read_topic("metformin alzheimer")) == ("metformin", "alzheimer")
    assert concept_terms(read_topic("type 2 diabetes treated by semaglutide")) == (
        "type 2 diabetes treated",
        "semaglutide",
    )


def test_a_web_query_is_cut_to_what_the_narrowest_provider_takes():
    assert len(fit_web("word " * 100).split()) == 50
    assert len(fit_web("w" * 1_000)) == 400
    assert fit_web("w" * 1_000, beside="systematic review").endswith("w systematic review")
    assert len(fit_web("w" * 1_000, beside="systematic review")) == 400
