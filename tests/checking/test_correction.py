"""Corrected references: the record's statements in the draft's own style, everything else untouched."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepcritical_mcp.checking.correction import corrected
from deepcritical_mcp.models import AuthorName, Publication, ReferenceProblem
from deepcritical_mcp.models.vancouver import vancouver
from deepcritical_mcp.search.references import compare, read_reference

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
        for one in compare(reference, publication).fields
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
ALL_HARVARD = "Berg, J. A., Ruiz, K., van der Meer, P. J. and O'Neil, S."
ALL_INITIALS_FIRST = "J. A. Berg, K. Ruiz, P. J. van der Meer and S. O'Neil"
ALL_VANCOUVER = "Berg JA, Ruiz K, van der Meer PJ, O'Neil S"
ALL_CHICAGO = "Berg, Jan A., Klara Ruiz, Piet J. van der Meer, and Sean O'Neil"


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("Kim, S., Lee, T., & Park, H.", ALL_APA),
        ("Kim, S. & Lee, T.", "Berg, J. A., Ruiz, K., van der Meer, P. J. & O'Neil, S."),
        ("Kim, S. et al.", "Berg, J. A. et al."),
        ("Kim, S., Lee, T. *et al.*", "Berg, J. A., Ruiz, K. *et al.*"),
        ("Kim S, Lee T, Park H, et al.", "Berg JA, Ruiz K, van der Meer PJ, et al."),
        ("Kim S, Lee T.", f"{ALL_VANCOUVER}."),
        ("Kim S.", f"{ALL_VANCOUVER}."),
        ("Kim S Jr, Lee T.", f"{ALL_VANCOUVER}."),
        ("Kim, S.; Lee, T.", "Berg, J. A.; Ruiz, K.; van der Meer, P. J.; O'Neil, S."),
        ("Kim, S.A., Lee, T.B., and Park, H.", "Berg, J.A., Ruiz, K., van der Meer, P.J., and O'Neil, S."),
        ("Kim, Sun, and Tae Lee.", f"{ALL_CHICAGO}."),
        ("Sun Kim, Tae Lee.", "Jan A. Berg, Klara Ruiz, Piet J. van der Meer, Sean O'Neil."),
        ("Kim S.B., Lee T.", "Berg J.A., Ruiz K., van der Meer P.J., O'Neil S."),
    ],
)
def test_names_are_written_as_the_list_writes_them(wrong: str, right: str) -> None:
    rest = f"{TITLE}. *J. Wound Care* **28**, 214–221 (2019)."
    assert correct(f"{wrong} {rest}") == f"{right} {rest}"


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        (f"(Kim & Lee 2019) {TITLE}. J Wound Care 28:214", f"(Berg et al. 2019) {TITLE}. J Wound Care 28:214"),
        (f"Kim SA, Lee T. (2019). {TITLE}.", f"{ALL_VANCOUVER}. (2019). {TITLE}."),
        (f"Kim and Lee (2019), “{TITLE}”", f"Berg et al. (2019), “{TITLE}”"),
        (f"“{TITLE}” (Kim & Lee, J Wound Care 2019)", f"“{TITLE}” (Berg et al., J Wound Care 2019)"),
        (
            f"S. Kim and T. Lee, “{TITLE},” *J. Wound Care*, vol. 28, no. 4, pp. 214–221, Apr. 2019.",
            f"{ALL_INITIALS_FIRST}, “{TITLE},” *J. Wound Care*, vol. 28, no. 4, pp. 214–221, Apr. 2019.",
        ),
        (
            f"Kim, S. and Lee, T., 2019. {TITLE}. *Journal of Wound Care*, 28(4), pp.214-221.",
            f"{ALL_HARVARD}, 2019. {TITLE}. *Journal of Wound Care*, 28(4), pp.214-221.",
        ),
    ],
)
def test_names_are_replaced_wherever_they_stand(wrong: str, right: str) -> None:
    assert correct(wrong) == right


@pytest.mark.parametrize("names", ["**Kim S**, Lee T.", "KIM / LEE."])
def test_names_in_a_form_of_their_own_are_written_anew_with_the_whole_reference(names: str) -> None:
    assert correct(f"{names} {TITLE}. J Wound Care 2019; 28: 214–21.") == vancouver(paper())


def test_two_names_replace_et_al_without_a_stray_full_stop() -> None:
    record = paper(authors=(AuthorName("Berg", "Jan A"),))
    assert correct(f"“{TITLE}” (Kim et al., J Wound Care 2019)", record) == f"“{TITLE}” (Berg, J Wound Care 2019)"


def test_a_list_with_a_name_of_somebody_else_is_replaced() -> None:
    written = f"Berg JA, Other X, Ruiz K. {TITLE}. J Wound Care. 2011;28(4):214-21."
    assert correct(written) == f"{ALL_VANCOUVER}. {TITLE}. J Wound Care. 2019;28(4):214-21."


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("*Nat. Med.* **28**, 214–221 (2019).", "*J. Wound Care* **28**, 214–221 (2019)."),
        ("*Ann Surg*. 2019;28(4):214-21.", "*J Wound Care*. 2019;28(4):214-21."),
        ("Ann. Surg. 2019;28(4):214-21.", "J. Wound Care. 2019;28(4):214-21."),
        ("*Annals of Surgery*, *28*(4), 214–221.", "*Journal of Wound Care*, *28*(4), 214–221."),
        ("Annals of surgery 2019;28(4):214-21.", "Journal of wound care 2019;28(4):214-21."),
        ("*The Lancet*, *28*(4), 214–221.", "*Journal of Wound Care*, *28*(4), 214–221."),
    ],
)
def test_a_journal_is_abbreviated_or_not_as_the_wrong_one_was(wrong: str, right: str) -> None:
    assert correct(f"{ALL_APA} {TITLE}. {wrong}") == f"{ALL_APA} {TITLE}. {right}"


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("31(9):1102-9.", "28(4):214-21."),
        ("31(9):1102-1109.", "28(4):214-221."),
        ("31:1102–9.", "28:214–21."),
        ("31(9):e1102.", "28(4):214-21."),
        ("28(6):514-521.", "28(4):214-221."),
    ],
)
def test_volume_issue_and_pages_keep_their_form(wrong: str, right: str) -> None:
    before = f"{ALL_VANCOUVER}. {TITLE}. J Wound Care. 2019;"
    assert correct(before + wrong) == before + right


def test_an_issue_that_the_journal_does_not_have_goes_with_the_wrong_volume() -> None:
    before = f"{ALL_VANCOUVER}. {TITLE}. J Wound Care. 2019;"
    assert correct(f"{before}31(9):1102-9.", paper(issue="")) == f"{before}28:214-21."


def test_a_last_page_and_a_year_off_by_one_are_corrected() -> None:
    before = f"{ALL_VANCOUVER}. {TITLE}. J Wound Care. "
    assert correct(f"{before}2018;28(4):214-29.") == f"{before}2019;28(4):214-21."


def test_the_month_of_a_wrong_year_goes_with_it() -> None:
    before = f"{ALL_VANCOUVER}. {TITLE}. J Wound Care. "
    assert correct(f"{before}2009 Mar 3;28(4):214-21.") == f"{before}2019;28(4):214-21."


@pytest.mark.parametrize(
    ("wrong", "right", "true"),
    [
        (f"{OTHER}. J", f"{TITLE}. J", TITLE),
        ("Does zinc heal burns? J", "Does zinc heal wounds? J", "Does zinc heal wounds?"),
        ("Does zinc heal burns fast? J", f"{TITLE}. J", TITLE),
        ("Magnesium for sleep in older adults. J", "Does zinc heal wounds? J", "Does zinc heal wounds?"),
        (
            "Lack of effect of zinc on wounds of mice. J",
            "Effect of zinc on wounds of mice. J",
            "Effect of zinc on wounds of mice",
        ),
        (
            "Zinc in the acute wounds of mice. J",
            "Zinc in the chronic wounds of mice. J",
            "[Zinc in the chronic wounds of mice].",
        ),
    ],
)
def test_a_title_is_corrected_with_one_mark_at_its_end(wrong: str, right: str, true: str) -> None:
    rest = " Wound Care. 2019;28(4):214-21."
    assert correct(f"{ALL_VANCOUVER}. {wrong}{rest}", paper(title=true)) == f"{ALL_VANCOUVER}. {right}{rest}"


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        (f"J. A. Berg, “{OTHER},” *J. Wound Care*, 2019.", f"J. A. Berg, “{TITLE},” *J. Wound Care*, 2019."),
        (
            "Berg, J. (2019) ‘Does magnesium heal burns of the hand?’, *Wounds*, 28(4).",
            f"Berg, J. (2019) ‘{TITLE}’, *Wounds*, 28(4).",
        ),
        ("Berg et al. 2019 Sleep in old age: a trial. Wounds 28:214", f"Berg et al. 2019 {TITLE}. Wounds 28:214"),
    ],
)
def test_the_marks_around_a_title_stay(wrong: str, right: str) -> None:
    problem = ReferenceProblem(field="title", written="another one", true=TITLE)
    assert corrected(wrong, paper(journal="Wounds"), [problem]) == right


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


@pytest.mark.parametrize(
    ("written", "marked"),
    [
        (f"{ALL_VANCOUVER}. {TITLE}. J Wound Care.", f"{ALL_VANCOUVER}. {TITLE} [Retracted]. J Wound Care."),
        (f"J. A. Berg, “{TITLE},” *J. Wound Care*.", f"J. A. Berg, “{TITLE} [Retracted],” *J. Wound Care*."),
        (f"Berg, J. A. (2019). *{TITLE}*. Wounds.", f"Berg, J. A. (2019). *{TITLE}* [Retracted]. Wounds."),
        (
            f"[{TITLE}](https://doi.org/{DOI}) – Berg et al.",
            f"[{TITLE} [Retracted]](https://doi.org/{DOI}) – Berg et al.",
        ),
        (f"PMID: {PMID}.", f"PMID: {PMID} [Retracted]."),
    ],
)
def test_a_retracted_paper_is_marked_behind_its_title(written: str, marked: str) -> None:
    status = ReferenceProblem(field="status", true="retracted")
    record = paper(status="retracted")
    assert corrected(written, record, [status]) == marked
    assert corrected(marked, record, [status]) == ""


def test_a_concern_changes_nothing() -> None:
    assert correct(f"{ALL_VANCOUVER}. {TITLE}. J Wound Care. 2019;28(4):214-21.", paper(status="concern")) == ""


def test_a_mixture_is_corrected_in_its_own_style() -> None:
    written = "Kim, S., & Lee, T. (2004). Magnesium for sleep in older adults. *Sleep Medicine*, *3*(1), 101–109."
    assert correct(written) == f"{ALL_APA} (2019). {TITLE}. *Journal of Wound Care*, *28*(4), 214–221."


def test_what_cannot_be_found_is_written_anew_but_not_for_something_minor() -> None:
    problem = ReferenceProblem(field="volume", written="99", true="28")
    assert corrected(f"{TITLE}.", paper(), [problem]).startswith(
        f"{ALL_VANCOUVER}. {TITLE}. J Wound Care. 2019 Apr;28(4)"
    )
    assert corrected(f"{TITLE}.", paper(), [problem.model_copy(update={"minor": True})]) == ""


BIBTEX = """@article{{key2019,
  author    = "{people}",
  title     = {{{{{title}}}}},
  journal   = jwc,
  year      = {year},
  volume={{28}}, pages = {{{pages}}},
  doi = {{{doi}}},
  url = {{https://doi.org/{doi}}}
}}"""


def test_a_bibtex_entry_keeps_its_layout() -> None:
    wrong = BIBTEX.format(people="Kim, S. and others", title=OTHER, year=2011, pages="99--107", doi="10.1093/x")
    right = BIBTEX.format(
        people="Berg, Jan A and Ruiz, Klara and van der Meer, Piet J and O'Neil, Sean",
        title=TITLE,
        year=2019,
        pages="214--221",
        doi=DOI,
    )
    assert correct(wrong) == right


def test_values_of_bibtex_are_escaped() -> None:
    written = "@article{a, author={Kim, Sun}, title={Magnesium for sleep}, year={2019}}"
    record = paper(title="Zinc & 50% {less} pain.", authors=(AuthorName("Berg", "Jan"), AuthorName("Zinc_Group")))
    right = r"@article{a, author={Berg, Jan and {Zinc\_Group}}, title={Zinc \& 50\% \{less\} pain}, year={2019}}"
    assert correct(written, record) == right


def test_a_doi_of_bibtex_that_the_paper_does_not_have_goes() -> None:
    written = f"@article{{a,\n  title = {{{TITLE}}},\n  doi = {{10.1093/x}}\n}}"
    assert correct(written, paper(doi="")) == f"@article{{a,\n  title = {{{TITLE}}},\n}}"


def test_a_ris_record_keeps_its_lines() -> None:
    lines = [
        "TY  - JOUR",
        "A1  - Kim, S.",
        "A1  - Lee, T.",
        f"T1  - {TITLE}",
        "Y1  - 2011/04/01",
        "VL  - 28",
        "SP  - 9",
    ]
    record = paper(authors=(AuthorName("Berg", "Jan A"),))
    right = ["TY  - JOUR", "A1  - Berg, Jan A", f"T1  - {TITLE}", "Y1  - 2019/04/01", "VL  - 28", "SP  - 214"]
    assert correct("\n".join([*lines, "EP  - 17", "ER  -"]), record) == "\n".join([*right, "EP  - 221", "ER  -"])


def test_csl_json_stays_json_with_its_layout() -> None:
    item = {
        "id": "b19",
        "title": OTHER,
        "author": [{"family": "Kim", "given": "Sun"}, {"family": "Lee", "given": "Tae"}],
        "issued": {"date-parts": [[2011, 4, 1]]},
        "volume": 29,
        "issue": "9",
        "page": "214-221",
        "DOI": "10.1093/x",
    }
    for indent in (None, 2):
        right = json.loads(correct(json.dumps([item], indent=indent), paper(status="retracted", issue="", doi="")))
        assert right == [
            {
                "id": "b19",
                "title": f"RETRACTED: {TITLE}",
                "author": [
                    {"family": "Berg", "given": "Jan A"},
                    {"family": "Ruiz", "given": "Klara"},
                    {"family": "van der Meer", "given": "Piet J"},
                    {"family": "O'Neil", "given": "Sean"},
                ],
                "issued": {"date-parts": [[2019, 4, 1]]},
                "volume": 28,
                "page": "214-221",
            }
        ]
        assert correct(json.dumps([item], indent=indent)).count("\n") >= (indent or 0) * 10


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


def test_every_date_of_a_ris_record_with_the_wrong_year_is_corrected() -> None:
    lines = ["TY  - JOUR", "AU  - Berg, Jan A", f"TI  - {TITLE}", "PY  - 2011", "DA  - 2011/04/01", "VL  - 28", "ER  -"]
    assert correct("\n".join(lines)) == "\n".join(lines).replace("2011", "2019")


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


@pytest.mark.parametrize("name", ["The Online Journal of Zinc", "Lancet"])
def test_no_article_stands_twice_before_a_journal(name: str) -> None:
    record = paper(journal=f"The {name}", journal_abbreviation="")
    line = correct(f"{ALL_VANCOUVER}. {TITLE}. The Annals of Surgery. 2019;28(4):214-21.", record)
    assert "The The" not in line
    assert name in line
