"""Passages of cited records for the sentences that cite them, and numbers that these do not have or have elsewhere."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from deepcritical_mcp.checking.cited_texts import MAX_PASSAGE, check_claims
from deepcritical_mcp.checking.claim_numbers import numbers_elsewhere, numbers_missing
from deepcritical_mcp.checking.draft import CitingSentence
from deepcritical_mcp.errors import EmbeddingError
from deepcritical_mcp.evidence.embedding.calibration import Calibration
from deepcritical_mcp.evidence.embedding.service import EmbeddingService
from deepcritical_mcp.evidence.session_access import PassageEmbedder
from deepcritical_mcp.models import NO_ABSTRACT
from tests.checking.quoted_papers import abstract, full_text
from tests.publications import published

ZINC = abstract(
    "Zinc is a metal. It was given to 80 adults for six months in three towns of Norway by trained nurses, who visited "
    "them at home every week and asked about their health. Adults who took zinc had fewer colds (34% against 51%). "
    "Their weight did not change. The cost of the tablets was low, and nobody stopped taking them before the end of "
    "the study; the nurses were paid by the towns, which had asked for the study after a harsh winter."
)
IRON = abstract("Iron supplements cured anemia in 90 of 120 women.", pmid="104", title="Iron")


class BrokenModel:
    """A model that fails."""

    name = "broken"
    calibration: Calibration | None = None

    async def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Fails."""
        raise EmbeddingError("The model cannot be loaded.")

    query_vectors = vectors


def citing(claim: str, *references: int) -> CitingSentence:
    return CitingSentence(f"{claim} {[*references]}", claim, 0, references)


async def test_each_cited_record_shows_its_passage_nearest_to_the_sentence() -> None:
    embedder = PassageEmbedder(EmbeddingService())
    sentence = citing("Common cold was less frequent in people who were supplemented with zinc, and iron heals.", 1, 2)
    zinc, iron = await check_claims([sentence], {1: ZINC, 2: IRON}, embedder)
    assert (zinc.sentence, zinc.references, zinc.where) == (sentence.text, (1, 2), "pubmed:101")
    assert "fewer colds (34% against 51%)" in zinc.passage
    assert zinc.passage in ZINC.text.content
    assert len(zinc.passage) <= MAX_PASSAGE
    assert (iron.references, iron.passage) == ((2, 1), IRON.text.content)
    assert 0.3 < iron.relevance <= 1
    assert iron.relevance == round(iron.relevance, 3)


async def test_without_a_model_words_find_the_passage_of_a_full_text_and_never_its_list_of_references() -> None:
    paper = full_text(
        "Mice were bought from a farm. " * 20,
        "Iron made the mice gain weight quickly. " + "They were kept in cages. " * 20,
        references="1. Roe J. Iron makes mice gain weight: a trial of weight gain in mice.",
    )
    [claim] = await check_claims([citing("Iron makes mice gain weight", 3)], {3: paper}, PassageEmbedder(BrokenModel()))
    assert claim.where == "pubmed:202 s1p2"
    assert 0 < claim.relevance <= 1
    assert claim.passage.startswith("Iron made the mice gain weight quickly.")


async def test_numbers_of_any_cited_record_are_no_reproach() -> None:
    sentence = citing("Colds fell to 34%, anemia in 90 of 120 women and 77 men.", 1, 2)
    claims = await check_claims([sentence], {1: ZINC, 2: IRON}, PassageEmbedder(BrokenModel()))
    assert [one.numbers_missing for one in claims] == [("77",), ("77",)]


async def test_where_a_cited_record_cannot_be_read_no_number_is_missing() -> None:
    unread = abstract(NO_ABSTRACT, pmid="105", title="An old paper")
    embedder = PassageEmbedder(BrokenModel())
    zinc, old = await check_claims([citing("77 men had colds", 1, 2)], {1: ZINC, 2: unread}, embedder)
    [alone] = await check_claims([citing("77 men had colds", 1, 9)], {1: ZINC}, embedder)
    assert zinc.numbers_missing == old.numbers_missing == alone.numbers_missing == ()
    assert (old.where, old.passage, old.relevance) == ("pubmed:105", "", 0.0)


