"""The text of articles in JATS, and what providers send when it is not one whole article."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.models import AuthorName, Publication, own_spans
from deepcritical_mcp.reading.jats import XmlError, read_jats
from tests.reading.jats_samples import article, outline, paragraphs, read, text_of


@pytest.mark.parametrize("body", ["", "<p/>", "<p><graphic/></p>", "<sec><title>Only a title</title></sec>"])
def test_an_article_without_text_has_no_content(body: str) -> None:
    reading = read(body, meta="<abstract><p>Short.</p></abstract>", after="<back><ack><p>Thanks.</p></ack></back>")
    assert (reading.content, reading.parts) == ("", ())
    assert reading.abstract == "Short."


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        ("CD4<sup>low</sup>", "CD4low"),
        ("10<sup>−0.5</sup>", "10^−0.5"),
        ("2<sup>−ΔΔ<italic>C</italic><sub>T</sub></sup>", "2^−ΔΔCT"),
        ("bases<sup>14,15</sup> and sites<sup>3–5</sup>", "bases[14,15] and sites[3–5]"),
        ('doses<xref ref-type="table-fn"><sup>a</sup></xref>', "doses^a"),
        ('39.1<xref ref-type="fn">2</xref>', "39.1[2]"),
        ('see note <xref ref-type="fn">a</xref>', "see note a"),
        ('10<sup><xref ref-type="other">−3</xref></sup> mol', "10⁻³ mol"),
        ("<sup>a</sup>Adjusted", "a Adjusted"),
        ('dose of 0.5<sup><xref ref-type="bibr">12</xref></sup> mg', "dose of 0.5[12] mg"),
        ("a&nbsp;b &alpha; &unknown; A & B", "a b α &unknown; A & B"),
        ("line<break/>break", "line break"),
        ("a<![CDATA[<b> &nbsp;]]>c", "a<b> &nbsp;c"),
        ('see <ext-link xlink:href="https://example.org/a"/>', "see https://example.org/a"),
    ],
)
def test_running_text_keeps_its_meaning(written: str, read_as: str) -> None:
    assert paragraphs(f"<p>{written}</p>") == [read_as]


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (
            "<mml:mfrac><mml:mi>a</mml:mi><mml:mrow><mml:mi>b</mml:mi><mml:mo>+</mml:mo><mml:mi>c</mml:mi></mml:mrow></mml:mfrac>",
            "a/(b+c)",
        ),
        ("<mml:msqrt><mml:mi>x</mml:mi><mml:mo>+</mml:mo><mml:mn>1</mml:mn></mml:msqrt>", "√(x+1)"),
        ("<mml:mroot><mml:mi>x</mml:mi><mml:mn>3</mml:mn></mml:mroot>", "³√(x)"),
        ("<mml:msubsup><mml:mi>x</mml:mi><mml:mi>i</mml:mi><mml:mn>2</mml:mn></mml:msubsup>", "x_i²"),
        ("<mml:mi>sin</mml:mi><mml:mo>&#x2061;</mml:mo><mml:mi>x</mml:mi>", "sin x"),
        ("<mml:mfenced><mml:mi>a</mml:mi><mml:mi>b</mml:mi></mml:mfenced>", "(a,b)"),
        ("<mml:mover><mml:mi>x</mml:mi><mml:mo>¯</mml:mo></mml:mover>", "x¯"),
        (
            "<mml:mtable><mml:mtr><mml:mtd><mml:mi>a</mml:mi></mml:mtd><mml:mtd><mml:mi>b</mml:mi></mml:mtd></mml:mtr>"
            "<mml:mtr><mml:mtd><mml:mi>c</mml:mi></mml:mtd></mml:mtr></mml:mtable>",
            "a b; c",
        ),
    ],
)
def test_mathml_is_readable(formula: str, text: str) -> None:
    assert paragraphs(f"<p>So <inline-formula><mml:math>{formula}</mml:math></inline-formula>.</p>") == [f"So {text}."]


@pytest.mark.parametrize(
    ("body", "read_as"),
    [
        (
            '<p>First:<list list-type="order"><list-item><p>one</p></list-item><list-item><p>two</p>'
            '<list list-type="bullet"><list-item><p>inner</p></list-item></list></list-item></list>then.</p>',
            ["First:", "1. one", "2. two", "• inner", "then."],
        ),
        (
            "<def-list><def-item><term>CI</term><def><p>confidence interval</p></def></def-item></def-list>",
            ["CI: confidence interval"],
        ),
        ("<disp-quote><p>Quoted.</p><attrib>A. Ruiz</attrib></disp-quote>", ["Quoted.", "A. Ruiz"]),
        ("<verse-group><verse-line>one</verse-line><verse-line>two</verse-line></verse-group>", ["one", "two"]),
        ("<code>if a:\n    b\n</code>", ["if a:\n    b"]),
        ("<p>Text<fn><label>1</label><p>A note.</p></fn> goes on.</p>", ["Text goes on.", "1 A note."]),
    ],
)
def test_lists_quotes_code_and_notes_are_paragraphs(body: str, read_as: list[str]) -> None:
    assert paragraphs(body) == read_as


@pytest.mark.parametrize(
    "file",
    [
        "<supplementary-material><label>File 1</label><media><caption><p>Rows.</p></caption></media>"
        "</supplementary-material>",
        "<supplementary-material><p>File 1. Rows.</p></supplementary-material>",
    ],
)
def test_the_files_of_a_figure_are_named_behind_its_caption(file: str) -> None:
    reading = read(f"<p>Text.</p><fig><label>Fig 1</label><caption><p>Caption.{file}</p></caption></fig>")
    assert text_of(reading, "f1") == "Fig 1. Caption.\n\nFile 1. Rows."


def test_back_matter_is_read_without_notes_on_authors() -> None:
    reading = read(
        "<p>Text.</p>",
        meta="<author-notes><fn><p>Equal work.</p></fn></author-notes>",
        after="<back><ack><p>Thanks.</p></ack><app-group><app><label>Appendix A</label><p>More.</p></app></app-group>"
        "<glossary><def-list><def-item><term>A</term><def><p>b</p></def></def-item></def-list></glossary>"
        "<fn-group><fn><p>Competing interests: none.</p></fn></fn-group></back>",
    )
    assert outline(reading)[1:] == [
        *(("b1", "Acknowledgements"), ("b2", "Appendix A"), ("b3", "Glossary"), ("b4", "Footnotes"))
    ]
    assert "Equal work" not in reading.content
    assert text_of(reading, "b4") == "Competing interests: none."


def test_each_reference_is_a_paragraph_as_printed() -> None:
    reading = read(
        "<p>Text.</p>",
        after="<back><ref-list><title>Literature</title>"
        "<ref><label>1</label><mixed-citation>Ruiz K. <italic>Doses</italic>. J Test. 2010;3:1.</mixed-citation></ref>"
        "<ref><label>2</label><element-citation><person-group><name><surname>Berg</surname><given-names>JA</given-names>"
        "</name><etal/></person-group><article-title>On dose</article-title><source>J Test</source><year>2011</year>"
        '<volume>4</volume><issue>2</issue><fpage>5</fpage><lpage>9</lpage><pub-id pub-id-type="doi">10.1/x</pub-id>'
        '<pub-id pub-id-type="pmid">77</pub-id></element-citation></ref></ref-list></back>',
    )
    assert outline(reading) == [("s0", ""), ("r1", "Literature")]
    assert text_of(reading, "r1").split("\n\n") == [
        "1. Ruiz K. Doses. J Test. 2010;3:1.",
        "2. Berg JA, et al. On dose. J Test. 2011;4(2):5-9. doi: 10.1/x. PMID: 77.",
    ]


@pytest.mark.parametrize(
    ("citation", "text"),
    [
        (
            "<person-group><name><surname>Berg</surname><given-names>JA</given-names></name><name><surname>Ruiz</surname>"
            "<given-names>K</given-names></name></person-group>. <source>J Test</source>. 2010:5-9."
            '<pub-id pub-id-type="pmid">77</pub-id>',
            "Berg JA, Ruiz K. J Test. 2010:5-9. PMID: 77",
        ),
        ("Water, H<sub>2</sub>O. <italic>J Test </italic>2010.", "Water, H₂O. J Test 2010."),
        ("<source>J Test</source><year>2010</year>: 5.", "J Test 2010: 5."),
        ("Ruiz.</mixed-citation><element-citation><year>2010</year></element-citation><mixed-citation>", "Ruiz."),
    ],
)
def test_what_runs_together_in_a_printed_reference_is_kept_apart(citation: str, text: str) -> None:
    back = f"<back><ref-list><ref><mixed-citation>{citation}</mixed-citation></ref></ref-list></back>"
    assert text_of(read("<p>Text.</p>", after=back), "r1") == text


def test_translations_and_letters_stand_apart_at_the_end() -> None:
    reading = read(
        "<sec><title>Results</title><p>Text.</p></sec>",
        after="<back><ack><p>Thanks.</p></ack></back>"
        '<sub-article article-type="translation" xml:lang="pt"><front-stub><title-group><article-title>Doses'
        "</article-title></title-group><abstract><p>Resumo.</p></abstract></front-stub><body><sec><title>Resultados"
        "</title><p>Texto.</p><table-wrap><label>Tabela 1</label><table><tr><td>a</td></tr></table></table-wrap></sec>"
        '</body></sub-article><response response-type="reply"><body><p>Dear all.</p></body></response>',
    )
    assert outline(reading)[2:] == [
        ("x1", "Doses (translation, Portuguese)"),
        ("x1.1", "Doses (translation, Portuguese) > Abstract"),
        ("x1.2", "Doses (translation, Portuguese) > Resultados"),
        ("x1t1", "Doses (translation, Portuguese) > Resultados > Tabela 1"),
        ("x2", "Reply"),
    ]
    assert {part.kind for part in reading.parts[2:]} == {"sub_article"}


@pytest.mark.parametrize(
    ("kind", "front", "named"),
    [
        ("decision-letter", ("Decision letter", "editor Jo Roe|reviewer Al Oz"), "by Jo Roe, editor; Al Oz, reviewer"),
        ("decision-letter", ("Decision letter", "editor Jane Roe|reviewer Jane Roe"), "by Jane Roe, editor"),
        ("reply", ("To the editor", "author Ann Lee"), "reply by Ann Lee"),
        ("translation", ("", "author Ann Lee"), "Portuguese"),
    ],
)
def test_a_sub_article_says_what_it_is_and_who_wrote_it(kind: str, front: tuple[str, str], named: str) -> None:
    title, people = front
    group = "".join(
        f'<contrib contrib-type="{role}"><name><surname>{family}</surname><given-names>{given}</given-names></name>'
        "</contrib>"
        for role, given, family in (one.split() for one in people.split("|") if one)
    )
    reading = read(
        "<p>Text.</p>",
        after=f'<sub-article article-type="{kind}" xml:lang="pt"><front-stub><title-group><article-title>{title}'
        f"</article-title></title-group><contrib-group>{group}</contrib-group></front-stub><body><p>Sirs.</p></body>"
        "</sub-article>",
    )
    titles = {"ref-report": "Referee report", "translation": "Translation"}
    assert reading.parts[-1].path == (f"{title or titles[kind]} ({named})" if named else title,)


def test_other_abstracts_come_first() -> None:
    reading = read(
        "<p>Text.</p>",
        meta='<abstract abstract-type="plain-language-summary"><p>Simply said.</p></abstract>'
        "<abstract><title>Abstract</title><sec><title>Aims:</title><p>To test.</p></sec><sec><title>Results</title>"
        '<p>Good.</p></sec></abstract><trans-abstract xml:lang="es"><title>Resumen</title>'
        "<p>Bien.</p></trans-abstract>",
    )
    assert reading.abstract == "Aims: To test.\nResults: Good."
    assert outline(reading) == [("a1", "Plain-language summary"), ("a2", "Resumen (Spanish)"), ("s0", "")]


def test_of_several_forms_the_one_that_indexes_have_is_read() -> None:
    reading = read(
        "<p>Text.</p><fig-group><fig><label>Fig 1</label></fig><media><caption><p>A video.</p></caption></media>"
        "</fig-group>",
        meta='<abstract xml:lang="pt"><p>Bom.</p></abstract><abstract xml:lang="en"><p>Good.</p></abstract>'
        '<contrib-group><contrib contrib-type="author"><name-alternatives><name name-style="eastern"><surname>山田'
        '</surname></name><name name-style="western"><surname>Yamada</surname></name></name-alternatives></contrib>'
        "</contrib-group>",
        attributes='xml:lang="en"',
    )
    assert (reading.abstract, reading.fields["authors"]) == ("Good.", (AuthorName("Yamada"),))
    assert "A video." in reading.content


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
        ("<month>Apr</month><year>2020</year>", "2020-04"),
        ("<season>Spring</season><year>2020</year>", "2020"),
        ("<year>unknown</year>", None),
    ],
)
def test_dates_are_read_as_far_as_they_go(date: str, read_as: str | None) -> None:
    assert read("<p>Text.</p>", meta=f'<pub-date pub-type="epub">{date}</pub-date>').fields.get("date") == read_as


CC_BY = "https://creativecommons.org/licenses/by/4.0/"
ALI = 'xmlns:ali="http://www.niso.org/schemas/ali/1.0/"'


@pytest.mark.parametrize(
    ("permissions", "licence"),
    [
        (f'<license xlink:href="{CC_BY}"/>', CC_BY),
        (f"<license><ali:license_ref {ALI}>{CC_BY}</ali:license_ref></license>", CC_BY),
        (f"<license><license-p>See {CC_BY}.</license-p></license>", CC_BY),
        ("<license><license-p>All rights reserved.</license-p></license>", "All rights reserved."),
        ("<copyright-statement>© 2020 Press</copyright-statement>", "© 2020 Press"),
        ("", ""),
    ],
)
def test_the_licence_is_the_address_or_the_words(permissions: str, licence: str) -> None:
    assert read("<p>Text.</p>", meta=f"<permissions>{permissions}</permissions>").licence == licence


def test_links_to_other_articles_are_notices() -> None:
    links = (
        '<related-article related-article-type="corrected-article" ext-link-type="doi" xlink:href="10.1000/X"/>'
        '<related-article related-article-type="retraction-forward" xlink:href="info:doi/10.1234/y"/>'
        '<related-article related-article-type="preprint-in"><pub-id pub-id-type="pmid">99</pub-id></related-article>'
        '<related-article related-article-type="retracted-article" ext-link-type="pmc" xlink:href="88"/>'
    )
    publication = Publication.of("full_text", "x", provider="toy", **read("<p>Text.</p>", meta=links).fields)
    assert [(one.kind, one.doi or one.pmid or one.reference) for one in publication.status_notices] == [
        ("retraction", "10.1234/y"),
        ("about", "10.1000/x"),
        ("about", "PMC88"),
        ("preprint", "99"),
    ]


def test_a_withheld_text_is_noticed() -> None:
    comment = "<!--The publisher of this article does not allow downloading of the full text in XML form.-->"
    (reading,) = read_jats(article(meta=META).replace(b"<front>", f"{comment}<front>".encode()))
    assert (reading.is_withheld, reading.content, reading.fields["pmid"]) == (True, "", "123")


@pytest.mark.parametrize("links", ["companion", "corrected-article", "commentary"])
def test_a_study_has_the_status_that_its_title_says_and_not_that_of_others_it_links_to(links: str) -> None:
    link = f'<related-article related-article-type="{links}" ext-link-type="doi" xlink:href="10.1000/ABC"/>'
    assert "status" not in read("<p>Text.</p>", meta=link, attributes='article-type="research-article"').fields
    title = "<title-group><article-title>RETRACTED ARTICLE: Doses</article-title></title-group>"
    assert read("<p>Text.</p>", meta=link + title).fields["status"] == "retracted"


TABLE = "<table><thead><tr><th>Group</th><th>n</th></tr></thead><tbody><tr><td>A</td><td>3</td></tr></tbody></table>"


def table(inner: str) -> str:
    """The Markdown of a table with these rows."""
    return text_of(read(f"<p>Text.</p><table-wrap><table>{inner}</table></table-wrap>"), "t1")


def test_caption_table_and_footnotes_are_paragraphs() -> None:
    reading = read(
        "<sec><title>Results</title><p>Text.</p><table-wrap><label>Table 1.</label><caption><title>Patients</title>"
        f"<p>All of them.</p></caption>{TABLE}<table-wrap-foot><fn><label>a</label><p>Adjusted.</p></fn>"
        "<p>n: number.</p></table-wrap-foot></table-wrap></sec>"
    )
    assert outline(reading)[-1] == ("t1", "Results > Table 1")
    assert text_of(reading, "t1").split("\n\n") == [
        "Table 1. Patients. All of them.",
        "| Group | n |\n| --- | --- |\n| A | 3 |",
        "a Adjusted.",
        "n: number.",
    ]


def test_merged_cells_are_spelled_out_and_header_rows_joined() -> None:
    rows = (
        '<thead><tr><th rowspan="2">Group</th><th colspan="2">Weight</th></tr><tr><th>Before</th><th>After</th></tr>'
        '</thead><tbody><tr><td rowspan="2">A</td><td>1</td><td>2</td></tr><tr><td colspan="2">none</td></tr></tbody>'
    )
    assert table(rows).split("\n") == [
        "| Group | Weight / Before | Weight / After |",
        "| --- | --- | --- |",
        "| A | 1 | 2 |",
        "| A | none | none |",
    ]


def test_tables_of_cals_are_read() -> None:
    cals = (
        '<oasis:table><oasis:tgroup cols="3"><oasis:colspec colname="a"/><oasis:colspec colname="b"/>'
        '<oasis:colspec colname="c"/><oasis:thead><oasis:row><oasis:entry>G</oasis:entry>'
        '<oasis:entry namest="b" nameend="c">W</oasis:entry></oasis:row></oasis:thead><oasis:tbody><oasis:row>'
        '<oasis:entry morerows="1">x</oasis:entry><oasis:entry>1</oasis:entry><oasis:entry>2</oasis:entry></oasis:row>'
        '<oasis:row><oasis:entry colname="c">3</oasis:entry></oasis:row></oasis:tbody></oasis:tgroup></oasis:table>'
    )
    reading = read(f"<p>Text.</p><table-wrap><label>Table 1</label>{cals}</table-wrap>")
    assert text_of(reading, "t1").split("\n")[2:] == [
        *("| G | W | W |", "| --- | --- | --- |", "| x | 1 | 2 |", "| x |  | 3 |")
    ]


def test_tables_in_paragraphs_floats_and_back_matter_are_read() -> None:
    wrap = "<table-wrap><label>Table {}</label>" + TABLE + "</table-wrap>"
    reading = read(
        f"<sec><title>A</title><p>Text {wrap.format(1)} goes on.</p></sec>",
        after=f"<floats-group>{wrap.format(2)}</floats-group><back><app><title>B</title>{wrap.format(3)}</app></back>",
    )
    assert [entry for entry in outline(reading) if entry[0].startswith("t")] == [
        *(("t1", "A > Table 1"), ("t2", "Table 2"), ("t3", "B > Table 3"))
    ]
    assert text_of(reading, "s1") == "Text goes on."


@pytest.mark.parametrize("span", ["100000", "99999999999", "-1", "two", ""])
def test_absurd_spans_do_not_blow_up(span: str) -> None:
    rows = f'<tr><td colspan="{span}" rowspan="{span}">text</td></tr>' * 300
    assert len(table(rows)) < 1_000_000


def test_header_rows_between_the_rows_begin_a_table_of_their_own() -> None:
    head = "<tr><th/><th>Bladder</th><th>Breast</th></tr><tr><th/><th>OR</th><th>OR</th></tr>"
    again = "<tr><th/><th>Renal</th><th>Lung</th></tr><tr><th/><th>OR</th><th>OR</th></tr>"
    rows = "<tr><td>Men</td><td>1.1</td><td>1.2</td></tr>", "<tr><td>Men</td><td>2.1</td><td>2.2</td></tr>"
    first, second = table(f"<thead>{head}</thead><tbody>{rows[0]}{again}{rows[1]}</tbody>").split("\n\n")
    assert first.split("\n")[::2] == ["|  | Bladder / OR | Breast / OR |", "| Men | 1.1 | 1.2 |"]
    assert second.split("\n")[::2] == ["|  | Renal / OR | Lung / OR |", "| Men | 2.1 | 2.2 |"]


@pytest.mark.parametrize("document", [b"", b'{"error": "down"}', b"%PDF-1.7", b"<!DOCTYPE article [", b"\x00\xff"])
def test_what_is_not_xml_is_refused_and_xml_without_an_article_gives_nothing(document: bytes) -> None:
    for empty in (b"<pmc-articleset><Reply error='not available'/></pmc-articleset>", b"<html><p>Hello</p></html>"):
        assert read_jats(empty) == []
    with pytest.raises(XmlError):
        read_jats(document)


@pytest.mark.parametrize(
    "document",
    [
        '<?xml version="1.0" encoding="ISO-8859-1"?><article><body><p>é</p></body></article>'.encode("latin-1"),
        '<?xml version="1.0" encoding="ISO-8859-1"?><article><body><p>é</p></body></article>'.encode(),
        '<?xml version="1.0" encoding="utf-16"?><article><body><p>é</p></body></article>'.encode("utf-16"),
        "<article><body><p>é</p></body></article>".encode("cp1252"),
        '<?xml version="1.0" encoding="punycode"?><article><body><p>é</p></body></article>'.encode("latin-1"),
        "\ufeff<article><body><p>\x00é&#0;&#x1;</p></body></article>".encode(),
    ],
)
def test_every_encoding_is_read(document: bytes) -> None:
    assert read_jats(document)[0].content == "é"


def test_no_entity_that_a_document_declares_is_expanded() -> None:
    declared = '<!ENTITY a "ha"><!ENTITY b "&a;&a;"><!-- it\'s --><!ENTITY c SYSTEM "file:///etc/passwd">'
    document = f"<!DOCTYPE article [{declared}]><article><body><p>&b;&c;!</p></body></article>".encode()
    assert read_jats(document)[0].content == "&b;&c;!"


def test_elements_that_are_nested_too_deeply_are_refused() -> None:
    with pytest.raises(XmlError, match="too deeply"):
        read_jats(article("<sec>" * 50_000))
    assert paragraphs("<sec>" * 80 + "<p>Deep.</p>" + "</sec>" * 80) == ["Deep."]


_NAMES = st.sampled_from(
    """sec p title label list list-item def-list def-item term def boxed-text fig table-wrap caption table tr td thead
    sup sub xref inline-formula disp-formula math mfrac msup mi alternatives tex-math fn ref-list ref mixed-citation
    element-citation year disp-quote verse-group speech statement preformat code app back body sub-article front
    article-meta article-id kwd-group kwd abstract title-group article-title contrib-group contrib name surname pub-date
    floats-group array
    supplementary-material media graphic table-wrap-foot fig-group tgroup row entry colspec license
    permissions""".split()
)
_TEXT = st.text("ab 12.,&<>|\\\n\t−é[…", max_size=6).map(lambda text: text.replace("&", "&amp;").replace("<", "&lt;"))
_ATTRIBUTES = st.sampled_from(
    ["", ' colspan="3"', ' rowspan="2"', ' ref-type="bibr"', ' list-type="order"', ' article-type="translation"']
)


def _element(parts: tuple[str, str, list[str], str]) -> str:
    name, attributes, inner, tail = parts
    return f"<{name}{attributes}>{''.join(inner)}</{name}>{tail}"


_TREES = st.recursive(
    _TEXT, lambda inner: st.tuples(_NAMES, _ATTRIBUTES, st.lists(inner, max_size=4), _TEXT).map(_element), max_leaves=25
)


@given(_TREES, _TREES, st.integers(0, 60))
def test_whatever_comes_is_read_or_refused(body: str, after: str, cut: int) -> None:
    document = article(f"<p>Text.</p>{body}", meta=after, after=after)
    try:
        readings = read_jats(document[: len(document) - cut])
    except XmlError:
        return
    for reading in readings:
        anchors = [part.anchor for part in reading.parts]
        assert len(set(anchors)) == len(anchors)
        assert {part.parent for part in reading.parts} <= {"", *anchors}
        starts = [part.start for part in reading.parts]
        assert starts == sorted(starts)
        spans = list(own_spans(reading.parts, len(reading.content))) if reading.parts else []
        assert "".join(reading.content[start:end] for _, start, end in spans) == reading.content
        Publication.of("full_text", reading.content or "-", provider="pmc", **reading.fields)
