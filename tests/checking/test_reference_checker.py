"""What a check says about sound and corrupted references, in the styles that people use."""

import pytest

from deepcritical_mcp.errors import ProviderUnavailableError
from deepcritical_mcp.models import StatusNotice
from tests.checking.reference_cases import OTHER, ZINC, ReadingFakeSession, checked, checked_all, graver

VITAMIN = "Vitamin K antagonists and bone density in postmenopausal women"
HEALING = "Zinc supplementation and wound healing in older adults"
SOUND = (
    f"Müller JK, van der Berg A, O'Connor SP, et al. {HEALING}: a randomized controlled trial. J Nutr Wound Care. "
    "2019;45(3):327-57.",
    f"Mueller J.K., Van Der Berg A., O’Connor S.P., Zhang W., Silva-Costa A.M., Odegard A. {HEALING}. J. Nutr. Wound "
    "Care 2018, 45, 327–357.",
    f"Muller, J., Berg, A., OConnor, S., Wei, Z., Costa, A., & Ødegård, Å. (2019). {HEALING}: A randomised controlled "
    "trial. The Journal of Nutrition and Wound Care, 45(3), 327–357. https://doi.org/10.1016/j.jnwc.2018.12.004",
    "Müller et al. 2019 J Nutr Wound Care 45:327",
    "Müller JK, van der Berg A, O'Connor SP, Zhang W, Silva Costa AM, Ødegård Å. Zinc supplementation and "
    "wound-healing in older adults. J Nutr Wound Care 2020;45:327.",
    f"Müller J, Berg A van der, O'Connor S, Zhang W, Costa AMS, Ødegård Å (2018) {HEALING}: a randomized controlled "
    "trial. J Nutr Wound Care. doi:10.1016/j.jnwc.2018.12.004",
    "Müller, Jan K., Anna van der Berg, Sean P. O'Connor, Wei Zhang, Ana M. Silva Costa, and Åse Ødegård. \"Zinc "
    'Supplementation and Wound Healing in Older Adults: A Randomized Controlled Trial." The Journal of Nutrition and '
    "Wound Care 45, no. 3 (2019): 327–57.",
    f"Müller JK, van der Berg A, O'Connor SP, ... Ødegård Å. {HEALING}: a randomized controlled trial. J Nutr Wound "
    "Care. 2019 Mar 4;45(3):327-357. doi: 10.1016/j.jnwc.2018.12.004. Epub 2018 Dec 20. PMID: 30000001.",
    "MÜLLER JK, VAN DER BERG A, O'CONNOR SP. ZINC SUPPLEMENTATION AND WOUND HEALING IN OLDER ADULTS. J NUTR WOUND "
    "CARE 2019; 45: 327-57",
    "Zhang W, Li XM, Wang Y. TNF-alpha blockade reduces tumor growth in hematopoietic stem cells of mice. PNAS. "
    "2018;115(20):E4567-76.",
    "Wei Zhang, Xiaoming Li, Yu Wang. TNFα blockade reduces tumour growth in haematopoietic stem cells of mice. "
    "Proceedings of the National Academy of Sciences. 2018;115:4567.",
    "Zhang W, Li X-M, Wang Y. TNF-α blockade reduces tumour growth in haematopoietic stem cells of mice. Proc. Natl. "
    "Acad. Sci. USA 115, E4567–E4576 (2018).",
    "Smith JA, Johansson L, Dvorak P, Nguyen TMH, Garcia-Lopez M. Walking speed and survival of patients with chronic "
    "heart failure in Norway. PLOS ONE. 2015;10(4):1-14.",
    "Smith J, Johansson L, Dvořák P, Ha NTM, García M. Walking speed and survival of patients with chronic heart "
    "failure in Norway. PLoS ONE 10(4): e0123456. https://doi.org/10.1371/journal.pone.0123456",
    "Smith J A, Johansson L, Dvorák P, et al. Walking speed and survival of patients with chronic heart failure in "
    "Norway. PLoS One 2015;10:0123456",
    "De Luca G, McDonald RT. Metformin for the prevention of diabetic nephropathy. Nephrol Dial Transplant 2001; 16 "
    "(Suppl. 5): 12–18.",
    "Luca GD, Mcdonald RT. Metformin for the prevention of diabetic nephropathy. Nephrol Dial Transplant. "
    "2001;16(Suppl 5):S12-8.",
    "Weiss G, Maier H. Behandlung der akuten Pankreatitis bei Kindern. Dtsch Med Wochenschr 1998;123:721-6",
    "Weiß G, Maier H. Treatment of acute pancreatitis in children [in German]. DMW 1998; 123(23): 721–726.",
    "Jianguo C, Hong L. Epidemiology of hand, foot and mouth disease in Guangdong province. Zhonghua Liu Xing Bing "
    "Xue Za Zhi. 2012;33(7):712–5.",
    "BMJ 2020;368:m6060",
    "ORTHO-TXA Trial Collaborators. Tranexamic acid after major orthopedic surgery: a multicenter randomized trial. "
    "BMJ 2020;368:m6060.",
    "Patel R, Evans D, for the ORTHO-TXA Trial Collaborators. Tranexamic acid after major orthopaedic surgery: a "
    "multicentre randomised trial. BMJ 2020;368:6060.",
    f"Rossi M, Bianchi C, Verdi G. {VITAMIN}. NEJM 2016; 375: 541-550.",
    "Rossi M et al. New Engl J Med 2016;375:541–550",
    f"Rossi M, Bianchi C, Verdi G. {VITAMIN}. The New England Journal of Medicine. 2016 Aug 11;375(6):541-50. "
    "Available from: https://www.nejm.org/doi/full/10.1056/NEJMoa1600001",
    f"Rossi (2016) {VITAMIN}, N. Eng. J. Med",
    "Rossi, M.; Bianchi, C.; Verdi, G. Vitamin K Antagonists and Bone Density in Postmenopausal Women. N. Engl. J. "
    "Med. 2016, 375, 541–550. [CrossRef] [PubMed]",
    "Rossi M, Bianchi C, Verdi G. Vitamin K antagonists and bone density in post-menopausal women. N Engl J Med. "
    "2016;375:541-50. doi:10.1056/nejmoa1600001. Accessed May 3, 2021.",
    f"Maria Rossi and others, '{VITAMIN}' (2016) 375(6) New England Journal of Medicine 541.",
    f"Maria Rossi, Carlo Bianchi, Giulia Verdi: {VITAMIN}. In: The New England Journal of Medicine. Band 375, Nr. 6, "
    "11. August 2016, S. 541–550",
    "Müller JK et al J Nutr Wound Care 2019;45:327",
    "J Nutr Wound Care. 2019;45(3):327-57",
)
MUELLER, ROSSI = SOUND[0], f"Rossi M, Bianchi C, Verdi G. {VITAMIN}. N Engl J Med. 2016;375(6):541-50."
ZHANG = SOUND[9]
CORRUPTED = (
    ("title", MUELLER.replace("Zinc", "Copper")),
    ("title", MUELLER.replace("older", "younger")),
    ("title", ZHANG.replace("reduces", "increases")),
    ("title", ZHANG.replace("mice.", "rats.")),
    ("title", ZHANG.replace("TNF-alpha", "TNF-beta")),
    ("title", ZHANG.replace("reduces", "does not reduce")),
    ("title", ROSSI.replace("postmenopausal", "premenopausal")),
    ("title", ROSSI.replace("K", "D")),
    ("title", f"{ROSSI.replace('women', 'men')} doi:10.1056/NEJMoa1600001"),
    ("authors", ROSSI.replace("Rossi", "Smith")),
    ("authors", ROSSI.replace("Rossi M, Bianchi C, Verdi G.", "Bianchi C, Smith J, Rossi M.")),
    ("authors", ROSSI.replace("Verdi", "Smith")),
    ("authors", ROSSI.replace("Rossi M, Bianchi C, Verdi G.", "Bianchi C, et al.")),
    ("authors", f'Schmidt et al. 2016 "{VITAMIN}"'),
    ("authors", MUELLER.replace("et al.", "Li Q, Silva Costa AM, Ødegård Å.")),
    ("year", ROSSI.replace("2016;375(6):541-50.", "2013;375(6):541-50.")),
    ("journal", ROSSI.replace("N Engl J Med.", "Lancet.")),
    ("journal", "Holmberg K. Depressive symptoms and mortality after hip fracture. Ann Intern Med. 2004;164(3):301-7."),
    ("journal", "Patel R, Evans D. Tranexamic acid after major orthopaedic surgery. BMJ Open 2020;368:m6060."),
    ("volume,pages", ROSSI.replace("2016;375(6):541-50.", "2016;371(9):812-20.")),
    ("pages", ROSSI.replace("2016;375(6):541-50.", "2016;375(6):741-50.")),
    ("volume", ROSSI.replace("2016;375(6):541-50.", "2016;357(6):541-50.")),
    ("doi", f"{ROSSI} doi:10.1371/journal.pone.0123456"),
    ("doi", f"{ROSSI} doi:10.1056/NEJMoa1600999"),
    ("pmid", f"{ROSSI} PMID: 30000003"),
    ("pmid", f"{ROSSI} doi:10.1056/NEJMoa1600001. PMID: 30000003"),
    ("pmid", f"{VITAMIN} (PMID 30000003)"),
    ("pmid", "Rossi M et al. New Engl J Med 2016;375:541–550. PMID 30000003"),
    ("authors,year,journal,volume,pages", f"Smith JA, Johansson L, Dvorak P. {VITAMIN}. PLoS One 2012;10(4):e0123456."),
)
NO_ARTICLES = (
    ("a book", "Sambrook J. Molecular Cloning: A Laboratory Manual. 3rd ed. Cold Spring Harbor, NY: CSHL Press; 2001."),
    ("software", "R Core Team. R: A Language for Statistical Computing. Vienna; 2021. https://www.R-project.org/"),
    ("a book", "World Health Organization. Global tuberculosis report 2020. Geneva: World Health Organization; 2020."),
    ("a web page", "CDC. Diabetes basics. https://www.cdc.gov/diabetes/basics. Accessed May 3, 2021."),
    ("a court case", "Roe v. Wade, 410 U.S. 113 (1973)."),
    ("a law", "Patient Protection and Affordable Care Act, Pub. L. No. 111-148, 124 Stat. 119 (2010)."),
    ("a law", "Regulation (EU) 2016/1 of the European Parliament. OJ L 119, 4.5.2016, p. 1–88."),
    ("a law", "Ley 33/2011, de 4 de octubre. Boletín Oficial del Estado, núm. 240; 2011."),
    ("a law", "Loi n° 2004-806 du 9 août 2004. Journal officiel 2004;185:14277."),
    ("a personal communication", "Smith J. Personal communication, May 2019."),
    ("a thesis", "Miller T. The role of iron in sepsis [dissertation]. Boston: Harvard University; 2015."),
    ("a patent", "Brown AB. Method for treating anemia. US Patent 6,123,456. 2000 Sep 26."),
    ("a standard", "ISO 10993-5:2009. Biological evaluation of medical devices."),
    ("a press release", "Pfizer. Pfizer and BioNTech announce vaccine candidate. Press release. November 9, 2020."),
    ("an unpublished manuscript", "Jones P, Hill R. Outcomes after stroke. Manuscript submitted for publication."),
    ("a book", "Katzung BG, editor. Basic and clinical pharmacology. New York: McGraw-Hill; 2018."),
    # Not compared with its review, which has a record.
    ("a book", "Lang K. Principles and practice of infectious diseases in the tropics. 4th ed. Oxford: Press; 2004."),
    ("a chapter of a book", "Kumar V. Cell injury. In: Abbas AK, ed. Robbins Basic Pathology. Elsevier; 2018:31-56."),
    ("a dataset", "Team RD. Wound images of mice [dataset]. Zenodo; 2021. https://doi.org/10.5281/zenodo.1234567"),
)


