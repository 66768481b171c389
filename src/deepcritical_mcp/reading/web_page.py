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
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from deepcritical_mcp.reading import PageReading, Reading, Section, assembled
from deepcritical_mcp.reading.page_metadata import abstract_in_head, copies_named, fields_of, licence_of_page, shown
from deepcritical_mcp.text import clean_line

_html: Any = importlib.import_module("lxml.html")  # no type hints
_etree: Any = importlib.import_module("lxml.etree")
HAS_TRAFILATURA = importlib.util.find_spec("trafilatura") is not None
"""Whether the extra "pages" is installed."""
_ENOUGH = 250
_TELLING = 50
_MOST_COMPARED = 200_000_000
_UNREAD = ("script", "style", "nav")
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
        common = line if around is None else _common(around, line)
        around = common
    if not around:
        return None
    return around[-1] if around[-1].tag != "p" or len(around) < 2 else around[-2]


def _common(first: Sequence[Any], second: Sequence[Any]) -> list[Any]:
    return [one for one, other in zip(first, second, strict=False) if one is other]


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


_HEADINGS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}
_SKIPPED = frozenset("script style noscript template nav form button select svg math-renderer iframe head".split())
_BLOCKS = frozenset(
    "p div section article main li ul ol dl dt dd blockquote pre table figure figcaption header footer aside address "
    "h1 h2 h3 h4 h5 h6 hr body html tr td th thead tbody caption details summary center".split()
)
_NUMBER = re.compile(r"(?:[1-9][0-9]?\.){1,4}(?:[1-9][0-9]?)?\s+(?=[^\W\d_])")
_WHITE_SPACE = re.compile(r"[^\S\n]+")
_ABSTRACT_ANCHOR = "abstract"
_ABSTRACT = frozenset({"abstract", "summary", "structured abstract"})
_MOST_SPANNED = 10_000
_META_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s{0,5}=\s{0,5}["']?([\w-]{1,40})""", re.IGNORECASE)


def read_page(content: bytes, *, url: str, charset: str = "") -> PageReading:
    """An HTML page. Any content gives a reading; one without text says so."""
    root = parsed_html(decoded(content, charset))
    if root is None:
        return PageReading(Reading(""), "no_text", "This page is empty.")
    _limit_spans(root)
    everything = _all_text(root)
    fields = fields_of(root, url)
    licence, copies, abstract = licence_of_page(root), copies_named(root, url), abstract_in_head(root)
    is_closed = _says_it_is_closed(root)
    is_article = bool({"doi", "pmid", "journal"} & fields.keys())
    main = main_text(root, url)
    title = str(fields.get("title", ""))
    sections: Sequence[Section] = _Outline(main, title, is_article=is_article).read() if main else ()
    own = [text for section in sections if section.anchor.startswith(_ABSTRACT_ANCHOR) for text in section.paragraphs]
    sections = [section for section in sections if not section.anchor.startswith(_ABSTRACT_ANCHOR)]
    body, parts = assembled(sections)
    reading = Reading(body, parts, fields, "\n".join(own) or abstract, licence)
    titles = [section.path[-1] for section in sections if section.path and section.paragraphs]
    status, detail = shown(
        body, reading.abstract, everything, titles=titles, is_closed=is_closed, is_article=is_article
    )
    return PageReading(reading, status, detail, copies)


def read_plain_text(content: bytes, *, url: str = "", charset: str = "") -> PageReading:
    """A text file: paragraphs are what blank lines divide."""
    paragraphs = re.split(r"\n[ \t]*\n", decoded(content, charset).replace("\r\n", "\n").replace("\r", "\n"))
    body, parts = assembled([Section("s0", [" ".join(text.split()) for text in paragraphs])])
    return PageReading(Reading(body, parts), "full_text" if body else "no_text", "" if body else "This file is empty.")


