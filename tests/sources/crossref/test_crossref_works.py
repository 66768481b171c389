"""Works of Crossref as publications."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.dates import current_date
from deepcritical_mcp.models import NO_ABSTRACT, NO_TITLE, AuthorName
from deepcritical_mcp.sources.crossref.work import plain_jats, read_work
from tests.publications import export
from tests.sources.crossref.crossref_wire import dated, update, work


def test_an_article_is_read_whole():
    record = read_work(
        work(
            "10.5555/ZINC",
            language="en",
            ISSN=["1111-2222", "3333-4444"],
            **{
                "published-print": dated(2020, 6),
                "published-online": dated(2020, 3, 1),
                "clinical-trial-number": [{"clinical-trial-number": "nct00000007", "registry": "10.18810/x"}],
            },
            funder=[{"name": "Zinc Fund", "award": ["Z-1", "Z-2"]}, {"name": "Copper Fund"}],
            license=[
                {"URL": "https://press.example/tdm/1.0/", "content-version": "tdm"},
                {"URL": "https://creativecommons.org/licenses/by/4.0/", "content-version": "vor"},
            ],
        )
    )
    assert record.id == "doi:10.5555/zinc"
    assert record.source == "web"
    assert record.form == "article"
    assert record.is_record
    assert record.url == "https://doi.org/10.5555/zinc"
    assert (record.journal, record.journal_abbreviation, record.issn) == ("Annals of Zinc", "Ann Zinc", "1111-2222")
    assert (record.volume, record.issue, record.pages) == ("7", "2", "11-19")
    assert (record.date, record.electronic_date) == ("2020-06", "2020-03-01")
    assert record.authors == (AuthorName("Ruiz", "Ana"), AuthorName("ZINC Study Group"))
    assert record.publication_types == ("Journal Article",)
    assert record.registrations == ("NCT00000007",)
    assert record.grants == ("Z-1, Zinc Fund", "Z-2, Zinc Fund", "Copper Fund")
    assert record.text.licence == "https://creativecommons.org/licenses/by/4.0/"
    assert record.text.content == NO_ABSTRACT
    assert (record.publisher, record.language) == ("Example Press", "en")
    assert (record.status, record.status_checked) == ("ok", current_date().isoformat())


def test_a_preprint_names_its_server_and_its_article():
    record = read_work(
        work(
            "10.64898/2026.01.01.1",
            type="posted-content",
            subtype="preprint",
            posted=dated(2026, 1, 2),
            issued=dated(None),
            institution=[{"name": "bioRxiv"}],
            relation={"is-preprint-of": [{"id-type": "doi", "id": "10.5555/article", "asserted-by": "subject"}]},
            **{"container-title": [], "group-title": "Genomics", "volume": None, "issue": None, "page": None},
        )
    )
    assert (record.source, record.form, record.publisher) == ("preprint", "preprint", "bioRxiv")
    assert record.date == "2026-01-02"
    assert record.publication_types == ("Preprint",)
    assert [(one.kind, one.doi) for one in record.status_notices] == [("published", "10.5555/article")]
    assert "%J bioRxiv" in export([record], "ris") or "bioRxiv" in export([record], "ris")


@pytest.mark.parametrize("subtype", ["letter", "report", "dissertation", "peer_review"])
def test_other_posted_content_is_no_preprint(subtype: str):
    assert read_work(work(type="posted-content", subtype=subtype)).form != "preprint"


@pytest.mark.parametrize(
    ("names", "book"),
    [
        (["Metals in Medicine"], "Metals in Medicine"),
        (["Lecture Notes in Zinc", "Metals in Medicine"], "Metals in Medicine"),
        (["Metals in Medicine", "SpringerBriefs in Metals"], "Metals in Medicine"),
    ],
)
def test_a_chapter_names_its_book_and_not_the_series(names: list[str], book: str):
    editors = [{"family": "Ek", "given": "Eva"}]
    record = read_work(work(type="book-chapter", editor=editors, ISBN=["9780000000002"], **{"container-title": names}))
    assert (record.form, record.book_title, record.journal) == ("chapter", book, "")
    assert record.editors == (AuthorName("Ek", "Eva"),)
    assert record.isbn == "9780000000002"


def test_a_book_is_its_own():
    record = read_work(work(type="monograph", **{"container-title": [], "publisher-location": "Oslo"}))
    assert (record.form, record.publisher_place) == ("book", "Oslo")


@pytest.mark.parametrize("type", ["dataset", "report", "dissertation", "component", "peer-review", "other", ""])
def test_what_is_neither_article_nor_book_has_no_journal(type: str):
    record = read_work(work(type=type))
    assert (record.form, record.journal) == ("other", "")


@pytest.mark.parametrize(
    ("fields", "title"),
    [
        ({"subtitle": ["A randomised trial"]}, "Zinc in wound repair: A randomised trial"),
        ({"subtitle": ["in wound repair"]}, "Zinc in wound repair"),
        ({"title": ["Does zinc help?"], "subtitle": ["A review"]}, "Does zinc help? A review"),
        ({"title": ["Zn<sup>2+</sup> &amp; <jats:italic>Zip4</jats:italic>, p&lt;0.05"]}, "Zn2+ & Zip4, p<0.05"),
        ({"title": ["The\n            <i>ZIP4</i>\n   gene"]}, "The ZIP4 gene"),
        ({"title": []}, NO_TITLE),
    ],
)
def test_titles_are_whole_and_plain(fields: dict[str, Any], title: str):
    assert read_work(work(**fields)).title == title


def test_an_article_without_pages_has_its_number():
    assert read_work(work(page=None, **{"article-number": "e776"})).pages == "e776"


def test_a_licence_for_mining_is_none_for_readers():
    rows = [{"URL": "https://press.example/text-and-data-mining", "content-version": "vor"}]
    assert read_work(work(license=rows)).text.licence == ""


def test_what_happened_to_it_is_part_of_the_record():
    record = read_work(work(**{"updated-by": [update("10.5555/notice"), update("10.5555/fix", "correction")]}))
    assert record.status == "retracted"
    assert {one.doi for one in record.status_notices} == {"10.5555/notice", "10.5555/fix"}


@pytest.mark.parametrize(
    ("jats", "plain"),
    [
        ("<jats:p>Zinc helps.</jats:p>", "Zinc helps."),
        ("<jats:title>Abstract</jats:title><jats:p>Zinc helps.</jats:p>", "Zinc helps."),
        (
            "<jats:sec><jats:title>Aim</jats:title>\n <jats:p>To see.</jats:p></jats:sec>"
            "<jats:sec><jats:title>Results:</jats:title><jats:p>It <jats:italic>did</jats:italic>.</jats:p></jats:sec>",
            "Aim: To see.\nResults: It did.",
        ),
        ("<p>p&lt;0.05 &amp; n&gt;3</p><p>More.</p>", "p<0.05 & n>3\nMore."),
        ("Plain text, n < 5 and x > 3.", "Plain text, n < 5 and x > 3."),
        (
            "<jats:p>CO<jats:sub>2</jats:sub> and <jats:inline-formula><jats:alternatives><jats:tex-math>$x_1$"
            "</jats:tex-math><mml:math><mml:mi>x</mml:mi></mml:math></jats:alternatives></jats:inline-formula>.</jats:p>",
            "CO2 and x.",
        ),
        ("", ""),
    ],
)
def test_abstracts_are_plain_text_with_a_section_on_each_line(jats: str, plain: str):
    assert plain_jats(jats) == plain


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(st.sampled_from([*work(), "name", "URL"]), one, max_size=4),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from([*work(), "abstract", "license", "funder", "editor", "subtype"]), JSON))
def test_whatever_fields_come_a_record_is_made(fields: dict[str, Any]):
    assert read_work({**fields, "DOI": "10.5555/zinc"}).id == "doi:10.5555/zinc"
