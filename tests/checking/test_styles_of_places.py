"""Where volume, issue, year and pages stand in different styles: what is right passes, what is wrong is named."""

import pytest

from tests.checking.reference_cases import LIBRARY, ZINC, article, checked, graver

TITLE = "Zinc supplementation and wound healing in older adults: a randomized controlled trial"
NAMES = "Jan K. Müller et al."
LISTED = "J.K. Müller, A. van der Berg, S.P. O’Connor, W. Zhang, A.M. Silva Costa, Å. Ødegård"
JOURNAL = "Journal of Nutrition and Wound Care"
STYLES = [
    f"{LISTED}, {TITLE}, J. Nutr. Wound Care {{v}} (2019) {{p}}–357.",
    f"{LISTED}, {TITLE}, J. Nutr. Wound Care {{v}} (3) (2019) {{p}}–357.",
    f"Müller JK, van der Berg A et al.: {TITLE}. J Nutr Wound Care {{v}} (2019) {{p}}–357.",
    f"{NAMES}, ‘{TITLE}’, {JOURNAL}, {{v}}.3 (2019), {{p}}–357.",
    f"{NAMES}, ‘{TITLE}’, {JOURNAL}, {{v}}, 3 (2019), {{p}}–357.",
    f"{NAMES}, ‘{TITLE}’, {JOURNAL}, {{v}}, 3 (2019), pp. {{p}}–357.",
    f"{NAMES}, ‘{TITLE}’, {JOURNAL}, {{v}}: 3 (March 2019), {{p}}–357.",
    f"{NAMES}, ‘{TITLE}’, {JOURNAL} {{v}}/3 (2019): {{p}}–357.",
    f"Müller, Jan K. et al. (Mar. 2019). “{TITLE}”. In: {JOURNAL} {{v}}.3, pp. {{p}}–357.",
    f"Müller, Jan K. u. a.: {TITLE}. In: {JOURNAL} {{v}}, Heft 3 (2019), S. {{p}}–357.",
    f"Müller, Jan K. u. a.: {TITLE}. In: {JOURNAL} {{v}} (2019), Nr. 3, S. {{p}}–357.",
    f"MÜLLER, Jan K. et al. {TITLE}. {JOURNAL}. 2019, roč. {{v}}, č. 3, s. {{p}}–357.",
    f"{NAMES}, {TITLE}, {{v}} J. Nutr. Wound Care {{p}} (2019).",
    f"{NAMES}, *{TITLE}*, {{v}} J. NUTR. WOUND CARE {{p}}, 331–32 (2019).",
    f"{NAMES}, ‘{TITLE}’ (2019) {{v}}(3) {JOURNAL} {{p}}.",
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
        journal="Dental letters (Oslo, Norway : 1985)",
        journal_abbreviation="Dent Lett",
        date="2013",
        volume="44",
        issue="10",
        pages="793-8",
    )
    written = f"Ek L, Holm B. {record.title} Dental letters (Oslo, Norway : 1985) {{}};44(10):793-8."
    assert (await checked(written.format(2013), (*LIBRARY, record))).verdict == "verified"
    assert graver(await checked(written.format(2009), (*LIBRARY, record))) == {"year"}


async def test_a_volume_with_words_around_its_number_is_the_same_volume() -> None:
    record = article("30000042", ZINC.title, "Ek, Lars", journal=ZINC.journal, date="1996", volume="Doc No 200-201")
    written = f"Ek L. {TITLE}. {JOURNAL}. 1996;200-201."
    assert (await checked(written, [record])).verdict == "verified"


async def test_what_could_not_be_read_is_said_not_to_be_compared() -> None:
    outcome = await checked(f"{NAMES}, ‘{TITLE}’, {JOURNAL} 45 (2019), leaf 12 verso.")
    assert (outcome.verdict, outcome.reason) == ("verified", "Its pages could not be read, so not compared.")
