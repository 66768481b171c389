"""Numbers of a claim that its passage has with another group or outcome."""

import pytest

from deepcritical_mcp.checking.claim_numbers import numbers_elsewhere

HEART = "Death occurred in 111 patients of the placebo group and in 72 of the simvastatin group (hazard ratio 0.63)."
RELAPSE = "Relapse came later in the early arm than in the delayed arm (1,888 [540, 2,000] vs 931 [253, 3,296] days)."
DOSES = "Itching improved with apremilast 20 mg (−35.5%) and 30 mg (−43.7%) versus placebo (−6.1%; P≤0.005)."
SPLIT = "Adults were randomized to vitamin D (14,000 IU/day; n = 30) or placebo (n = 23) over 48 weeks."
WEEKS = "Cholesterol fell by 7% at week 3 and by 4% at week 4."
TURNED = "Compared with placebo, more patients on olanzapine gained weight (25.4% vs. 3.1%; p = .007)."
FALLS = "Falls occurred in 21% of adults with selenium and in 34% of those with starch."
PNEUMONIA = "Pneumonia was reduced: placebo 16 (80%) patients versus supplement seven (33%)."
ARMS = "Response rates were 45% and 30% in the drug and placebo arms, respectively."
RASH = "Rash (23% vs 2%) was more common with erlotinib than with placebo."
OUTCOMES = "Peak volume rose by 106 ml, trough volume by 97 ml."


@pytest.mark.parametrize(
    ("claim", "passage", "numbers"),
    [
        ("111 patients of the simvastatin group died, and 72 of the placebo group.", HEART, ["111", "72"]),
        ("Simvastatin and placebo: 111 versus 72 deaths.", HEART, ["111", "72"]),
        ("Relapse came after 931 days with early and 1,888 days with delayed treatment.", RELAPSE, ["931", "1,888"]),
        ("Placebo improved itching by 43.7%, apremilast by 6.1%.", DOSES, ["43.7%", "6.1%"]),
        ("Vitamin D was given to 23 adults and placebo to 30.", SPLIT, ["23", "30"]),
        ("25.4% gained weight with placebo and 3.1% with olanzapine.", TURNED, ["25.4%", "3.1%"]),
        ("Trough volume rose by 106 ml and peak volume by 97 ml.", OUTCOMES, ["106 ml", "97 ml"]),
    ],
)
def test_numbers_that_stand_with_another_group_or_outcome_are_told(
    claim: str, passage: str, numbers: list[str]
) -> None:
    told = numbers_elsewhere(claim, passage)
    assert [one.partition(":")[0].split()[0] for one in told] == [one.split()[0] for one in numbers]
    assert all(one.partition("“")[2].removesuffix("”") in passage for one in told)


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("With simvastatin 72 patients died, with placebo 111 (HR 0.63).", HEART),
        ("Deaths: 111 versus 72 with placebo and simvastatin.", HEART),
        ("Early treatment: 1,888 days to relapse; delayed treatment: 931 days.", RELAPSE),
        ("Itching improved by 43.7% with apremilast and 6.1% with placebo.", DOSES),
        ("30 adults received vitamin D, 23 placebo.", SPLIT),
        ("Cholesterol fell by 4% at week 4 and by 7% at week 3.", WEEKS),
        ("3.1% gained weight with placebo and 25.4% with olanzapine.", TURNED),
        ("Peak volume rose by 106 ml and trough volume by 97 ml.", OUTCOMES),
        ("Itching fell by 35.5% with 20 mg and by 43.7% with 30 mg of apremilast.", DOSES),
        ("21% of adults with selenium fell.", FALLS),
        ("In the placebo group 111 patients died.", HEART),
        ("Pneumonia occurred in 33% with the supplement, less than with placebo.", PNEUMONIA),
        ("The supplement lowered pneumonia from 80% to 33%.", PNEUMONIA),
        ("Of patients on placebo 30% responded.", ARMS),
        ("Rash occurred in 23% with erlotinib.", RASH),
        ("Peak and trough volume rose by 106 and 97 ml.", OUTCOMES),
    ],
)
def test_nothing_is_said_of_numbers_that_stand_where_the_passage_has_them(claim: str, passage: str) -> None:
    assert numbers_elsewhere(claim, passage) == ()
