"""What providers send when it is not one whole article, and what an attacker would send."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.models import Publication, own_spans
from deepcritical_mcp.reading.jats import XmlError, read_jats
from tests.reading.jats_samples import article, paragraphs


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


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(document: bytes) -> None:
    for data in (document, b"<article>" + document, article().replace(b"<article", document + b"<article")):
        try:
            read_jats(data)
        except XmlError:
            continue
