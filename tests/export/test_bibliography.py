"""Bibliographies, line by line as the style guides have them, and as pandoc's CSL processor writes them."""

import html
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.export.bibliography import STYLES, bibliography
from deepcritical_mcp.export.reference import references
from deepcritical_mcp.export.style_values import style_fields
from deepcritical_mcp.models import AuthorName, Publication, StatusNotice
from tests.export.recorded import needs_records, recorded_publications
from tests.export.test_export import needs_pandoc
from tests.publications import published

ARTICLE = published(
    "Text.",
    source="pubmed",
    title="Zinc lozenges and the common cold: a meta-analysis.",
    date="2017-05-02",
    pmid="28515951",
    doi="10.1177/2054270417694291",
    journal="JRSM open",
    journal_abbreviation="JRSM Open",
    volume="8",
    issue="5",
    pages="321-8",
    language="eng",
    authors=(AuthorName("Hemilä", "Harri"), AuthorName("van der Berg", "Jan A", "Jr"), AuthorName("Ruiz-Pérez", "J-M")),
)
MANY = ARTICLE.model_copy(
    update={"id": "many", "authors": tuple(AuthorName(f"Name{place:04}", "Ada B") for place in range(3_000))}
)
CHAPTER = published(
    "Text.",
    source="pubmed",
    title="Wound healing",
    date="2015",
    book_title="Handbook of trace elements",
    editors=(AuthorName("Berg", "Anna"), AuthorName("Ruiz", "Eva")),
    publisher="Example Press",
    publisher_place="Oslo",
    pages="11-25",
    language="eng",
    authors=(AuthorName("Smith", "John"),),
)
BOOK = CHAPTER.model_copy(
    update={
        "id": "book",
        "title": "Trace elements",
        "book_title": "Trace elements",
        "date": "1993",
        "authors": (),
        "pages": "",
    }
)
PREPRINT = published(
    "Text.",
    source="preprint",
    title="Zinc in mice",
    date="2023-02-08",
    doi="10.1101/2023.02.07.527548",
    journal="bioRxiv : the preprint server for biology",
    journal_abbreviation="bioRxiv",
    pages="2023.02.07.527548",
    version="2",
    authors=(AuthorName("Xu", "Wei Qin"),),
)
REGISTERED: dict[str, Any] = {
    "nct": "NCT09000001",
    "registrations": ("NCT00000009",),
    "revised_date": "2022-03-04",
    "version": "2026-10-09",
    "status_checked": "2026-11-22",
    "status_notices": (StatusNotice(kind="result", pmid="31000001", reference="Ruiz A. Zinc closes wounds."),),
}
SITE = "https://clinicaltrials.gov/study/NCT09000001"
PAGE, TRIAL = (
    published(
        "Text.", source=source, title=title, url=url, date=date, publisher=site, authors=(AuthorName(by),), **more
    )
    for source, title, url, date, site, by, more in (
        ("web", "Zinc and health", "https://example.org/zinc", "2024-03-01", "Example Agency", "Example Agency", {}),
        ("trial", "Zinc for wounds", SITE, "2020-04-01", "ClinicalTrials.gov", "Zinc Foundation, Oslo", REGISTERED),
    )
)
FOREIGN = ARTICLE.model_copy(
    update={"id": "foreign", "title": "[Zinc in wounds].", "vernacular_title": "Zink in Wunden.", "language": "ger"}
)
LINES = {
    ("vancouver", ARTICLE): "1. Hemilä H, van der Berg JA Jr, Ruiz-Pérez JM. Zinc lozenges and the common cold: a"
    " meta-analysis. JRSM Open. 2017 May 2;8(5):321–8. doi:10.1177/2054270417694291 PubMed PMID: 28515951.",
    ("ama", ARTICLE): "1. Hemilä H, van der Berg JA Jr, Ruiz-Pérez JM. Zinc lozenges and the common cold: a"
    " meta-analysis. JRSM Open. 2017;8(5):321-328. doi:10.1177/2054270417694291",
    ("apa", ARTICLE): "Hemilä, H., van der Berg, J. A., Jr., & Ruiz-Pérez, J.-M. (2017). Zinc lozenges and the common"
    " cold: a meta-analysis. JRSM Open, 8(5), 321–328. https://doi.org/10.1177/2054270417694291",
    ("nature", ARTICLE): "1. Hemilä, H., van der Berg, J. A., Jr. & Ruiz-Pérez, J.-M. Zinc lozenges and the common"
    " cold: a meta-analysis. JRSM Open 8, 321–328 (2017).",
    ("ieee", ARTICLE): "[1] H. Hemilä, J. A. van der Berg Jr., and J.-M. Ruiz-Pérez, “Zinc lozenges and the common"
    " cold: a meta-analysis,” JRSM Open, vol. 8, no. 5, pp. 321–328, May 2017, doi: 10.1177/2054270417694291.",
    ("chicago", ARTICLE): "Hemilä, Harri, Jan A. van der Berg Jr., and J.-M. Ruiz-Pérez. 2017. “Zinc Lozenges and the"
    " Common Cold: A Meta-Analysis.” JRSM Open 8 (5): 321–28. https://doi.org/10.1177/2054270417694291.",
    ("chicago-notes", ARTICLE): "Hemilä, Harri, Jan A. van der Berg Jr., and J.-M. Ruiz-Pérez. “Zinc Lozenges and the"
    " Common Cold: A Meta-Analysis.” JRSM Open 8, no. 5 (2017): 321–28. https://doi.org/10.1177/2054270417694291.",
    ("vancouver", CHAPTER): "1. Smith J. Wound healing. In: Berg A, Ruiz E, editors. Handbook of trace elements. Oslo:"
    " Example Press; 2015. p. 11–25.",
    ("apa", CHAPTER): "Smith, J. (2015). Wound healing. In A. Berg & E. Ruiz (Eds.), Handbook of trace elements (pp."
    " 11–25). Example Press.",
    ("chicago", CHAPTER): "Smith, John. 2015. “Wound Healing.” In Handbook of Trace Elements, edited by Anna Berg and"
    " Eva Ruiz. Example Press.",
    ("vancouver", PREPRINT): "1. Xu WQ. Zinc in mice [Preprint]. bioRxiv; 2023. doi:10.1101/2023.02.07.527548",
    ("apa", PREPRINT): "Xu, W. Q. (2023). Zinc in mice (Version 2) [Preprint]. bioRxiv."
    " https://doi.org/10.1101/2023.02.07.527548",
    ("nature", PREPRINT): "1. Xu, W. Q. Zinc in mice. Preprint at https://doi.org/10.1101/2023.02.07.527548 (2023).",
    ("vancouver", TRIAL): "1. Zinc Foundation, Oslo. Zinc for wounds [Clinical trial registration] [Internet]."
    " ClinicalTrials.gov; 2020 Apr [cited 2026 Nov 22]. Clinical trial registration NCT09000001. Available from:"
    " https://clinicaltrials.gov/study/NCT09000001",
    ("apa", TRIAL): "Zinc Foundation, Oslo. (2020). Zinc for wounds (Clinical Trial Registration NCT09000001)."
    " ClinicalTrials.gov. https://clinicaltrials.gov/study/NCT09000001",
    ("vancouver", PAGE): "1. Example Agency. Zinc and health [Internet]. Example Agency; 2024. Available from:"
    " https://example.org/zinc",
    ("ama", PAGE): "1. Example Agency. Zinc and health. March 1, 2024. https://example.org/zinc",
    ("vancouver", FOREIGN): "1. Hemilä H, van der Berg JA Jr, Ruiz-Pérez JM. Zink in Wunden [Zinc in wounds]. JRSM"
    " Open. 2017 May 2;8(5):321–8. doi:10.1177/2054270417694291 PubMed PMID: 28515951.",
}
HOSTILE = '<script>alert(1)</script> [x](javascript:1) *b* `c` <img src=x onerror=1> https://evil.example "q" & \\'
FORMATTED = """<style xmlns="http://purl.org/net/xbiblio/csl" class="in-text" version="1.0"><info><title>T</title>
</info>
{macros}<bibliography><layout>{layout}</layout></bibliography></style>"""


