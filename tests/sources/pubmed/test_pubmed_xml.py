"""PubMed's records: every shape the DTD allows, some that it does not, and all that a citation needs of them."""

import contextlib
import re
import string
import tracemalloc
from html import escape
from xml.etree.ElementTree import XML

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.errors import ProviderError, ProviderResponseError, ProviderUnavailableError
from deepcritical_mcp.models import AuthorName, Publication
from deepcritical_mcp.sources.pubmed.records import Records, read_records, text_at
from tests.sources.ncbi import article, efetch, notice


def read(*records: str) -> Records:
    return read_records(efetch(*records).body)


ODD = {
    "no PMID": article("").replace('<PMID Version="1"></PMID>', ""),
    "no number for a PMID": article("abc"),
    "nothing in it": "<PubmedArticle/>",
    "text instead": "<PubmedArticle>wrong format</PubmedArticle>",
    "no valid XML": article("3").replace("</Article>", ""),
    "a book of nothing": "<PubmedBookArticle><BookDocument/></PubmedBookArticle>",
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_an_unreadable_record_costs_itself_alone(odd: str):
    records = read(article("1"), odd, article("2"))
    assert [piece.id for piece in records.publications] == ["pubmed:1", "pubmed:2"]
    assert len(records.losses) + len(records.unnamed) == 1
    assert records.well_formed is (odd != ODD["no valid XML"])


DEEP = article("3", "<i>" * 50_000 + "deep" + "</i>" * 50_000)


@pytest.mark.parametrize("between", ["<b>", "</b>", "&", "<PubmedArticle><PMID>7</PMID>", DEEP], ids=range(5))
def test_what_stands_between_records_costs_none_of_them(between: str):
    records = read(article("1"), between, article("2"), between)
    assert [piece.id for piece in records.publications] == ["pubmed:1", "pubmed:2"]


def test_a_maintenance_page_is_an_outage():
    with pytest.raises(ProviderUnavailableError):
        read_records(b"<!-- NCBI -->\n<html lang='en'><head><meta charset=utf-8></head><body>Back soon<br></html>")


@pytest.mark.parametrize("inside", ["<i>" * 2_000_000, "<a/>" * 1_500_000], ids=["unclosed", "elements"])
def test_markup_that_pubmed_never_sends_costs_neither_memory_nor_time(inside: str):
    body = f"<PubmedArticleSet>{inside}</PubmedArticleSet>".encode()
    tracemalloc.start()
    try:
        with pytest.raises(ProviderResponseError, match=r"cannot be read: (it is not valid XML|.* too many)"):
            read_records(body)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10 * len(body)


WORDS = st.text(alphabet=string.ascii_letters + "äßµ<>&\"'", min_size=1, max_size=8)
SUPERSCRIPTS = dict(zip("0123456789+-=()", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾", strict=True))
MARKED: st.SearchStrategy[tuple[str, str]] = st.one_of(
    WORDS.map(lambda word: (escape(word), word)),
    st.tuples(st.sampled_from(["i", "b", "u"]), WORDS).map(
        lambda pair: (f"<{pair[0]}>{escape(pair[1])}</{pair[0]}>", pair[1])
    ),
    st.text(alphabet="0123456789+-=()", min_size=1, max_size=4).map(
        lambda signs: (f"<sup>{signs}</sup>", "".join(SUPERSCRIPTS[sign] for sign in signs))
    ),
    st.text(alphabet="abckLMN", min_size=1, max_size=4).map(lambda letters: (f"<sub>{letters}</sub>", letters)),
)


@given(st.lists(st.tuples(MARKED, st.sampled_from(["", " "])), min_size=1, max_size=12))
def test_no_character_of_a_text_is_lost_or_moved(parts: list[tuple[tuple[str, str], str]]):
    xml = "".join(marked + blank for (marked, _), blank in parts)
    text = "".join(plain + blank for (_, plain), blank in parts).strip()
    (evidence,) = read_records(efetch(article("1", xml, f"<AbstractText>{xml}</AbstractText>")).body).publications
    assert evidence.title == text
    assert evidence.text.content == text


PERSON = "<Author><LastName>L{0}</LastName><ForeName>F{0}</ForeName></Author>", "L{0} F{0}"
GROUP = "<Author><CollectiveName>G{0}</CollectiveName></Author>", "G{0}"
NOBODY = '<Author ValidYN="Y"/>', ""


@given(st.lists(st.sampled_from([PERSON, GROUP, NOBODY]), max_size=20))
def test_every_author_is_kept_in_order(forms: list[tuple[str, str]]):
    xml = "".join(form.format(number) for number, (form, _) in enumerate(forms))
    (evidence,) = read_records(efetch(article("1", authors=xml)).body).publications
    named = [name.format(number) for number, (_, name) in enumerate(forms) if name]
    assert [str(author) for author in evidence.authors] == named


@given(st.binary(max_size=300))
def test_junk_is_never_taken_for_records(junk: bytes):
    for body in (junk, b"<PubmedArticleSet>" + junk + b"</PubmedArticleSet>"):
        with contextlib.suppress(ProviderError):
            assert read_records(body).publications == ()


NAMES = st.sampled_from(
    """PubmedArticle MedlineCitation Article PMID ArticleTitle Abstract AbstractText AuthorList Author LastName
    sup i PubDate Year Month Journal Book BookDocument mml:math PubmedBookArticle CommentsCorrectionsList
    CommentsCorrections Keyword DeleteCitation""".split()
)
TREES: st.SearchStrategy[str] = st.recursive(
    st.text(alphabet="12aZ <&", max_size=5).map(escape),
    lambda inside: st.tuples(NAMES, st.lists(inside, max_size=4)).map(
        lambda node: f"<{node[0]}>{''.join(node[1])}</{node[0]}>"
    ),
    max_leaves=25,
)


@given(st.lists(TREES, max_size=4))
def test_elements_in_any_order_are_read_or_named(trees: list[str]):
    records = read_records(f"<PubmedArticleSet>{''.join(trees)}</PubmedArticleSet>".encode())
    for piece in records.publications:
        assert piece.title
        assert piece.text.content


@given(st.integers(min_value=0), st.integers(min_value=1))
def test_half_an_answer_is_never_a_whole_one(start: int, length: int):
    body = efetch(article("1"), article("2"), article("3")).body
    cut = body[: start % len(body)] if length % 2 else body[start % (len(body) - 40) + 40 :]
    try:
        records = read_records(cut)
    except ProviderError:
        return
    assert len(records.publications) == 3 or not records.well_formed


def read_one(record: str) -> Publication:
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
    assert read_one(record.replace("<MedlinePgn>11-9</MedlinePgn>", "")).pages == pages
    assert read_one(record).pages == "11-9"


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
    assert read_one(article("1", abstract="", citation=others)).text.content == content
    assert read_one(article("1", citation=others)).text.content == "Zinc speeds up repair."


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
    found = read_one(article("1", types=types, citation=notice(link, reference, "5")))
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
    found = read_one(book(whole="<BeginningDate><Year>1993</Year></BeginningDate>"))
    assert (found.form, found.title, found.date, found.book_years) == ("book", "GeneReviews®", "1993", "1993-")
    assert (found.authors, found.editors) == ((), (AuthorName("Adam", "Margaret P"),))
    assert read_one(book()).book_years == ""
    assert read_one(book(title="A chapter")).book_years == "1993"


LETTERS = st.characters(categories=("Lu", "Ll"), max_codepoint=0xFF).filter(lambda letter: letter not in "ªµº")


@given(st.text(LETTERS, max_size=12))
def test_what_was_encoded_twice_comes_back_within_a_word(word: str) -> None:
    for written in (f"a{word.lower()}a", f"A{word.upper()}A"):
        if all(letter <= "\xff" for letter in written):
            assert text_at(XML(f"<a>{written.encode().decode('latin-1')}</a>"), ".") == written


@given(st.text(st.characters(exclude_categories=("Cc", "Cs", "Cn")), max_size=40))
def test_no_text_without_the_mark_of_double_encoding_is_touched(text: str) -> None:
    assert text_at(XML(f"<a>{escape(text)}</a>"), ".") == " ".join(text.split()) or re.search("Ã[\xa0-\xbf]", text)
