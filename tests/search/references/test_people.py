"""Initials in a reference against the names of its record."""

import pytest

from deepcritical_mcp.search.references.name_places import compare_people
from tests.checking.reference_cases import ZINC, article, checked, graver

REST = (
    "Zinc supplementation and wound healing in older adults: a randomized controlled trial. "
    "J Nutr Wound Care. 2019;45:327-57."
)
OTHERS = article(
    "30000051",
    "Names.",
    "Iwanow, Juri P; Smith, William; Smith-Jones, Ann; de la Cruz, José; Wang, Xiao-Ming; Wang, Yu; El Fassi, Daniel; "
    "Garcia Lopez, Maria; Doe, John Q; Bare, J; Gorman, Anthony J; Hill, Elizabeth; Old Group",
).authors


@pytest.mark.parametrize(
    ("names", "written", "true"),
    [
        ("Müller X, van der Berg A", "Müller X", "Müller JK"),
        ("Müller, X., & van der Berg, A.", "Müller, X", "Müller JK"),
        ("X. Müller, A. van der Berg, S. P. O'Connor", "X. Müller", "Müller JK"),
        ("Xaver Müller, Anna van der Berg, and Sean P. O'Connor", "Xaver Müller", "Müller JK"),
        ("Xaver Müller et al", "Xaver Müller", "Müller JK"),
        ("Müller JK, van der Berg W, O'Connor A, et al", "van der Berg W, O'Connor A", "van der Berg A, O'Connor SP"),
    ],
)
async def test_initials_of_somebody_else_are_a_difference(names: str, written: str, true: str) -> None:
    outcome = await checked(f"{names.rstrip('.')}. {REST}")
    assert [(one.written, one.true) for one in outcome.problems] == [(written, true)]
    assert graver(outcome) == {"authors"}


ALL = "Müller JK, van der Berg A, O'Connor SP, Zhang W, Silva Costa AM, Ødegård Å"


async def test_where_nobody_is_missing_a_name_too_many_is_told_with_all_names() -> None:
    outcome = await checked(f"{ALL}, Wilcke M. {REST}")
    assert [(one.written, one.true) for one in outcome.problems] == [(f"{ALL}, Wilcke M", ALL)]


@pytest.mark.parametrize("label", ["S5. ", "R12. ", "e1. ", "[12] "])
async def test_the_label_of_an_entry_is_no_name(label: str) -> None:
    assert (await checked(f"{label}{ALL}. {REST}")).verdict == "verified"


async def test_the_title_of_an_entry_is_nobodys_name() -> None:
    names = "AU  - Müller, Jan K\nAU  - van der Berg, Anna\n"
    outcome = await checked(
        f"TY  - JOUR\n{names}TI  - Hope\nJO  - J Nutr Wound Care\nPY  - 2019\nVL  - 45\nSP  - 327\nEP  - 357\n"
    )
    problems = [(one.field, one.written) for one in outcome.problems if one.field != "title"]
    assert problems == [("authors", "Müller, Jan K; van der Berg, Anna")]


def test_a_given_name_is_not_taken_for_another_authors_family_name() -> None:
    authors = article("30000052", "Names.", "Fan, Yang; Yang, Rui; Yang, Mei; Li, Wei; Wei, Li").authors
    for names in (
        "Fan, Yang; Yang, Rui; Yang, Mei; Li, Wei; Wei, Li",
        "Yang Fan, Rui Yang, Mei Yang, Wei Li, and Li Wei",
    ):
        assert compare_people(names, 0, len(names), authors).verdict == "agrees"


@pytest.mark.parametrize("names", ["Müller JK, van der Berg W", "Müller JK, O'Connor X"])
async def test_other_initials_of_one_later_author_are_minor(names: str) -> None:
    outcome = await checked(f"{names}. {REST}")
    assert [(one.field, one.minor) for one in outcome.problems] == [("authors", True)]


