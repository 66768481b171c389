"""What a check says about references that hide something, and where a service that could know was not asked."""

import pytest

from deepcritical_mcp.checking.draft import DraftReference
from deepcritical_mcp.checking.reference_checker import ReferenceChecker, ReferenceOutcome
from deepcritical_mcp.checking.reference_meaning import corrected
from deepcritical_mcp.errors import ProviderError, ProviderUnavailableError
from deepcritical_mcp.search.full_texts import FullTexts
from deepcritical_mcp.search.witness import Witness
from tests.checking.reference_cases import OTHER, ReadingFakeSession, article, checked, graver
from tests.search.lookup_fakes import FakeRecords, FakeReferences

SHORT = article(
    "30000021",
    "The zinc finger.",
    "Moor, Rita; Thevet, Eric",
    "Evolution of organs | Evol Organs | 2013-06 | 140 | 11 | 2247-51",
)
SOUND = "Moor R, Thevet E. The zinc finger. Evol Organs. 2013;140(11):2247-51."


async def without_pubmed(
    written: str, *, off: tuple[str, ...] = (), error: ProviderError | None = None
) -> ReferenceOutcome:
    """What becomes of a reference to a record that only the text leads to, without its PMID."""
    record = OTHER.model_copy(update={"pmid": "", "id": f"doi:{OTHER.doi}"})
    lookups = [FakeRecords("numbers", error or {}), FakeReferences("reader", record)]
    checker = ReferenceChecker(FullTexts([], None, lookups=lookups, off=off), Witness())
    return (await checker.check([DraftReference(1, written)], ReadingFakeSession()))[0][0]


TITLE = "Vitamin K antagonists and bone density in postmenopausal women"
ROSSI = f"Rossi M, Bianchi C, Verdi G. {TITLE}. N Engl J Med. 2016;375(6):541-50."


async def test_a_pmid_is_not_wrong_where_pubmed_is_switched_off() -> None:
    written = f"{ROSSI} PMID: 30000009"
    assert (await without_pubmed(written)).verdict == "wrong_id"
    outcome = await without_pubmed(written, off=("pubmed",))
    assert (outcome.verdict, outcome.problems) == ("verified", ())
    assert "PMID 30000009 could not be looked up" in outcome.reason


async def test_a_pmid_that_could_not_be_asked_for_is_told_beside_a_sound_text() -> None:
    down = ProviderUnavailableError("numbers", "The numbers are down.")
    outcome = await without_pubmed(f"{ROSSI} PMID: 99999999", error=down)
    assert outcome.verdict == "verified"
    assert outcome.reason == "PMID 99999999 could not be checked: The numbers are down."


async def test_a_pmcid_alone_is_not_unknown_where_pubmed_is_switched_off() -> None:
    assert (await without_pubmed("PMCID: PMC6100001", off=("pubmed",))).verdict == "outage"


@pytest.mark.parametrize("mark", [": ", ". "])
async def test_a_title_with_an_invented_rest_is_another_title(mark: str) -> None:
    written = f"Moor R, Thevet E. The zinc finger{mark}%s. Evol Organs. 2013;140(11):2247-51. PMID: 30000021"
    outcome = await checked(written % "metformin triples lifespan in 12,000 elderly nurses", [SHORT])
    assert graver(outcome) == {"title"}
    assert outcome.problems[0].written.endswith("nurses")
    assert "nurses" not in corrected(outcome.reference.text, SHORT, outcome.problems)


async def test_a_short_subtitle_that_the_record_lacks_is_nothing() -> None:
    written = "Moor R, Thevet E. The zinc finger: a review. Evol Organs. 2013;140(11):2247-51."
    assert (await checked(written, [SHORT])).problems == ()


@pytest.mark.parametrize("journal", ["J Evol Organs", "J", "Organs"])
async def test_a_journal_of_a_like_name_is_another_one(journal: str) -> None:
    assert graver(await checked(SOUND.replace("Evol Organs", journal), [SHORT])) == {"journal"}


