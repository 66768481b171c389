"""Works in notes behind the words that lead to them."""

from __future__ import annotations

import pytest

from tests.checking.reference_cases import checked_draft

TITLE = "Zinc supplementation and wound healing in older adults: a randomized controlled trial"
STYLES = [
    f"Jan K. Müller et al., “{TITLE},” Journal of Nutrition and Wound Care 45, no. 3 (2019): 327–57.",
    f"Müller, Jan K. / van der Berg, Anna: {TITLE}. In: Journal of Nutrition and Wound Care 45 (2019), S. 327–357.",
    f"Müller JK, van der Berg A, O'Connor SP, et al. {TITLE}. J Nutr Wound Care. 2019;45(3):327-57.",
]
SIGNALS = [
    "See, e.g., ",
    "See also, e.g., ",
    "See, for example, ",
    "Cf., e.g., ",
    "For a review, see ",
    "For the history of this debate, see ",
    "On this point see also ",
    "Notably, ",
    "Most recently, ",
    "The classic study is ",
    "Accord ",
    "See ",
    "Cf. ",
    "Vgl. z. B. ",
    "Zur Geschichte der Wundheilung siehe ",
    "Voir, par exemple, ",
    "Sur ce point, voir ",
    "Véase, por ejemplo, ",
    "Si veda, per esempio, ",
    "Ver, por exemplo, ",
    "См. ",
]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("signal", SIGNALS)
async def test_a_work_behind_a_signal_is_that_work(signal: str, style: str) -> None:
    outcomes = await checked_draft(f"Wounds heal faster with zinc.[^1]\n\n[^1]: {signal}{style}\n")
    assert [one.verdict for one in outcomes] == ["verified"]


async def test_a_work_behind_a_repeated_one_is_a_work_of_its_own() -> None:
    title = "Vitamin K antagonists and bone density in postmenopausal women"
    other = f"Maria Rossi et al., “{title},” N Engl J Med 375 (2016): 541."
    notes = f"[^1]: {STYLES[0]}\n[^2]: Ibíd., p. 330; véase también {other}\n"
    outcomes = await checked_draft(f"Zinc helps.[^1] Vitamin K does, too.[^2]\n\n{notes}")
    assert [one.verdict for one in outcomes] == ["verified", "verified"]


@pytest.mark.parametrize("name", ["See K", "See Toh W", "Ver Hoeve J", "Nach L"])
async def test_a_name_that_is_also_a_signal_stays_a_name(name: str) -> None:
    written = f"{name}, Müller JK. {TITLE}. J Nutr Wound Care. 2019;45(3):327-57."
    (outcome,) = await checked_draft(f"Zinc helps.[^1]\n\n[^1]: {written}\n")
    assert (outcome.verdict, outcome.reference.text) == ("differs", written)
