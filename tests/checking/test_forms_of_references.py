"""Sound references in forms that are seldom seen, and false ones that hide in such forms: what is said of each."""

import pytest

from deepcritical_mcp.models import Publication
from tests.checking.reference_cases import LIBRARY, ZINC, article, checked, graver

MAIN = "Zinc supplementation and wound healing in older adults"
TITLE = f"{MAIN}: a randomized controlled trial"
HEAD, PLACE = "Müller JK, van der Berg A, O'Connor SP, et al.", "J Nutr Wound Care. 2019;45(3):327-57."
LONG = article(
    "30000061",
    "Copper bandages for the feet of skiers in winter.",
    "Butler, Alexandra E; D'souza, Darwin; Fan, Yang; Yang, Jing-Jian",
    journal="Journal of bandages",
    journal_abbreviation="J Bandages",
    date="2024-05",
    volume="111",
    pages="26323524251346226",
)
YEARLIKE = LONG.model_copy(update={"pages": "2044-2058"})
COPY = ZINC.model_copy(
    update={
        "pmid": "",
        "id": f"doi:{ZINC.doi}",
        "title": TITLE,
        "volume": "",
        "issue": "",
        "pages": "",
        "source": "web",
    }
)
OF_MAY = LONG.model_copy(
    update={
        "pmid": "30000062",
        "id": "pubmed:30000062",
        "authors": article("30000062", "Copper.", "Berg, Ana; May, Theresa; Winter, June Ann").authors,
        "volume": "31",
    }
)
SKIERS = "Copper bandages for the feet of skiers in winter"


@pytest.mark.parametrize(
    "written",
    [
        f"{HEAD} {TITLE}. *J Nutr Wound Care*. Mar 2019;45(3):327-357. doi:{ZINC.doi}",
        f"{HEAD} {TITLE}. J Nutr Wound Care. Mar-Apr 2019;45(3):327-357.",
        f"{HEAD} {TITLE}. J Nutr Wound Care. March 4, 2019;45(3):327-357.",
        f"{HEAD} {TITLE}. J Nutr Wound Care. Published online March 4, 2019:327. doi:{ZINC.doi}",
        f"{HEAD} {TITLE}. *J Nutr Wound Care*. Published online March 4, 2019. doi:{ZINC.doi}",
        f"{HEAD} {TITLE}. J Nutr Wound Care. 45:327. Received May 3, 2018; accepted June 20, 2018. 2019.",
        f"{HEAD} {TITLE}. J Nutr Wound Care. 2019; published online March 3.",
        f'Müller, Jan K.; van der Berg, A. et al. (March 2019). "{TITLE}". *J Nutr Wound Care*. **45** (3): 327–357.',
        f"Müller, J. K. et al. (2019). {TITLE}. J Nutr Wound Care, 45(3), 327-357. Recuperado el 3 de mayo de 2022",
        f"Müller JK, e.a. {TITLE}. J Nutr Wound Care, mayo de 2019, vol. 45, núm. 3, págs. 327-357.",
        f"Müller JK, et al. {TITLE}. J Nutr Wound Care. février 2019, roč. 45, č. 3, blz. 327-357.",
    ],
)
async def test_dates_and_the_words_of_a_place_in_any_language_are_no_journal_and_no_numbers(written: str) -> None:
    outcome = await checked(written)
    assert (outcome.verdict, outcome.reason) == ("verified", "")


@pytest.mark.parametrize("joining", ["og", "och", "en", "e", "ve", "a", "i", "és"])
async def test_the_last_name_is_joined_in_any_language(joining: str) -> None:
    written = (
        f"Butler, A. E., D'souza, D., Fan, Y. {joining} Yang, J. (2024). {SKIERS}. J Bandages, 111, 26323524251346226."
    )
    outcome = await checked(written, [LONG])
    assert (outcome.verdict, outcome.reason) == ("verified", "")


@pytest.mark.parametrize(
    "names",
    [
        "Butler, Alexandra E., et al.",
        "BUTLER, Alexandra E., D'SOUZA, Darwin, FAN, Yang, YANG, Jing-Jian.",
        "Butler, Alexandra E., Darwin D'souza, Yang Fan, and Jing-Jian Yang.",
    ],
)
async def test_names_are_told_from_initials_and_given_names(names: str) -> None:
    outcome = await checked(f"{names} {SKIERS}. J Bandages. 2024;111:26323524251346226.", [LONG])
    assert (outcome.verdict, outcome.reason) == ("verified", "")


