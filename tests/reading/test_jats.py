"""The text of articles in JATS: sections, lists, boxes, formulas, what stands beside the text, and sub-articles."""

from __future__ import annotations

import pytest

from tests.reading.jats_samples import outline, paragraphs, read, text_of


def test_an_untitled_section_without_text_of_its_own_is_no_part() -> None:
    reading = read("<sec><sec><title>Doses</title><p>Two.</p></sec></sec>")
    assert [(part.anchor, part.parent) for part in reading.parts] == [("s1.1", "")]


@pytest.mark.parametrize("body", ["", "<p/>", "<p><graphic/></p>", "<sec><title>Only a title</title></sec>"])
def test_an_article_without_text_has_no_content(body: str) -> None:
    reading = read(body, meta="<abstract><p>Short.</p></abstract>", after="<back><ack><p>Thanks.</p></ack></back>")
    assert (reading.content, reading.parts, reading.has_body) == ("", (), False)
    assert reading.abstract == "Short."


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        ("10<sup>-3</sup> mol", "10⁻³ mol"),
        ("CO<sub>2</sub>", "CO₂"),
        ("CD4<sup>low</sup>", "CD4low"),
        ("10<sup>−0.5</sup>", "10^−0.5"),
        ("2<sup>−ΔΔ<italic>C</italic><sub>T</sub></sup>", "2^−ΔΔCT"),
        ("(a + b)<sup>n</sup>", "(a + b)^n"),
        ("bases<sup>14,15</sup> and sites<sup>3–5</sup>", "bases[14,15] and sites[3–5]"),
        ('doses<xref ref-type="table-fn"><sup>a</sup></xref>', "doses^a"),
        ('39.1<sup><xref ref-type="table-fn">c</xref></sup>', "39.1^c"),
        ('39.1<xref ref-type="fn">2</xref>', "39.1[2]"),
        ('see note <xref ref-type="fn">a</xref>', "see note a"),
        ("<sup>a</sup>Adjusted", "a Adjusted"),
        ('dose of 0.5<xref ref-type="bibr">12</xref>', "dose of 0.5[12]"),
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
        ("<mml:msup><mml:mi>x</mml:mi><mml:mn>2</mml:mn></mml:msup>", "x²"),
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
        ("<mml:mi>𝑥</mml:mi>", "x"),
        (
            "<mml:mtable><mml:mtr><mml:mtd><mml:mi>a</mml:mi></mml:mtd><mml:mtd><mml:mi>b</mml:mi></mml:mtd></mml:mtr>"
            "<mml:mtr><mml:mtd><mml:mi>c</mml:mi></mml:mtd></mml:mtr></mml:mtable>",
            "a b; c",
        ),
    ],
)
def test_mathml_is_readable(formula: str, text: str) -> None:
    assert paragraphs(f"<p>So <inline-formula><mml:math>{formula}</mml:math></inline-formula>.</p>") == [f"So {text}."]


def test_a_formula_is_written_once() -> None:
    tex = r"\documentclass{minimal}\usepackage{a}\begin{document}$$x^{2}$$\end{document}"
    both = f"<alternatives><tex-math>{tex}</tex-math><mml:math><mml:mi>y</mml:mi></mml:math><graphic/></alternatives>"
    assert paragraphs(f"<p>So <inline-formula>{both}</inline-formula>.</p>") == ["So y."]
    assert paragraphs(f"<p>So <inline-formula><tex-math>{tex}</tex-math></inline-formula>.</p>") == ["So x^{2}."]
    assert paragraphs(f"<p>So <inline-formula>{both[14:-15]}</inline-formula>.</p>") == ["So y."]


def test_a_display_formula_keeps_its_number_where_it_stands_alone() -> None:
    formula = "<disp-formula><label>(3)</label><mml:math><mml:mi>E</mml:mi></mml:math></disp-formula>"
    assert paragraphs(f"<p>Thus</p>{formula}") == ["Thus", "E (3)"]
    assert paragraphs(f"<p>Thus{formula}holds.</p>") == ["Thus E holds."]


def test_a_formula_that_is_an_image_leaves_a_mark() -> None:
    reading = read("<p>Let <inline-formula><inline-graphic/></inline-formula> be given.</p>")
    assert reading.content == "Let […] be given."
    assert reading.remarks == ("Some formulas are images: […] stands for each of them.",)


