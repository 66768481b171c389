from __future__ import annotations

import pytest

from deepcritical_mcp.models import AuthorName, split_name, split_names


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Berg, Jan", AuthorName("Berg", "Jan")),
        ("van der Berg, Jan, Jr", AuthorName("van der Berg", "Jan", "Jr")),
        ("Berg JA", AuthorName("Berg", "JA")),
        ("Berg J A", AuthorName("Berg", "J A")),
        ("Jan Berg", AuthorName("Berg", "Jan")),
        ("O'Brien, Seán Jr.", AuthorName("O'Brien", "Seán", "Jr.")),
        ("Berg Jan", AuthorName("Berg", "Jan")),
    ],
)
def test_a_spelling_that_gives_the_parts_away_is_split(name: str, expected: AuthorName) -> None:
    assert split_name(name) == expected


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
