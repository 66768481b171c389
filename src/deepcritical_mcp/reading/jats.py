"""JATS, the XML of PMC, Europe PMC and many publishers: an article's text in sections, and what it says about itself.

Rules of the format: the Journal Article Tag Library of NISO Z39.96.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element

from deepcritical_mcp.models import language_names
from deepcritical_mcp.reading import JatsReading, Section, assembled
from deepcritical_mcp.reading.jats_front import (
    bibliography_of,
    front_of,
    licence_of,
    people_of,
    title_of,
)
from deepcritical_mcp.reading.jats_sections import OCR, JatsPart, add_floats, part_of
from deepcritical_mcp.reading.jats_text import line_of, named_as
from deepcritical_mcp.reading.xml_tree import XmlError, attribute, read_xml

__all__ = ["JatsReading", "XmlError", "read_jats"]
MAX_BYTES = 30_000_000
"""Several times the longest article with its formulas."""
_DAMAGED = "The document is damaged or cut off: some of its text may be missing."
_WITHHELD = "does not allow downloading of the full text"
"""In a comment of PMC's."""
_FORMULAS_ARE_IMAGES = "Some formulas are images: […] stands for each of them."
_MAIN_TYPES = ("", "abstract", "standard", "structured", "main")
_NOT_MAIN = ("graphical", "toc", "teaser", "key-points", "author-highlights", "highlights", "web-summary", "short")
_ANCHORS = {"table": "t", "figure": "f", "references": "r"}


def read_jats(data: bytes) -> list[JatsReading]:
    """What each `<article>` in an answer says, in order; [] if it is XML without one.

    Blocks for some 20 ms an article. Raises only XmlError, if the answer is not XML, or no article has its size or
    depth. Of a damaged answer it reads what is there, and every reading says so in `remarks`.
    """
    if len(data) > MAX_BYTES:
        raise XmlError(f"it has more than {MAX_BYTES:,} bytes")
    root, text, is_damaged = read_xml(data, is_huge=True)
    for element in root.iter():
        if "}" in element.tag or ":" in element.tag:
            element.tag = re.split("[}:]", element.tag)[-1] or "unnamed"
    is_withheld = _WITHHELD in text
    try:
        return [_reading(one, is_damaged=is_damaged, is_withheld=is_withheld) for one in _outermost_articles(root)]
    except RecursionError as error:
        raise XmlError("its elements are nested too deeply") from error


def _outermost_articles(element: Element) -> list[Element]:
    if element.tag == "article":
        return [element]
    return [article for child in element for article in _outermost_articles(child)]


def _reading(article: Element, *, is_damaged: bool, is_withheld: bool) -> JatsReading:
    main, others = _abstracts(article)
    body = _whole(article, "body")
    has_text = not body.is_empty
    content, parts = assembled(_sections(article, main, others, body)) if has_text else ("", ())
    has_images = any(
        not "".join(formula.itertext()).strip()
        for name in ("inline-formula", "disp-formula")
        for formula in article.iter(name)
    )
    remarks = (_DAMAGED if is_damaged else "", _FORMULAS_ARE_IMAGES if has_images and has_text else "")
    return JatsReading(
        content=content,
        parts=parts,
        fields=bibliography_of(article),
        abstract="" if main is None else "\n".join(_lines(part_of(main, ""))),
        licence=licence_of(article),
        is_ocr=any(attribute(one, "preformat-type") == OCR for one in article.iter("preformat")),
        remarks=tuple(filter(None, remarks)),
        is_withheld=is_withheld and not has_text,
    )


def _sections(article: Element, main: Element | None, others: Sequence[Element], body: JatsPart) -> list[Section]:
    """All parts of an article in the order in which they are read."""
    out = _Writer()
    beside = JatsPart()
    if main is not None:
        add_floats(beside, main)
    out.write_all(beside, "s")
    for number, abstract in enumerate(others, 1):
        out.write(part_of(abstract, _abstract_title(abstract)), f"a{number}")
    out.write_all(body, "s")
    floats = _whole(article, "floats-group")
    out.write_all(
        JatsPart(floats=floats.floats, sections=[JatsPart(paragraphs=floats.paragraphs), *floats.sections]), "s"
    )
    out.write_all(_whole(article, "back"), "b")
    for number, inner in enumerate(_sub_articles(article), 1):
        out.inside = f"x{number}"
        out.write(_sub_article(inner), out.inside)
    return out.sections


