"""Exports as a reader of references needs them: every field, books, preprints and languages, and nothing active."""

import json
import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from deepcritical_mcp.export import ExportFormat, read_jsonl
from deepcritical_mcp.models import AuthorName, Publication, StatusNotice
from tests.export.test_export import bibtex_entries, csl_items, needs_pandoc
from tests.publications import FULL, export, published
from tests.tools.test_inert import ATTACKS as MARKDOWN_ATTACKS

pybtex: Any = import_module("pybtex.database")
rispy: Any = import_module("rispy")


NOT_OF_ARTICLES = {
    *("publisher", "publisher_place", "book_title", "book_years", "isbn", "bookshelf_id", "revised_date", "version"),
    *("preprint_number", "accessed", "medline_abbreviation", "issue_date", "screening", "screening_reason", "screened"),
    *("editors", "claims", "similar", "substances", "decisions", "tags", "title", "texts", "authors"),
}
ARTICLE = Publication(
    title="[Title-words].",
    texts=FULL.texts[:1],
    authors=(AuthorName("Family-name", "Given"),),
    **{name: getattr(FULL, name) for name in FULL.model_fields_set - NOT_OF_ARTICLES},
)
CHAPTER = published(
    "Chapter-content.",
    source="pubmed",
    title="Chapter-title",
    date="2006-02-15",
    pmid="31000003",
    authors=(AuthorName("Family-name", "Given"),),
    publisher="Publisher-name",
    publisher_place="Publisher-place",
    book_title="Book-title",
    editors=(AuthorName("Editor-name", "Eve"), AuthorName("Editing Group")),
    book_years="1993-2025",
    isbn="978-0-00-000000-2",
    bookshelf_id="NBK1403",
    revised_date="2024-12-19",
    language="eng",
)
BOOK = published(
    "Book-content.",
    source="pubmed",
    title="Book-title",
    book_title="Book-title",
    pmid="31000004",
    date="2015-09-01",
    editors=(AuthorName("Editor-name", "Eve"),),
    publisher="Publisher-name",
    publisher_place="Publisher-place",
)
PREPRINT = published(
    "Preprint-content.",
    source="pubmed",
    title="Preprint-title",
    pmid="31000005",
    doi="10.1101/2023.02.07.527548",
    date="2023-02-08",
    journal="bioRxiv : the preprint server for biology",
    journal_abbreviation="bioRxiv",
    pages="2023.02.07.527548",
    version="4b",
    preprint_number="PPR5001",
    publication_types=("Preprint", "Journal Article"),
    authors=(AuthorName("Xu", "Wei Qin"),),
    status_notices=(StatusNotice(kind="published", pmid="37385249", reference="Cell. 2023;186(15):3307-3324.e30."),),
)
PAGE = published(
    "Page-content.",
    source="web",
    title="Page-title",
    url="https://example.org/page",
    date="2024",
    accessed="2019-11-23",
    provider="tavily",
)
ALL = (ARTICLE, CHAPTER, BOOK, PREPRINT)
SEASONAL = published(
    "Text.",
    source="pubmed",
    title="Seasonal",
    journal="Whole name",
    journal_abbreviation="Iso. Abbr.",
    medline_abbreviation="Medline Abbr (Tokyo)",
    pmid="7",
    date="1990",
    issue_date="1990 Spring",
)
AHEAD = published("Text.", source="pubmed", title="Ahead", journal="J", pmid="6", publication_stage="aheadofprint")

SEEN: Mapping[str, str] = {
    "texts": "Abstract-content", "title": "Title-words", "url": "https://example.org/address", "date": "2021",
    "pmid": "31000001", "doi": "10.1000/doi-value", "pmcid": "PMC7000001", "nct": "NCT00000001",
    "journal": "Journal-name", "journal_abbreviation": "Abbreviation", "volume": "Volume-7", "issue": "Issue-8",
    "pages": "E555", "language": "German", "mesh_terms": "Mesh-term", "keywords": "Key-word",
    "registrations": "ISRCTN77777777", "status": "EXPRESSION OF CONCERN", "status_notices": "Notice-reference",
    "authors": "Family-name", "vernacular_title": "Vernacular-title", "issn": "1111-2222", "issue_date": "Spring",
    "medline_abbreviation": "Medline Abbr (Tokyo)", "electronic_date": "2020",
    "publication_stage": "Epub ahead of print", "publisher": "Publisher-name", "publisher_place": "Publisher-place",
    "book_title": "Book-title", "editors": "Editor-name", "book_years": "1993-2025", "isbn": "978-0-00-000000-2",
    "bookshelf_id": "NBK1403", "revised_date": "2024", "version": "4b", "accessed": "2019-11-23",
    "status_checked": "2026-11-21", "accessions": "L600000001",
}  # fmt: skip
"""What a reader of an export sees of each field, in one of the records."""