async def test_sound_references_in_any_usual_dress_are_verified_or_minor() -> None:
    outcomes, *_ = await checked_all(SOUND)
    accused = [(text, one.verdict, one.problems) for text, one in zip(SOUND, outcomes, strict=True) if graver(one)]
    assert accused == []
    assert {one.verdict for one in outcomes} == {"verified", "minor"}


@pytest.mark.parametrize(("fields", "written"), CORRUPTED)
async def test_a_corrupted_reference_is_caught_by_what_is_wrong_in_it(fields: str, written: str) -> None:
    outcome = await checked(written)
    assert graver(outcome) - {"issue"} == set(fields.split(","))
    assert outcome.verdict == ("wrong_id" if fields in ("doi", "pmid") else "differs")
    assert outcome.publication


@pytest.mark.parametrize(("kind", "written"), NO_ARTICLES)
async def test_what_is_no_article_is_unchecked_by_name(kind: str, written: str) -> None:
    outcome = await checked(written)
    assert (outcome.verdict, outcome.reason) == ("unchecked", kind)


async def test_an_article_or_number_that_nobody_knows_is_not_found_even_if_it_names_a_site_or_a_law() -> None:
    invented = "Taylor B, Clark D. {} J Bone Res. 2014;22(3):201-9.{}"
    for title, tail in (
        ("Effects of vitamin E on bone loss in elderly men: a cohort study.", ""),
        ("Effects of vitamin E on bone loss in elderly men.", " Available from: https://www.jbr.org/201"),
        ("Fractures of elderly men after the Affordable Care Act of 2010.", ""),
        ("A new edition of vitamin E trials in elderly men: second edition.", ""),
    ):
        assert (await checked(invented.format(title, tail))).verdict == "not_found"
    assert (await checked("PMID 99999999")).verdict == "not_found"
    assert (await checked("Taylor B. Vitamin E and bone loss in elderly men. doi:10.1000/none")).verdict == "not_found"


