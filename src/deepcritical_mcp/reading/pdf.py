"""PDF files as paragraphs under headings. Only `reading.reader_process` calls this: PDFium is not thread-safe."""

from __future__ import annotations

import importlib
import math
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import groupby, islice, pairwise, takewhile
from statistics import median
from typing import Any

from deepcritical_mcp.errors import UnreadableDocumentError
from deepcritical_mcp.reading import (
    TABLE_CAPTION,
    Block,
    PageReading,
    Reading,
    Section,
    assembled,
    outline,
)
from deepcritical_mcp.reading.pdf_tables import PdfLine, Table, pieces
from deepcritical_mcp.text import clean_line, counted, data_lines

HYPHEN = "\u0002"
"""PDFium's sign for a hyphen at the end of a line, and for that end."""
_DIVIDED = re.compile(r"(?<=[^\W_])[\u2010\u00ad]\Z")
"""A hyphen at the end of a line that PDFium does not take for one."""
_SUSPENDING = frozenset("and or to und oder bis et ou".split())
"""What stands behind a hyphen in place of a part that comes later: "pre- and postoperative"."""
_OF_NAMES = re.compile(r"[0-9/@.]")
"""In addresses and names of substances, which are not divided."""
_LIGATURES = dict(enumerate(("ff", "fi", "fl", "ffi", "ffl", "st", "st"), start=0xFB00))
"""By their code points."""
_PLAIN_HYPHENS = str.maketrans("\u2010\u00ad", "--")
_NUMBER = re.compile(
    r"\A(?:[1-9][0-9]?\.|(?:[1-9][0-9]?|[IVX]{1,5})(?:\.[1-9][0-9]?){1,3}\.?)[ \t]"
    r"|\A(?:[1-9][0-9]?|[IVX]{1,5}\.?|[A-H]\.)[ \t](?![a-zß-ÿ])"
)
"""Of a heading: neither "IV iron" nor "H. pylori"."""
_KNOWN = frozenset(data_lines(__file__, "headings.txt"))
_PAGE_NUMBER = re.compile(
    r"(?:page )?(?:[0-9]{1,5}|(?=[ivxl])(?:xl|l?x{0,3})(?:ix|iv|v?i{0,3}))(?: (?:of|/) [0-9]{1,5})?", re.IGNORECASE
)
_NUMBER_AT_END = re.compile(r"^[0-9]{1,5}(?![0-9]|[.,][0-9])|(?<![0-9])(?<![0-9][.,])[0-9]{1,5}$")
_LEAST_REPEATS = 3
_MARKS = ".,;:!?()[]\"'“”‘’"
_ENDS_SENTENCE = re.compile(r"[.!?:;][\"”’)\]]?[0-9,–-]*$")


def sections_of(pages: Sequence[Sequence[PdfLine]], heights: Sequence[float]) -> list[Section]:
    """The paragraphs of a document under its headings, or under its pages if no headings are recognized."""
    lines = [
        line._replace(text=_DIVIDED.sub(HYPHEN, line.text.strip().translate(_LIGATURES)))
        for page in _without_running_lines(pages, heights)
        for line in in_reading_order(page)
    ]
    if not lines:
        return []
    sizes = Counter[float]()
    for line in lines:
        sizes[round(line.size, 1)] += len(line.text)
    body, words, pitch = sizes.most_common(1)[0][0], _whole_words(lines), _pitch(lines)
    found = list[tuple[int, Block]]()
    for piece in pieces(lines):
        if isinstance(piece, Table):
            caption = found.pop()[1].text if found and _is_caption(found[-1][1]) else ""
            found.append((piece.page, Block(caption, table=(piece.text,))))
            continue
        for block in _blocks(piece, pitch):
            text = _joined(block, words)
            is_heading = _is_heading(block, body) and not TABLE_CAPTION.match(text)
            found.append((block[0].page, Block(_NUMBER.sub("", text, count=1), 1) if is_heading else Block(text)))
    if sum(block.level > 0 for _, block in found) > 1:
        return outline(block for _, block in found)
    by_page = (
        (page, [one._replace(level=0) for _, one in own]) for page, own in groupby(found, key=lambda one: one[0])
    )
    return outline(one for page, own in by_page for one in (Block(f"Page {page + 1}", 1), *own))


