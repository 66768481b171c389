from __future__ import annotations

import pytest

from deepcritical_mcp.models import AuthorName, split_name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Berg, Jan", AuthorName("Berg", "Jan")),
        ("van der Berg, Jan, Jr", AuthorName("van der Berg", "Jan", "Jr")),
        ("Berg, III, Jan", AuthorName("Berg", "Jan", "III")),
        ("Berg JA", AuthorName("Berg", "JA")),
        ("Berg J.-A.", AuthorName("Berg", "J.-A.")),
        ("van der Berg J Jr", AuthorName("van der Berg", "J", "Jr")),
    ],
)
def test_a_spelling_that_gives_the_parts_away_is_split(name: str, expected: AuthorName) -> None:
    assert split_name(name) == expected


@pytest.mark.parametrize(
    "name",
    [
        "Jan Berg",
        "Jan Berg, MD",
        "Berg",
        "WHO",
        "Alliance for Sleep",
        "Example Study Group UK",
        "Department of Health, Geneva",
        "Berg, Jan, Ana, Li",
        ",",
    ],
)
def test_a_name_that_could_be_read_in_two_ways_stays_whole(name: str) -> None:
    assert split_name(name) == AuthorName(name)
