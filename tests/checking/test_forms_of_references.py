"""Sound references in forms that are seldom seen, and false ones that hide in such forms: what is said of each."""

import pytest

from deepcritical_mcp.checking.reference_meaning import corrected
from deepcritical_mcp.models import Publication
from deepcritical_mcp.search.references import read_reference
from tests.checking.reference_cases import LIBRARY, ZINC, article, checked, graver

MAIN = "Zinc supplementation and wound healing in older adults"
TITLE = f"{MAIN}: a randomized controlled trial"
HEAD, PLACE = "Müller JK, van der Berg A, O'Connor SP, et al.", "J Nutr Wound Care. 2019;45(3):327-57."
LONG = article(
    "30000061",
    "Copper bandages for the feet of skiers in winter.",
    "Butler, Alexandra E; D'souza, Darwin; Fan, Yang; Yang, Jing-Jian",
    "Journal of bandages | J Bandages | 2024-05 | 111 |  | 26323524251346226",
)
YEARLIKE = LONG.model_copy(update={"pages": "2044-2058"})
COPY = ZINC.model_copy(
    update=dict.fromkeys(("pmid", "volume", "issue", "pages"), "")
    | {"id": f"doi:{ZINC.doi}", "title": TITLE, "source": "web"}
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


YEARLY = article(
    "30000021",
    "Pooling networks for the recognition of heart murmurs in children.",
    "Lund, Mia; Berg, Anna",
    "Journal of mobile computing | J Mob Comput | 2021 | 2021 |  | 1-17",
    doi="10.1155/2021/5550001",
)
DECAY = article(
    "30000022",
    "Measurement of B --> K*gamma branching fractions in decays of mesons.",
    "Holm, B; Lind, D",
    "Physical letters of Norway | Phys Lett Norway | 2002-03 | 88 |  | 101805",
)
CASE = article(
    "30000023",
    "A Case of Aneurism of the Popliteal Artery.",
    "Cooper, A",
    "Chirurgical transactions | Chir Trans | 1809 | 1 |  | 1-12.1",
)
RECORDS = (*LIBRARY, YEARLY, DECAY, CASE)
NAMES = "van der Berg A, Müller JK"


async def test_a_first_author_who_is_another_one_of_the_authors_is_wrong_and_corrected() -> None:
    written = f"{NAMES}, O'Connor SP, Zhang W. {TITLE}. J Nutr Wound Care. 2019;45(3):327-57."
    outcome = await checked(written)
    assert graver(outcome) == {"authors"}
    assert corrected(written, ZINC, outcome.problems).startswith("Müller JK, van der Berg A, ")


async def test_empty_brackets_for_the_issue_hide_no_wrong_volume() -> None:
    written = f"Müller JK, van der Berg A. {TITLE}. J Nutr Wound Care. 2019;54():327-57."
    outcome = await checked(written)
    assert graver(outcome) == {"volume"}
    assert "2019;45():327-57" in corrected(written, ZINC, outcome.problems)


@pytest.mark.parametrize(
    "note", ["PMID 30000001 – Müller, zinc in wounds", "PMID: 30000001 (Müller et al., RCT of zinc, 2019)"]
)
async def test_a_note_beside_a_number_that_names_its_subject_is_no_reference(note: str) -> None:
    assert (await checked(note)).verdict == "verified"


@pytest.mark.parametrize("note", ["PMID 30000001 – Rossi, zinc in wounds", "PMID 30000001: Müller, zinc and dementia"])
async def test_a_note_on_another_paper_shows_a_wrong_number(note: str) -> None:
    assert (await checked(note)).verdict == "wrong_id"


async def test_a_doi_broken_by_a_blank_is_minor() -> None:
    written = f"Müller JK. {TITLE}. J Nutr Wound Care. 2019;45(3):327-57. doi:10.1016/j.jnwc. 2018.12.004"
    outcome = await checked(written)
    assert outcome.verdict == "minor"
    assert corrected(written, ZINC, outcome.problems) == ""


async def test_a_doi_that_is_cut_and_leads_elsewhere_is_wrong() -> None:
    other = article("30000031", "Iron and wound infections of horses.", "Ek, Lars", doi="10.1016/j.jnwc.2018")
    written = f"Müller JK. {TITLE}. J Nutr Wound Care. 2019;45(3):327-57. doi:10.1016/j.jnwc.2018"
    assert (await checked(written, (*LIBRARY, other))).verdict == "wrong_id"


@pytest.mark.parametrize(
    "place",
    [
        "*J Mob Comput*, vol. 2021, pp. 1–17, 2021.",
        "*J Mob Comput* **2021**, 1–17 (2021).",
        "J Mob Comput. 2021;2021:1-17.",
        "*Journal of Mobile Computing* 2021 (2021): 1–17.",
    ],
)
async def test_a_volume_may_be_the_year(place: str) -> None:
    written = f"M. Lund and A. Berg, “Pooling networks for the recognition of heart murmurs in children,” {place}"
    assert (await checked(written, RECORDS)).verdict == "verified"


@pytest.mark.parametrize(
    ("place", "volume", "pages"),
    [
        ("J Mob Comput 2021, 12 (3), 17-19", "12", "17-19"),
        ("J Mob Comput, vol. 12, 2021, pp. 17-19. Accessed 3 May 2021.", "12", "17-19"),
    ],
)
def test_a_year_before_volume_and_pages_is_no_volume(place: str, volume: str, pages: str) -> None:
    says = read_reference(f"Lund M; Berg A. “Pooling networks for the recognition of murmurs.” {place}").says
    assert (says.volume, says.pages) == (volume, pages)


@pytest.mark.parametrize(
    "written",
    [
        "Holm B, Lind D. Measurement of B→K*γ branching fractions in decays of mesons. Phys Lett Norway 2002;88:101805",
        "The FJORD Collaboration, B. Holm et al., Measurement of B→K*γ branching fractions in decays of mesons, "
        "Phys. Lett. Norway 88, 101805 (2002).",
        "B. Holm et al. (FJORD Collaboration), Phys. Lett. Norway 88, 101805 (2002).",
        "Cooper A. A Case of Aneurism of the Popliteal Artery. Chir Trans. 1809;1:1-12.1.",
    ],
)
async def test_arrows_groups_and_initials_that_begin_a_title_are_read(written: str) -> None:
    assert (await checked(written, RECORDS)).verdict == "verified"


@pytest.mark.parametrize(
    ("written", "journal"),
    [
        ("WIRT W. Zur Pharmakologie der Ester; Wirkstoff. Arch Exp Pathol. 1953;217(2):144-52.", "Arch Exp Pathol"),
        ("National Zinc Program. Nitrofen. Rep Carcinog. 2011;12:296-7.", "Rep Carcinog"),
        ("Hunger JP. Quoi de neuf?. Schweiz. Rundsch. Med. Prax.. 1978;67(45):1648-57.", "Schweiz. Rundsch. Med. Prax"),
    ],
)
def test_the_journal_can_be_read_from_its_place_before_the_year(written: str, journal: str) -> None:
    assert read_reference(written).says.journal == journal


PEOPLE = "Jan K. Müller et al."
LISTED = "J.K. Müller, A. van der Berg, S.P. O’Connor, W. Zhang, A.M. Silva Costa, Å. Ødegård"
JOURNAL = "Journal of Nutrition and Wound Care"
STYLES = [
    f"{LISTED}, {TITLE}, J. Nutr. Wound Care {{v}} (2019) {{p}}–357.",
    f"Müller JK, van der Berg A et al.: {TITLE}. J Nutr Wound Care {{v}} (2019) {{p}}–357.",
    f"{PEOPLE}, ‘{TITLE}’, {JOURNAL}, {{v}}.3 (2019), {{p}}–357.",
    f"{PEOPLE}, ‘{TITLE}’, {JOURNAL}, {{v}}, 3 (2019), pp. {{p}}–357.",
    f"{PEOPLE}, ‘{TITLE}’, {JOURNAL}, {{v}}: 3 (March 2019), {{p}}–357.",
    f"{PEOPLE}, ‘{TITLE}’, {JOURNAL} {{v}}/3 (2019): {{p}}–357.",
    f"Müller, Jan K. et al. (Mar. 2019). “{TITLE}”. In: {JOURNAL} {{v}}.3, pp. {{p}}–357.",
    f"Müller, Jan K. u. a.: {TITLE}. In: {JOURNAL} {{v}}, Heft 3 (2019), S. {{p}}–357.",
    f"MÜLLER, Jan K. et al. {TITLE}. {JOURNAL}. 2019, roč. {{v}}, č. 3, s. {{p}}–357.",
    f"{PEOPLE}, {TITLE}, {{v}} J. Nutr. Wound Care {{p}} (2019).",
    f"{PEOPLE}, *{TITLE}*, {{v}} J. NUTR. WOUND CARE {{p}}, 331–32 (2019).",
    f"{PEOPLE}, ‘{TITLE}’ (2019) {{v}}(3) {JOURNAL} {{p}}.",
]


@pytest.mark.parametrize("style", STYLES)
async def test_volume_and_pages_are_compared_in_the_styles_of_many_fields(style: str) -> None:
    assert (await checked(style.format(v=45, p=327))).verdict == "verified"
    assert "pages" in graver(await checked(style.format(v=45, p=337)))
    assert "volume" in graver(await checked(style.format(v=48, p=337)))


@pytest.mark.parametrize(
    "written",
    [
        f"Müller, JK; van der Berg, A; O'Connor, SP. {TITLE.upper()}. J NUTR WOUND CARE, 45 (3): 327-357 MAR 2019",
        f"Müller JK, {TITLE}, J Nutr Wound Care 45(3), 327-357, March 12, 2019.",
        f"Müller JK. {TITLE}. J Nutr Wound Care. vol. 45, pp. 327-357, Mar. 12, 2019.",
        f"Müller J. K. {TITLE} / J. K. Müller, A. van der Berg [et al.] // {JOURNAL}. – 2019. – Vol. 45. – P. 327-357.",
        "J. K. Müller, A. van der Berg et al., J. Nutr. Wound Care 45 (2019) 327–357.",
        "Müller, J. K.; Ødegård, Å. J. Nutr. Wound Care 2019, 45, 327–357.",
        "Müller JK, van der Berg A, et al (2019) J Nutr Wound Care 45:327–357",
        "Müller, J. K. et al. *J. Nutr. Wound Care* **45**, 327–357 (2019).",
        "Müller et al., J Nutr Wound Care 45:327, 2019",
    ],
)
async def test_right_references_pass_in_the_forms_of_databases(written: str) -> None:
    assert (await checked(written)).verdict == "verified"


@pytest.mark.parametrize("written", [ZINC.pmid, f'"{ZINC.pmid}"', f"PMID {ZINC.pmid}"])
async def test_a_bare_number_of_a_record_is_no_volume(written: str) -> None:
    assert (await checked(written)).verdict == "verified"


async def test_a_year_in_the_name_of_a_journal_is_not_that_of_the_work() -> None:
    record = article(
        "30000041",
        "Sealants in the fissures of molars: ten years of follow-up in Malmö.",
        "Ek, Lars; Holm, Britta",
        "Dental letters (Oslo, Norway : 1985) | Dent Lett | 2013 | 44 | 10 | 793-8",
    )
    written = f"Ek L, Holm B. {record.title} Dental letters (Oslo, Norway : 1985) {{}};44(10):793-8."
    assert (await checked(written.format(2013), (*LIBRARY, record))).verdict == "verified"
    assert graver(await checked(written.format(2009), (*LIBRARY, record))) == {"year"}


async def test_a_volume_with_words_around_its_number_is_the_same_volume() -> None:
    record = article("30000042", ZINC.title, "Ek, Lars", journal=ZINC.journal, date="1996", volume="Doc No 200-201")
    written = f"Ek L. {TITLE}. {JOURNAL}. 1996;200-201."
    assert (await checked(written, [record])).verdict == "verified"


async def test_what_could_not_be_read_is_said_not_to_be_compared() -> None:
    outcome = await checked(f"{PEOPLE}, ‘{TITLE}’, {JOURNAL} 45 (2019), leaf 12 verso.")
    assert (outcome.verdict, outcome.reason) == ("verified", "Its pages could not be read, so not compared.")