async def test_a_wrong_number_is_told_with_the_true_one_and_what_it_leads_to() -> None:
    written = (
        "Rossi M, Bianchi C, Verdi G. Vitamin K antagonists and bone density in postmenopausal women. PMID 30000001"
    )
    outcome = await checked(written)
    (problem,) = outcome.problems
    assert (problem.field, problem.written, problem.true) == ("pmid", ZINC.pmid, OTHER.pmid)
    assert "leads to another paper" in outcome.reason
    assert "Zinc supplementation" in outcome.reason


async def test_a_number_of_another_paper_is_wrong_although_the_rest_is_not_found() -> None:
    outcome = await checked("Taylor B. Effects of vitamin E on bone loss in elderly men: a study (PMID 30000001)")
    assert (outcome.verdict, outcome.publication) == ("wrong_id", None)
    assert [one.id for one in outcome.candidates] == [ZINC.id]


async def test_words_around_a_number_within_a_text_are_no_title() -> None:
    outcome = await checked("a large trial of minerals in the elderly population (PMID 30000001)", inline=True)
    assert (outcome.verdict, outcome.publication) == ("verified", ZINC)


async def test_an_outage_is_never_not_found() -> None:
    down = ProviderUnavailableError("reader", "The reader is down.")
    written = "Taylor B. Effects of vitamin E on bone loss in elderly men: a study. J Bone Res. 2014;22(3):201-9."
    found, errors, _ = await checked_all([written, "PMID 30000001"], error=down)
    assert [one.verdict for one in found] == ["outage", "verified"]
    assert errors[0] == "The reader is down."