def test_a_list_in_a_paragraph_has_a_paragraph_for_each_item() -> None:
    body = (
        '<p>First:<list list-type="order"><list-item><p>one</p></list-item><list-item><p>two</p>'
        '<list list-type="bullet"><list-item><p>inner</p></list-item></list></list-item></list>then.</p>'
    )
    assert paragraphs(body) == ["First:", "1. one", "2. two", "• inner", "then."]


def test_the_labels_of_items_are_kept() -> None:
    items = "<list-item><label>(a)</label><p>one</p><p>more</p></list-item><list-item><p>two</p></list-item>"
    assert paragraphs(f"<list>{items}</list>") == ["(a) one", "more", "two"]
    numbered = ["i. one", "ii. two"]
    items = "<list-item><p>one</p></list-item><list-item><p>two</p></list-item>"
    assert paragraphs(f'<list list-type="roman-lower">{items}</list>') == numbered


def test_definitions_stand_behind_their_terms() -> None:
    body = "<def-list><def-item><term>CI</term><def><p>confidence interval</p></def></def-item></def-list>"
    assert paragraphs(body) == ["CI: confidence interval"]


def test_quotes_speech_verse_statements_and_code() -> None:
    body = (
        "<disp-quote><p>Quoted.</p><attrib>A. Ruiz</attrib></disp-quote>"
        "<speech><speaker>Ann</speaker><p>Hello.</p></speech>"
        "<verse-group><verse-line>one</verse-line><verse-line>two</verse-line></verse-group>"
        "<statement><label>Theorem 1</label><p>It holds.</p></statement>"
        "<code>if a:\n    b\n</code>"
    )
    assert paragraphs(body) == [
        *("Quoted.", "A. Ruiz", "Ann: Hello.", "one\ntwo", "Theorem 1. It holds.", "if a:\n    b")
    ]


def test_a_group_of_figures_has_its_caption_once() -> None:
    figures = "<fig><label>Fig 1A</label></fig><fig><label>Fig 1B</label></fig>"
    reading = read(f"<p>Text.</p><fig-group><caption><p>Both.</p></caption>{figures}</fig-group>")
    assert (text_of(reading, "f1"), text_of(reading, "f2")) == ("Both.\n\nFig 1A.", "Fig 1B.")


def test_footnotes_and_supplements_follow_the_paragraph() -> None:
    body = (
        "<p>Text<fn><label>1</label><p>A note.</p></fn> goes on.</p>"
        "<supplementary-material><label>File S1</label><caption><title>Data</title><p>All rows.</p></caption>"
        "</supplementary-material>"
    )
    assert paragraphs(body) == ["Text goes on.", "1 A note.", "File S1. Data. All rows."]


@pytest.mark.parametrize(
    "file",
    [
        "<supplementary-material><label>File 1</label><caption><p>Rows.</p></caption></supplementary-material>",
        "<supplementary-material><label>File 1</label><media><caption><p>Rows.</p></caption></media>"
        "</supplementary-material>",
        "<supplementary-material>File 1. Rows.</supplementary-material>",
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
        after="<back><sec><title>Literature</title><ref-list>"
        "<ref><label>1</label><mixed-citation>Ruiz K. <italic>Doses</italic>. J Test. 2010;3:1.</mixed-citation></ref>"
        "<ref><label>2</label><element-citation><person-group><name><surname>Berg</surname><given-names>JA</given-names>"
        "</name><etal/></person-group><article-title>On dose</article-title><source>J Test</source><year>2011</year>"
        '<volume>4</volume><issue>2</issue><fpage>5</fpage><lpage>9</lpage><pub-id pub-id-type="doi">10.1/x</pub-id>'
        '<pub-id pub-id-type="pmid">77</pub-id></element-citation></ref></ref-list></sec></back>',
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
        ('Ruiz K. doi: <pub-id pub-id-type="doi">10.1/x</pub-id>', "Ruiz K. doi: 10.1/x"),
        ("Water, H<sub>2</sub>O. <italic>J Test </italic>2010.", "Water, H₂O. J Test 2010."),
        ("<source>J Test. </source><year>2010</year>: 5.", "J Test. 2010: 5."),
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
        ("reply", ("Author's reply", ""), ""),
        ("ref-report", ("", "author A Y|author B Y|author C Y|author D Y"), "by A Y; B Y; C Y and 1 more"),
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


def test_pages_read_by_a_machine_are_marked() -> None:
    reading = read('<sec><preformat preformat-type="pmc-ocr-text">First.\n\nSec0nd.</preformat></sec>')
    assert (reading.is_ocr, reading.content) == (True, "First.\n\nSec0nd.")
    assert not read("<preformat>Code.</preformat>").is_ocr
