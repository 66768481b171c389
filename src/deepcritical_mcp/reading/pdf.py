"""PDF files, read by PDFium. Only `reading.reader_process` calls this: PDFium is a C library and not thread-safe."""

from __future__ import annotations

import ctypes
import importlib
import math
import re
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from itertools import islice
from typing import Any

from deepcritical_mcp.errors import UnreadableDocumentError
from deepcritical_mcp.reading import PageReading, Reading, assembled
from deepcritical_mcp.reading.layout import HYPHEN, PdfLine, on_page, sections_of
from deepcritical_mcp.text import clean_line, counted

pdfium: Any = importlib.import_module("pypdfium2")  # no type hints
_raw: Any = pdfium.raw
MAX_PAGES = 500
_SECONDS = 15.0
"""For reading pages; the rest is left out, and a remark says so."""
_FEW = 40
"""Characters on a page of a scanned file: a stamp, a page number."""
_PASSWORD = 4  # FPDF_ERR_PASSWORD
_IMAGE = 3  # FPDF_PAGEOBJ_IMAGE
_MOST_OBJECTS = 10_000
"""On a page without text, among which an image is looked for."""
_SAMPLED = 200
"""Characters that tell which way the text of a page runs."""
Box = tuple[float, float, float, float]
_FILE_NAME = re.compile(r"\.(?:docx?|pdf|indd|tex|dvi|qxd)$|^(?:microsoft word|untitled|layout)\b", re.IGNORECASE)


def read_pdf(content: bytes, *, url: str = "", charset: str = "") -> PageReading:
    """The text of a PDF, in sections by its headings or pages; "no_text" for a file of images or of empty pages.

    Raises:
        UnreadableDocumentError: it is protected by a password, is damaged, or takes too long.
    """
    try:
        document: Any = pdfium.PdfDocument(content)
    except pdfium.PdfiumError as error:
        if error.err_code == _PASSWORD:
            raise UnreadableDocumentError("This PDF is protected by a password.", is_protected=True) from error
        raise UnreadableDocumentError("This PDF is damaged and cannot be opened.") from error
    count = len(document)
    pages: list[list[PdfLine]] = []
    heights: list[float] = []
    end, failed = time.monotonic() + _SECONDS, 0
    for number in range(min(count, MAX_PAGES)):
        if time.monotonic() > end:
            break
        try:
            lines, height = _page_lines(document[number])
        except pdfium.PdfiumError:
            failed += 1
            lines, height = [], 1.0
        pages.append(on_page(lines, number))
        heights.append(height)
    characters = sum(len(line.text) for page in pages for line in page)
    if failed == len(pages):
        raise UnreadableDocumentError("This PDF is damaged: none of its pages can be opened.")
    if characters <= _FEW * len(pages) // 2 and (nothing := _without_text(document, pages, content)):
        return nothing
    body, parts = assembled(sections_of(pages, heights))
    beginning = " ".join([*(title for part in parts[:3] for title in part.path), body[:6_000]])
    remarks: list[str] = []
    if len(pages) < count:
        reason = f"no more than {MAX_PAGES} are" if len(pages) == MAX_PAGES else "the others would have taken too long"
        remarks.append(f"Only the first {len(pages)} of {count} pages were read: {reason}.")
    if failed:
        remarks.append(f"{counted(failed, 'page')} could not be read.")
    empty = sum(not page for page in pages) - failed
    if empty:
        remarks.append(f"{counted(empty, 'page')} without text inside: images or blank.")
    return PageReading(Reading(body, parts, _fields(document, beginning), remarks=tuple(remarks)), "full_text")


def _without_text(document: Any, pages: Sequence[Sequence[PdfLine]], content: bytes) -> PageReading | None:
    """What to say of a file with hardly any text; None if its pages are no images, so that the little is the text.

    Raises:
        UnreadableDocumentError: there may be more text in what is missing of the file.
    """
    images = sum(_has_image(document, number) for number in range(len(pages)))
    if not images and any(pages):
        return None
    if not images and b"%%EOF" not in content[-2_048:]:
        raise UnreadableDocumentError("This PDF is damaged: its end is missing, and what is there has no text.")
    if len(pages) < min(len(document), MAX_PAGES):
        raise UnreadableDocumentError("This document takes too long to read.", is_too_slow=True)
    if images:
        blank = len(pages) - images
        what = f"{counted(images, 'page')} of images" + (f" and {counted(blank, 'other page')}" if blank else "")
    else:
        what = "the pages are empty"
    unread = len(document) - len(pages)
    rest = f"; the last {counted(unread, 'page')} not read" if unread else ""
    return PageReading(Reading(""), "no_text", f"no text inside: {what}{rest}")


