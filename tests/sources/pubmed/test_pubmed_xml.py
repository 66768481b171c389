"""PubMed's records: every shape the DTD allows, and some that it does not."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence

import pytest

from deepcritical_mcp.errors import ProviderResponseError, ProviderUnavailableError
from deepcritical_mcp.models import NO_ABSTRACT, NO_TITLE, AuthorName, Publication, StatusNotice
from deepcritical_mcp.sources.pubmed.records import Records, read_records
from tests.sources.ncbi import article, as_xml, efetch, notice


def read(*records: str) -> Records:
    return read_records(efetch(*records).body)


def read_one(record: str) -> Publication:
    (evidence,) = read(record).publications
    return evidence


def test_a_complete_record():
    evidence = read_one(
        article(
            "41",
            "Zinc in wound repair.",
            doi="10.1000/ABC.9",
            ids='<ArticleId IdType="pmc">PMC77</ArticleId><ArticleId IdType="pii">S1</ArticleId>',
            types=("Journal Article", "Review"),
            citation=(
                "<ChemicalList><Chemical><NameOfSubstance>Zinc</NameOfSubstance></Chemical></ChemicalList>"
                "<MeshHeadingList><MeshHeading><DescriptorName>Wound Healing</DescriptorName>"
                "<QualifierName>drug effects</QualifierName></MeshHeading>"
                "<MeshHeading><DescriptorName>Zinc</DescriptorName></MeshHeading></MeshHeadingList>"
                "<KeywordList><Keyword>repair</Keyword><Keyword>Zn<sup>2+</sup></Keyword></KeywordList>"
            ),
        )
    )
    assert (evidence.id, evidence.text.provider, evidence.text.content) == (
        "pubmed:41",
        "pubmed",
        "Zinc speeds up repair.",
    )
    assert (evidence.source, evidence.pmid, evidence.doi, evidence.pmcid) == ("pubmed", "41", "10.1000/ABC.9", "PMC77")
    assert (evidence.title, evidence.journal) == ("Zinc in wound repair.", "Journal of made-up results")
    assert (evidence.url, evidence.date) == ("https://pubmed.ncbi.nlm.nih.gov/41/", "2021-03-04")
    assert evidence.publication_types == ("Journal Article", "Review")
    assert evidence.mesh_terms == ("Wound Healing", "Zinc")
    assert (evidence.keywords, evidence.substances) == (("repair", "Zn²⁺"), ("Zinc",))
    assert (evidence.volume, evidence.issue, evidence.pages) == ("9", "2", "11-9")
    assert (evidence.status, evidence.status_notices) == ("unchecked", ())


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


@pytest.mark.parametrize(("xml", "text"), MARKUP.items(), ids=MARKUP.values())
def test_markup_becomes_text_where_it_stands(xml: str, text: str):
    evidence = read_one(article("1", xml, f"<AbstractText>Before {xml} after.</AbstractText>"))
    assert evidence.title == text
    assert evidence.text.content == f"Before {text} after."


def test_labelled_sections_stand_on_lines_of_their_own():
    evidence = read_one(
        article(
            "1",
            abstract=(
                '<AbstractText Label="AIM &amp; SCOPE" NlmCategory="OBJECTIVE">To see.</AbstractText>'
                "<AbstractText>No label.</AbstractText>"
                '<AbstractText Label="RESULTS" NlmCategory="RESULTS">We <i>saw</i>.</AbstractText>'
                '<AbstractText Label="EMPTY"/><AbstractText NlmCategory="UNASSIGNED">The end.</AbstractText>'
                "<CopyrightInformation>Copyright of somebody.</CopyrightInformation>"
            ),
        )
    )
    assert evidence.text.content == "AIM & SCOPE: To see.\nNo label.\nRESULTS: We saw.\nThe end."


def person(last: str, fore: str = "", initials: str = "", suffix: str = "", valid: str = "Y") -> str:
    parts = {"LastName": last, "ForeName": fore, "Initials": initials, "Suffix": suffix}
    inside = "".join(f"<{name}>{value}</{name}>" for name, value in parts.items() if value)
    about = (
        '<Identifier Source="ORCID">0</Identifier><AffiliationInfo><Affiliation>Here</Affiliation></AffiliationInfo>'
    )
    return f'<Author ValidYN="{valid}">{inside}{about}</Author>'


def test_authors_come_in_order_with_suffixes_groups_and_initials():
    authors = (
        person("Ruiz", "Ana María", "AM")
        + '<Author ValidYN="Y"><CollectiveName>Zinc Study Group (<i>ZSG</i>)</CollectiveName></Author>'
        + person("Doe", "John", "J", "3<sup>rd</sup>")
        + person("Muster", "", "XY")
        + person("Plato")
        + person("Mistaken", "Name", valid="N")
    )
    evidence = read_one(article("1", authors=authors))
    assert [str(author) for author in evidence.authors] == [
        "Ruiz Ana María",
        "Zinc Study Group (ZSG)",
        "Doe John 3rd",
        "Muster XY",
        "Plato",
    ]
    assert evidence.authors == (
        AuthorName("Ruiz", "Ana María"),
        AuthorName("Zinc Study Group (ZSG)"),
        AuthorName("Doe", "John", "3rd"),
        AuthorName("Muster", "XY"),
        AuthorName("Plato"),
    )


def test_a_thousand_authors_are_all_there_and_investigators_are_none():
    authors = "".join(person(f"Name{number}", "A") for number in range(1_000))
    investigators = f"<InvestigatorList>{person('Other', 'B').replace('Author', 'Investigator')}</InvestigatorList>"
    evidence = read_one(article("1", authors=authors, citation=investigators))
    assert evidence.authors == tuple(AuthorName(f"Name{number}", "A") for number in range(1_000))


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


@pytest.mark.parametrize(("xml", "date"), DATES.items())
def test_dates_of_every_shape(xml: str, date: str):
    electronic = '<ArticleDate DateType="Electronic"><Year>2020</Year><Month>11</Month><Day>10</Day></ArticleDate>'
    assert read_one(article("1", date=xml, entry=electronic)).date == date


def test_a_date_that_nobody_gives_is_unknown():
    assert read_one(article("1", date="")).date == "Unknown"


def test_a_doi_is_the_records_own():
    elsewhere = (
        '<ReferenceList><Reference><Citation>Other.</Citation><ArticleIdList><ArticleId IdType="doi">10.1/other'
        '</ArticleId><ArticleId IdType="pmc">PMC1</ArticleId></ArticleIdList></Reference></ReferenceList>'
    )
    location = '<ELocationID EIdType="{}" ValidYN="{}">{}</ELocationID>'
    without = read_one(article("1", data=elsewhere))
    assert (without.doi, without.pmcid) == ("", "")
    locations = location.format("pii", "Y", "S1") + location.format("doi", "N", "10.1/wrong")
    assert read_one(article("1", entry=locations)).doi == ""
    locations += location.format("doi", "Y", "10.1/right")
    assert read_one(article("1", entry=locations, data=elsewhere)).doi == "10.1/right"
    assert read_one(article("1", entry=locations, doi="10.1/listed")).doi == "10.1/listed"


Statuses = list[tuple[tuple[str, ...], str, str, list[tuple[str, str, str]]]]
STATUSES: Statuses = [
    (("Retracted Publication",), "", "retracted", []),
    ((), notice("RetractionIn", "J. 2022;1:2", "77"), "retracted", [("retraction", "77", "J. 2022;1:2")]),
    ((), notice("ExpressionOfConcernIn", "J. 2023", "78"), "concern", [("concern", "78", "J. 2023")]),
    ((), notice("ErratumIn", "J. 2024"), "corrected", [("erratum", "", "J. 2024")]),
    ((), notice("PartialRetractionIn", "J. 2024", "80"), "corrected", [("partial_retraction", "80", "J. 2024")]),
    ((), notice("CorrectedandRepublishedIn", "J. 2025", "81"), "corrected", [("erratum", "81", "J. 2025")]),
    ((), notice("CommentIn", "J. 2020", "5"), "unchecked", []),
]


@pytest.mark.parametrize(("types", "xml", "status", "notices"), STATUSES)
def test_what_became_of_a_paper(types: Sequence[str], xml: str, status: str, notices: Sequence[tuple[str, str, str]]):
    citation = read_one(article("1", types=types, citation=xml))
    assert citation.status == status
    assert [(one.kind, one.pmid, one.reference) for one in citation.status_notices] == notices


def test_the_gravest_comes_first():
    several = notice("ErratumIn", "A", "1") + notice("ExpressionOfConcernIn", "B", "2") + notice("RetractionIn", "C")
    one_list = several.replace("</CommentsCorrectionsList><CommentsCorrectionsList>", "")
    citation = read_one(article("9", citation=one_list))
    assert citation.status == "retracted"
    assert citation.status_notices == (
        StatusNotice(kind="retraction", reference="C"),
        StatusNotice(kind="concern", pmid="2", reference="B"),
        StatusNotice(kind="erratum", pmid="1", reference="A"),
    )


def test_titles_that_are_missing_foreign_or_long():
    nothing = read_one(article("1", "", "", authors=""))
    assert (nothing.title, nothing.text.content, nothing.authors) == (NO_TITLE, NO_ABSTRACT, ())
    foreign = "<VernacularTitle>Zink bei Wunden.</VernacularTitle>"
    assert read_one(article("1", "[Zinc for wounds].", entry=foreign)).title == "[Zinc for wounds]."
    assert read_one(article("1", "", entry=foreign)).title == "Zink bei Wunden."
    long = read_one(article("1", "word " * 200, ""))
    assert len(long.title) <= 500
    assert long.title.startswith("word word")
    assert long.text.content == NO_ABSTRACT


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


def test_records_outside_of_the_usual_set():
    citation = article("61")
    inner = citation[citation.index("<MedlineCitation") : citation.index("<PubmedData>")]
    for body in (
        citation,
        f"<MedlineCitationSet>{inner}</MedlineCitationSet>",
        f"<PubmedArticle>{inner}</PubmedArticle>",
    ):
        (evidence,) = read_records(as_xml(body).body).publications
        assert evidence.id == "pubmed:61"


def test_deleted_records_are_named_beside_the_others():
    deleted = "<DeleteCitation><PMID>71</PMID><PMID>72</PMID></DeleteCitation>"
    records = read(article("70"), deleted)
    assert [piece.id for piece in records.publications] == ["pubmed:70"]
    assert list(records.losses) == ["71", "72"]


def test_an_empty_set_is_an_answer():
    assert read() == Records(())
    assert read_records(b"<PubmedArticleSet/>") == Records(())


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


def test_control_characters_and_broken_encodings_cost_nothing():
    body = efetch(article("1", "Zinc CTRL and &#2;copper&#xD800; BYTES.")).body
    body = body.replace(b"CTRL", b"\x02").replace(b"BYTES", b"\xff\xfe")
    records = read_records(b"\n" + body)
    assert records.well_formed
    assert records.publications[0].title.startswith("Zinc and copper")


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


def test_a_tag_with_more_attributes_than_any_costs_neither_memory_nor_time():
    many = " ".join(f'a{number}=""' for number in range(200_000))
    records = read(article("1"), article("2", f"<i {many}>zinc</i>"))
    assert [item.pmid for item in records.publications] == ["1", "2"]


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-7", "no-such-encoding"])
def test_records_are_utf_8_whatever_they_declare(encoding: str):
    (citation,) = read_records(
        f'<?xml version="1.0" encoding="{encoding}"?>{article("1", "Zn²⁺")}'.encode()
    ).publications
    assert citation.title == "Zn²⁺"