HEART = abstract(
    "BACKGROUND: Statins may lower mortality. We aimed to see whether simvastatin lowers mortality in older patients. "
    "METHODS: We did a randomized trial of simvastatin against placebo in 14 hospitals of Norway; they were visited "
    "at home by trained nurses, and were followed for five years. The trial was paid for by the towns, which had asked "
    "for a trial of simvastatin after a harsh winter in which many had died at home. RESULTS: Simvastatin "
    "was well tolerated by patients. Of 1617 patients, 814 were assigned to simvastatin and 803 to placebo. Death "
    "occurred in 111 patients with placebo and in 72 with simvastatin (hazard ratio 0.63, 95% CI 0.47-0.85). "
    "CONCLUSIONS: Simvastatin lowers mortality in older patients.",
    title="Simvastatin",
)


@pytest.mark.parametrize(
    ("claim", "settling", "elsewhere", "missing"),
    [
        (
            "803 patients were assigned to simvastatin and 814 to placebo.",
            "814 were assigned to simvastatin and 803 to placebo",
            (
                "803: “were assigned to simvastatin and 803 to placebo.”",
                "814: “Of 1617 patients, 814 were assigned to simvastatin”",
            ),
            (),
        ),
        ("Simvastatin lowers mortality.", "CONCLUSIONS: Simvastatin lowers mortality in older patients.", (), ()),
        (
            "Patients died less often with simvastatin (HR 0.63, 95% CI 0.57-0.85).",
            "0.63, 95% CI 0.47-0.85",
            (),
            ("0.57",),
        ),
        ("814 patients received simvastatin, 803 placebo.", "814 were assigned to simvastatin", (), ()),
    ],
)
async def test_the_passage_shown_is_the_one_that_can_settle_the_claim(
    claim: str, settling: str, elsewhere: tuple[str, ...], missing: tuple[str, ...]
) -> None:
    [found] = await check_claims([citing(claim, 1)], {1: HEART}, PassageEmbedder(EmbeddingService()))
    assert settling in found.passage
    assert (found.numbers_elsewhere, found.numbers_missing) == (elsewhere, missing)
    assert all(part in HEART.text.content for part in found.passage.split(" […] "))


async def test_results_are_shown_before_aims_also_without_labels() -> None:
    aims = abstract(
        "Whether selenium prevents falls in older adults is unknown. We asked whether selenium prevents falls in older "
        "adults who live at home in Norway, and why it might prevent them, by a trial that was long and paid for by "
        "the towns, which had asked for it. Adults were visited at home. They took a tablet of selenium or of starch "
        "every morning with their breakfast, and wrote it down in a diary that was read by the nurses every week. "
        "Falls occurred in 21% of adults with selenium and in 34% of those with starch. Selenium prevented falls.",
        title="Selenium",
    )
    [found] = await check_claims(
        [citing("Selenium prevents falls in older adults", 1)], {1: aims}, PassageEmbedder(EmbeddingService())
    )
    assert "Selenium prevented falls." in found.passage
    assert "21% of adults with selenium" in found.passage


async def test_notes_are_no_passages_and_unknown_references_are_left_out() -> None:
    note = published("Zinc cures colds.", source="user", provider="user", title="My note")
    embedder = PassageEmbedder(BrokenModel())
    [claim] = await check_claims([citing("Zinc cures colds", 1)], {1: note}, embedder)
    assert claim.passage == ""
    assert await check_claims([citing("Zinc cures colds", 9)], {1: ZINC}, embedder) == []


