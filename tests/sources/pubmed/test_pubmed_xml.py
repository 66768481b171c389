"""PubMed's records: every shape the DTD allows, and some that it does not."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence

import pytest

from deepcritical_mcp.errors import ProviderResponseError, ProviderUnavailableError
from deepcritical_mcp.models import AuthorName, Publication
from deepcritical_mcp.sources.pubmed.records import Records, read_records
from tests.sources.ncbi import article, efetch, notice


def read(*records: str) -> Records:
    return read_records(efetch(*records).body)


def read_one(record: str) -> Publication:
    (evidence,) = read(record).publications
    return evidence


MATH = (
    '<mml:math xmlns:mml="http://www.w3.org/1998/Math/MathML"><mml:mrow><mml:mi>k</mml:mi><mml:mo>=</mml:mo>'
    "<mml:msup><mml:mn>2</mml:mn><mml:mn>3</mml:mn></mml:msup></mml:mrow></mml:math>"
)
MARKUP = {
    "H<sub>2</sub>O and Ca<sup>2+</sup>": "H₂O and Ca²⁺",
    "<i>Mus</i> <b>bold</b> <u>under</u>": "Mus bold under",
    "<i>a<sub>1</sub><b>b</b></i>c": "a₁bc",
    "10<sup>-3</sup> mol<sup>−1</sup>": "10⁻³ mol⁻¹",
    "CD4<sup>low</sup> x<sup>n+1</sup>": "CD4low xn+1",
    "n<sub><i>2</i></sub>": "n₂",
    "x<sup>a<sub>1</sub></sup>": "xa₁",
    "a<sup> 2 </sup>b": "a ² b",
    "a<sup/>b<sub> </sub>c": "ab c",
    f"rate {MATH} holds": "rate k=23 holds",
    "<DispFormula>E=mc<sup>2</sup></DispFormula>": "E=mc²",
    "<math><mi>x</mi><mo>&lt;</mo><mn>1</mn></math>": "x<1",
    "P &lt; 0.05 &amp; Q": "P < 0.05 & Q",
    "95&amp;percnt; &amp;lt;i&amp;gt;": "95&percnt; &lt;i&gt;",
    "&#946;-cells &#x3b2;": "β-cells β",
    "one\n   two\tthree": "one two three",
    "<![CDATA[a < b & c]]>": "a < b & c",
    "caf&eacute; &alpha;": "café α",
    "a<!-- remark -->b<?pi?>c": "abc",
    "<unknown>kept <deep>too</deep></unknown>": "kept too",
}


def person(last: str, fore: str = "", initials: str = "", suffix: str = "", valid: str = "Y") -> str:
    parts = {"LastName": last, "ForeName": fore, "Initials": initials, "Suffix": suffix}
    inside = "".join(f"<{name}>{value}</{name}>" for name, value in parts.items() if value)
    about = (
        '<Identifier Source="ORCID">0</Identifier><AffiliationInfo><Affiliation>Here</Affiliation></AffiliationInfo>'
    )
    return f'<Author ValidYN="{valid}">{inside}{about}</Author>'


DATES = {
    "<Year>2021</Year><Month>Mar</Month><Day>4</Day>": "2021-03-04",
    "<Year>2021</Year><Month>03</Month><Day>04</Day>": "2021-03-04",
    "<Year>2021</Year><Month>September</Month>": "2021-09",
    "<Year>2021</Year><Month>3</Month>": "2021-03",
    "<Year>2021</Year>": "2021",
    "<Year>2021</Year><Month>Feb</Month><Day>30</Day>": "2021-02",
    "<Year>2021</Year><Month>13</Month><Day>1</Day>": "2021",
    "<Year>2021</Year><Season>Winter</Season>": "2021",
    "<Year>2021</Year><Season>Nov-Dec</Season>": "2021-11",
    "<Year>2021</Year><Month>Jul-Aug</Month>": "2021-07",
    "<MedlineDate>1998 Dec-1999 Jan</MedlineDate>": "1998-12",
    "<MedlineDate>1998-1999</MedlineDate>": "1998",
    "<MedlineDate>2000 Spring</MedlineDate>": "2000",
    "<MedlineDate>2000 Spring-Summer</MedlineDate>": "2000",
    "<MedlineDate>1975 Jun 15-30</MedlineDate>": "1975-06",
    "<MedlineDate>Winter 1990-1991</MedlineDate>": "1990",
    "<MedlineDate>1983-84 May</MedlineDate>": "1983-05",
    "<MedlineDate>no date</MedlineDate>": "2020-11-10",
    "<Season>Spring</Season>": "2020-11-10",
    "": "2020-11-10",
}


def test_a_date_that_nobody_gives_is_unknown():
    assert read_one(article("1", date="")).date == "Unknown"


Statuses = list[tuple[tuple[str, ...], str, str, list[tuple[str, str, str]]]]
STATUSES: Statuses = [
    (("Retracted Publication",), "", "retracted", []),
    ((), notice("RetractionIn", "J. 2022;1:2", "77"), "retracted", [("retraction", "77", "J. 2022;1:2")]),
    ((), notice("ExpressionOfConcernIn", "J. 2023", "78"), "concern", [("concern", "78", "J. 2023")]),
    ((), notice("PartialRetractionIn", "J. 2024", "80"), "corrected", [("partial_retraction", "80", "J. 2024")]),
    ((), notice("CommentIn", "J. 2020", "5"), "unchecked", []),
]


@pytest.mark.parametrize(("types", "xml", "status", "notices"), STATUSES)
def test_what_became_of_a_paper(types: Sequence[str], xml: str, status: str, notices: Sequence[tuple[str, str, str]]):
    citation = read_one(article("1", types=types, citation=xml))
    assert citation.status == status
    assert [(one.kind, one.pmid, one.reference) for one in citation.status_notices] == notices


BOOK = (
    '<PubmedBookArticle><BookDocument><PMID Version="1">{pmid}</PMID><ArticleIdList>{ids}</ArticleIdList><Book>'
    "<Publisher><PublisherName>Made-up Press</PublisherName></Publisher><BookTitle>Handbook of <i>Zinc</i></BookTitle>"
    "<PubDate><Year>2015</Year><Month>09</Month></PubDate>{inside}"
    '<ELocationID EIdType="doi">10.9/book</ELocationID></Book>{chapter}<Language>eng</Language>'
    "<PublicationType>Review</PublicationType><Abstract><AbstractText>About zinc.</AbstractText></Abstract>"
    "<Sections><Section><SectionTitle>One</SectionTitle></Section></Sections>"
    "<KeywordList><Keyword>zinc</Keyword></KeywordList></BookDocument><PubmedBookData><ArticleIdList>"
    '<ArticleId IdType="pubmed">{pmid}</ArticleId></ArticleIdList></PubmedBookData></PubmedBookArticle>'
)
EDITORS = f'<AuthorList Type="editors">{person("Editor", "E")}</AuthorList>'


def test_a_whole_book():
    authors = f'<AuthorList Type="authors">{person("Writer", "W")}</AuthorList>'
    evidence = read_one(BOOK.format(pmid="51", ids="", inside=EDITORS + authors, chapter=""))
    assert (evidence.id, evidence.title, evidence.date) == ("pubmed:51", "Handbook of Zinc", "2015-09")
    assert (evidence.authors, evidence.doi, evidence.journal) == ((AuthorName("Writer", "W"),), "10.9/book", "")
    assert (evidence.publication_types, evidence.keywords) == (("Review",), ("zinc",))
    assert evidence.text.content == "About zinc."


def test_a_chapter_has_its_own_title_authors_and_doi():
    ids = '<ArticleId IdType="bookaccession">NBK1</ArticleId>'
    chapter = (
        f'<ArticleTitle>Zinc <b>fingers</b></ArticleTitle><AuthorList Type="authors">{person("Own", "O")}</AuthorList>'
    )
    citation = read_one(BOOK.format(pmid="52", ids=ids, inside=EDITORS, chapter=chapter))
    assert (citation.title, citation.authors, citation.doi) == ("Zinc fingers", (AuthorName("Own", "O"),), "")
    ids += '<ArticleId IdType="doi">10.9/chapter</ArticleId>'
    assert read_one(BOOK.format(pmid="52", ids=ids, inside="", chapter=chapter)).doi == "10.9/chapter"


ODD = {
    "no PMID": article("").replace('<PMID Version="1"></PMID>', ""),
    "no number for a PMID": article("abc"),
    "nothing in it": "<PubmedArticle/>",
    "text instead": "<PubmedArticle>wrong format</PubmedArticle>",
    "a book of nothing": "<PubmedBookArticle><BookDocument/></PubmedBookArticle>",
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_an_unreadable_record_costs_itself_alone(odd: str):
    records = read(article("1"), odd, article("2"))
    assert [piece.id for piece in records.publications] == ["pubmed:1", "pubmed:2"]
    assert len(records.losses) + len(records.unnamed) == 1
    assert records.well_formed


@pytest.mark.parametrize("between", ["<b>", "</b>", "&", "<PubmedArticle><PMID>7</PMID>"])
def test_what_stands_between_records_costs_none_of_them(between: str):
    records = read(article("1"), between, article("2"), between)
    assert [piece.id for piece in records.publications] == ["pubmed:1", "pubmed:2"]


def test_a_maintenance_page_is_an_outage():
    with pytest.raises(ProviderUnavailableError):
        read_records(b"<!-- NCBI -->\n<html lang='en'><head><meta charset=utf-8></head><body>Back soon<br></html>")


def test_markup_nested_too_deeply_costs_only_its_record():
    records = read(article("1"), article("2", "<i>" * 50_000 + "deep" + "</i>" * 50_000))
    assert [item.pmid for item in records.publications] == ["1"]
    assert list(records.losses) == ["2"]


@pytest.mark.parametrize(
    "inside",
    ["<i>" * 2_000_000, "<a/>" * 1_500_000],
    ids=["unclosed", "elements"],
)
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


def test_deleted_records_are_named_beside_the_others():
    deleted = "<DeleteCitation><PMID>71</PMID><PMID>72</PMID></DeleteCitation>"
    records = read(article("70"), deleted)
    assert [piece.id for piece in records.publications] == ["pubmed:70"]
    assert list(records.losses) == ["71", "72"]