def _is_caption(block: Block) -> bool:
    return not block.level and block.table is None and TABLE_CAPTION.match(block.text) is not None


_GAP = 1.1
"""Heights of letters between two cells."""


def _without_running_lines(pages: Sequence[Sequence[PdfLine]], heights: Sequence[float]) -> Iterator[list[PdfLine]]:
    """The pages without page numbers and running heads; as they are if nothing else stands on any of them.

    Whatever differs from page to page may be a result, so that a line at the edge of a page is taken for a running head
    only if it is the very same at that edge of three pages and half of all (or of the left or right ones), or if only a
    page number before or after it differs, which counts up with the pages.
    """
    edges = list[tuple[str, Sequence[PdfLine]]]()
    for page, height in zip(pages, heights, strict=True):
        edges.append(("top", [line for line in page if line.bottom > 0.9 * height]))
        edges.append(("bottom", [line for line in page if line.top < 0.1 * height]))
    found = [(name, lines, line, _forms(line, name)) for name, lines in edges for line in lines]
    on_pages: dict[tuple[str, ...], set[int]] = {}
    for *_, line, forms in found:
        for form in forms:
            on_pages.setdefault(form, set()).add(line.page)
    running = {form for form, numbers in on_pages.items() if _is_often(numbers, len(pages))}
    left_out = {id(line) for *_, line, forms in found if not running.isdisjoint(forms)}
    left_out |= {id(line) for name, lines, line, _ in found if _is_page_number(line, lines, name)}
    kept = [[line for line in page if id(line) not in left_out] for page in pages]
    yield from kept if any(kept) else map(list, pages)


def _forms(line: PdfLine, edge: str) -> list[tuple[str, ...]]:
    """What must be the same on other pages for the line to be a running one: its text, or the rest of it and how far
    the number at its beginning or end is from the number of the page."""
    text, forms = line.text, list[tuple[str, ...]]([(edge, line.text)])
    for number in _NUMBER_AT_END.finditer(text):
        forms.append((edge, text[: number.start()], f"{int(number[0]) - line.page:+}", text[number.end() :]))
    return forms


def _is_often(on: set[int], pages: int) -> bool:
    sides = {number % 2 for number in on}
    of = pages if len(sides) > 1 else len(range(min(sides), pages, 2))
    return len(on) >= _LEAST_REPEATS and 2 * len(on) >= of


def _is_page_number(line: PdfLine, lines: Sequence[PdfLine], edge: str) -> bool:
    """Whether a line is a number that stands alone in the first or last row of a page: others are cells of tables."""
    if not _PAGE_NUMBER.fullmatch(line.text.strip(" -–—|")):
        return False
    others = [one for one in lines if one is not line]
    return all(one.top <= line.bottom if edge == "top" else one.bottom >= line.top for one in others)


def in_reading_order(lines: Sequence[PdfLine]) -> list[PdfLine]:
    """The lines of a page, the left column before the right one. Files that have their columns one after the other
    already stay as they are."""
    if len(lines) < 8:
        return list(lines)
    left_edge, right_edge = min(line.left for line in lines), max(line.right for line in lines)
    gutter = _gutter(lines, left_edge, right_edge)
    if gutter is None:
        return list(lines)
    sides = ["left" if one.right <= gutter else "right" if one.left >= gutter else "both" for one in lines]
    if sum(before != after for before, after in pairwise(side for side in sides if side != "both")) <= 5:
        return list(lines)
    ordered: list[PdfLine] = []
    band: dict[str, list[PdfLine]] = {"left": [], "right": []}
    for line, side in sorted(zip(lines, sides, strict=True), key=lambda pair: -pair[0].top):
        if side == "both":
            ordered += [*band["left"], *band["right"], line]
            band = {"left": [], "right": []}
        else:
            band[side].append(line)
    return [*ordered, *band["left"], *band["right"]]