HEART_GROUPS = (
    "Death occurred in 111 patients of the placebo group and in 72 of the simvastatin group (hazard ratio 0.63)."
)
RELAPSE = "Relapse came later in the early arm than in the delayed arm (1,888 [540, 2,000] vs 931 [253, 3,296] days)."
DOSES = "Itching improved with apremilast 20 mg (−35.5%) and 30 mg (−43.7%) versus placebo (−6.1%; P≤0.005)."
SPLIT = "Adults were randomized to vitamin D (14,000 IU/day; n = 30) or placebo (n = 23) over 48 weeks."
WEEKS = "Cholesterol fell by 7% at week 3 and by 4% at week 4."
TURNED = "Compared with placebo, more patients on olanzapine gained weight (25.4% vs. 3.1%; p = .007)."
PNEUMONIA = "Pneumonia was reduced: placebo 16 (80%) patients versus supplement seven (33%)."
ARMS = "Response rates were 45% and 30% in the drug and placebo arms, respectively."
OUTCOMES = "Peak volume rose by 106 ml, trough volume by 97 ml."


@pytest.mark.parametrize(
    ("claim", "passage", "numbers"),
    [
        ("111 patients of the simvastatin group died, and 72 of the placebo group.", HEART_GROUPS, ["111", "72"]),
        ("Simvastatin and placebo: 111 versus 72 deaths.", HEART_GROUPS, ["111", "72"]),
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
        ("With simvastatin 72 patients died, with placebo 111 (HR 0.63).", HEART_GROUPS),
        ("Deaths: 111 versus 72 with placebo and simvastatin.", HEART_GROUPS),
        ("Early treatment: 1,888 days to relapse; delayed treatment: 931 days.", RELAPSE),
        ("Itching improved by 43.7% with apremilast and 6.1% with placebo.", DOSES),
        ("30 adults received vitamin D, 23 placebo.", SPLIT),
        ("Cholesterol fell by 4% at week 4 and by 7% at week 3.", WEEKS),
        ("3.1% gained weight with placebo and 25.4% with olanzapine.", TURNED),
        ("Peak volume rose by 106 ml and trough volume by 97 ml.", OUTCOMES),
        ("Itching fell by 35.5% with 20 mg and by 43.7% with 30 mg of apremilast.", DOSES),
        ("In the placebo group 111 patients died.", HEART_GROUPS),
        ("Pneumonia occurred in 33% with the supplement, less than with placebo.", PNEUMONIA),
        ("Of patients on placebo 30% responded.", ARMS),
        ("Peak and trough volume rose by 106 and 97 ml.", OUTCOMES),
    ],
)
def test_nothing_is_said_of_numbers_that_stand_where_the_passage_has_them(claim: str, passage: str) -> None:
    assert numbers_elsewhere(claim, passage) == ()


TEXT = """We enrolled 1,234 patients (mean age 65.3 years) in 2019. Mortality was 33.7% against 41%. The ratio was
0.78 (95% CI 0.65 to 0.93; p=0.003). The dose was 2.5 mg for twelve weeks in twenty-four centers; 1 500 000 cells.
Follow-up lasted 12 months. The proportion was 0.44, the range 12–15, a 1.2-fold increase."""


@pytest.mark.parametrize(
    "claim",
    [
        "34% died, or 34 percent",
        "mortality was 0.41",
        "44 % of them",
        "1234, 1 234 or 1,234 patients",
        "12 weeks or a 12-week course, one year, 24 centers",
        "2500 µg, 2.5mg, 0.0025 g",
        "p < 0.05, P<.01",
        "12 to 15, 12-15, 1.2 times",
        "1.5 million cells",
        "HR ·78; 95% CI, 0.65-0.93; 95% confidence",
    ],
)
def test_a_number_is_found_however_it_is_written(claim: str) -> None:
    assert numbers_missing(claim, [TEXT]) == ()