LEFT_OUT: Mapping[str, str] = {
    "id": "a session's own name; citation keys take its place",
    "source": "the type of the record says it",
    "publication_types": "reference managers have no field for them; that of a preprint is the type of the record",
    "preprint_number": "its DOI or its address leads to it",
    "claims": "a number that no record confirms is not part of a reference",
    "found_by": "how the session came to it is not part of a reference",
    "similar": "what else the session has is not part of a reference",
    "grants": "not part of a reference",
    "decisions": "the user's own decisions are not part of a reference",
    "decided": "the day of a decision is not part of a reference",
    "screened": "the day of a decision is not part of a reference",
    "screening": "the user's own decision is not part of a reference",
    "screening_reason": "the user's own words are not part of a reference",
    "declared": "which of the session's descriptions are one is not part of a reference",
    "tags": "the user's own words are not part of a reference",
    "conflict_of_interest": "not part of a reference",
    "substances": "not part of a reference; the MeSH terms name what matters of them",
}
"""Fields that only jsonl carries, and why."""
NOT_OF_A_REFERENCE = "the status is part of a reference, not the day on which it was asked"
NOT_IN: Mapping[ExportFormat, Mapping[str, str]] = {
    "bibtex": {"electronic_date": "BibTeX has one date, that of the issue", "status_checked": NOT_OF_A_REFERENCE},
    "ris": {"electronic_date": "RIS has one date, that of the issue", "status_checked": NOT_OF_A_REFERENCE},
    "csl-json": {"status_checked": NOT_OF_A_REFERENCE},
    "markdown": {
        "url": "the link of its PMID leads there",
        "mesh_terms": "read by people, who search by words",
        "keywords": "read by people, who search by words",
        "registrations": "not part of a reference in Vancouver style",
        "vernacular_title": "not part of a reference with a translated title",
        "issn": "not part of a reference in Vancouver style",
        "isbn": "not part of a reference in Vancouver style",
        "electronic_date": "the reference has the date of the issue",
        "journal": "the reference has its abbreviation",
        "accessions": "not part of a reference in Vancouver style",
    },
}


def test_every_field_is_in_each_export_or_left_out_for_a_reason() -> None:
    assert {*SEEN, *LEFT_OUT} == {*Publication.model_fields}
    assert not {*SEEN} & {*LEFT_OUT}
    for format, reasons in NOT_IN.items():
        text = export((*ALL, AHEAD, SEASONAL, PAGE), format).replace("\\", "")
        if format == "csl-json":
            text = text.replace('"language": "de"', "German").replace("[2020, 12, 30]", "2020")
            text = text.replace("[2019, 11, 23]", "2019-11-23")
        text = text.replace("2019/11/23", "2019-11-23").replace("cited 2019 Nov 23", "2019-11-23")
        assert {name for name, value in SEEN.items() if value not in text} == {*reasons}, format


def test_ris_reads_back_equal() -> None:
    article, chapter, book, preprint = rispy.loads(export(ALL, "ris"))
    assert [one["type_of_reference"] for one in (article, chapter, book, preprint)] == ["JOUR", "CHAP", "BOOK", "UNPB"]
    assert article["alternate_title1"] == "Abbreviation"
    assert (article["issn"], article["language"]) == ("1111-2222", "German")
    assert "Original title: Vernacular-title" in article["notes"]
    assert (chapter["title"], chapter["secondary_title"]) == ("Chapter-title", "Book-title")
    assert chapter["secondary_authors"] == ["Editor-name, Eve", "Editing Group,"]
    assert (chapter["publisher"], chapter["place_published"]) == ("Publisher-name", "Publisher-place")
    assert (chapter["issn"], chapter["date"]) == ("978-0-00-000000-2", "2006/02/15/")
    assert chapter["notes"] == ["Bookshelf ID: NBK1403.", "Book published 1993-2025.", "Updated 2024-12-19."]
    assert (book["title"], book["secondary_authors"]) == ("Book-title", ["Editor-name, Eve"])
    assert "secondary_title" not in book
    assert (preprint["type_of_work"], preprint["start_page"]) == ("Preprint", "2023.02.07.527548")
    assert preprint["notes"] == ["Published as: Cell. 2023;186(15):3307-3324.e30, PMID 37385249."]


