"""References as the ICMJE's and NLM's samples write them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.models import AuthorName, Publication, StatusNotice, split_name, split_names, vancouver
from tests.publications import published

HALPERN = (AuthorName("Halpern", "Scott D"), AuthorName("Ubel", "Peter A"), AuthorName("Caplan", "Arthur L"))


def paper(title: str = "Solid-organ transplantation in HIV-infected patients.", **fields: Any) -> Publication:
    known: dict[str, Any] = {
        "source": "pubmed",
        "title": title,
        "pmid": "12140307",
        "authors": HALPERN,
        "journal": "The New England journal of medicine",
        "journal_abbreviation": "N. Engl. J. Med.",
        "date": "2002-07-25",
        "volume": "347",
        "issue": "4",
        "pages": "284-7",
    }
    return published("Text.", **(known | fields))


EDITORS = (AuthorName("Vogelstein", "Bert"), AuthorName("Kinzler", "Kenneth W"))
CHAPTER: dict[str, Any] = {
    "journal": "", "journal_abbreviation": "", "volume": "", "issue": "", "title": "Chromosome alterations",
    "book_title": "The genetic basis of human cancer", "editors": EDITORS, "publisher": "McGraw-Hill",
    "publisher_place": "New York", "pages": "93-113", "date": "Unknown", "book_years": "2002",
}  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({"authors": ()}, "Vogelstein B, Kinzler KW, editors. The book. New York: McGraw-Hill; 2002 Sep. PMID"),
        ({"authors": (), "editors": EDITORS[:1]}, "Vogelstein B, editor. The book. New York"),
        ({"editors": ()}, "Halpern SD, Ubel PA, Caplan AL. The book. New York: McGraw-Hill; 2002 Sep. PMID"),
        ({}, "Caplan AL. The book. Vogelstein B, Kinzler KW, editors. New York: McGraw-Hill; 2002 Sep. PMID"),
        ({"book_years": "1993-"}, "New York: McGraw-Hill; 1993-. PMID"),
    ],
)
def test_a_whole_book(fields: dict[str, Any], shown: str) -> None:
    known = {"title": "The book", "book_title": "The book", "date": "2002-09", "book_years": "", "pages": ""}
    assert shown in vancouver(paper(**CHAPTER | known | fields))


TEXTS = st.text(max_size=12)


@given(title=TEXTS, family=TEXTS, given_name=TEXTS, journal=TEXTS, book=TEXTS, language=TEXTS, url=TEXTS)
def test_a_reference_is_one_line_for_any_text(
    title: str, family: str, given_name: str, journal: str, book: str, language: str, url: str
) -> None:
    one = published(
        "Text.",
        source="web",
        title=title,
        url=f"https://example.org/{url}",
        authors=(AuthorName(family or "Body", given_name),),
        journal=journal,
        book_title=book,
        language=language,
        status_notices=(StatusNotice(kind="about", reference=title),),
    )
    line = vancouver(one)
    assert line.strip()
    assert len(line.splitlines()) == 1


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