def _has_image(document: Any, number: int) -> bool:
    try:
        with closing(document[number]) as page:
            return any(one.type == _IMAGE for one in islice(page.get_objects(max_depth=5), _MOST_OBJECTS))
    except pdfium.PdfiumError:
        return False


def _fields(document: Any, beginning: str) -> dict[str, object]:
    """The title in the file's properties, if it is on the first pages too: many are a template's or a file name."""
    title = clean_line(str(document.get_metadata_value("Title") or ""))
    plain = re.sub(r"\W+", "", title).lower()
    is_there = plain and plain in re.sub(r"\W+", "", beginning).lower()
    return {"title": title} if is_there and len(title) >= 12 and not _FILE_NAME.search(title) else {}


def _page_lines(page: Any) -> tuple[list[PdfLine], float]:
    """The lines of a page turned so that its text is upright, whichever way the file shows it, and its height.

    PDFium orders the lines by where they stand on the page as it is shown, so that a page turned against its text
    (/Rotate) has them upside down.
    """
    with closing(page):
        shown = int(page.get_rotation())
        with closing(page.get_textpage()) as textpage:
            turned = _upright(textpage, shown)
            if turned == shown:
                return _lines_of(page, textpage, turned)
        page.set_rotation(turned)
        with closing(page.get_textpage()) as textpage:
            return _lines_of(page, textpage, turned)


def _lines_of(page: Any, textpage: Any, turned: int) -> tuple[list[PdfLine], float]:
    width, height = page.get_size()
    left, bottom, _, _ = page.get_bbox()
    return _Lines(textpage.raw, turned, (left, bottom, width, height)).read(textpage.count_chars()), height


def _upright(textpage: Any, shown: int) -> int:
    """By how many degrees, clockwise, a page must be turned for most of its text to be upright; `shown` without any."""
    count, angles = textpage.count_chars(), Counter[int]()
    for index in range(0, count, max(1, count // _SAMPLED)):
        angle = math.degrees(_raw.FPDFText_GetCharAngle(textpage.raw, index))
        if angle >= 0 and int(_raw.FPDFText_GetUnicode(textpage.raw, index)) > 32:
            angles[round(angle / 90) % 4 * 90] += 1
    return (360 - angles.most_common(1)[0][0]) % 360 if angles else shown


class _Lines:
    """The lines of a page as PDFium finds them, divided at gaps between columns.

    Args:
        turned: degrees by which the page is turned clockwise.
        frame: left and bottom edge of the page in the file's coordinates, and its width and height as it is shown.
    """

    def __init__(self, textpage: Any, turned: int, frame: Box) -> None:
        self._page, self._turned, self._frame = textpage, turned, frame
        self._text: list[str] = []
        self._boxes: list[Box] = []
        self._size = 0.0
        self._found: list[PdfLine] = []

    def read(self, count: int) -> list[PdfLine]:
        is_after_space = False
        for index in range(count):
            code = int(_raw.FPDFText_GetUnicode(self._page, index))
            code = ord(HYPHEN) if code == 0xFFFE else code
            character = chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
            if character in "\r\n":
                self._end()
            elif character.isspace():
                self._text.append(" ")
                is_after_space = True
                continue
            elif character == HYPHEN or character >= " ":
                box = self._box(index)
                if is_after_space and self._boxes and box[0] - self._boxes[-1][2] > 1.6 * max(self._size, 4):
                    self._end()
                if not self._text:
                    self._size = self._size_of(index, box)
                self._text.append(character)
                self._boxes.append(box)
                if character == HYPHEN:  # stands for the end of the line too
                    self._end()
            is_after_space = False
        self._end()
        return self._found

    def _box(self, index: int) -> Box:
        """Left, bottom, right and top of a character on the page as it is shown."""
        left, right, bottom, top = (ctypes.c_double() for _ in range(4))
        _raw.FPDFText_GetCharBox(self._page, index, left, right, bottom, top)
        x, y, width, height = self._frame
        box = left.value - x, bottom.value - y, right.value - x, top.value - y
        if self._turned == 90:
            return box[1], height - box[2], box[3], height - box[0]
        if self._turned == 180:
            return width - box[2], height - box[3], width - box[0], height - box[1]
        if self._turned == 270:
            return width - box[3], box[0], width - box[1], box[2]
        return box

    def _size_of(self, index: int, box: Box) -> float:
        """The size of the font as printed: some files scale a font of size 1."""
        size = float(_raw.FPDFText_GetFontSize(self._page, index))
        return size if size > 2 else max(box[3] - box[1], 1.0) * 1.4

    def _end(self) -> None:
        text = " ".join("".join(self._text).split(" ")).strip()
        if text and self._boxes:
            left, bottom, right, top = zip(*self._boxes, strict=True)
            self._found.append(PdfLine(text, min(left), min(bottom), max(right), max(top), self._size))
        self._text, self._boxes = [], []
