"""What a citation needs of a PubMed record: dates, pages, languages, numbers, books, and the record's own status."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.models import AuthorName, Publication
from deepcritical_mcp.sources.pubmed.records import read_records, repair_letters
from tests.sources.ncbi import article, efetch, notice


def read(record: str) -> Publication:
    (publication,) = read_records(efetch(record).body).publications
    return publication


def location(kind: str, value: str, valid: str = "Y") -> str:
    return f'<ELocationID EIdType="{kind}" ValidYN="{valid}">{value}</ELocationID>'


def electronic(year: str, month: str, day: str) -> str:
    parts = f"<Year>{year}</Year><Month>{month}</Month><Day>{day}</Day>"
    return f'<ArticleDate DateType="Electronic">{parts}</ArticleDate>'


def stage(name: str) -> str:
    return f"<PublicationStatus>{name}</PublicationStatus>"


@pytest.mark.parametrize(
    ("locations", "stage_name", "pages"),
    [
        (location("doi", "10.7554/eLife.47969") + location("pii", "e47969"), "epublish", "e47969"),
        (location("doi", "10.1088/1361-6560/acd48e"), "epublish", ""),
        (location("pii", "S0021-9150(18)30209-0"), "ppublish", ""),
        (location("pii", "wrong", "N"), "ppublish", ""),
    ],
)
def test_an_article_number_stands_for_pages_but_a_doi_does_not(locations: str, stage_name: str, pages: str) -> None:
    record = article("1", entry=electronic("2020", "1", "2") + locations, data=stage(stage_name))
    assert read(record.replace("<MedlinePgn>11-9</MedlinePgn>", "")).pages == pages
    assert read(record).pages == "11-9"


def other_abstract(language: str, text: str) -> str:
    return (
        f'<OtherAbstract Type="Publisher" Language="{language}"><AbstractText Label="AIM">{text}</AbstractText>'
        "</OtherAbstract>"
    )


@pytest.mark.parametrize(
    ("others", "content"),
    [
        (other_abstract("eng", "Zinc helps."), "AIM: Zinc helps."),
        (other_abstract("ger", "Zink hilft."), "[Abstract in German]\nAIM: Zink hilft."),
        (other_abstract("ger", "Zink hilft.") + other_abstract("eng", "Zinc helps."), "AIM: Zinc helps."),
        (other_abstract("eng", "") + other_abstract("ger", "Zink hilft."), "[Abstract in German]\nAIM: Zink hilft."),
        ("", "[No abstract]"),
    ],
)
def test_another_abstract_stands_in_only_where_the_main_one_is_missing(others: str, content: str) -> None:
    assert read(article("1", abstract="", citation=others)).text.content == content
    assert read(article("1", citation=others)).text.content == "Zinc speeds up repair."


BIORXIV = "bioRxiv. 2023 Oct 10:2023.09.29.560131. doi: 10.1101/2023.09.29.560131."
CELL = "Cell. 2023 Jul 20;186(15):3307-3324.e30. doi: 10.1016/j.cell.2023.05.044."
COCHRANE = "Cochrane Database Syst Rev. 2004;(1):CD002020"


@pytest.mark.parametrize(
    ("types", "link", "reference", "status", "kind"),
    [
        (("Retracted Publication",), "CommentIn", "J. 2020", "retracted", ""),
        ((), "CommentIn", "J. 2020", "unchecked", ""),
        ((), "RetractionIn", "J. 2022;1:2", "retracted", "retraction"),
        ((), "ExpressionOfConcernIn", "J. 2023", "concern", "concern"),
        ((), "PartialRetractionIn", "J. 2024", "corrected", "partial_retraction"),
        (("Retraction of Publication",), "RetractionOf", "J. 2020", "notice", "about"),
        (("Published Erratum",), "ErratumFor", "J. 2020", "notice", "about"),
        ((), "RepublishedIn", "J. 2020", "unchecked", "republished"),
        ((), "RetractedandRepublishedIn", "J. 2020", "retracted", "retraction"),
        (("Review",), "UpdateIn", COCHRANE, "superseded", "update"),
        (("Review",), "UpdateIn", BIORXIV, "unchecked", "update"),
        (("Preprint",), "UpdateIn", CELL, "unchecked", "published"),
        ((), "UpdateOf", BIORXIV, "unchecked", "preprint"),
    ],
)
def test_what_a_record_is_and_what_became_of_it(
    types: tuple[str, ...], link: str, reference: str, status: str, kind: str
) -> None:
    found = read(article("1", types=types, citation=notice(link, reference, "5")))
    assert found.status == status
    assert [(one.kind, one.pmid, one.reference) for one in found.status_notices] == [(kind, "5", reference)] * bool(
        kind
    )


def person(last: str, fore: str) -> str:
    return f'<Author ValidYN="Y"><LastName>{last}</LastName><ForeName>{fore}</ForeName></Author>'


def book(inside: str = "", *, whole: str = "", title: str = "") -> str:
    chapter = f"<ArticleTitle>{title}</ArticleTitle>" if title else ""
    return (
        '<PubmedBookArticle><BookDocument><PMID Version="1">20301577</PMID><ArticleIdList>'
        '<ArticleId IdType="bookaccession">NBK1403</ArticleId></ArticleIdList><Book><Publisher>'
        "<PublisherName>University of <i>Washington</i>, Seattle</PublisherName>"
        "<PublisherLocation>Seattle (WA)</PublisherLocation></Publisher>"
        "<BookTitle>GeneReviews<sup>®</sup></BookTitle><PubDate><Year>1993</Year></PubDate>"
        f'<AuthorList Type="editors">{person("Adam", "Margaret P")}</AuthorList>{whole}<Isbn>9780000000000</Isbn>'
        f"</Book>{chapter}<Language>eng</Language>{inside}</BookDocument></PubmedBookArticle>"
    )


def test_a_whole_book_has_its_editors_and_years() -> None:
    found = read(book(whole="<BeginningDate><Year>1993</Year></BeginningDate>"))
    assert (found.form, found.title, found.date, found.book_years) == ("book", "GeneReviews®", "1993", "1993-")
    assert (found.authors, found.editors) == ((), (AuthorName("Adam", "Margaret P"),))
    assert read(book()).book_years == ""
    assert read(book(title="A chapter")).book_years == "1993"


LETTERS = st.characters(categories=("Lu", "Ll"), max_codepoint=0xFF).filter(lambda letter: letter not in "ªµº")


@given(st.text(LETTERS, max_size=12))
def test_what_was_encoded_twice_comes_back_within_a_word(word: str) -> None:
    for written in (f"a{word.lower()}a", f"A{word.upper()}A"):
        if all(letter <= "\xff" for letter in written):
            assert repair_letters(written.encode().decode("latin-1")) == written


@given(st.text(st.characters(exclude_categories=("Cc", "Cs")), max_size=40))
def test_no_text_without_the_mark_of_double_encoding_is_touched(text: str) -> None:
    assert repair_letters(text) == text or re.search("Ã[\xa0-\xbf]", text)
