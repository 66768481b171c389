from __future__ import annotations

import pytest

from deepcritical_mcp.models import AuthorName, split_name, split_names


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Berg, Jan", AuthorName("Berg", "Jan")),
        ("van der Berg, Jan, Jr", AuthorName("van der Berg", "Jan", "Jr")),
        ("Berg, III, Jan", AuthorName("Berg", "Jan", "III")),
        ("Berg JA", AuthorName("Berg", "JA")),
        ("Berg J.-A.", AuthorName("Berg", "J.-A.")),
        ("van der Berg J Jr", AuthorName("van der Berg", "J", "Jr")),
        ("Berg J A", AuthorName("Berg", "J A")),
        ("van der Berg J. A. Jr", AuthorName("van der Berg", "J. A.", "Jr")),
        ("LI Q", AuthorName("LI", "Q")),
        ("Jan Berg", AuthorName("Berg", "Jan")),
        ("Martin Luther King Jr.", AuthorName("King", "Martin Luther", "Jr.")),
        ("O'Brien, Seán Jr.", AuthorName("O'Brien", "Seán", "Jr.")),
        ("Jane Q. Doe", AuthorName("Doe", "Jane Q.")),
        ("Berg Jan", AuthorName("Berg", "Jan")),
        ("Maria García López", AuthorName("López", "Maria García")),
    ],
)
def test_a_spelling_that_gives_the_parts_away_is_split(name: str, expected: AuthorName) -> None:
    assert split_name(name) == expected


@pytest.mark.parametrize(
    "name",
    [
        "Jan Berg, MD",
        "jan berg",
        "Doctors Without Borders",
        "World Health Organization",
        "Cancer Research UK",
        "NIHR UK",
        "Berg",
        "WHO",
        "Alliance for Sleep",
        "Example Study Group UK",
        "Department of Health, Geneva",
        "Berg, Jan, Ana, Li",
        "Novo Nordisk",
        "Johnson Matthey",
        "New England Biolabs",
        "Jan Maria",
        ",",
    ],
)
def test_a_name_that_could_be_read_in_two_ways_stays_whole(name: str) -> None:
    assert split_name(name) == AuthorName(name)


@pytest.mark.parametrize(
    ("text", "families"),
    [
        ("Smith J; Jones B", ["Smith", "Jones"]),
        ("Berg, Jan; Ruiz, Karla;", ["Berg", "Ruiz"]),
        ("Smith J, Doe A", ["Smith", "Doe"]),
        ("Berg, Jan", ["Berg"]),
        ("Department of Health, Geneva", ["Department of Health, Geneva"]),
        ("", []),
    ],
)
def test_a_list_in_one_text_is_divided(text: str, families: list[str]) -> None:
    assert [name.family for name in split_names(text)] == families