async def test_a_preprint_that_was_published_is_told() -> None:
    written = f"Rossi M, Bianchi C, Verdi G. {TITLE}. medRxiv 2015.03.15.15286112."
    outcome = await checked(written)
    assert outcome.verdict == "minor"
    assert outcome.publication
    assert outcome.publication.id == OTHER.id
    assert [(one.field, one.written) for one in outcome.problems] == [("journal", "medRxiv")]
    assert "The preprint is written" in outcome.reason
    assert corrected(written, OTHER, outcome.problems) == ""


async def test_a_name_beside_a_number_is_never_replaced_by_a_journal() -> None:
    assert (await checked("Rossi M. 2016. PMID: 30000009")).verdict == "verified"
    outcome = await checked("Smith J. 2016. PMID: 30000009")
    assert outcome.verdict in ("differs", "wrong_id")
    assert graver(outcome) <= {"authors", "pmid"}


async def test_a_supplement_belongs_to_the_volume() -> None:
    assert (await checked(SOUND.replace("140(11)", "140 Suppl 2(11)"), [SHORT])).problems == ()
    wrong = SOUND.replace("140(11)", "150 Suppl 2(11)")
    outcome = await checked(wrong, [SHORT])
    assert [one.written for one in outcome.problems] == ["150 Suppl 2"]
    assert corrected(wrong, SHORT, outcome.problems) == SOUND


@pytest.mark.parametrize(
    ("written", "verdict"),
    [
        ("Müller et al., 2019; PMID 30000001", "verified"),
        ("Okada et al., 2007; PMID 30000001", "wrong_id"),
        ("Okada et al., 2019; PMID 30000001", "wrong_id"),
        ("Okada et al., 2019; PMID 30000008", "wrong_id"),  # by a group and Patel
        ("Patel et al., 2020; PMID 30000008", "verified"),
        ("Okada 2019 (zinc in the elderly); PMID 30000001", "verified"),  # the name may not be an author's: only said
        ("Müller et al., 2015; PMID 30000001", "differs"),
        (
            "[Die Rolle der Spurenelemente für das Gedächtnis älterer Menschen](https://pubmed.ncbi.nlm.nih.gov/30000001)",
            "verified",
        ),
        ("[Read the whole paper at the publisher](https://pubmed.ncbi.nlm.nih.gov/30000001)", "verified"),
        ("PMID 30000001", "verified"),
    ],
)
async def test_names_and_year_beside_a_number_in_a_sentence_are_compared(written: str, verdict: str) -> None:
    outcome = await checked(written, inline=True)
    assert outcome.verdict == verdict
    assert ("are not those of the record" in outcome.reason) == (written.startswith("Okada") and verdict == "verified")


HYDROLASES = article(
    "30000031",
    "Lysosomal hydrolases of the epidermis. 2. Ester hydrolases.",
    "Mier, P D; van den Hurk, J J",
    "The British journal of dermatology | Br J Dermatol | 1975-10 | 93 |  | 391-8",
)
MICRONUCLEI = article(
    "30000032",
    "Confirmation of micronuclei by a repeated dose liver assay: focus on evaluation of the assay in young rats.",
    "Takano, M; Ruiz, K",
    "Genes and environment | Genes Environ | 2024-08-23 | 46 |  | 17",
)
FRACTURE = article(
    "30000033",
    "A case of an ununited fracture of the thigh.",
    "Harding, G",
    "Medico-chirurgical transactions | Med Chir Trans | 1811 | 2 |  | 47-51",
)


@pytest.mark.parametrize("part", ["2. Ester", "7. Ester"])
async def test_a_title_with_a_numbered_part_is_compared_as_a_whole(part: str) -> None:
    names = "Mier PD, van den Hurk JJ"
    written = f"{names}. Lysosomal hydrolases of the epidermis. {part} hydrolases. Br J Dermatol 1975;93:391-8."
    assert graver(await checked(written, [HYDROLASES])) == (set() if part == "2. Ester" else {"title"})