def outline_of_html(text: str) -> Sequence[Section]:
    """The sections of all that a piece of HTML shows, as a user supplied it: not a page with menus."""
    root = parsed_html(text)
    if root is None:
        return ()
    _limit_spans(root)
    return _Outline(MainText(root), "", is_article=False).read()


def decoded(content: bytes, charset: str = "") -> str:
    """The text of a page: by its byte order mark, else the first of header, `meta` and UTF-8 that fits, else as
    browsers read what says nothing (windows-1252)."""
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if content.startswith(mark):
            return content[len(mark) :].decode(encoding, errors="replace")
    named = _META_CHARSET.search(content[:4_096])
    candidates = [charset, named[1].decode("ascii", errors="replace") if named else ""]
    # Nothing but UTF-8 looks like UTF-8, so that it goes first where a header says Latin-1 out of habit.
    is_vague = all(name.lower() in ("", "iso-8859-1", "latin-1", "us-ascii", "windows-1252") for name in candidates)
    for encoding in ["utf-8", *candidates] if is_vague else [*candidates, "utf-8"]:
        plain = "windows-1252" if encoding.lower() in ("iso-8859-1", "latin-1", "us-ascii") else encoding
        try:
            return content.decode(plain) if plain else content.decode("utf-8")
        except (LookupError, UnicodeError, ValueError):
            continue
    return content.decode("windows-1252", errors="replace")


def _all_text(root: Any) -> str:
    shown = (
        str(text)
        for text in cast("list[Any]", root.xpath("//body//text() | //title/text()"))
        if (text.getparent() is None or text.getparent().tag not in ("script", "style", "template"))
    )
    return clean_line(" ".join(shown))[:200_000]


def _says_it_is_closed(root: Any) -> bool:
    """Whether the page's own description (schema.org) says that the text is not free to read."""
    scripts = cast("list[str]", root.xpath('//script[@type="application/ld+json"]/text()'))
    return any(re.search(r'"isAccessibleForFree"\s?:\s?"?false', text, re.IGNORECASE) for text in scripts)


