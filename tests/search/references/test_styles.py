"""References in the styles that people write: what each says, and whether a record agrees."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.models import AuthorName, Publication
from deepcritical_mcp.search.references import Agreement, read_reference, title_agreement


def record(title: str, authors: str, **fields: str) -> Publication:
    names = tuple(AuthorName(*name.split("/")) for name in authors.split("; "))
    return Publication.of("abstract", "Text.", provider="pubmed", source="pubmed", title=title, authors=names, **fields)


TABLETS = record(
    "Efficacy of zinc–copper tablets in adults with COVID-19: a randomised, double-blind trial.",
    "Müller-Lüdenscheidt/Jürgen; van der Berg/Anna Maria; Øster/Kåre; O'Brien/Seán P",
    journal="The New England journal of medicine",
    journal_abbreviation="N Engl J Med",
    date="2022-04-14",
    volume="386",
    issue="15",
    pages="1397-1408",
    pmid="101",
    doi="10.1000/tablets",
)
LUNG = record(
    "TGF-β1 and IL-6 in stiff lungs of miners.",
    "Zhang/Wei; Li/Xiao-Ming",
    journal="American journal of respiratory and critical care medicine",
    journal_abbreviation="Am J Respir Crit Care Med",
    date="2019-03",
    volume="199",
    issue="5",
    pages="601-609",
    pmid="102",
)
FALLS = record(
    "Vitamin D for the prevention of falls in older people.",
    "Smith/John A",
    journal="The Cochrane database of systematic reviews",
    journal_abbreviation="Cochrane Database Syst Rev",
    date="2018-02-01",
    volume="2",
    issue="2",
    pages="CD009999",
    pmid="103",
)
PEOPLE = "Müller-Lüdenscheidt J, van der Berg AM, Øster K, O’Brien SP"
TITLE = "Efficacy of zinc-copper tablets in adults with COVID-19: a randomised, double-blind trial"
SHORT = TITLE.partition(":")[0]

SOUND = [
    (
        TABLETS,
        "Mueller-Luedenscheidt, Jürgen, Anna Maria van der Berg, Kåre Øster, and Seán P. O'Brien. "
        f'"{TITLE.title()}." New England Journal of Medicine 386, no. 15 (2022): 1397-408.',
    ),
    (TABLETS, f"{PEOPLE.upper()}. {TITLE}[J]. New England Journal of Medicine, 2022, 386(15): 1397-1408."),
    (TABLETS, f"{SHORT}. {PEOPLE}. N Engl J Med. 2022 Apr 14;386(15):1397-1408. PMID: 101"),
    (TABLETS, f"[Müller-Lüdenscheidt et al. 2022, *N Engl J Med*: {TITLE}](https://doi.org/10.1000/tablets)"),
    (TABLETS, f"“{TITLE}” (Müller-Lüdenscheidt et al., N Engl J Med 2021)"),
    (LUNG, "Wei Zhang, Xiao-Ming Li. TGF-beta1 and IL-6 in stiff lungs of miners. AJRCCM, 2019, 199, 601–609."),
    (LUNG, "Zhang W, Li XM. TGFβ1 and IL6 in the stiff lungs of miners. Am J Respir Crit Care Med 2020;199:601-9"),
    (LUNG, "Zhang W, Li X-M. Am J Respir Crit Care Med. 2019;199(5):601-609"),
    (LUNG, "Am. J. Respir. Crit. Care Med. 2019 Mar 1;199(5):601-9"),
    (FALLS, f"Smith JA. {FALLS.title} Cochrane Database of Systematic Reviews 2018, Issue 2. Art. No.: CD009999."),
    (
        FALLS,
        "Smith, J.A., 2018. Vitamin D for the prevention of falls in older people. Cochrane Database Syst Rev (2).",
    ),
    (FALLS, "Smith JA. Vitamin D for prevention of fals in older people. Cochrane Database Syst Rev 2018;2:CD009999."),
    (
        FALLS,
        "@article{smith2018,\n  author = {Smith, John A.},\n  title = {{Vitamin {D} for the Prevention of Falls in "
        "Older People}},\n  journal = {Cochrane Database of Systematic Reviews},\n  year = 2018,\n  volume = {2}\n}",
    ),
    (
        FALLS,
        "TY  - JOUR\nAU  - Smith, John A\nTI  - Vitamin D for the prevention of falls in older people\n"
        "JO  - Cochrane Database Syst Rev\nPY  - 2018/02/01/\nVL  - 2\nSP  - CD009999\nER  - ",
    ),
    (
        FALLS,
        '{"type": "article-journal", "title": "Vitamin D for the prevention of falls in older people", "author": '
        '[{"family": "Smith", "given": "J. A."}], "issued": {"date-parts": [[2018, 2]]}, "volume": "2"}',
    ),
]
OTHERS = [
    (TABLETS, f"{PEOPLE}. {TITLE.replace('with', 'without')}. N Engl J Med 2022;386:1397-408."),
    (TABLETS, f"{PEOPLE}. No {TITLE[0].lower()}{TITLE[1:]}. N Engl J Med 2022;386:1397-408."),
    (TABLETS, f"Kowalski P, van der Berg AM, Øster K. {TITLE}. N Engl J Med 2022;386:1397-408."),
    (TABLETS, f"Müller-Lüdenscheidt J. {SHORT}. Lancet 2017;12:99."),
    (LUNG, "Zhang W, Li XM. TGF-β2 and IL-6 in stiff lungs of miners. Am J Respir Crit Care Med 2019;199:601–9"),
    (LUNG, "Zhang W, Li XM. TGF-β1 and IL-8 in stiff lungs of miners. Am J Respir Crit Care Med 2019;199:601–9"),
    (LUNG, "Am. J. Respir. Crit. Care Med. 2019 Mar 1;199(5):701-9"),
    (LUNG, "Zhang W, Li X-M. 2019."),
    (FALLS, "10.1000/nothing"),
]


@pytest.mark.parametrize(("paper", "written"), SOUND)
def test_a_sound_reference_agrees_whatever_its_style(paper: Publication, written: str) -> None:
    agreement = Agreement(read_reference(written), paper)
    assert agreement.is_accepted, agreement
    assert agreement.differences == ()


@pytest.mark.parametrize(("paper", "written"), OTHERS)
def test_a_reference_to_something_else_does_not(paper: Publication, written: str) -> None:
    assert not Agreement(read_reference(written), paper).is_accepted


def test_one_slip_is_accepted_and_named() -> None:
    agreement = Agreement(read_reference(f"{PEOPLE}. {TITLE}. Lancet 2022;386:1397-408."), TABLETS)
    assert agreement.is_accepted
    assert [(one.field, one.written) for one in agreement.differences] == [("journal", "Lancet")]
    agreement = Agreement(read_reference(f"{PEOPLE}. {TITLE}. N Engl J Med 2022;12:9-11."), TABLETS)
    assert agreement.is_accepted
    assert [one.field for one in agreement.differences] == ["volume", "pages"]


@pytest.mark.parametrize(
    ("written", "ids"),
    [
        ("PMID 15838709", RecordIds(pmid="15838709")),
        ("doi:10.1006/taap.1999.8737", RecordIds(doi="10.1006/taap.1999.8737")),
        (
            "A title. doi: 10.1016/0041-008x(84)90248-5. PMID: 21.",
            RecordIds(pmid="21", doi="10.1016/0041-008x(84)90248-5"),
        ),
        ("A title (https://pubmed.ncbi.nlm.nih.gov/1469623/)", RecordIds(pmid="1469623")),
        ("A title. (PMC1790863), NCT00000620", RecordIds(pmcid="PMC1790863", nct="NCT00000620")),
        ("A title. 2003;33:655–780. 10.1080/713608372", RecordIds(doi="10.1080/713608372")),
        ("A title. J Res. 2003;33:655-780.", RecordIds()),
    ],
)
def test_identifiers_are_read_wherever_they_stand(written: str, ids: RecordIds) -> None:
    assert read_reference(written).ids == ids


def test_what_a_reference_says_is_read() -> None:
    says = read_reference(
        "Lamb JC 4th, Chapin RE and Reel JR: Effects of tin in mice. Toxicol Appl 88, 255–269 (1987)"
    ).says
    assert (says.title, says.year, says.journal) == ("Effects of tin in mice.", "1987", "Toxicol Appl")
    assert (says.volume, says.pages) == ("88", "255-269")


LISTED = f"{PEOPLE}. {TITLE}."


@pytest.mark.parametrize(
    ("written", "journal"),
    [
        ("Berg JA, Ruiz K. J Zinc Res 2019;12:34–41.", "J Zinc Res"),
        ("Berg J, Ruiz K. Zinc 2019;12:34–41.", "Zinc"),
        ("Berg JA. Annu Rev Zinc Copper Sci 2019;12:34–41.", "Annu Rev Zinc Copper Sci"),
        ("Berg JA, Ruiz K, Tan L, et al. Clin Zinc Copper Res 2019;12:34–41.", "Clin Zinc Copper Res"),
    ],
)
def test_a_reference_without_a_title_says_its_names_and_where_it_stands(written: str, journal: str) -> None:
    says = read_reference(written).says
    assert (says.title, says.author, says.journal) == ("", "Berg", journal)
    assert (says.year, says.volume, says.pages) == ("2019", "12", "34-41")


def test_names_of_journals_with_their_numbers_are_no_title() -> None:
    for written in ("Berg, J. A. et al. *Clin Zinc Sci* **12**, 34–41 (2019).", "Berg and Ruiz, Zinc 12:34, 2019"):
        assert read_reference(written).says.title == ""


@pytest.mark.parametrize(
    ("place", "year"),
    [
        ("N Engl J Med 2009;386:1397-408. See the discussion of (2022).", "2009"),
        ("N Engl J Med 386, no. 15 (2022): 1397–408; see the erratum (2023).", "2022"),
        ("N Engl J Med 386, 1397–408 (14 April 2022); reply 387, 12 (2024).", "2022"),
        ("N Engl J Med 386 (2022) 1397–408. Data from New York (2001).", "2022"),
        ("N Engl J Med [Internet]. 2022 [cited 2023 Jan 5];386:1397-408. Epub (2021).", "2022"),
        ("N Engl J Med, vol. 386, no. 15, pp. 1397–408, Apr. 2022. Accessed 4 May 2023.", "2022"),
        ("N Engl J Med, 386(15), 1397–408. Accessed 4 May 2023.", ""),
        ("N Engl J Med 386:1397–408. Found by Imaginary and Nobody (2019).", ""),
    ],
)
def test_the_year_of_a_comment_is_not_that_of_the_work(place: str, year: str) -> None:
    reference = read_reference(f"{LISTED} {place}")
    assert (reference.says.year, Agreement(reference, TABLETS).field("year").written) == (year, year)


@pytest.mark.parametrize(
    "notice",
    [
        "[retracted in: Lancet. 2010;375(9713):445]",
        "[published correction appears in N Engl J Med 2023;387:1]",
        "(Erratum: N Engl J Med 2023;387(2):99)",
        "(Retracted article. See vol. 387, pg. 99, 2023)",
    ],
)
def test_a_notice_in_brackets_does_not_say_where_the_work_is(notice: str) -> None:
    for title in (f"{TITLE} {notice}.", f"{TITLE}. {notice}"):
        written = f"{PEOPLE}. {title} N Engl J Med 2022;386(15):1397-408."
        agreement = Agreement(read_reference(written), TABLETS)
        assert agreement.is_accepted
        assert {one.field: one.verdict for one in agreement.fields if one.verdict != "agrees"} == {}


@pytest.mark.parametrize(
    ("title", "agrees"),
    [
        ("Vitamin D for the Prevention of Falls in Older People", "agrees"),
        ("Vitamin D for the prevention of fals in older people", "minor"),
        ("Vitamin D for the prevention of…", "agrees"),
        ("Vitamin D for the treatment of…", "differs"),
        ("Vitamin D for the prevention of falls in younger people", "differs"),
    ],
)
def test_a_title_alone_is_compared(title: str, agrees: str) -> None:
    assert title_agreement(title, FALLS) == agrees


@given(st.text(max_size=400))
def test_any_text_is_read(text: str) -> None:
    Agreement(read_reference(text), TABLETS)


@pytest.mark.parametrize(
    "unit", ["(1999) ", "A. ", "[x](", "10.1000/", "Berg J, ", "1(", "“a ", '{"title": ', "@a{b={", "et al "]
)
def test_a_long_text_is_read(unit: str) -> None:
    assert len(read_reference(unit * 20_000).text) <= 12_100