def own_style(folder: Path, layout: str, macros: str = "") -> str:
    (folder / "mine.csl").write_text(FORMATTED.format(layout=layout, macros=macros), encoding="utf-8")
    return "mine"


@pytest.mark.parametrize(("style", "publication"), LINES, ids=lambda value: getattr(value, "title", value))
def test_an_entry_is_as_the_style_guide_has_it(style: str, publication: Publication) -> None:
    assert "".join(bibliography([publication], style, "text").pieces) == f"{LINES[style, publication]}\n"


@pytest.mark.parametrize(("years", "shown"), [("1993-", "1993–"), ("1993-2025", "1993–2025"), ("", "1993")])
@pytest.mark.parametrize("style", ["vancouver", "ama", "apa", "nature", "ieee", "chicago"])
def test_a_book_of_several_years_shows_them_and_its_editors(years: str, shown: str, style: str) -> None:
    text = "".join(bibliography([BOOK.model_copy(update={"book_years": years})], style).pieces)
    assert re.search(rf"(?<![0-9–]){shown}(?![0-9–])", text)
    assert "Berg" in text


N_ENGL_J_MED = {"journal": "The New England journal of medicine", "journal_abbreviation": "N Engl J Med"}
CUT = (*ARTICLE.authors[:2], AuthorName("et al."))