def _gutter(lines: Sequence[PdfLine], left: float, right: float) -> float | None:
    """Where the space between two columns is; None for a page with one column."""
    places = [left + (right - left) * step / 40 for step in range(14, 27)]
    crossing = {place: sum(line.left < place < line.right for line in lines) for place in places}
    best = min(places, key=lambda place: (crossing[place], abs(place - (left + right) / 2)))
    fewest = min(sum(line.right <= best for line in lines), sum(line.left >= best for line in lines))
    return best if crossing[best] <= 0.25 * len(lines) and fewest >= 0.2 * len(lines) else None


def _is_known(line: PdfLine) -> bool:
    """Whether a line is one of the usual headings."""
    return _NUMBER.sub("", line.text.strip(), count=1).strip(" .:").lower() in _KNOWN


def _is_heading(block: Sequence[PdfLine], body: float) -> bool:
    text = " ".join(line.text for line in block).strip()
    if len(block) == 1 and _is_known(block[0]):
        return True
    is_large = min(line.size for line in block) >= 1.12 * body
    return is_large and len(text) <= 200 and any(map(str.isalpha, text)) and not text.endswith((".", ",", ";"))


def _pitch(lines: Sequence[PdfLine]) -> float:
    """Points from one line to the next."""
    pairs = ((one, one.bottom - two.bottom) for one, two in pairwise(lines) if one.page == two.page)
    steps = [step for one, step in pairs if 0 < step < 3 * one.size]
    return median(steps) if steps else 12.0


def _blocks(lines: Sequence[PdfLine], pitch: float) -> Iterator[list[PdfLine]]:
    """Paragraphs and headings, as lists of lines."""
    block: list[PdfLine] = []
    for line in lines:
        if block and _begins_anew(block, line, pitch):
            yield block
            block = []
        block.append(line)
    if block:
        yield block


def _begins_anew(block: Sequence[PdfLine], line: PdfLine, pitch: float) -> bool:
    last = block[-1]
    if _is_known(line) or (len(block) == 1 and _is_known(last)):
        return True
    if abs(line.size - last.size) > 0.08 * max(line.size, last.size) and len(line.text) > 3 and len(last.text) > 3:
        return True
    is_next_line = line.page == last.page and last.bottom >= line.bottom
    if last.text.endswith(HYPHEN) and line.text[:1].islower():
        return False
    if not is_next_line:  # another column or page
        return bool(_ENDS_SENTENCE.search(last.text)) or (line.text[:1].isupper() and len(block) == 1)
    if last.bottom - line.bottom > max(1.45 * pitch, 1.6 * line.size):  # lines of large letters are further apart
        return True
    width = max(one.right for one in (*block, line)) - min(one.left for one in (*block, line))
    is_short = last.right < max(one.right for one in (*block, line)) - 0.12 * width
    is_indented = line.left > last.left + 0.6 * line.size and line.left < last.left + 4 * line.size
    return bool(_ENDS_SENTENCE.search(last.text)) and (is_short or is_indented)


def _whole_words(lines: Sequence[PdfLine]) -> set[str]:
    """The words that are not divided by the end of a line, in lower case."""
    found, was_divided = set[str](), False
    for line in lines:
        words, is_divided = line.text.lower().translate(_PLAIN_HYPHENS).split(), line.text.endswith((HYPHEN, "-"))
        found.update(word.strip(_MARKS) for word in words[was_divided : len(words) - is_divided])
        was_divided = is_divided
    return found - {""}


