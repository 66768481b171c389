"""What an article in JATS says about itself."""

from __future__ import annotations

import pytest

from deepcritical_mcp.models import AuthorName, Publication
from deepcritical_mcp.reading.jats import read_jats
from tests.reading.jats_samples import article, read

JOURNAL = (
    '<journal-id journal-id-type="nlm-ta">J Test</journal-id><journal-title-group><journal-title>Journal of Tests'
    '</journal-title></journal-title-group><issn pub-type="epub">1111-2222</issn><publisher><publisher-name>Press'
    "</publisher-name></publisher>"
)
META = (
    '<article-id pub-id-type="pmid">123</article-id><article-id pub-id-type="pmc">456</article-id>'
    '<article-id pub-id-type="doi">10.1000/ABC</article-id><title-group><article-title>Dose of H<sub>2</sub>O'
    "<fn><p>Note.</p></fn></article-title><subtitle>a trial</subtitle></title-group><contrib-group>"
    '<contrib contrib-type="author"><name><surname>Berg</surname><given-names>Jan A</given-names><suffix>Jr</suffix>'
    '</name></contrib><contrib contrib-type="author"><collab>Test Group<contrib-group><contrib><name><surname>Member'
    '</surname></name></contrib></contrib-group></collab></contrib><contrib contrib-type="editor"><name><surname>Ed'
    "</surname></name></contrib></contrib-group>"
    '<pub-date pub-type="pmc-release"><year>2022</year></pub-date><pub-date date-type="pub" '
    'publication-format="electronic"><day>5</day><month>03</month><year>2021</year></pub-date>'
    '<pub-date pub-type="ppub"><month>Apr</month><year>2021</year></pub-date><volume>7</volume><issue>2</issue>'
    "<fpage>11</fpage><lpage>19</lpage><kwd-group><kwd>water</kwd><kwd>dose</kwd></kwd-group>"
)


def test_the_fields_make_a_publication() -> None:
    (reading,) = read_jats(
        article("<p>Text.</p>", meta=META, journal=JOURNAL, attributes='article-type="review-article" xml:lang="en-US"')
    )
    publication = Publication.of("full_text", reading.content, provider="pmc", **reading.fields)
    assert publication.id == "pubmed:123"
    assert publication.title == "Dose of H₂O: a trial"
    assert publication.authors == (AuthorName("Berg", "Jan A", "Jr"), AuthorName("Test Group"))
    assert (publication.journal, publication.journal_abbreviation) == ("Journal of Tests", "J Test")
    assert (publication.volume, publication.issue, publication.pages) == ("7", "2", "11-19")
    assert (publication.date, publication.electronic_date) == ("2021-04", "2021-03-05")
    assert (publication.pmcid, publication.doi, publication.issn) == ("PMC456", "10.1000/abc", "1111-2222")
    assert (publication.language, publication.publisher) == ("en", "Press")
    assert (publication.publication_types, publication.keywords) == (("Review",), ("water", "dose"))
    assert publication.url == "https://pubmed.ncbi.nlm.nih.gov/123/"


@pytest.mark.parametrize(
    ("date", "read_as"),
    [
        ("<day>31</day><month>2</month><year>2020</year>", "2020-02"),
        ("<month>Apr</month><year>2020</year>", "2020-04"),
        ("<season>Spring</season><year>2020</year>", "2020"),
        ("<string-date>5 May 2020</string-date>", "2020-05-05"),
        ("<year>unknown</year>", None),
    ],
)
def test_dates_are_read_as_far_as_they_go(date: str, read_as: str | None) -> None:
    assert read("<p>Text.</p>", meta=f'<pub-date pub-type="epub">{date}</pub-date>').fields.get("date") == read_as


@pytest.mark.parametrize(
    ("permissions", "licence"),
    [
        (
            '<license xlink:href="https://creativecommons.org/licenses/by/4.0/"/>',
            "https://creativecommons.org/licenses/by/4.0/",
        ),
        (
            '<license><ali:license_ref xmlns:ali="http://www.niso.org/schemas/ali/1.0/">https://example.org/l'
            "</ali:license_ref></license>",
            "https://example.org/l",
        ),
        (
            "<license><license-p>See http://creativecommons.org/licenses/by/3.0/.</license-p></license>",
            "http://creativecommons.org/licenses/by/3.0/",
        ),
        ("<license><license-p>All rights reserved.</license-p></license>", "All rights reserved."),
        ("<copyright-statement>© 2020 Press</copyright-statement>", "© 2020 Press"),
        ("", ""),
    ],
)
def test_the_licence_is_the_address_or_the_words(permissions: str, licence: str) -> None:
    assert read("<p>Text.</p>", meta=f"<permissions>{permissions}</permissions>").licence == licence


def test_links_to_other_articles_have_their_identifiers() -> None:
    links = (
        '<related-article related-article-type="corrected-article" ext-link-type="doi" xlink:href="10.1000/X"/>'
        '<related-article related-article-type="retraction" ext-link-type="uri" xlink:href="info:doi/10.1000/y"/>'
        '<related-article related-article-type="preprint" ext-link-type="pmid" xlink:href="99"/>'
        '<related-article related-article-type="companion" ext-link-type="pmc" xlink:href="88"/>'
    )
    assert [(link.type, link.id, link.id_type) for link in read("<p>Text.</p>", meta=links).related] == [
        ("corrected-article", "10.1000/x", "doi"),
        ("retraction", "10.1000/y", "doi"),
        ("preprint", "99", "pmid"),
        ("companion", "PMC88", "pmcid"),
    ]


def test_a_withheld_text_is_noticed() -> None:
    comment = "<!--The publisher of this article does not allow downloading of the full text in XML form.-->"
    (reading,) = read_jats(article(meta=META).replace(b"<front>", f"{comment}<front>".encode()))
    assert (reading.is_withheld, reading.content, reading.fields["pmid"]) == (True, "", "123")


@pytest.mark.parametrize("links", ["companion", "corrected-article", "commentary"])
def test_a_study_that_only_links_to_others_has_no_status(links: str) -> None:
    link = f'<related-article related-article-type="{links}" ext-link-type="doi" xlink:href="10.1000/ABC"/>'
    assert "status" not in read("<p>Text.</p>", meta=link, attributes='article-type="research-article"').fields


def test_a_title_that_says_so_is_a_retracted_articles() -> None:
    title = "<title-group><article-title>RETRACTED ARTICLE: Doses</article-title></title-group>"
    assert read("<p>Text.</p>", meta=title).fields["status"] == "retracted"