@pytest.mark.parametrize(
    ("style", "changes", "shown"),
    [
        ("apa", {"issue": "2-3"}, "8(2–3), 321–328"),
        ("ama", {"issue": "2-3"}, "8(2-3):321-328"),
        ("chicago", {"pages": "101-108"}, "(5): 101–8."),
        ("chicago", {"pages": "100-104"}, "(5): 100–104."),
        ("chicago", {"pages": "71-72"}, "(5): 71–72."),
        *((style, {"pages": "e01887-19"}, "e01887-19") for style in STYLES),  # no range of pages
        ("nature", N_ENGL_J_MED, " N. Engl. J. Med. 8,"),
        ("vancouver", N_ENGL_J_MED, " N Engl J Med. 2017"),
        ("vancouver", {"authors": CUT}, "1. Hemilä H, van der Berg JA Jr, et al. Zinc"),
        ("apa", {"authors": MANY.authors}, "Name0018, A. B., … Name2999, A. B. (2017)"),
    ],
)
def test_pages_journals_and_authors_are_as_the_style_wants_them(
    style: str, changes: dict[str, Any], shown: str
) -> None:
    assert shown in "".join(bibliography([ARTICLE.model_copy(update=changes)], style, "text").pieces)


@pytest.mark.parametrize(
    ("style", "named"), [("vancouver", 6), ("ama", 3), ("nature", 1), ("ieee", 1), ("chicago", 3), ("apa", 20)]
)
def test_of_many_authors_the_first_are_named(style: str, named: int) -> None:
    text = "".join(bibliography([MANY], style, "text").pieces)
    assert text.count("Name") == named
    assert "et al." in text or style == "apa"


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(("status", "label"), [("retracted", "RETRACTED"), ("concern", "EXPRESSION OF CONCERN")])
def test_what_is_retracted_is_marked_with_its_notice_in_every_style(style: str, status: str, label: str) -> None:
    notices = (
        StatusNotice(kind="retraction", pmid="31000001", reference="JRSM Open. 2019;10(1):"),
        StatusNotice(kind="erratum", pmid="31000002"),
    )
    one = ARTICLE.model_copy(update={"status": status, "status_notices": notices if status == "retracted" else ()})
    for output in ("text", "markdown", "html"):
        assert "".join(bibliography([one], style, output).pieces).count(label) == 1
    told = " [Retraction: JRSM Open. 2019;10(1), PMID 31000001]\n"
    assert "".join(bibliography([one], style).pieces).endswith(told) == (status == "retracted")