def test_bibtex_reads_back_equal() -> None:
    article, chapter, book, preprint = bibtex_entries(export(ALL, "bibtex"))
    assert [one["type"] for one in (article, chapter, book, preprint)] == ["article", "incollection", "book", "misc"]
    assert (article["shortjournal"], article["language"], article["langid"]) == ("Abbreviation", "German", "german")
    assert article["origtitle"] == "Vernacular-title"
    assert (chapter["booktitle"], chapter["publisher"], chapter["address"]) == (
        "Book-title",
        "Publisher-name",
        "Publisher-place",
    )
    assert chapter["note"] == "Bookshelf ID: NBK1403. Book published 1993-2025. Updated 2024-12-19."
    assert (preprint["howpublished"], preprint["number"]) == ("bioRxiv [Preprint]", "2023.02.07.527548")
    assert "journal" not in preprint
    people: Any = pybtex.parse_string(export((CHAPTER,), "bibtex"), "bibtex").entries["familyname2006chapter"].persons
    assert [(one.last_names, one.first_names) for one in people["editor"]] == [
        (["Editor-name"], ["Eve"]),
        (["{Editing Group}"], []),
    ]


@needs_pandoc
def test_pandoc_reads_the_same_from_csl_and_bibtex() -> None:
    ours = json.loads(export(ALL, "csl-json"))
    from_csl = csl_items(export(ALL, "csl-json"), "csljson")
    from_bibtex = csl_items(export(ALL, "bibtex"), "biblatex")
    for written, csl, bibtex in zip(ours, from_csl, from_bibtex, strict=True):
        assert csl.pop("title") == bibtex["title"] == re.sub("<[^>]*>", "", written.pop("title"))
        available = written.pop("available-date", {}).get("date-parts", [[]])[0]
        assert csl.pop("available-date", "") == "-".join(f"{part:02}" for part in available)
        assert csl == written
        assert csl.get("language", "en")[:2] == bibtex.get("language", "en")[:2]
        for name in ("author", "editor", "issued", "publisher-place", "ISBN", "ISSN", "DOI", "PMID"):
            assert csl.get(name) == bibtex.get(name), name
        if csl["type"] != "article":  # pandoc knows no type of BibTeX for a preprint
            assert (csl["type"], csl.get("publisher")) == (bibtex["type"], bibtex.get("publisher"))
            assert csl.get("container-title") == bibtex.get("container-title")
            assert csl.get("container-title-short") == bibtex.get("container-title-short")
    assert [item["type"] for item in from_csl] == ["article-journal", "chapter", "book", "article"]
    assert (from_csl[3]["genre"], from_csl[3]["publisher"]) == ("Preprint", "bioRxiv")


ATTACKS = (
    r"\input{/etc/passwd}",
    r"\write18{rm -rf ~}",
    r"^^5cinput{x}",
    r"\end{document}",
    "}",
    "{",
    "}}, @string{x={",
    "%",
    "\n@article{evil,",
    "\nER  - \nTY  - JOUR\nTI  - evil",
    "\r\nUR  - https://evil.example",
    "=cmd|' /C calc'!A0",
    "@SUM(1)",
    '"]}, {"id": "evil',
    "\n# heading\n- list\n1. list\n---\n",
    "$$\\evil$$",
    "\u2028ER  - ",
    "\x85ER  - ",
    "\x0bER  - ",
    "![x][r]\n\n[r]: https://evil.example/a.png",
    *MARKDOWN_ATTACKS,
)
HOSTILE = st.lists(st.one_of(st.sampled_from(ATTACKS), st.text(max_size=5)), min_size=1, max_size=4).map("".join)


@st.composite
def hostile_publications(draw: st.DrawFn) -> Publication:
    forms: list[dict[str, Any]] = [
        {"source": "pubmed", "journal": draw(HOSTILE), "journal_abbreviation": draw(HOSTILE)},
        {"source": "pubmed", "book_title": draw(HOSTILE), "publisher": draw(HOSTILE), "isbn": draw(HOSTILE)},
        {"source": "preprint", "journal": draw(HOSTILE)},
        {"source": "web", "url": f"https://example.org/{draw(HOSTILE)}"},
        {"source": "web", "url": draw(HOSTILE)},
        {"source": draw(st.sampled_from(("trial", "user")))},
    ]
    notice = StatusNotice(kind="erratum", pmid=draw(HOSTILE), reference=draw(HOSTILE))
    return published(
        f"Text {draw(HOSTILE)}",
        title=f"x{draw(HOSTILE)}",
        authors=(AuthorName(f"x{draw(HOSTILE)}", draw(HOSTILE)), AuthorName(f"x{draw(HOSTILE)}")),
        editors=(AuthorName(f"x{draw(HOSTILE)}", draw(HOSTILE)),),
        language=draw(HOSTILE),
        doi=draw(HOSTILE),
        pmid=draw(st.one_of(st.just(""), HOSTILE)),
        pages=draw(HOSTILE),
        volume=draw(HOSTILE),
        registrations=(draw(HOSTILE),),
        keywords=(draw(HOSTILE),),
        vernacular_title=draw(HOSTILE),
        bookshelf_id=draw(HOSTILE),
        status_notices=(notice,),
        **draw(st.sampled_from(forms)),
    )


