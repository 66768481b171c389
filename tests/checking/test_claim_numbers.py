"""Numbers of claims that the cited texts do not have."""

import pytest

from deepcritical_mcp.checking.claim_numbers import numbers_missing

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