@pytest.mark.parametrize("style", STYLES)
def test_nothing_of_a_record_is_active_in_html_or_markdown(style: str) -> None:
    one = ARTICLE.model_copy(update={"title": HOSTILE, "journal": HOSTILE, "authors": (AuthorName(HOSTILE),)})
    html = "".join(bibliography([one], style, "html").pieces)
    assert html.startswith("<!DOCTYPE html>")
    assert "&lt;script&gt;" in html
    written = "".join(bibliography([one], style, "markdown").pieces)
    markdown = MarkdownIt("js-default", {"linkify": True}).render(written)
    assert not re.search("<script|<img", html + markdown)
    assert "<a " not in markdown


READ_PAGE = published(
    "Text.", source="web", title="Zinc", url="https://who.int/zinc", accessed="2026-11-23", publisher="WHO"
)


@pytest.mark.parametrize(
    ("style", "shown"),
    [
        ("vancouver", "[cited 2026 Nov 23]"),
        ("ama", "Accessed November 23, 2026. https://who.int/zinc"),
        ("apa", "Retrieved November 23, 2026, from https://who.int/zinc"),
        ("ieee", "Accessed: Nov. 23, 2026."),
        ("chicago", "Accessed November 23, 2026. https://who.int/zinc"),
    ],
)
def test_a_web_page_says_on_which_day_it_was_read_where_that_is_known(style: str, shown: str) -> None:
    older = READ_PAGE.model_copy(update={"accessed": "Unknown"})
    assert shown in "".join(bibliography([READ_PAGE], style).pieces)
    assert not re.search("(?i)retrieved|accessed|cited", "".join(bibliography([older], style).pieces))


def test_works_of_one_year_get_letters_in_author_date_styles() -> None:
    second = ARTICLE.model_copy(update={"id": "b", "title": "A second one", "doi": "10.1000/2"})
    other = ARTICLE.model_copy(update={"id": "c", "title": "A third one", "doi": "10.1000/3", "date": "2018"})
    apa = "".join(bibliography([ARTICLE, second, other], "apa", "text").pieces).splitlines()
    assert ["(2017a). A second" in apa[0], "(2017b). Zinc" in apa[1], "(2018). A third" in apa[2]] == [True] * 3
    chicago = "".join(bibliography([ARTICLE, second, other], "chicago", "text").pieces)
    assert ["2017a. “A Second One" in chicago, "2017b. “Zinc" in chicago] == [True] * 2


def test_numbered_styles_keep_the_order_and_author_date_styles_sort() -> None:
    first = ARTICLE.model_copy(update={"id": "z", "authors": (AuthorName("Zorn", "A"),), "doi": "10.1000/9"})
    last = ARTICLE.model_copy(update={"id": "o", "authors": (AuthorName("Østby", "B"),), "doi": "10.1000/8"})
    assert "".join(bibliography([first, last], "ama", "text").pieces).startswith("1. Zorn A.")
    assert "".join(bibliography([first, last], "apa", "text").pieces).startswith("Østby, B.")


def test_without_authors_and_date_the_title_comes_first_and_says_so() -> None:
    bare = published("Text.", source="web", title="Zinc: facts", url="https://example.org/a")
    assert "".join(bibliography([bare], "apa", "text").pieces).startswith("Zinc: facts. (n.d.).")
    assert "[date unknown]" not in "".join(bibliography([bare], "vancouver", "text").pieces)


def test_markdown_keeps_the_emphasis_and_the_numbers() -> None:
    markdown = "".join(bibliography([ARTICLE, PREPRINT], "nature", "markdown").pieces)
    assert "*JRSM Open* **8**, 321–328 (2017)" in markdown
    html = MarkdownIt().render(markdown)
    assert html.count("<li>") == 2
    assert MarkdownIt().render("".join(bibliography([ARTICLE], "ieee", "markdown").pieces)).startswith("<p>[1] ")