PLAIN = published("Plain.", source="pubmed", title="Plain", pmid="1", journal="J", authors=(AuthorName("B", "A"),))
COMMANDS = re.compile(r"\\(?:textbackslash\{\}|textasciitilde\{\}|textasciicircum\{\}|[&%$#_{}])")


@given(hostile_publications())
def test_bibtex_holds_no_command_of_anybody_else(publication: Publication) -> None:
    text = export((publication, PLAIN), "bibtex")
    assert len(pybtex.parse_string(text, "bibtex").entries) == 2
    assert len(bibtex_entries(text)) == 2
    for line in text.splitlines():
        assert not line.startswith("@") or re.fullmatch(r"@[a-z]+\{[a-zA-Z0-9-]+,", line), line
        if re.match(r"  (?:url|doi) = ", line):
            assert not re.search(r"[\\{}^]", line.split("= ", 1)[1].removeprefix("{").removesuffix("},"))
        else:
            left = COMMANDS.sub("", line)
            assert not re.search(r"[\\%^$#~&_]", left), line
        assert "\\input" not in line
        assert "\\write" not in line


@given(hostile_publications())
def test_ris_and_json_keep_hostile_text_within_its_record(publication: Publication) -> None:
    records = rispy.loads(export((publication, PLAIN), "ris"))
    items = json.loads(export((publication, PLAIN), "csl-json"))
    assert [one["title"] for one in records][1:] == ["Plain"]
    assert all(re.match(r"[A-Z][A-Z0-9]  - ", line) for line in export((publication,), "ris").split("\n") if line)
    assert len(items) == 2
    assert read_jsonl(export((publication, PLAIN), "jsonl")) == [publication, PLAIN]
    assert len(export((publication, PLAIN), "jsonl").splitlines()) == 2


OURS = ("https://pubmed.ncbi.nlm.nih.gov/", "https://pmc.ncbi.nlm.nih.gov/", "https://doi.org/")


@given(hostile_publications())
def test_markdown_holds_no_image_no_html_and_no_link_but_ours(publication: Publication) -> None:
    text = export((publication, PLAIN), "markdown")
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    tokens = [one for block in parser.parse(text) for one in (block, *(block.children or ()))]
    assert not {"image", "html_inline", "html_block"} & {one.type for one in tokens}
    targets = [str(one.attrs["href"]) for one in tokens if one.type == "link_open"]
    foreign = [target for target in targets if not target.startswith(OURS)]
    assert len(foreign) <= int(publication.source == "web")
    assert all(re.match("https?://", target, re.IGNORECASE) for target in foreign)
    headings = [one for one in tokens if one.type == "heading_open"]
    assert len(headings) == 2


NOTE = published("Unblinded after week 3.", provider="user", source="user", title="On it", pmid="31000001")
LOOSE = published("To read next.", provider="user", source="user", title="Loose")


@pytest.mark.parametrize("order", [(NOTE, ARTICLE, LOOSE), (ARTICLE, LOOSE, NOTE)])
def test_a_note_on_a_paper_is_exported_with_the_paper(order: tuple[Publication, ...]) -> None:
    (paper,) = json.loads(export(order, "csl-json"))
    assert paper["PMID"] == "31000001"
    assert paper["annote"] == "Unblinded after week 3."
    assert "Unblinded" not in paper.get("note", "")
    assert export(order, "markdown").count("## ") == 2
    assert read_jsonl(export(order, "jsonl")) == [*order]


def test_what_a_page_says_is_not_exported_as_the_user_s_note() -> None:
    page = published("A page's text.", provider="user", source="web", title="On it", pmid="31000001")
    note = published("My own words.", provider="user", source="user", title="On it", pmid="31000001")
    assert [one["annote"] for one in json.loads(export((page, note), "csl-json"))] == ["My own words."]
    assert [one["annote"] for one in json.loads(export((page,), "csl-json"))] == ["A page's text."]


@needs_pandoc
@pytest.mark.parametrize(
    "said", ["title: Evil\nDOI: 10.1/evil\ntype: book\nissued: 1900", "So {:title: Evil}", "Evil: x"]
)
def test_no_note_overrides_a_field(said: str) -> None:
    note = published(said, provider="user", source="user", title="On it", pmid="31000001")
    for items in ((ARTICLE, note), (published("Text.", source="pubmed", title="T", pmid="31000001"), note)):
        (written,) = json.loads(export(items, "csl-json"))
        (read,) = csl_items(export(items, "csl-json"), "csljson")
        assert written["annote"] == said
        assert {name: read.get(name) for name in ("DOI", "type", "issued", "note")} == {
            name: written.get(name) for name in ("DOI", "type", "issued", "note")
        }
        assert "Evil" not in read["title"]
