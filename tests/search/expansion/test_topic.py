from __future__ import annotations

import pytest

from deepcritical_mcp.search.expansion.topic import language_of, read_topic


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