@given(
    title=st.text(max_size=60),
    family=st.text(max_size=20),
    pages=st.text(max_size=12),
    style=st.sampled_from([*STYLES]),
)
def test_no_record_ends_a_bibliography(title: str, family: str, pages: str, style: str) -> None:
    one = ARTICLE.model_copy(update={"title": title or "x", "authors": (AuthorName(family, title),), "pages": pages})
    for output in ("text", "markdown", "html"):
        assert "".join(bibliography([one, PREPRINT], style, output).pieces)


def test_a_publication_without_a_form_in_the_style_is_in_vancouver_with_a_remark(tmp_path: Path) -> None:
    style = own_style(tmp_path, '<text variable="volume"/>')
    made = bibliography([PAGE, ARTICLE], style, "text", styles_folder=tmp_path)
    assert made.pieces[0].startswith("Example Agency. Zinc and health [Internet].")
    assert made.remarks == (f"The style has no form for these, which are in Vancouver style: {PAGE.id}.",)


@pytest.mark.parametrize(
    ("name", "style"),
    [
        ("APA 7th", "apa"),
        ("JAMA", "ama"),
        ("Chicago author-date", "chicago"),
        ("Chicago (Notes and Bibliography)", "chicago-notes"),
        ("NLM", "vancouver"),
    ],
)
def test_a_style_is_known_by_its_other_names(name: str, style: str) -> None:
    assert bibliography([ARTICLE], name) == bibliography([ARTICLE], style)


@pytest.mark.parametrize("name", ["nature medicine", "apa vancouver", "apa notes", "notes", "7th", "mla"])
def test_a_name_that_could_mean_another_style_is_refused_with_the_known_ones(name: str) -> None:
    known = "There is no style .*vancouver, ama, apa, nature, ieee, chicago, chicago-notes"
    with pytest.raises(InvalidInputError, match=known):
        bibliography([ARTICLE], name)


def test_a_path_is_read_only_where_paths_are_allowed(tmp_path: Path) -> None:
    own_style(tmp_path, '<text variable="title"/>')
    path = str(tmp_path / "mine.csl")
    assert "".join(bibliography([ARTICLE], path, "text", allow_paths=True).pieces).startswith("Zinc lozenges")
    for name in (path, "../mine", "../mine.csl", "mine.csl"):
        with pytest.raises(InvalidInputError, match="style"):
            bibliography([ARTICLE], name, "text", styles_folder=tmp_path / "other")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (b"no xml", "not well-formed"),
        (b"<html/>", "not a CSL style"),
        (b"<style><citation><layout/></citation></style>", "only citations or notes"),
        (b'<!DOCTYPE style [<!ENTITY a "b">]><style>&a;</style>', "document type declaration"),
        (b"<style>" + b" " * 1_000_001 + b"</style>", "too large"),
        (b"<style>" * 300 + b"</style>" * 300, "not well-formed"),
        (
            b'<style><info><link rel="independent-parent" href="http://x/styles/harvard"/></info></style>',
            'points to "harvard"',
        ),
        (b'<style><bibliography><layout><text macro="a"/></layout></bibliography></style>', "no macro"),
        (
            b'<style><macro name="a"><text macro="a"/></macro><bibliography><layout><text macro="a"/></layout>'
            b"</bibliography></style>",
            "call themselves",
        ),
        (
            b"<style>"
            + b"".join(
                b'<macro name="%d">%s</macro>' % (place, b'<text macro="%d"/>' % (place + 1) * 9) for place in range(20)
            )
            + b'<macro name="20"/><bibliography><layout><text macro="0"/></layout></bibliography></style>',
            "too complex",
        ),
    ],
)
def test_a_style_that_cannot_be_used_is_refused(source: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "mine.csl").write_bytes(source)
    with pytest.raises(InvalidInputError, match=message):
        bibliography([ARTICLE], "mine", "text", styles_folder=tmp_path)