@dataclass
class _Outline:
    """Walks through the main text and gathers sections: a heading opens one, below those of a higher level."""

    main: MainText
    title: str
    is_article: bool
    _levels: list[tuple[int, str, str]] = field(default_factory=list[tuple[int, str, str]])  # level, anchor, title
    _counts: dict[str, int] = field(default_factory=dict[str, int])
    _own: list[str] = field(default_factory=list[str])
    _tables: list[Section] = field(default_factory=list[Section])
    _done: list[Section] = field(default_factory=list[Section])
    _line: list[str] = field(default_factory=list[str])
    _number_of_tables: int = 0

    def read(self) -> Sequence[Section]:
        """The sections in order; those of an article's abstract have the anchor "abstract", or one that begins so."""
        self._walk(self.main.root, 0)
        self._close()
        return _without_empty(self._done)

    @property
    def _path(self) -> tuple[str, ...]:
        return tuple(title for _, _, title in self._levels)

    @property
    def _anchor(self) -> str:
        return self._levels[-1][1] if self._levels else "s0"

    def _walk(self, element: Any, depth: int) -> None:
        tag = element.tag if isinstance(element.tag, str) else ""
        if not tag or tag in _SKIPPED or depth > 400:
            return
        if tag in _HEADINGS:
            self._end_paragraph()
            self._open(_HEADINGS[tag], _text_of(element))
            return
        if tag == "table":
            self._end_paragraph()
            self._table(element, depth)
            return
        is_block = tag in _BLOCKS
        if is_block:
            self._end_paragraph()
        if tag == "br":
            self._line.append("\n")
        self._line.append(element.text or "")
        for child in element:
            self._walk(child, depth + 1)
            self._line.append(child.tail or "")
        if is_block:
            self._end_paragraph()

    def _end_paragraph(self) -> None:
        text = "".join(self._line)
        self._line = []
        lines = [clean_line(line) for line in re.split(r"\n\s*\n", _WHITE_SPACE.sub(" ", text))]
        self._own += [line for line in lines if line and self.main.holds(line)]

    def _open(self, level: int, title: str) -> None:
        title = _NUMBER.sub("", title, count=1)
        if not title or (title.casefold() == self.title.casefold() and not self._levels and not self._own):
            return
        self._close()
        while self._levels and self._levels[-1][0] >= level:
            self._levels.pop()
        parent = self._levels[-1][1] if self._levels else ""
        if self.is_article and title.lower() in _ABSTRACT:
            self._levels.append((level, _ABSTRACT_ANCHOR, title))
            return
        self._counts[parent] = self._counts.get(parent, 0) + 1
        number = self._counts[parent]
        self._levels.append((level, f"{parent}.{number}" if parent else f"s{number}", title))

    def _close(self) -> None:
        self._end_paragraph()
        parent = self._levels[-2][1] if len(self._levels) > 1 else ""
        if self._own or self._levels:
            self._done.append(Section(self._anchor, self._own, path=self._path, parent=parent))
        self._done += self._tables
        self._own, self._tables = [], []

    def _table(self, element: Any, depth: int) -> None:
        rows = _rows(element)
        if len(rows) < 2 or max(map(len, rows)) < 2:  # for layout only
            for cell in element.iter("td", "th"):
                if not any(ancestor.tag == "table" and ancestor is not element for ancestor in cell.iterancestors()):
                    self._walk_cell(cell, depth)
            return
        self._number_of_tables += 1
        caption = " ".join(_text_of(one) for one in element.iter("caption"))
        label = f"Table {self._number_of_tables}"
        own = self._levels[-1][1] if self._levels else ""
        heading = caption if caption.lower().startswith("table") else f"{label}. {caption}" if caption else ""
        texts = [*filter(None, [heading]), _markdown(rows)]
        self._tables.append(
            Section(f"t{self._number_of_tables}", texts, kind="table", path=(*self._path, label), parent=own)
        )

    def _walk_cell(self, cell: Any, depth: int) -> None:
        self._line.append(cell.text or "")
        for child in cell:
            self._walk(child, depth + 1)
            self._line.append(child.tail or "")
        self._end_paragraph()


def _without_empty(sections: Sequence[Section]) -> list[Section]:
    """The sections without headings that have no text below them: those of menus and of what was left out."""
    used = {section.anchor for section in sections if section.paragraphs}
    used |= {section.parent for section in sections if section.paragraphs}
    return [
        section
        for section in sections
        if section.anchor in used or any(anchor.startswith(f"{section.anchor}.") for anchor in used)
    ]


def _text_of(element: Any) -> str:
    return clean_line("".join(cast("Iterator[str]", element.itertext())))


def _rows(table: Any) -> list[list[str]]:
    """The cells of a table; one that spans several places is repeated in each, at most 50 columns and 1,000 rows."""
    rows: list[list[str]] = []
    below: dict[int, tuple[int, str]] = {}
    own = (row for row in table.iter("tr") if next(row.iterancestors("table")) is table)
    for row, _ in zip(own, range(1_000), strict=False):
        cells: list[str] = []
        place = partial(_fill, cells, below)
        for cell in row:
            if cell.tag in ("td", "th") and len(cells) < 50:
                place()
                text = _text_of(cell)
                for _ in range(_span(cell, "colspan")):
                    if (down := _span(cell, "rowspan")) > 1:
                        below[len(cells)] = (down - 1, text)
                    cells.append(text)
        place()
        if any(cells):
            rows.append(cells)
    return rows


def _fill(cells: list[str], below: dict[int, tuple[int, str]]) -> None:
    """Add the cells that reach down from the rows above."""
    while (column := len(cells)) in below:
        left, text = below.pop(column)
        if left > 1:
            below[column] = (left - 1, text)
        cells.append(text)


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


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    width = max(map(len, rows))
    first, *rest = [[cell.replace("|", "\\|") for cell in row] + [""] * (width - len(row)) for row in rows]
    lines = [first, ["---"] * width, *rest]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