async def test_a_retracted_record_is_a_problem_beside_the_verdict() -> None:
    notice = StatusNotice(kind="retraction", pmid="31000000", reference="N Engl J Med. 2018;1:1")
    retracted = OTHER.model_copy(update={"status": "retracted", "status_notices": (notice,)})
    written = "Rossi M, Bianchi C, Verdi G. {} N Engl J Med. 2016;375(6):541-50."
    title = "Vitamin K antagonists and bone density in postmenopausal women."
    outcome = await checked(written.format(title), [retracted])
    assert (outcome.verdict, graver(outcome)) == ("verified", {"status"})
    assert "31000000" in outcome.problems[0].true
    aware = await checked(written.format(f"{title} [Retracted]"), [retracted])
    assert [(one.field, one.minor) for one in aware.problems] == [("status", True)]


async def test_a_record_of_the_session_is_not_asked_for_again() -> None:
    session = ReadingFakeSession(kept={ZINC.id: ZINC})
    assert (await checked("PMID 30000001", [], session=session)).publication == ZINC


async def test_the_same_reference_twice_has_the_same_verdict() -> None:
    outcomes, *_ = await checked_all([SOUND[0], SOUND[0]])
    assert [one.publication and one.publication.id for one in outcomes] == [ZINC.id, ZINC.id]


