"""Web pages: their main text in sections, what they say about themselves, and whether it is the whole text at all.

Only `reading.reader_process` calls this, so that a page made to take forever costs a process and not the server.
"""

from __future__ import annotations

import copy
import importlib
import importlib.util
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from deepcritical_mcp.reading import (
    Block,
    PageReading,
    Reading,
    Section,
    assembled,
    outline,
    with_text,
)
from deepcritical_mcp.reading.jats_tables import markdown_blocks
from deepcritical_mcp.reading.page_metadata import NAMES, PageMetadata, shown
from deepcritical_mcp.text import clean_line, decoded

_html: Any = importlib.import_module("lxml.html")  # no type hints
_etree: Any = importlib.import_module("lxml.etree")
HAS_TRAFILATURA = importlib.util.find_spec("trafilatura") is not None
"""Whether the extra "pages" is installed."""
_ENOUGH = 250
_TELLING = 50
_MOST_COMPARED = 200_000_000
_UNREAD, _UNSEEN = ("script", "style", "nav"), ("script", "style", "template")
_PARAGRAPHS = ("p", "li", "td", "dd", "blockquote", "pre", "h2", "h3")


@dataclass
class MainText:
    """The part of a page that holds its main text; `root` may hold other things too, which `holds` tells apart.

    Attributes:
        kept: the main text without white space; "" if all of `root` is.
        blocks: its paragraphs, likewise.
    """

    root: Any
    kept: str = ""
    blocks: frozenset[str] = frozenset()
    _left: int = _MOST_COMPARED

    def holds(self, text: str) -> bool:
        """Whether a paragraph belongs to the main text."""
        plain = _squeezed(text)
        if not self.kept or plain in self.blocks:
            return True
        self._left -= len(self.kept)  # of a huge page, only whole paragraphs are found
        return self._left > 0 and plain in self.kept


def main_text(root: Any, url: str) -> MainText | None:
    """Where the main text of a page is; None if it has none.

    trafilatura if it is installed (the extra "pages"), else readability-lxml, says which paragraphs are the main text.
    They are read where they stand in the page: these libraries lose headings, captions and cells. If they find next to
    nothing, it is what the page itself marks as its main part.
    """
    found = _by_trafilatura(root, url) if HAS_TRAFILATURA else _by_readability(root)
    if found is not None and _length(found) >= _ENOUGH:
        blocks = frozenset(_squeezed(_text(one)) for one in cast("Iterator[Any]", found.iter(*_PARAGRAPHS, "h1")))
        main = MainText(root, _squeezed(_text(found)), blocks)
        main.root = _around(root, main)
        return main if main.root is not None else MainText(found)
    marked = cast("list[Any]", root.xpath("//main | //article | //*[@role='main']")) or [root.find("body")]
    own = max((one for one in marked if one is not None), key=_length, default=None)
    return None if own is None else MainText(own)


def _around(root: Any, main: MainText) -> Any:
    """The innermost element around all paragraphs that were kept."""
    around: list[Any] | None = None
    for element in cast("Iterator[Any]", root.iter(*_PARAGRAPHS)):
        text = _text(element)
        if len(text) < _TELLING or not main.holds(text):
            continue
        line = [*reversed([*element.iterancestors()]), element]
        around = line if around is None else [one for one, other in zip(around, line, strict=False) if one is other]
    if not around:
        return None
    return around[-1] if around[-1].tag != "p" or len(around) < 2 else around[-2]


def _text(element: Any) -> str:
    return "".join(cast("Iterator[str]", element.itertext()))


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _length(element: Any) -> int:
    unread = (one for one in element.iter(*_UNREAD) if next(one.iterancestors(*_UNREAD), None) is None)
    return _characters(element) - sum(map(_characters, unread))


def _characters(element: Any) -> int:
    return sum(len(text.strip()) for text in cast("Iterator[str]", element.itertext()))


def _by_trafilatura(root: Any, url: str) -> Any:
    trafilatura: Any = importlib.import_module("trafilatura")  # takes long to import
    # It modifies the tree that it gets.
    found: str | None = trafilatura.extract(
        copy.deepcopy(root), url=url, output_format="html", include_comments=False, include_tables=True, fast=False
    )
    return parsed_html(found or "")


def _by_readability(root: Any) -> Any:
    readability: Any = importlib.import_module("readability.readability")
    source: str = _etree.tostring(root, encoding="unicode", method="html")
    try:
        return parsed_html(str(readability.Document(source).summary(html_partial=True)))
    except (readability.Unparseable, _etree.LxmlError, ValueError, TypeError, AttributeError, RecursionError):
        return None


def parsed_html(text: str) -> Any:
    """The root element of a page, without comments; None for one that has none."""
    parser = _html.HTMLParser(encoding="utf-8", huge_tree=False, remove_comments=True, remove_pis=True)
    try:
        return _html.document_fromstring(text.replace("\0", "").encode("utf-8", errors="replace"), parser=parser)
    except (_etree.LxmlError, ValueError, AssertionError):
        return None


_NUMBER = re.compile(r"\A(?:[1-9][0-9]?\.){1,4}(?:[1-9][0-9]?)?\s+(?=[^\W\d_])")
_WHITE_SPACE = re.compile(r"[^\S\n]+")
_ABSTRACT = frozenset({"abstract", "summary", "structured abstract"})
_MOST_SPANNED = 10_000
_META_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s{0,5}=\s{0,5}["']?([\w-]{1,40})""", re.IGNORECASE)


