"""Documents of word processors, Word's .docx and OpenDocument's .odt: zip files of XML, read with bounds."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from xml.etree.ElementTree import Element

from deepcritical_mcp.errors import UnreadableDocumentError
from deepcritical_mcp.reading import (
    TABLE_CAPTION,
    Block,
    PageReading,
    Reading,
    assembled,
    markdown_table,
    outline,
    with_text,
)
from deepcritical_mcp.reading.xml_tree import NOTHING, attribute, read_xml
from deepcritical_mcp.text import clean_line

MAX_XML = 100 * 1024**2
"""Bytes of one part of a file, unpacked."""
_LEVELS = 6
_GAPS: Mapping[str, str] = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "line-break": "\n", "s": " "}
"""Elements that stand for a character."""
_SKIPPED = frozenset(
    ("del", "moveFrom", "instrText", "footnoteReference", "note", "annotation", "tracked-changes", "Fallback", "pPr")
)
"""What is deleted, is no text, or stands in the text twice."""


def read_office(content: bytes, *, url: str = "", charset: str = "") -> PageReading:
    """The text of a .docx or .odt in sections, with its tables; "no_text" if it has none.

    Raises:
        UnreadableDocumentError: it is damaged, protected by a password, another kind of file, or too large.
    """
    del url, charset
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            names = {*file.namelist()}
            is_word = "word/document.xml" in names
            body = _part(file, "word/document.xml" if is_word else "content.xml")
            styles = _part(file, "word/styles.xml") if "word/styles.xml" in names else NOTHING
    except (zipfile.BadZipFile, zlib.error, KeyError, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise UnreadableDocumentError("This file is damaged, protected, or not of Word or OpenDocument.") from error
    blocks = [*_blocks(body, _heading_levels(styles))]
    title = next((one.text for one in blocks if one.level == 1), "")
    if title and [one.level for one in blocks].count(1) == 1 and blocks[0].level == 1:
        blocks = blocks[1:]  # the title of the document
    text, parts = assembled(outline(with_text(_captioned(blocks))))
    fields: dict[str, object] = {"title": title} if title else {}
    return PageReading(Reading(text, parts, fields), "full_text" if text else "no_text")


def _captioned(blocks: Sequence[Block]) -> list[Block]:
    """The blocks, with the paragraph before a table in it if that is its caption."""
    found = list[Block]()
    for block in blocks:
        before = found[-1] if found else Block("")
        if block.table is not None and not before.level and before.table is None and TABLE_CAPTION.match(before.text):
            block = block._replace(text=found.pop().text)
        found.append(block)
    return found


def _part(file: zipfile.ZipFile, name: str) -> Element:
    with file.open(name) as part:
        data = part.read(MAX_XML + 1)
    if len(data) > MAX_XML:
        raise UnreadableDocumentError("This document cannot be read: it is too large.")
    return read_xml(data, is_huge=True)[0]


def _name(element: Element) -> str:
    """The name of an element without its namespace."""
    return element.tag.rpartition("}")[2]


def _heading_levels(styles: Element) -> dict[str, int]:
    """The level of each of Word's styles that is a heading: "heading 1" is below the title."""
    levels = dict[str, int]()
    for style in (one for one in styles.iter() if _name(one) == "style"):
        names = (attribute(one, "val").lower() for one in style if _name(one) == "name")
        name = next(names, "")
        if name == "title":
            levels[attribute(style, "styleId")] = 1
        elif name.startswith("heading ") and name[8:].isdecimal():
            levels[attribute(style, "styleId")] = min(int(name[8:]) + 1, _LEVELS)
    return levels


def _blocks(element: Element, levels: Mapping[str, int]) -> Iterator[Block]:
    """Paragraphs, headings and tables in order."""
    for child in element:
        name = _name(child)
        if name in _SKIPPED:
            continue
        if name in ("p", "h") and (text := _text(child)):
            yield Block(text, _level(child, levels) if len(text) <= 300 else 0)
        elif name in ("tbl", "table"):
            rows = [row for row in _rows(child) if any(row)]
            if len(rows) > 1:
                yield Block("", table=(markdown_table(rows[0], rows[1:]),))
            else:
                yield from (Block(cell) for row in rows for cell in row if cell)
        elif name not in ("p", "h"):
            yield from _blocks(child, levels)


def _level(paragraph: Element, levels: Mapping[str, int]) -> int:
    if _name(paragraph) == "h":
        level = attribute(paragraph, "outline-level")
        return min(int(level) + 1, _LEVELS) if level.isdecimal() else 2
    if attribute(paragraph, "style-name") == "Title":
        return 1
    marks = (one for part in paragraph if _name(part) == "pPr" for one in part if _name(one) == "pStyle")
    return next((levels.get(attribute(one, "val"), 0) for one in marks), 0)


def _rows(table: Element) -> Iterator[Sequence[str]]:
    for row in table.iter():
        if _name(row) in ("tr", "table-row"):
            yield [clean_line(_text(cell)) for cell in row if _name(cell) in ("tc", "table-cell", "covered-table-cell")]


def _text(element: Element) -> str:
    return "".join(_pieces(element)).strip()


def _pieces(element: Element) -> Iterator[str]:
    name = _name(element)
    if name in _SKIPPED:
        return
    if name in _GAPS:
        yield _GAPS[name]
    elif name in ("t", "delText") or not name.startswith(("r", "w")):
        yield element.text or ""
    for child in element:
        yield from _pieces(child)
        if name in ("p", "h", "span", "a"):  # OpenDocument has text between its elements
            yield child.tail or ""
    if name in ("p", "h"):
        yield " "