@pytest.mark.parametrize("names", ["Mulelr JK, van der Berg A", "Müller JK, van der Breg A"])
async def test_a_misspelled_name_is_minor(names: str) -> None:
    outcome = await checked(f"{names}. {REST}")
    assert [(one.field, one.minor) for one in outcome.problems] == [("authors", True)]


@pytest.mark.parametrize("names", ["Müller JK, Muller JK, van der Berg A"])
def test_a_name_that_stands_there_twice_is_no_other_author(names: str) -> None:
    assert compare_people(names, 0, len(names), ZINC.authors).verdict == "agrees"


@pytest.mark.parametrize(
    "names",
    [
        "Müller J, van der Berg A",
        "Müller K, Berg A",
        "Müller JK, Berg Avd",
        "Müller, J.-K., & van der Berg, A.",
        "Müller, Jan, and Anna van der Berg",
        "J Müller, A Berg",
        "Mueller JK Jr, van der Berg A, O'Connor S, Zhang W, Silva Costa AM, Ødegård Å",
        "Müller JK, Costa AMS",
        "Müller et al",
        "Müller",
    ],
)
async def test_initials_that_may_be_theirs_are_no_difference(names: str) -> None:
    assert (await checked(f"{names}. {REST}")).verdict == "verified"


@pytest.mark.parametrize(
    "names",
    [
        "Iwanow JP, Smith W, Smith-Jones A, de la Cruz J",
        "Wang XM, Wang Y, Wang M",
        "Fassi D, El-Fassi D, ElFassi D",
        "Garcia-Lopez M, Garcia Lopez ML",
        "Doe JQ 3rd, Doe Q, Bare J, Old Group",
        "Xiao-Ming Wang, William Smith",
        "WANG XM, SMITH W",
        "Juri Iwanow, Will Smith, José de la Cruz, Maria Garcia Lopez, Smith William, Élise Hill",
        "Iwanow Juri, Wang Yu",
        "",
    ],
)
def test_other_spellings_are_no_difference(names: str) -> None:
    names = names if names.startswith("Iwanow") else f"Iwanow JP, {names}"
    assert compare_people(names, 0, len(names), OTHERS).verdict in ("agrees", "absent")


@pytest.mark.parametrize(("name", "verdict"), [("Iwanow YP", "minor"), ("Iwanow R", "differs")])
def test_other_initials_of_the_first_author_are_told(name: str, verdict: str) -> None:
    assert compare_people(f"{name}, Smith W", 0, len(name) + 9, OTHERS).verdict == verdict


@pytest.mark.parametrize(
    "lead", ["For an overview, see ", "See, e.g., ", "Cf. ", "Vgl. ", "Adapted from ", "Data from "]
)
def test_words_before_the_first_author_are_no_name(lead: str) -> None:
    written = f"{lead}Müller JK, van der Berg A"
    found = compare_people(written, 0, len(written), ZINC.authors)
    assert (found.verdict, written[slice(*found.span)]) == ("agrees", "Müller JK, van der Berg A")
    other = "Roe, Walter, Jan K. Müller, and Anna van der Berg"
    assert compare_people(other, 0, len(other), ZINC.authors).verdict == "differs"


@pytest.mark.parametrize("name", ["Paz-y-Miño G", "Paz-y-Mino G", "Paz-y-Miño C, G"])
async def test_a_name_with_a_conjunction_inside_is_one_name(name: str) -> None:
    title = "Pinyon jays use transitive inference to predict social dominance"
    place = {"journal": "Nature", "date": "2004", "volume": "430", "pages": "778-81"}
    record = article("30000115", f"{title}.", "Paz-y-Miño C, Guillermo; Bond, Alan B; N'Guessan, Raphael", **place)
    outcome = await checked(f"{name}, Bond AB, N'Guessan R. {title}. Nature. 2004;430:778-81.", [record])
    assert outcome.problems == ()