@pytest.mark.parametrize("animals", ["rats", "mice", "dogs"])
async def test_a_changed_word_of_a_subtitle_is_found(animals: str) -> None:
    written = (
        "Takano M, Ruiz K. Confirmation of micronuclei by a repeated dose liver assay: focus on evaluation of the "
        f"assay in young {animals}. Genes Environ. 2024 Aug 23;46(1):17."
    )
    assert graver(await checked(written, [MICRONUCLEI])) == (set() if animals == "rats" else {"title"})


async def test_a_year_of_the_nineteenth_century_is_a_year() -> None:
    written = "Harding G (1811) A case of an ununited fracture of the thigh. Med Chir Trans 2:47–51."
    assert (await checked(written, [FRACTURE])).verdict == "verified"
    assert graver(await checked(written.replace("1811", "1804"), [FRACTURE])) == {"year"}


LOZENGES = article(
    "40000001",
    "Zinc gluconate lozenges for treating the common cold in schoolchildren.",
    "Feifel, David; Reza, Tania; Robeck, Sandra",
    "Neuropsychopharmacology : official publication of the American College of Neuropsychopharmacology | "
    "Neuropsychopharmacology | 1999-02 | 20 | 2 | 141-9",
)
COLITIS = article(
    "40000002",
    "Guideline for the management of ulcerative colitis in adults.",
    "Berg, Anna; Ruiz, Karl; Paz y Miño, César",
    "The American journal of gastroenterology | Am J Gastroenterol | 2024-09 | 119 | 9 | 1730-1753",
)


@pytest.mark.parametrize(
    "title",
    [
        "MEGADOSE IBUPROFEN FOR CYSTIC FIBROSIS IN SCHOOL CHILDREN. Neuropsychopharmacology",
        "THE FIRST CONFERENCE ON MOTOR CONTROL IN DOWN SYNDROME. NEUROPSYCHOPHARMACOLOGY",
        "ASPIRIN IN PREGNANT COWS. Neuropsychopharmacology",
    ],
)
async def test_another_title_in_capitals_is_another_title(title: str) -> None:
    outcome = await checked(f"Feifel D, Reza T, Robeck S. {title} 1999;20:141-9.", [LOZENGES])
    assert graver(outcome) == {"title"}


@pytest.mark.parametrize(
    "written",
    [
        "FEIFEL D, REZA T, ROBECK S. ZINC GLUCONATE LOZENGES FOR TREATING THE COMMON COLD IN SCHOOLCHILDREN. "
        "NEUROPSYCHOPHARMACOLOGY 1999;20:141-9",
        "FEIFEL D, REZA T, ROBECK S. NEUROPSYCHOPHARMACOLOGY 1999;20:141-9",
    ],
)
async def test_a_reference_in_capitals_is_the_same(written: str) -> None:
    assert (await checked(written, [LOZENGES])).verdict == "verified"


@pytest.mark.parametrize(
    "written",
    [
        "Zinc gluconate lozenges for treating the common cold in schoolchildren. Feifel D, Reza T, Robeck S "
        "Neuropsychopharmacology 1999;20:141-9",
        "Guideline for the management of ulcerative colitis in adults. Berg A, Ruiz K, Paz y Miño C Am J Gastroenterol "
        "2024;119:1730-53",
    ],
)
async def test_names_right_before_a_journal_are_none_of_its_words(written: str) -> None:
    assert (await checked(written, [LOZENGES, COLITIS])).verdict == "verified"


async def test_a_double_name_is_one_name() -> None:
    written = (
        "Paz y Miño C, Berg A. Guideline for the management of ulcerative colitis in adults. Am J Gastroenterol. "
        "2024;119(9):1730-53."
    )
    record = COLITIS.model_copy(update={"authors": (COLITIS.authors[2], COLITIS.authors[0])})
    outcome = await checked(written, [record])
    assert (outcome.verdict, outcome.reason) == ("verified", "")
    assert graver(await checked(written.replace("Paz y Miño", "Paz y Lind"), [record])) == {"authors"}