def test_a_dependent_style_is_its_parent_if_that_is_at_hand(tmp_path: Path) -> None:
    def points_to(parent: str) -> str:
        link = f'<link rel="independent-parent" href="http://www.zotero.org/styles/{parent}"/>'
        (tmp_path / "journal.csl").write_text(f"<style><info>{link}</info></style>", "utf-8")
        return "".join(bibliography([ARTICLE], "journal", styles_folder=tmp_path).pieces)

    own_style(tmp_path, '<text variable="volume"/>')
    assert points_to("apa") == "".join(bibliography([ARTICLE], "apa").pieces)
    assert points_to("mine") == "8\n"
    for parent in ("journal", "elsewhere", "..%2f..%2fmine"):
        with pytest.raises(InvalidInputError, match="only points to"):
            points_to(parent)


def test_a_style_that_names_authors_without_a_label_shows_editors_of_a_book_in_their_place(tmp_path: Path) -> None:
    style = own_style(tmp_path, '<names variable="author"><name/></names><text variable="title" prefix=" "/>')
    assert "Berg" in "".join(bibliography([BOOK], style, styles_folder=tmp_path).pieces)


SHIPPED = Path(__file__).parents[2] / "src/deepcritical_mcp/export/styles"
# Options for names that CSL allows on <style>; pandoc 2.17 reads them on <bibliography> only.
INHERITED = (
    "and delimiter-precedes-et-al delimiter-precedes-last initialize initialize-with initialize-with-hyphen "
    "name-as-sort-order sort-separator name-delimiter names-delimiter"
).split()


@pytest.fixture(scope="module")
def recorded() -> list[Publication]:
    return recorded_publications()[:160]


@needs_records
@needs_pandoc
@pytest.mark.long
@pytest.mark.parametrize("style", [name for name in STYLES if name != "chicago-notes"])
def test_pandoc_writes_the_same_entries(style: str, recorded: list[Publication], tmp_path: Path) -> None:
    theirs = pandoc_entries(recorded, style, tmp_path)
    ours = [explained(line) for line in "".join(bibliography(recorded, style, "text").pieces).splitlines()]
    same = len({explained(line) for line in theirs} & set(ours))
    assert len(theirs) == len(ours) == len(recorded)
    assert same >= 0.95 * len(ours)


def pandoc_entries(publications: list[Publication], style: str, folder: Path) -> list[str]:
    (folder / "items.json").write_text(json.dumps([style_fields(one) for one in references(publications)]), "utf-8")
    (folder / "style.csl").write_text(for_pandoc((SHIPPED / f"{STYLES[style]}.csl").read_text("utf-8")), "utf-8")
    command = ["pandoc", "--from", "markdown", "--to", "html", "--wrap", "none", "--citeproc"]
    command += ["--bibliography", str(folder / "items.json"), "--csl", str(folder / "style.csl")]
    document = "---\nnocite: '@*'\n---\n"
    run = subprocess.run(command, input=document, capture_output=True, text=True, check=True, timeout=300)
    entries = re.findall(r'<div id="ref-[^"]*" class="csl-entry"[^>]*>(.*?)</div>\n(?=<div|</div>)', run.stdout, re.S)
    return [" ".join(html.unescape(re.sub(r"<[^>]+>", "", entry)).split()) for entry in entries]


def for_pandoc(source: str) -> str:
    """The style without what pandoc 2.17 does not understand."""
    head = re.search(r"<style [^>]*>", source)
    assert head
    options = [found[0] for name in INHERITED if (found := re.search(rf' {name}="[^"]*"', head[0]))]
    source = source.replace("<bibliography ", f"<bibliography {' '.join(options)} ", 1)
    source = re.sub(r'(<names variable="(?:author|editor)">\s*)(<label)', r"\1<name/>\2", source)
    return source.replace('"chicago-16"', '"chicago"')


def explained(line: str) -> str:
    """A line without the differences that we know and want: "[Online]", which pandoc leaves out although IEEE's style
    has it; seasons, which pandoc does not read; small words in titles; e01887-19, which pandoc takes for pages."""
    plain = " ".join(line.casefold().replace("™", "tm").replace("[online]. ", "").split())
    plain = re.sub(r"[“”‘’\"']", "'", plain).replace("–", "-")
    return re.sub(r" (?:spring|summer|autumn|fall|winter)(?=[; ])", "", plain)