@pytest.mark.parametrize(
    "claim",
    [
        "IL-6, COVID-19, CD4+, H1N1, p53, 5-HT, T3, PM2.5, GLP-1, 17β-estradiol, SARS-CoV-2, B.1.1.7, rs12345, 2D gels",
        "type 2 diabetes, phase 3, Figure 4, Tables 2 and 7, grade 5, interleukin 6, omega-3, NCT01234567",
        "in 2021, since 1998–2003, in May 2011, by Roe 2012, Poe et al., 2013, in the 1990s",
        "in 2016 guidelines changed, in 2018 the patients did, and Healthy People 2020 goals were met",
        "the 21st century, the 5th time, half of them, one third, two groups, a 12-lead ECG, (12)",
    ],
)
def test_names_numbering_and_years_are_no_numbers(claim: str) -> None:
    assert numbers_missing(claim, [TEXT]) == ()


@pytest.mark.parametrize(
    ("claim", "missing"),
    [
        ("57 of 120 patients (47.5%) had it", ("57", "120", "47.5%")),
        ("1,235 patients were given 25 mg for a 14-day course", ("1,235", "25 mg", "14-day")),
        ("p < 0.001, p = 0.04", ("0.04",)),
        ("2000 patients in 2000", ("2000",)),
        ("of 1723 patients (1650 women), and between 1980 and 2011 men", ("1723", "1650", "1980", "2011")),
        ("1732 survivors were studied (n = 1733)", ("1732", "1733")),
        ("mortality was 33%, and again 33%", ("33%",)),
    ],
)
def test_numbers_that_are_nowhere_are_named_as_the_claim_writes_them(claim: str, missing: tuple[str, ...]) -> None:
    assert numbers_missing(claim, [TEXT]) == missing


def test_a_number_of_any_of_the_texts_counts() -> None:
    assert numbers_missing("34% and 9.5%", [TEXT, "It was 9.5%."]) == ()


REGISTRY = """Between 1998 and 2007, 80,442 patients and 4,512 controls were followed. Of 1,957,112 people, 812 died
(29.4%; range 7-29%). They took 14,000 IU a day for 12 months. The hazard ratio was 0.73, the weight
1234.5 kg, the odds ratio 1.482."""


@pytest.mark.parametrize(
    "claim",
    [
        "more than 80,000 patients, over 80 000, > 80,000, well over 80,000, at least 80,000, 80,000 people",
        "about 4,500, approximately 4500, nearly 2 million, almost 30%, less than 30%, up to 30%, ~29%, over 800",
        "mehr als 80.000 Patienten, über 80.000, rund 80.000, más de 80.000, casi 30%, plus de 80 000, presque 30 %",
    ],
)
def test_a_number_that_is_said_to_be_rounded_is_found(claim: str) -> None:
    assert numbers_missing(claim, [REGISTRY]) == ()


@pytest.mark.parametrize(
    ("claim", "missing"),
    [
        ("more than 91,000", ("91,000",)),
        ("84,000 or 79,000 patients", ("84,000", "79,000")),
        ("about 20%, nearly 35%", ("20%", "35%")),
        ("less than 700 deaths, about 900", ("700", "900")),
    ],
)
def test_a_rounded_number_is_missing_where_nothing_is_rounded_to_it(claim: str, missing: tuple[str, ...]) -> None:
    assert numbers_missing(claim, [REGISTRY]) == missing


@pytest.mark.parametrize(
    "claim", ["14.000 IE", "HR 0,73", "1.234,5 kg", "1 234,5 kg", "1,482", "80.442 Patienten", "1.957.112"]
)
def test_a_number_that_can_be_read_in_two_ways_is_found_in_either(claim: str) -> None:
    assert numbers_missing(claim, [REGISTRY]) == ()


def test_a_number_is_missing_where_none_of_its_readings_occurs() -> None:
    assert numbers_missing("15.000 IE, 0,37, 1.234,7 kg", [REGISTRY]) == ("15.000", "0,37", "1.234,7 kg")


def test_a_claim_of_thousands_of_numbers_comes_to_an_end() -> None:
    claim = " ".join(f"{one} patients," for one in range(1_000, 21_000))
    text = " ".join(f"{one * 7.3:.1f} mg" for one in range(30_000))
    assert 50 < len(numbers_missing(claim, [text])) < 200