def read_page(content: bytes, *, url: str, charset: str = "") -> PageReading:
    """An HTML page. Any content gives a reading; one without text says so."""
    root = parsed_html(_decoded(content, charset))
    if root is None:
        return PageReading(Reading(""), "no_text", "This page is empty.")
    _limit_spans(root)
    texts = cast("list[Any]", root.xpath("//body//text() | //title/text()"))
    own = (one for one in texts if one.getparent() is None or one.getparent().tag not in _UNSEEN)
    whole = clean_line(" ".join(map(str, own)))[:200_000]
    head = PageMetadata(root, url)
    fields, abstract, is_closed = head.fields(), head.abstract(), head.is_closed()
    is_article = bool({"doi", "pmid", "journal"} & fields.keys())
    main = main_text(root, url)
    blocks = _Blocks(main, str(fields.get("title", ""))).found if main else []
    abstract_lines, rest = _abstract_apart(blocks) if is_article else ([], blocks)
    sections = outline(with_text(rest))
    body, parts = assembled(sections)
    reading = Reading(body, parts, fields, "\n".join(abstract_lines) or abstract, head.licence())
    titles = [section.path[-1] for section in sections if section.path and section.paragraphs]
    status, detail = shown(body, reading.abstract, whole, titles=titles, is_closed=is_closed, is_article=is_article)
    return PageReading(reading, status, detail, head.copies())


def read_plain_text(content: bytes, *, url: str = "", charset: str = "") -> PageReading:
    """A text file: paragraphs are what blank lines divide."""
    paragraphs = re.split(r"\n[ \t]*\n", _decoded(content, charset).replace("\r\n", "\n").replace("\r", "\n"))
    body, parts = assembled([Section("s0", [" ".join(text.split()) for text in paragraphs])])
    return PageReading(Reading(body, parts), "full_text" if body else "no_text", "" if body else "This file is empty.")


def blocks_of_html(text: str) -> list[Block]:
    """All that a piece of HTML shows, as a user supplied it: not a page with menus."""
    root = parsed_html(text)
    if root is None:
        return []
    _limit_spans(root)
    return with_text(_Blocks(MainText(root)).found)


def _decoded(content: bytes, charset: str) -> str:
    named = _META_CHARSET.search(content[:4_096])
    return decoded(content, charset, named[1].decode("ascii", "replace") if named else "")


class _Blocks:
    """Walks through the main text and gathers what stands in it."""

    def __init__(self, main: MainText, title: str = "") -> None:
        self.found: list[Block] = []
        self._main, self._title = main, title.casefold()
        self._line: list[str] = []
        self._walk(main.root, 0)
        self._end_paragraph()

    def _walk(self, element: Any, depth: int) -> None:
        tag = element.tag if isinstance(element.tag, str) else ""
        if not tag or tag in NAMES["skipped"] or depth > 400:
            return
        if tag in NAMES["blocks"]:
            self._end_paragraph()
        if tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
            title = _NUMBER.sub("", clean_line(_text(element)), count=1)
            if title and (self.found or title.casefold() != self._title):
                self.found.append(Block(title, int(tag[1])))
        elif tag == "table" and _has_cells(element):
            if texts := markdown_blocks(element, is_html=True):
                caption = " ".join(clean_line(_text(one)) for one in element.iter("caption"))
                self.found.append(Block(caption, table=tuple(texts)))
        else:
            self._line += ["\n" if tag == "br" else "", element.text or ""]
            for child in element:
                self._walk(child, depth + 1)
                self._line.append(child.tail or "")
        if tag in NAMES["blocks"]:
            self._end_paragraph()

    def _end_paragraph(self) -> None:
        text = "".join(self._line)
        self._line = []
        lines = [clean_line(line) for line in re.split(r"\n\s*\n", _WHITE_SPACE.sub(" ", text))]
        self.found += [Block(line) for line in lines if line and self._main.holds(line)]


def _abstract_apart(blocks: Sequence[Block]) -> tuple[list[str], list[Block]]:
    """The paragraphs of an article's abstract, and the other blocks."""
    abstract, rest, level = list[str](), list[Block](), 0
    for block in blocks:
        if block.level and not 0 < level < block.level:
            level = block.level if block.text.lower() in _ABSTRACT else 0
        if not level:
            rest.append(block)
        elif not block.level:
            abstract += filter(None, (block.text, *(block.table or ())))
    return abstract, rest


def _has_cells(table: Any) -> bool:
    """Whether it is more than the layout of a page."""
    own = [row for row in table.iter("tr") if next(row.iterancestors("table")) is table]
    return len(own) > 1 and max(len([cell for cell in row if cell.tag in ("td", "th")]) for row in own) > 1


def _limit_spans(root: Any) -> None:
    """Cells may claim to span any number of places, and other readers fill them all."""
    left = _MOST_SPANNED
    for cell in root.iter("td", "th"):
        spans = {name: _span(cell, name) for name in ("colspan", "rowspan") if name in cell.attrib}
        left -= math.prod(spans.values()) if spans else 0
        for name, number in spans.items():
            cell.set(name, str(number if left > 0 else 1))


def _span(cell: Any, name: str) -> int:
    value = str(cell.get(name, "1")).strip()
    return max(1, min(int(value), 50)) if value.isascii() and value.isdecimal() else 1
