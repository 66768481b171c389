"""What the check says of entries that hold more than one work, and of notes that only seem to be wrong."""

import pytest

from deepcritical_mcp.checking.reference_meaning import corrected
from deepcritical_mcp.checking.report_text import problem_text
from tests.checking.reference_cases import TNF, ZINC, article, checked, graver

SOUND = (
    "Müller JK, van der Berg A. Zinc supplementation and wound healing in older adults: a randomized controlled trial. "
    "J Nutr Wound Care. 2019;45(3):327-57."
)
UNDATED = "Miller JT, Chang W. Copper and telomere elongation in octogenarians"
FURTHER = "Miller JT, Chang W. Copper and telomere elongation in octogenarians. J Old Age. 2021."
IRON = article(
    "30000041",
    "Iron in the blood of divers.",
    "Oka, Mio; Lind, Dag",
    "Sea part B: the body of divers | Sea B Body Divers | 2016 | 3 | 2 | 104-9",
)


@pytest.mark.parametrize("between", [" / ", " – ", " plus ", " | ", " [see also: ", ". ", "; "])
@pytest.mark.parametrize(
    "further", [FURTHER, UNDATED, "“Copper and telomeres of octogenarians at sea” (Miller et al., J Old Age 2021)"]
)
async def test_a_work_that_could_not_be_split_off_is_named_as_not_checked(between: str, further: str) -> None:
    written = f"{SOUND[:-1]}{between}{further}"
    outcome = await checked(written)
    assert outcome.publication
    assert outcome.publication.id == ZINC.id
    assert graver(outcome) == {"work"}
    assert "octogenarians" in outcome.problems[0].written
    assert "was not checked" in outcome.reason
    assert "not checked: “" in problem_text(outcome.problems[0])
    assert corrected(written, ZINC, outcome.problems) == ""


@pytest.mark.parametrize("number", ["", f" doi:{TNF.doi}"])
async def test_an_entry_with_two_works_that_have_records_is_not_checked(number: str) -> None:
    other = (
        "Zhang W, Li XM, Wang Y. TNF-alpha blockade reduces tumour growth in haematopoietic stem cells of mice. PNAS."
    )
    outcome = await checked(f"{SOUND[:-1]}; {other} 2018;115(20):E4567-76.{number}")
    assert (outcome.verdict, graver(outcome)) == ("unchecked", {"work"})


@pytest.mark.parametrize("number", ["PMID: 30000077", "doi:10.1000/another"])
async def test_a_further_number_in_an_entry_is_named_as_not_checked(number: str) -> None:
    written = f"{SOUND} doi:{ZINC.doi} PMID: {ZINC.pmid}. {number}"
    outcome = await checked(written)
    assert graver(outcome) == {"work"}
    assert outcome.problems[0].written.endswith(("30000077", "10.1000/another"))
    assert corrected(written, ZINC, outcome.problems) == ""


@pytest.mark.parametrize(
    "rest",
    [
        f"doi:{ZINC.doi}. https://doi.org/{ZINC.doi}",
        "In the second edition of 2020, the authors say more about zinc. Free article.",
        "Comment in: Smith JA. Zinc and the healing of wounds. J Nutr Wound Care. 2019;45(4):401-2.",
        "[Article in German; Weiss K. translated it in 2020]",
    ],
)
async def test_what_is_said_of_one_work_is_no_further_one(rest: str) -> None:
    assert (await checked(f"{SOUND} {rest}")).problems == ()


@pytest.mark.parametrize(
    "rest",
    [
        "; 2018;44:112-30.",
        ", and 2018;44:112.",
        "; Lancet 2018;44:112.",
        ", 44(2):112-30.",
        ". Cf. Miller and Baker, Dreaming on zinc, Clin Epidemiol 2018.",
        ". Vgl. auch Miller und Baker, Träume mit Zink, 2018.",
        ". Miller and Baker, Dreaming on zinc, Clin Epidemiol 2018.",
        " and Miller 2018, NEJM 44:e112.",
        " [reviewed in: Miller J, Lancet 2018;44:112-9].",
        "; II. Copper tablets. Ibid. 2018;46:1-8.",
    ],
)
async def test_a_second_work_in_a_few_words_is_named_as_not_checked(rest: str) -> None:
    outcome = await checked(f"{SOUND[:-1]}{rest}")
    assert graver(outcome) == {"work"}
    assert "2018" in outcome.problems[0].written or "44(2)" in outcome.problems[0].written


@pytest.mark.parametrize(
    "written",
    [
        "Müller JK. J Nutr Wound Care. 2019;45:327-57; 2018;44:112-30.",
        "J Nutr Wound Care 2019;45:327, and 2018;44:226.",
        "Müller, J. K.; van der Berg, A. *J. Nutr. Wound Care* **2019**, *45*, 327; **2018**, *44*, 112.",
        "Müller, J. K. *J. Nutr. Wound Care* **2019**, *45*, 327; *ibid.* **2018**, *44*, 112.",
    ],
)
async def test_the_second_place_of_a_reference_without_title_is_named_as_not_checked(written: str) -> None:
    assert graver(await checked(written)) == {"work"}


@pytest.mark.parametrize(
    "rest",
    [
        "; discussion 358.",
        "; quiz 358-60, author reply 361.",
        "; erratum 2020;46:12.",
        ". Correction: 2020;46:12.",
        " [published correction appears in J Nutr Wound Care. 2020;46:12].",
        ", 401-3.",
        ". Epub 2018 Dec 20.",
        "; see comment in Lancet 2020;46:12.",
        ". See Table 2.",
        ". Presented in part at the meeting of the Society, Boston, 2018.",
        "; also available as preprint (medRxiv 2018).",
        ". New York and London, 2019.",
        ". Data from 12 trials of 2018, ratio 2:1.",
        " [Erratum, J Nutr Wound Care 2020;46:12].",
        " (J Nutr Wound Care 2019;45:327).",
    ],
)
async def test_what_belongs_to_a_work_is_no_second_one(rest: str) -> None:
    assert (await checked(f"{SOUND[:-1]}{rest}")).verdict == "verified"


@pytest.mark.parametrize("word", ["and", "or", "Trace"])
async def test_a_word_beside_a_number_is_no_journal(word: str) -> None:
    assert (await checked(f"PMID {IRON.pmid} {word}.", [IRON])).verdict == "verified"


async def test_a_page_within_the_article_is_wrong_in_a_list_of_references() -> None:
    written = "Oka M, Lind D. Iron in the blood of divers. Sea B Body Divers. 2016;3(2):106-9."
    assert graver(await checked(written, [IRON])) == {"pages"}
