from __future__ import annotations

import pytest

from deepcritical_mcp.search.expansion.topic import fit_web, is_drug, is_symbol, language_of, read_topic


@pytest.mark.parametrize(
    ("topic", "subject"),
    [
        ("Please find me recent papers about the gut microbiome in autism", "the gut microbiome in autism"),
        ("I am a nurse and would like to find evidence on whether training helps asthma", "training helps asthma"),
        ("Could you please find studies on yoga for asthma", "yoga for asthma"),
        ("Can I give ceftriaxone in pregnancy?", "give ceftriaxone in pregnancy?"),
        ("asthma and yoga. Thank you", "asthma and yoga"),
        ("research on prisoners", "research on prisoners"),
        ("find of the century", "find of the century"),
        ("Outcome: death", "Outcome: death"),
    ],
)  # fmt: skip
def test_a_request_is_no_part_of_the_subject(topic: str, subject: str):
    assert read_topic(topic).subject == subject


def test_the_subject_of_pubmed_syntax_leaves_out_what_is_excluded():
    assert read_topic("gout[mh] AND allopurinol[tiab] NOT mice[mh] AND 2010:2020[dp]").subject == "gout, allopurinol"


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


def test_drugs_and_symbols_are_told_from_other_words():
    assert is_drug("metformin")
    assert is_drug("pembrolizumab")
    assert not is_drug("outcome")
    assert is_symbol("AMPK")
    assert is_symbol("p53")
    assert not is_symbol("Crohn")


def test_a_web_query_is_cut_to_what_the_narrowest_provider_takes():
    assert len(fit_web("word " * 100).split()) == 50
    assert len(fit_web("w" * 1_000)) == 400
