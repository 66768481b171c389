"""Countries as people write them."""

from __future__ import annotations

from deepcritical_mcp.sources.trials.request import country_names


def test_an_unknown_country_is_searched_as_written_and_told():
    names, remarks = country_names('Atlantis" OR "Norway')
    assert names == ("Atlantis", "Norway")
    assert remarks == ('country "Atlantis" is not a name known here and was searched as written.',)


def test_a_misspelled_country_is_told_with_the_right_name():
    assert country_names("Swizerland")[1][0].endswith('Did you mean "Switzerland"?')