class _Writer:
    """Parts as a flat list with anchors and paths."""

    def __init__(self) -> None:
        self.sections: list[Section] = []
        self._numbers: dict[str, int] = {}
        self.inside = ""  # the anchor of the sub-article that is being written

    def write_all(self, root: JatsPart, prefix: str) -> None:
        """A body or the like: its own text is "s0", its sections are "s1", "s2" and so on."""
        parent = ""
        if root.paragraphs:
            parent = f"{prefix}0"
            self._append(JatsPart(paragraphs=root.paragraphs), parent, (), "")
        self._write_floats(root, (), parent)
        for part in root.sections:
            number = self._numbers[prefix] = self._numbers.get(prefix, 0) + 1
            self.write(part, f"{prefix}{number}")

    def write(self, part: JatsPart, anchor: str, path: tuple[str, ...] = (), parent: str = "") -> None:
        """A section, its tables and figures, and its sections; nothing of what is empty."""
        if part.is_empty:
            return
        if part.title:
            path = (*path, part.title)
        if part.title or part.paragraphs:
            self._append(part, anchor, path, parent)
            parent = anchor
        self._write_floats(part, path, parent)
        for number, section in enumerate(part.sections, 1):
            self.write(section, f"{anchor}.{number}", path, parent)

    def _write_floats(self, part: JatsPart, path: tuple[str, ...], parent: str) -> None:
        for one in part.floats:
            if one.is_empty:
                continue
            kind = f"{self.inside}{_ANCHORS[one.kind]}"
            number = self._numbers[kind] = self._numbers.get(kind, 0) + 1
            self._append(one, f"{kind}{number}", (*path, one.title), parent)

    def _append(self, part: JatsPart, anchor: str, path: tuple[str, ...], parent: str) -> None:
        kind = "sub_article" if self.inside else part.kind
        self.sections.append(Section(anchor, part.paragraphs, kind, path, parent))


def _whole(article: Element, *names: str) -> JatsPart:
    """The trees of all children of these names as one."""
    whole = JatsPart()
    for element in (one for name in names for one in article.findall(name)):
        whole.add(part_of(element, ""))
    return whole


def _abstracts(article: Element) -> tuple[Element | None, list[Element]]:
    """The main abstract, and the others: short ones, those for lay people, those in other languages."""
    meta = front_of(article)
    found = [*meta.findall("abstract"), *meta.findall("trans-abstract")]
    own = [one for one in found if one.tag == "abstract"]
    main = [one for one in own if _type(one) in _MAIN_TYPES] or [one for one in own if _type(one) not in _NOT_MAIN]
    main = [one for one in main if attribute(one, "lang") in ("", attribute(article, "lang"))] or main
    return (main[0] if main else None), [one for one in found if one not in main[:1]]


def _type(abstract: Element) -> str:
    return attribute(abstract, "abstract-type").lower()


def _abstract_title(abstract: Element) -> str:
    kind = _type(abstract)
    named = named_as("abstract", kind) if kind else "Abstract"
    title = line_of(abstract.find("title")) or named
    languages = language_names(attribute(abstract, "lang").partition("-")[0])
    return f"{title} ({languages[0]})" if abstract.tag == "trans-abstract" and languages else title


def _lines(part: JatsPart) -> Iterator[str]:
    """An abstract as PubMed has it: a section a line, with its title in front."""
    text = "\n".join(part.paragraphs)
    yield from filter(None, (f"{part.title.rstrip(': ')}: {text}" if part.title and text else text,))
    for section in part.sections:
        yield from _lines(section)


def _sub_articles(article: Element) -> Iterator[Element]:
    """The sub-articles and responses, and those inside them, in order."""
    for child in article:
        if child.tag in ("sub-article", "response"):
            yield child
            yield from _sub_articles(child)


def _sub_article(element: Element) -> JatsPart:
    kind = attribute(element, "article-type") or attribute(element, "response-type") or element.tag
    whole = JatsPart(_sub_title(element, kind))
    meta = front_of(element)
    abstracts = (*meta.findall("abstract"), *meta.findall("trans-abstract"))
    whole.sections += [part_of(abstract, _abstract_title(abstract)) for abstract in abstracts]
    whole.add(_whole(element, "body", "floats-group", "back"))
    return whole


def _sub_title(element: Element, kind: str) -> str:
    """What a sub-article is, and who wrote it: "Decision letter (by Jane Roe, editor)", "Translation (Portuguese)"."""
    named = named_as("sub-article", kind)
    title = title_of(element)
    is_named = not title or kind == "article-commentary" or named.casefold() in title.casefold()
    languages = language_names(attribute(element, "lang").partition("-")[0]) if kind == "translation" else []
    people = "" if kind == "translation" else "; ".join(people_of(element))
    by = f"by {people}" if people else ""
    inside = ", ".join(filter(None, ("" if is_named else named.lower(), *languages[:1])))
    inside = " ".join(filter(None, (inside, by)))
    return f"{title or named} ({inside})" if inside else title or named
