"""References and notes that are sound, or wrong, in ways that a list in one style never shows."""

import pytest

from deepcritical_mcp.checking.correction import corrected
from deepcritical_mcp.search.references import read_reference
from tests.checking.reference_cases import LIBRARY, TNF, ZINC, article, checked, graver

YEARLY = article(
    "30000021",
    "Pooling networks for the recognition of heart murmurs in children.",
    "Lund, Mia; Berg, Anna",
    doi="10.1155/2021/5550001",
    journal="Journal of mobile computing",
    journal_abbreviation="J Mob Comput",
    date="2021",
    volume="2021",
    pages="1-17",
)
DECAY = article(
    "30000022",
    "Measurement of B --> K*gamma branching fractions in decays of mesons.",
    "Holm, B; Lind, D",
    journal="Physical letters of Norway",
    journal_abbreviation="Phys Lett Norway",
    date="2002-03",
    volume="88",
    pages="101805",
)
CASE = article(
    "30000023",
    "A Case of Aneurism of the Popliteal Artery.",
    "Cooper, A",
    journal="Chirurgical transactions",
    journal_abbreviation="Chir Trans",
    date="1809",
    volume="1",
    pages="1-12.1",
)
RECORDS = (*LIBRARY, YEARLY, DECAY, CASE)
NAMES = "van der Berg A, Müller JK"
TITLE = "Zinc supplementation and wound healing in older adults: a randomized controlled trial"


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


async def test_another_name_and_year_beside_a_number_show_a_wrong_number() -> None:
    for written in ("Okafor 2004; PMID: 30000002", "Okafor 2018, doi:10.1073/pnas.1712345115"):
        assert (await checked(written, inline=True)).verdict == "wrong_id"
    assert (await checked("Zhang 2018; PMID: 30000002", inline=True)).publication == TNF