@pytest.mark.parametrize(
    "written",
    [
        "10.1016/j.jnwc.2018.12.004, 10.1073/pnas.1712345115, 10.1371/journal.pone.0123456",
        "PMID: 30000001, 30000002, 30000003",
        "PMID: 30000001; PMID: 30000002",
    ],
)
async def test_several_numbers_alone_are_no_error(written: str) -> None:
    outcome = await checked(written)
    assert graver(outcome) == set()
    assert "was not checked" in outcome.reason


async def test_a_title_and_a_number_of_two_papers_are_a_grave_error() -> None:
    written = "Rossi M, Bianchi C, Verdi G. %s. N Engl J Med. 2016;375(6):541-50. PMID: 30000009."
    outcome = await checked(written % "TNF-α blockade reduces tumour growth in haematopoietic stem cells of mice")
    assert {"pmid", "title"} & graver(outcome)


async def test_a_wrong_number_in_a_title_and_a_wrong_page_name_the_record() -> None:
    record = LOZENGES.model_copy(
        update={"title": "Phase 3 trial of zinc lozenges for the common cold in schoolchildren."}
    )
    written = (
        "Feifel D, Reza T, Robeck S. Phase 2 trial of zinc lozenges for the common cold in schoolchildren. "
        "Neuropsychopharmacology 1999;20:171-9."
    )
    outcome = await checked(written, [record])
    assert outcome.verdict == "ambiguous"
    assert [one.pmid for one in outcome.candidates] == ["40000001"]


async def test_a_preprint_cited_as_a_paper_is_named() -> None:
    record = LOZENGES.model_copy(
        update={"publication_types": ("Preprint",), "journal": "bioRxiv", "volume": "", "issue": "", "pages": ""}
    )
    written = "Feifel D, Reza T, Robeck S. Zinc gluconate lozenges for treating the common cold in schoolchildren. "
    outcome = await checked(f"{written}Nat Commun. 1999;14(1):2217.", [record])
    assert [(one.field, one.true) for one in outcome.problems] == [("journal", "bioRxiv")]


@pytest.mark.parametrize(
    ("before", "said"),
    [("COVID-19 Study Group. ", "“covid”, “study”, “group”"), ("![figure](http://e.example/z.png) ", "“figure”")],
)
async def test_what_no_statement_of_the_record_explains_is_named(before: str, said: str) -> None:
    title = "Zinc gluconate lozenges for treating the common cold in schoolchildren"
    outcome = await checked(f"{before}{title}. Neuropsychopharmacology 1999;20:141-9.", [LOZENGES])
    assert outcome.verdict == "verified"
    assert said in outcome.reason


@pytest.mark.parametrize("journal", ["bioRxiv. 2031.", "bioRxiv 2031", "bioRxiv (2031)."])
async def test_a_year_alone_is_the_year(journal: str) -> None:
    record = LOZENGES.model_copy(
        update={"publication_types": ("Preprint",), "journal": "bioRxiv", "journal_abbreviation": "", "volume": ""}
    )
    for one in (record, record.model_copy(update={"issue": "", "pages": ""})):
        written = f"Feifel D, Reza T, Robeck S. {one.title} {journal}"
        assert graver(await checked(written, [one])) == {"year"}


async def test_only_what_is_wrong_is_told_and_changed() -> None:
    title = "Guideline for the management of ulcerative colitis in adults"
    reference = f"{title}. Berg A, Ruiz K. Am J Gastroenterol 2024;119:2024."
    outcome = await checked(reference, [LOZENGES, COLITIS])
    assert [(one.field, one.written) for one in outcome.problems if not one.minor] == [("pages", "2024")]
    line = corrected(reference, COLITIS, outcome.problems)
    assert "Ruiz K" in line
    assert "119:2024" not in line
