"""References that were wrong, corrected: nothing differs any more, and little else has changed."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Indel

from deepcritical_mcp.checking.reference_meaning import corrected
from deepcritical_mcp.models import AuthorName, Publication, ReferenceProblem
from deepcritical_mcp.models.vancouver import vancouver
from deepcritical_mcp.search.references import Agreement, read_reference
from deepcritical_mcp.sources.pubmed.records import read_records

TITLE = "Zinc supplementation in chronic wounds: a randomised controlled trial"
OTHER = "Zinc supplementation in acute wounds: a randomised controlled trial"
DOI, PMID = "10.1016/j.zin.2019.04.012", "31111111"


def paper(**fields: object) -> Publication:
    known: dict[str, object] = {
        "source": "pubmed",
        "title": f"{TITLE}.",
        "pmid": PMID,
        "doi": DOI,
        "pmcid": "PMC6111111",
        "journal": "Journal of wound care",
        "journal_abbreviation": "J Wound Care",
        "volume": "28",
        "issue": "4",
        "pages": "214-21",
        "date": "2019-04",
        "authors": (
            AuthorName("Berg", "Jan A"),
            AuthorName("Ruiz", "Klara"),
            AuthorName("van der Meer", "Piet J"),
            AuthorName("O'Neil", "Sean"),
        ),
    }
    return Publication.of("abstract", "Zinc.", provider="pubmed", **{**known, **fields})


def problems_of(written: str, publication: Publication) -> list[ReferenceProblem]:
    """What differs, as the check of references reports it."""
    reference = read_reference(written)
    found = [
        ReferenceProblem(field=one.field, written=one.written, true=one.true, minor=one.verdict == "minor")
        for one in Agreement(reference, publication).fields
        if one.verdict in ("differs", "minor")
    ]
    for field in ("pmid", "doi", "pmcid"):
        stands, true = getattr(reference.ids, field), getattr(publication, field)
        if stands and stands.lower() != true.lower():
            found.append(ReferenceProblem(field=field, written=stands, true=true))
    if publication.status != "ok":
        found.append(ReferenceProblem(field="status", true=publication.status))
    return found


def correct(written: str, publication: Publication | None = None) -> str:
    record = publication or paper()
    return corrected(written, record, problems_of(written, record))


ALL_APA = "Berg, J. A., Ruiz, K., van der Meer, P. J., & O'Neil, S."
ALL_VANCOUVER = "Berg JA, Ruiz K, van der Meer PJ, O'Neil S"


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("31(9):1102-9.", "28(4):214-21."),
        ("31(9):1102-1109.", "28(4):214-21."),
        ("31:1102–9.", "28:214–21."),
        ("31(9):e1102.", "28(4):214-21."),
        ("28(6):514-521.", "28(4):214-21."),
    ],
)
def test_volume_issue_and_pages_keep_their_form(wrong: str, right: str) -> None:
    before = f"{ALL_VANCOUVER}. {TITLE}. J Wound Care. 2019;"
    assert correct(before + wrong) == before + right
    assert correct(before + "31(9):1102-9.", paper(issue="")) == f"{before}28:214-21."


@pytest.mark.parametrize("month", ["2009 Jan 5;{}", "2009 September;{}", "{} (March 2009)"])
def test_the_month_of_a_wrong_year_goes_with_it(month: str) -> None:
    before = f"{ALL_VANCOUVER}. {TITLE}. J Wound Care. "
    assert correct(before + month.format("28(4):214-21.")) == vancouver(paper())
    assert correct(f"{before}2009 Apr;28(4):214-21.") == f"{before}2019 Apr;28(4):214-21."


def test_words_for_an_issue_that_the_record_lacks_are_not_left_alone() -> None:
    written = f"J. A. Berg, K. Ruiz, “{TITLE},” J. Wound Care, vol. 31, no. 9, pp. 214–221, 2019."
    assert correct(written, paper(issue="")) == vancouver(paper(issue=""))


def test_a_last_page_and_a_year_off_by_one_are_corrected() -> None:
    before = f"{ALL_VANCOUVER}. {TITLE}. J Wound Care. "
    assert correct(f"{before}2018;28(4):214-29.") == f"{before}2019;28(4):214-21."


@pytest.mark.parametrize(
    "form",
    [
        "doi:{}",
        "doi: {}.",
        "https://doi.org/{}",
        "http://dx.doi.org/{}.",
        "doi.org/{}",
        "{}",
        "[link](https://doi.org/{})",
    ],
)
def test_a_doi_is_replaced_in_the_form_in_which_it_stands(form: str) -> None:
    before = f"{ALL_VANCOUVER}. {TITLE}. J Wound Care. 2019;28(4):214-21. "
    assert correct(before + form.format("10.1093/xyz/12(3).45")) == before + form.format(DOI)


@pytest.mark.parametrize(
    "form",
    ["PMID: {}.", "PMID {}", "[PMID:{}]", "https://pubmed.ncbi.nlm.nih.gov/{}/", "www.ncbi.nlm.nih.gov/pubmed/{}"],
)
def test_a_pmid_is_replaced_in_the_form_in_which_it_stands(form: str) -> None:
    before = f"{ALL_VANCOUVER}. {TITLE}. J Wound Care. 2019;28(4):214-21. "
    problem = ReferenceProblem(field="pmid", written="31111119", true=PMID)
    assert corrected(before + form.format("31111119"), paper(), [problem]) == before + form.format(PMID)


def test_a_doi_of_a_paper_without_one_is_written_anew_with_the_whole_reference() -> None:
    assert correct(f"{TITLE} (doi:10.1093/x)", paper(doi="")) == vancouver(paper(doi=""))


def test_a_retracted_paper_is_written_anew_with_a_mark_unless_it_has_one() -> None:
    written, record = f"{ALL_VANCOUVER}. {TITLE}. J Wound Care.", paper(status="retracted")
    status = ReferenceProblem(field="status", true="retracted")
    assert corrected(written, record, [status]) == vancouver(record)
    assert "[Retracted]" in vancouver(record)
    assert corrected(written, record, [status.model_copy(update={"minor": True})]) == ""


def test_a_concern_changes_nothing() -> None:
    assert correct(f"{ALL_VANCOUVER}. {TITLE}. J Wound Care. 2019;28(4):214-21.", paper(status="concern")) == ""


def test_what_cannot_be_found_is_written_anew_but_not_for_something_minor() -> None:
    problem = ReferenceProblem(field="volume", written="99", true="28")
    assert corrected(f"{TITLE}.", paper(), [problem]).startswith(
        f"{ALL_VANCOUVER}. {TITLE}. J Wound Care. 2019 Apr;28(4)"
    )
    assert corrected(f"{TITLE}.", paper(), [problem.model_copy(update={"minor": True})]) == ""


@pytest.mark.parametrize(
    "written",
    [
        f"Kim, S., & Lee, T. (2019). {TITLE}. *Journal of Wound Care*, *28*(4), 214–221.",
        f"{ALL_VANCOUVER}. {OTHER}. J Wound Care. 2019;28(4):214-21.",
        f"{ALL_APA} (2019). {TITLE}. *Annals of Surgery*, *28*(4), 214–221.",
    ],
)
def test_other_authors_another_title_or_journal_give_the_whole_reference(written: str) -> None:
    assert correct(written) == vancouver(paper())


@pytest.mark.parametrize(
    "entry",
    [
        f"@article{{key2019,\n  title = {{{OTHER}}},\n  year = 2019\n}}",
        f"TY  - JOUR\nID  - key2019\nTI  - {OTHER}\nPY  - 2019\nER  -",
        json.dumps({"id": "key2019", "type": "article-journal", "title": OTHER, "volume": 29}),
    ],
)
def test_an_entry_is_written_anew_under_its_key(entry: str) -> None:
    new = correct(entry)
    written = read_reference(new)
    assert (written.says.title.rstrip("."), written.says.volume, written.ids.doi) == (TITLE, "28", DOI)
    assert ("key2019" in new) == (entry[0] != "T")
    assert new[0] == entry[0]


def test_broken_json_is_left_alone() -> None:
    assert corrected('{"title": "Zinc', paper(), [ReferenceProblem(field="year", written="2011", true="2019")]) == ""


def test_markup_of_a_record_is_not_active_in_the_draft() -> None:
    record = paper(title="Zinc <img src=x> in ![old](http://a.example) mice and men.")
    line = correct(f"{ALL_VANCOUVER}. Magnesium in young mice and men. J Wound Care. 2019;28(4):214-21.", record)
    assert [mark for mark in ("<img", "](", "![") if mark in line] == []


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet=st.sampled_from('AZaz09 .,;:()[]{}“”‘’*_\\/\n-–&@="<>é'), max_size=300))
def test_any_text_gives_one_line_or_nothing(text: str) -> None:
    fields = ("title", "authors", "year", "journal", "volume", "issue", "pages", "doi", "pmid", "status")
    problems = [ReferenceProblem(field=one, written="x", true="2019") for one in fields]
    result = corrected(f"Kim S. {text}", paper(), problems)
    assert "\n" not in result


def test_a_year_is_corrected_in_the_place_and_not_in_a_comment() -> None:
    listed = f"{ALL_VANCOUVER}. {TITLE}. J Wound Care"
    comment = "Accessed 4 May 2023. Data of (2001) and (2009)."
    assert correct(f"{listed} 2009;28(4):214-21. {comment}") == f"{listed} 2019;28(4):214-21. {comment}"


PREPRINT = {"publication_types": ("Preprint",), "journal": "bioRxiv", "journal_abbreviation": "", "volume": ""}


def test_a_preprint_cited_as_a_paper_is_written_anew_as_a_preprint() -> None:
    record = paper(**PREPRINT, issue="", pages="", publisher="bioRxiv")
    line = correct(f"{ALL_VANCOUVER}. {TITLE}. Nat Commun. 2023;14(1):2217.", record)
    assert line == vancouver(record)
    assert "[Preprint]" in line
    entry = (
        f"@article{{b19, author={{Berg, Jan}}, title={{{TITLE}}}, journal={{Nature}}, year={{2019}}, volume={{14}}}}"
    )
    new = correct(entry, record)
    assert "volume" not in new
    assert new.startswith("@online{b19,") or "[Preprint]" in new


def test_values_of_bibtex_are_escaped() -> None:
    written = "@article{a, author={Kim, Sun}, title={Magnesium for sleep}, year={2019}}"
    record = paper(title="Zinc & 50% {less} pain.", authors=(AuthorName("Berg", "Jan"), AuthorName("Zinc_Group")))
    entry = correct(written, record)
    assert entry.startswith("@article{a,")
    assert r"author = {Berg, Jan and {Zinc\_Group}}" in entry
    assert r"title = {Zinc \& 50\% \{less\} pain}" in entry


FOLDER = Path(os.environ.get("DEEPCRITICAL_CITATIONS_DIR", ""))
needs_citations = pytest.mark.skipif("DEEPCRITICAL_CITATIONS_DIR" not in os.environ, reason="citations not available")
LITTLE = 12
"""Characters that differ at most after a year was corrected, with its month."""


def grave(written: str, publication: Publication) -> list[ReferenceProblem]:
    """What differs and is not minor, but for numbers that the record lacks."""
    checked = publication.model_copy(update={"status": "ok"})
    numbers = ("pmid", "doi", "pmcid")
    return [one for one in problems_of(written, checked) if not one.minor and (one.true or one.field not in numbers)]


@needs_citations
@pytest.mark.long
def test_corrupted_references_agree_with_their_records_when_they_are_corrected() -> None:
    library = {one.pmid: one for one in read_records((FOLDER / "records.xml").read_bytes()).publications}
    rows = [json.loads(line) for line in (FOLDER / "citations.jsonl").read_text("utf-8").splitlines()]
    cases = 0
    for row in rows:
        record = library.get(row["truth"].get("pmid", ""))
        if not record or not (problems := grave(row["text"], record)):
            continue
        cases += 1
        line = corrected(row["text"], record, problems)
        assert grave(line, record) == [], row["id"]
        is_line = read_reference(row["text"]).entry is None
        if is_line and {one.field for one in problems} == {"year"}:
            assert Indel.distance(row["text"].strip(), line) <= LITTLE, row["id"]
    assert cases > 0
