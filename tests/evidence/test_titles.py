"""Titles and texts compared: what may differ between two copies of one document, and what may not."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.evidence.identity_values import copies
from deepcritical_mcp.evidence.titles import bare_title, is_translation, likeness, replaced, tokens

TEXT = (
    "Outpatients with gout were assigned to 8 weeks of cherry extract or to usual care. Flares fell from 3 to 2 a "
    "month in the extract group, and serum urate was below 360 micromoles at the last visit."
)


@pytest.mark.parametrize(
    ("title", "host", "bare"),
    [
        ("[PDF] Cherry extract in recurrent gout flares", "", "Cherry extract in recurrent gout flares"),
        ("Full article: Cherry extract in recurrent gout", "", "Cherry extract in recurrent gout"),
        ("Gout &amp; cherry extract in older men", "", "Gout & cherry extract in older men"),
        ("Cherry extract for recurrent gout flares | Rheum Weekly", "rheumweekly.example", None),
        (
            "Cherry extract for recurrent gout flares | Weekly",
            "weekly.example",
            "Cherry extract for recurrent gout flares",
        ),
        ("Cherry extract for recurrent gout flares - PubMed", "", "Cherry extract for recurrent gout flares"),
        ("Cherry extract for recurrent gout flares | Side effects", "", None),
        ("Cherry extract for recurrent gout flares - Abstract", "", "Cherry extract for recurrent gout flares"),
        ("Cherry extract in gout. [Article in Polish]", "", "Cherry extract in gout."),
    ],
)
def test_only_what_a_site_adds_is_taken_off_a_title(title: str, host: str, bare: str | None) -> None:
    assert bare_title(title, host) == (bare or title)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Ageing of grey matter in mould workers", "Aging of gray matter in mold workers", "same"),
        ("A manoeuvre against vertigo at home", "A maneuver against vertigo at home", "same"),
        ("Cherry extract in gout", "Cherry extract in gout: a randomised controlled trial", "near"),
        ("Cherry extract in rheumatology clinics", "Cherry extract in rheumatolgy clinics", "near"),
        ("Cherry extract in gout", "Cherry extract in gout: economic evaluation", "other"),
        ("Cherry extract in gout", "Cherry extract in gout: nested biomarker study", "other"),
        ("Microvascular disease in gout", "Macrovascular disease in gout", "other"),
        ("Arousal in symptomatic carriers", "Arousal in asymptomatic carriers", "other"),
        ("Paternal diet and gout", "Maternal diet and gout", "other"),
        ("Ureteral injury after surgery", "Urethral injury after surgery", "other"),
        ("Urate < 360 and flares", "Urate > 360 and flares", "other"),
        ("Cherry extract and diet in gout", "Cherry extract or diet in gout", "other"),
    ],
)
def test_titles_are_alike_but_for_spelling_misprints_and_design(one: str, other: str, expected: str) -> None:
    assert likeness(tokens(one), tokens(other)) == likeness(tokens(other), tokens(one)) == expected


@pytest.mark.parametrize(
    ("change", "by", "expected"),
    [
        ("Outpatients", "Background: Outpatients", "same"),
        ("assigned", "asigned", "same"),
        ("micromoles at the last visit.", "micro…", "same"),
        ("8 weeks", "9 weeks", "contradicted"),
        ("was below", "was not below", "contradicted"),
        ("gout", "lupus", "other words"),
        ("cherry extract", "allopurinol", "other words"),
        ("below", "above", "other words"),
        ("Outpatients", "Inpatients", "other words"),
    ],
)
def test_a_copy_has_the_same_words_and_numbers(change: str, by: str, expected: str) -> None:
    changed = TEXT.replace(change, by)
    assert changed != TEXT
    assert copies(TEXT, changed) == copies(changed, TEXT) == expected


def test_a_passage_is_a_copy_of_the_text_that_holds_it() -> None:
    assert copies("… Flares fell from 3 to 2 a month in the extract group, and serum …", TEXT) == "same"
    assert copies("Tomatoes are watered at dawn, before the sun is up over the hills.", TEXT) == "different"


def test_a_word_in_the_place_of_another_is_seen_among_revised_titles() -> None:
    assert replaced(tokens("Gout in nurses of Lyon"), tokens("Gout in nurses of Turin"))
    assert not replaced(tokens("Cherry extract in ambulatory gout"), tokens("Cherry extract in gout outpatients (v2)"))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Traitement de la goutte chez le patient âgé", "Treatment of gout in the elderly", True),
        ("[痛风的治疗]", "[Treatment of gout]", True),
        ("Treatment of gout in the elderly", "Gout of the elderly in hospital", False),
        ("Gout", "Gicht", False),
    ],
)
def test_a_translation_is_recognised_by_script_or_function_words(one: str, other: str, expected: bool) -> None:
    assert is_translation(one, other) is is_translation(other, one) is expected


@given(st.text(), st.text())
def test_any_two_texts_can_be_compared_in_either_order(one: str, other: str) -> None:
    assert likeness(tokens(one), tokens(other)) == likeness(tokens(other), tokens(one))
    copies(one, other)
    bare_title(one, other)


def test_what_was_compared_is_soon_forgotten() -> None:
    """20,000 texts were remembered in tokens: 10 MB more every minute under ordinary use, and cleared texts too."""
    before = sys.getallocatedblocks()
    for number in range(3_000):
        tokens(" ".join(f"word{number}x{place}" for place in range(40)))
    assert sys.getallocatedblocks() - before < 200_000