def _joined(block: Sequence[PdfLine], known: set[str]) -> str:
    text = ""
    for line in block:
        head, tail = text[:-1].rpartition(" ")[2], line.text.partition(" ")[0]
        if text.endswith(HYPHEN):
            sign = "- " if tail in _SUSPENDING else "-" if _keeps_hyphen(head, tail, known) else ""
            text = f"{text[:-1]}{sign}{line.text}"
        elif text.endswith("-") and f"{head}{tail}".lower().strip(_MARKS) in known:
            text = f"{text[:-1]}{'-' if _keeps_hyphen(head, tail, known) else ''}{line.text}"
        else:
            text = f"{text} {line.text}".lstrip()
    return text.replace(HYPHEN, "-")


def _keeps_hyphen(head: str, tail: str, known: set[str]) -> bool:
    """Whether a hyphen at the end of a line is part of the word: the document has the word with it elsewhere, or both
    parts as words, or no word is divided there."""
    if head[-1:].isdigit() or not tail[:1].islower():
        return True
    head, tail = (part.translate(_PLAIN_HYPHENS).strip(_MARKS) for part in (head, tail))
    whole, compound = (f"{head}{sign}{tail}".lower() for sign in ("", "-"))
    if compound in known or whole in known:
        return compound in known
    first, last = head.rpartition("-")[2], "".join(takewhile(str.isalpha, tail))
    is_name = len(first) < 2 or first.isupper() or _OF_NAMES.search(first) or "@" in tail
    return bool(is_name) or (len(first) > 2 and len(last) > 3 and {first.lower(), last.lower()} <= known)


pdfium: Any = importlib.import_module("pypdfium2")  # no type hints
_raw: Any = pdfium.raw
MAX_PAGES = 500
_SECONDS = 15.0
"""Seconds for reading pages; the rest is left out, and a remark says so."""
_FEW = 40
"""Characters on a page of a scanned file: a stamp, a page number."""
_PASSWORD = 4  # FPDF_ERR_PASSWORD
_IMAGE = 3  # FPDF_PAGEOBJ_IMAGE
_MOST_OBJECTS = 10_000
"""On a page without text, among which an image is looked for."""
_SAMPLED = 200
"""Characters that tell which way the text of a page runs."""
Box = tuple[float, float, float, float]


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
    count, pages, heights = len(document), list[list[PdfLine]](), list[float]()
    end, failed = time.monotonic() + _SECONDS, 0
    for number in range(min(count, MAX_PAGES)):
        if time.monotonic() > end:
            break
        try:
            lines, height = _page_lines(document[number])
        except pdfium.PdfiumError:
            failed += 1
            lines, height = [], 1.0
        pages.append([line._replace(page=number) for line in lines])
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
    if empty := sum(not page for page in pages) - failed:
        remarks.append(f"{counted(empty, 'page')} without text inside: images or blank.")
    return PageReading(Reading(body, parts, _fields(document, beginning), remarks=tuple(remarks)), "full_text")


