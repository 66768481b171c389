"""Countries as people write them."""

from __future__ import annotations

import pytest

from deepcritical_mcp.sources.trials.request import country_names


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("Norway", ("Norway",)),
        ("norway", ("Norway",)),
        ("USA", ("United States",)),
        ("U.S.A.", ("United States",)),
        ("the UK", ("United Kingdom",)),
        ("Great Britain", ("United Kingdom",)),
        ("South Korea", ("South Korea", "Korea, Republic of")),
        ("Korea, Republic of", ("South Korea", "Korea, Republic of")),
        ("Türkiye", ("Turkey (Türkiye)", "Turkey", "Türkiye")),
        ("Turkey", ("Turkey (Türkiye)", "Turkey", "Türkiye")),
        ("The Netherlands", ("Netherlands", "The Netherlands")),
        ("Ivory Coast", ("Côte d'Ivoire", "Côte D'Ivoire", "Cote d'Ivoire")),
        ("España", ("Spain",)),
        ("Norway, Sweden", ("Norway", "Sweden")),
        ("Germany or France", ("Germany", "France")),
        ("Trinidad and Tobago", ("Trinidad and Tobago",)),
        ("Guinea", ("Guinea",)),
        ("", ()),
    ],
)
def test_a_country_is_known_by_any_of_its_names(written: str, names: tuple[str, ...]):
    assert country_names(written) == (names, ())


def test_an_unknown_country_is_searched_as_written_and_told():
    names, remarks = country_names('Atlantis" OR "Norway')
    assert names == ("Atlantis", "Norway")
    assert remarks == ('country "Atlantis" is not a name known here and was searched as written.',)


def test_a_misspelled_country_is_told_with_the_right_name():
    assert country_names("Swizerland")[1][0].endswith('Did you mean "Switzerland"?')