@pytest.mark.parametrize(
    "written",
    [
        r"M{\"u}ller J.~K., van der Berg A., \emph{et al.}, Zinc supplementation and wound healing in older adults: a "
        r"randomized controlled trial, \textit{J. Nutr. Wound Care} \textbf{45}, 327--357 (2019). "
        r"\doi{10.1016/j.jnwc.2018.12.004}",
        "Müller JK, van der Berg A, y cols. Zinc supplementation and wound healing in older adults. J Nutr Wound Care. "
        "2019;45(3):327-57.",
        'Müller, Jan K, et al. "Zinc supplementation and wound healing in older adults: a randomized controlled '
        'trial." *The Journal of nutrition and wound care* vol. 45,3 (2019): 327-357.',
        "Müller JK, van der Berg A. Zinc supplementation and wound healing in older adults. J Nutr Wound Care 2019, "
        "45, 3, 327–357.",
        "J. K. Müller, A. van der Berg and S. P. O'Connor, *J. Nutr. Wound Care*, 2019, **45**, 327.",
        "Müller et al, J Nutr Wound Care 2019; PMID 30000001",
        "Müller 2019, PMID 30000001",
        "MÜLLER J K, ZHANG W, 等. Zinc supplementation and wound healing in older adults[J]. J Nutr Wound Care, 2019, "
        "45(3): 327-357.",
    ],
)
async def test_a_sound_reference_is_verified_in_latex_in_other_languages_and_without_a_title(written: str) -> None:
    outcome = await checked(written)
    assert (outcome.verdict, outcome.problems) == ("verified", ())


@pytest.mark.parametrize(
    "written",
    [
        "@article{z, author = {Müller, Jan K}, title = {Zinc supplementation and wound healing in older adults}, "
        "journal = {J Nutr Wound Care}, year = {2019}, pmid = {30000009}}",
        '{"type": "article-journal", "title": "Zinc supplementation and wound healing in older adults", '
        '"author": [{"family": "Müller"}], "PMID": "30000009"}',
        "Müller JK. Zinc supplementation and wound healing in older adults. J Nutr Wound Care 2019. pubmed/30000009",
        "Müller et al, J Nutr Wound Care 2019; PMID 30000009",
    ],
)
async def test_another_papers_pmid_is_caught_in_whatever_field_it_stands(written: str) -> None:
    outcome = await checked(written)
    assert (outcome.verdict, graver(outcome)) == ("wrong_id", {"pmid"})


async def test_a_number_alone_is_verified_with_a_word_on_what_was_not_compared() -> None:
    assert "compare what you cite it for with the record's title, “" in (await checked("PMID 30000009")).reason