@pytest.mark.parametrize(
    "names",
    [
        "Ana Berg, Theresa May and June Ann Winter, 2024",
        "Berg, A., May, T. & Winter, J. A. (2024)",
        "Ana BERG, Theresa MAY and June Ann WINTER. 2024",
    ],
)
async def test_a_month_in_front_of_a_year_may_be_an_author(names: str) -> None:
    place = "J Bandages, 31, 26323524251346226"
    assert (await checked(f"{names}. {SKIERS}. {place}.", [OF_MAY])).verdict == "verified"
    other = await checked(f"{names.replace('Winter', 'July').replace('WINTER', 'JULY')}. {SKIERS}. {place}.", [OF_MAY])
    assert [one.field for one in other.problems] == ["authors"]
    other = await checked(f"{SKIERS}. J Bandages. 36 May 2024:26323524251346226.", [OF_MAY])
    assert [one.field for one in other.problems] == ["volume"]


@pytest.mark.parametrize(
    "place", ["J Bandages 111:2044-2058 (9 pages), 2024", "J Bandages 111, Article ID 2044, 9 pages, 2024"]
)
async def test_a_page_like_a_year_is_the_page_beside_a_number_of_pages(place: str) -> None:
    assert (await checked(f"Butler AE, et al. {SKIERS}. {place}.", [YEARLIKE])).verdict == "verified"


@pytest.mark.parametrize(
    ("written", "records", "field"),
    [
        # A copy of the record without its place, or with another title, decides nothing.
        (f"{HEAD} {TITLE} in diabetic women. {PLACE}", (ZINC, COPY), "title"),
        (f"{HEAD} {TITLE}. {PLACE.replace('45', '46')}", (ZINC, COPY), "volume"),
        # Words in front of a title, behind a comma or a quotation mark, or in capitals.
        (
            f"J.K. Müller, A. van der Berg, et al., Ineffectiveness of {MAIN.lower()}: a trial. {PLACE}",
            LIBRARY,
            "title",
        ),
        (f"Müller, J.K. et al., 2019, 'Absent {TITLE[0].lower()}{TITLE[1:]}', {PLACE}", LIBRARY, "title"),
        (f"{HEAD} {f'No effect of {TITLE}'.upper()}. {PLACE}", LIBRARY, "title"),
        (
            f"MÜLLER JK, VAN DER BERG A, ET AL. {f'{TITLE} in women'.upper()}. J NUTR WOUND CARE 2019;45:327-57.",
            LIBRARY,
            "title",
        ),
        # A subtitle in the place of the record's.
        (f"{HEAD} {MAIN}: a comparison in Norway. {PLACE}", LIBRARY, "title"),
        (f"{HEAD} {TITLE}. J Nutr Wound Care. Published online March 4, 2014. doi:{ZINC.doi}", LIBRARY, "year"),
        (f"Butler AE, et al. {SKIERS}. J Bandages. 2024;111:26323524251346227.", (LONG,), "pages"),
    ],
)
async def test_what_is_wrong_in_a_rare_form_is_named(written: str, records: list[Publication], field: str) -> None:
    outcome = await checked(written, records)
    assert (outcome.verdict, graver(outcome)) == ("differs", {field})
    assert outcome.publication is not None
    assert outcome.publication.pmid


async def test_the_number_of_a_generation_is_no_word_of_the_title() -> None:
    written = f"Müller, J.K.; van der Berg, A., 4th {TITLE}. J Nutr Wound Care 2019, 45, 327–357."
    assert (await checked(written)).verdict == "verified"


@pytest.mark.parametrize("cut", ["Zinc supplementation and wound healing in...", "Zinc supplementation and wound hea…"])
async def test_a_title_cut_off_with_dots_is_minor(cut: str) -> None:
    outcome = await checked(f"{HEAD} {cut} {PLACE}")
    assert [(one.field, one.minor) for one in outcome.problems] == [("title", True)]