def _without_text(document: Any, pages: Sequence[Sequence[PdfLine]], content: bytes) -> PageReading | None:
    """The reading of a file with hardly any text; None if its pages are not images, so that this is its text.

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
    what = f"{counted(images, 'page')} of images" if images else "the pages are empty"
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
    """The title in the file's properties, if the first pages have it too: many are a template's, or a file name."""
    title = clean_line(str(document.get_metadata_value("Title") or ""))
    plain = re.sub(r"\W+", "", title).lower()
    is_there = plain and plain in re.sub(r"\W+", "", beginning).lower()
    return {"title": title} if is_there and len(title) >= 12 else {}


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
    """The lines of a page, which is turned clockwise by so many degrees, as PDFium finds them, divided at gaps between
    columns; and its height as it is shown."""
    (width, height), (x, y, *_) = page.get_size(), page.get_bbox()
    runs, is_after_space = [_Run()], False
    spaces, is_generated = [0, 0], False
    for index in range(textpage.count_chars()):
        run, code = runs[-1], int(_raw.FPDFText_GetUnicode(textpage.raw, index))
        code = ord(HYPHEN) if code == 0xFFFE else code
        character = chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
        is_space = character.isspace() and character not in "\r\n"
        if is_space:
            run.text += " "
            is_generated = _raw.FPDFText_IsGenerated(textpage.raw, index) == 1
            spaces[is_generated] += 1
        elif character in "\r\n":
            runs.append(_Run(size=run.size))
        elif character == HYPHEN or character >= " ":
            left, bottom, right, top = textpage.get_charbox(index)
            box = _turned((left - x, bottom - y, right - x, top - y), turned, width, height)
            if is_after_space and run.boxes and box[0] - run.boxes[-1][2] > 1.6 * max(run.size, 4):
                runs.append(run := _Run(size=run.size))
            if is_after_space and run.boxes and (is_generated or box[0] - run.boxes[-1][2] > _GAP * run.height):
                run.cuts.append((len(run.text), len(run.boxes), is_generated))
            if not run.text:  # the size as printed: some files scale a font of size 1
                size = float(_raw.FPDFText_GetFontSize(textpage.raw, index))
                run.size = size if size > 2 else max(box[3] - box[1], 1.0) * 1.4
            run.text += character
            run.boxes.append(box)
            if character == HYPHEN:  # stands for the end of the line too
                runs.append(_Run(size=run.size))
        is_after_space = is_space
    # Where most blanks are written, one that PDFium adds stands between two pieces that were written apart.
    are_apart = 10 * spaces[True] <= spaces[False]
    return [run.line(are_apart=are_apart) for run in runs if run.boxes and run.text.strip()], height


@dataclass
class _Run:
    """What follows on each other in a line, of the size of its first character; that of the run before, if that is a
    blank."""

    text: str = ""
    size: float = 0.0
    boxes: list[Box] = field(default_factory=list[Box])
    cuts: list[tuple[int, int, bool]] = field(default_factory=list[tuple[int, int, bool]])

    @property
    def height(self) -> float:
        """Of its last letters."""
        return max(top - bottom for _, bottom, _, top in self.boxes[-5:])

    def line(self, *, are_apart: bool) -> PdfLine:
        """The line; with cells where there are gaps, or blanks that PDFium added, if these are between pieces."""
        cuts = [(0, 0), *((at, box) for at, box, is_added in self.cuts if not is_added or are_apart)]
        ends = [*cuts[1:], (len(self.text), len(self.boxes))]
        cells = [
            self._part(self.text[at:end], self.boxes[box:last])
            for (at, box), (end, last) in zip(cuts, ends, strict=True)
        ]
        whole = self._part(self.text, self.boxes)
        return whole._replace(cells=cells if len(cells) > 1 else (), words=[*self._words()])

    def _words(self) -> Iterator[PdfLine]:
        at = 0
        for word in self.text.split():
            yield self._part(word, self.boxes[at : at + len(word)])
            at += len(word)

    def _part(self, text: str, boxes: Sequence[Box]) -> PdfLine:
        left, bottom, right, top = zip(*boxes, strict=True)
        return PdfLine(text.strip(), min(left), min(bottom), max(right), max(top), self.size)


def _turned(box: Box, turned: int, width: float, height: float) -> Box:
    """Left, bottom, right and top of a character on a page that is turned clockwise, of which these are the width and
    height as it is shown."""
    left, bottom, right, top = box
    if turned == 90:
        return bottom, height - right, top, height - left
    if turned == 180:
        return width - right, height - top, width - left, height - bottom
    return (width - top, left, width - bottom, right) if turned == 270 else box


def _upright(textpage: Any, shown: int) -> int:
    """By how many degrees, clockwise, a page must be turned for most of its text to be upright; `shown` without any."""
    count, angles = textpage.count_chars(), Counter[int]()
    for index in range(0, count, max(1, count // _SAMPLED)):
        angle = math.degrees(_raw.FPDFText_GetCharAngle(textpage.raw, index))
        if angle >= 0 and int(_raw.FPDFText_GetUnicode(textpage.raw, index)) > 32:
            angles[round(angle / 90) % 4 * 90] += 1
    return (360 - angles.most_common(1)[0][0]) % 360 if angles else shown
