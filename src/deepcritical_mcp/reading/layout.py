"""From lines on the pages of a PDF to paragraphs under headings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from deepcritical_mcp.reading import Section

HYPHEN = "\u0002"
"""PDFium's sign for a hyphen at the end of a line, and for that end."""
_LIGATURES = str.maketrans(
    {"\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl", "\ufb05": "st", "\ufb06": "st"}
)
_NUMBER = re.compile(r"(?:(?:[1-9][0-9]?|[IVX]{1,5})(?:\.[1-9][0-9]?){0,3}\.?|[A-H]\.)[ \t]")
_KNOWN = frozenset(
    """abstract|summary|introduction|background|objective|objectives|aims|methods|method|materials and methods|
    methods and materials|patients and methods|subjects and methods|methodology|experimental|experimental section|
    results|findings|results and discussion|discussion|limitations|strengths and limitations|conclusion|conclusions|
    discussion and conclusions|references|bibliography|literature cited|acknowledgements|acknowledgments|
    acknowledgement|funding|appendix|supplementary material|supplementary materials|supporting information|
    data availability|data availability statement|author contributions|authors' contributions|conflict of interest|
    conflicts of interest|competing interests|declaration of competing interest|ethics statement|case report|
    case presentation|statistical analysis|study design|keywords""".replace("\n", "")
    .replace("    ", "")
    .split("|")
)
_PAGE_NUMBER = re.compile(
    r"(?:page )?(?:[0-9]{1,5}|(?=[ivxl])(?:xl|l?x{0,3})(?:ix|iv|v?i{0,3}))(?: (?:of|/) [0-9]{1,5})?", re.IGNORECASE
)
_NUMBER_FIRST = re.compile(r"([0-9]{1,5})(?![0-9]|[.,][0-9])")
_NUMBER_LAST = re.compile(r"(?<![0-9])(?<![0-9][.,])([0-9]{1,5})$")
_LEAST_REPEATS = 3
_MARKS = ".,;:!?()[]\"'“”‘’"
_ENDS_SENTENCE = re.compile(r"[.!?:;][\"”’)\]]?[0-9,–-]*$")


@dataclass(frozen=True)
class PdfLine:
    """A line of text, or the part of it in one column. Positions in points, from the lower left corner of the page."""

    text: str
    left: float
    bottom: float
    right: float
    top: float
    size: float
    page: int = 0


def sections_of(pages: Sequence[Sequence[PdfLine]], heights: Sequence[float]) -> list[Section]:
    """The paragraphs of a document under its headings, or under its pages if no headings are recognized."""
    lines = [line for page in _without_running_lines(pages, heights) for line in in_reading_order(page)]
    if not lines:
        return []
    body = _body_size(lines)
    words = {word.strip(_MARKS) for line in lines for word in line.text.lower().translate(_LIGATURES).split()} - {""}
    blocks = [_Block(_joined(block, words), block[0].page, _is_heading(block, body)) for block in _blocks(lines)]
    if sum(block.is_heading for block in blocks) < 2:
        return _by_page(blocks)
    return _by_heading(blocks)


@dataclass(frozen=True)
class _Block:
    text: str
    page: int
    is_heading: bool


def _by_page(blocks: Sequence[_Block]) -> list[Section]:
    pages: dict[int, list[str]] = {}
    for block in blocks:
        pages.setdefault(block.page, []).append(block.text)
    return [Section(f"s{page + 1}", texts, path=(f"Page {page + 1}",)) for page, texts in pages.items()]


def _by_heading(blocks: Sequence[_Block]) -> list[Section]:
    found: list[tuple[str, list[str]]] = [("", [])]
    for block in blocks:
        if block.is_heading:
            found.append((_NUMBER.sub("", block.text, count=1), []))
        else:
            found[-1][1].append(block.text)
    named = [Section(f"s{number}", texts, path=(title,)) for number, (title, texts) in enumerate(found[1:], start=1)]
    return [Section("s0", found[0][1]), *named] if found[0][1] else named


def _without_running_lines(pages: Sequence[Sequence[PdfLine]], heights: Sequence[float]) -> Iterator[list[PdfLine]]:
    """The pages without page numbers and running heads; as they are if nothing else stands on any of them.

    Whatever differs from page to page may be a result, so that a line at the edge of a page is taken for a running head
    only if it is the very same at that edge of three pages and half of all (or of the left or right ones), or if only a
    page number before or after it differs, which counts up with the pages.
    """
    edges = [_edges(page, height) for page, height in zip(pages, heights, strict=True)]
    found: dict[tuple[str, ...], set[int]] = {}
    for number, edge in enumerate(edges):
        for name, lines in edge.items():
            for line in lines:
                for form in _forms(line, name, number):
                    found.setdefault(form, set()).add(number)
    running = {form for form, on in found.items() if _is_often(on, len(pages))}
    kept: list[list[PdfLine]] = []
    for number, (page, edge) in enumerate(zip(pages, edges, strict=True)):
        left_out = {
            id(line)
            for name, lines in edge.items()
            for line in lines
            if not running.isdisjoint(_forms(line, name, number)) or _is_page_number(line, lines, name)
        }
        kept.append([line for line in page if id(line) not in left_out])
    yield from kept if any(kept) else map(list, pages)


def _edges(page: Sequence[PdfLine], height: float) -> dict[str, list[PdfLine]]:
    return {
        "top": [line for line in page if line.bottom > 0.9 * height],
        "bottom": [line for line in page if line.top < 0.1 * height],
    }


def _forms(line: PdfLine, edge: str, page: int) -> list[tuple[str, ...]]:
    """What must be the same on other pages for the line to be a running one: its text, or the rest of it and how far
    the number at its beginning or end is from the number of the page."""
    forms: list[tuple[str, ...]] = [(edge, line.text)]
    if first := _NUMBER_FIRST.match(line.text):
        forms.append((edge, "number first", line.text[first.end() :], str(int(first[1]) - page)))
    if last := _NUMBER_LAST.search(line.text):
        forms.append((edge, "number last", line.text[: last.start()], str(int(last[1]) - page)))
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
    sides = [_side(line, gutter) for line in lines]
    columns = [side for side in sides if side != "both"]
    changes = sum(before != after for before, after in pairwise(columns))
    if changes <= 5:
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


def _side(line: PdfLine, gutter: float) -> str:
    return "left" if line.right <= gutter else "right" if line.left >= gutter else "both"


def _gutter(lines: Sequence[PdfLine], left: float, right: float) -> float | None:
    """Where the space between two columns is; None for a page with one column."""
    places = [left + (right - left) * step / 40 for step in range(14, 27)]
    crossing = {place: sum(line.left < place < line.right for line in lines) for place in places}
    best = min(places, key=lambda place: (crossing[place], abs(place - (left + right) / 2)))
    on_left = sum(line.right <= best for line in lines)
    on_right = sum(line.left >= best for line in lines)
    return best if crossing[best] <= 0.25 * len(lines) and min(on_left, on_right) >= 0.2 * len(lines) else None


def _body_size(lines: Sequence[PdfLine]) -> float:
    sizes = Counter[float]()
    for line in lines:
        sizes[round(line.size, 1)] += len(line.text)
    return sizes.most_common(1)[0][0]


def _is_heading(block: Sequence[PdfLine], body: float) -> bool:
    text = " ".join(line.text for line in block).strip()
    bare = _NUMBER.sub("", text, count=1).rstrip(" .:").lower()
    if len(block) == 1 and bare in _KNOWN:
        return True
    is_large = min(line.size for line in block) >= 1.12 * body
    return is_large and len(text) <= 200 and any(map(str.isalpha, text)) and not text.endswith((".", ",", ";"))


def _blocks(lines: Sequence[PdfLine]) -> Iterator[list[PdfLine]]:
    """Paragraphs and headings, as lists of lines."""
    pitch = _pitch(lines)
    block: list[PdfLine] = []
    for line in lines:
        if block and _begins_anew(block, line, pitch):
            yield block
            block = []
        block.append(line)
    if block:
        yield block


def _pitch(lines: Sequence[PdfLine]) -> float:
    steps = [
        before.bottom - after.bottom
        for before, after in pairwise(lines)
        if before.page == after.page and 0 < before.bottom - after.bottom < 3 * before.size
    ]
    return median(steps) if steps else 12.0


def _begins_anew(block: Sequence[PdfLine], line: PdfLine, pitch: float) -> bool:
    last = block[-1]
    bare = _NUMBER.sub("", line.text, count=1).strip(" .:").lower()
    if bare in _KNOWN or (len(block) == 1 and _NUMBER.sub("", last.text, count=1).strip(" .:").lower() in _KNOWN):
        return True
    if abs(line.size - last.size) > 0.08 * max(line.size, last.size) and len(line.text) > 3 and len(last.text) > 3:
        return True
    is_next_line = line.page == last.page and last.bottom >= line.bottom
    if last.text.endswith(HYPHEN):
        return False
    if not is_next_line:  # another column or page
        return bool(_ENDS_SENTENCE.search(last.text)) or (line.text[:1].isupper() and len(block) == 1)
    if last.bottom - line.bottom > 1.45 * pitch:
        return True
    width = max(one.right for one in (*block, line)) - min(one.left for one in (*block, line))
    is_short = last.right < max(one.right for one in (*block, line)) - 0.12 * width
    is_indented = line.left > last.left + 0.6 * line.size and line.left < last.left + 4 * line.size
    return bool(_ENDS_SENTENCE.search(last.text)) and (is_short or is_indented)


def _joined(block: Sequence[PdfLine], known: set[str]) -> str:
    text = ""
    for line in block:
        words = line.text.strip().translate(_LIGATURES)
        is_divided = text.endswith(HYPHEN) or (text.endswith("-") and _whole(text[:-1], words) in known)
        text = _rejoined(text[:-1], words, known) if is_divided else f"{text} {words}".lstrip()
    return text.replace(HYPHEN, "-")


def _whole(first: str, second: str) -> str:
    """The word that a line's end and the next one's beginning make; "" if the second cannot be the rest of one."""
    head, tail = first.rpartition(" ")[2], second.partition(" ")[0]
    return f"{head}{tail}".lower().strip(_MARKS) if head[-1:].isalpha() and tail[:1].islower() else ""


def _rejoined(first: str, second: str, known: set[str]) -> str:
    """A word divided at the end of a line; with its hyphen if it occurs so elsewhere too, or if what follows cannot be
    the rest of a word."""
    head, tail = first.rpartition(" ")[2], second.partition(" ")[0]
    is_compound = f"{head}-{tail}".lower().strip(_MARKS) in known or not tail[:1].islower()
    return f"{first}{'-' if is_compound else ''}{second}"


def on_page(lines: Sequence[PdfLine], page: int) -> list[PdfLine]:
    """The lines with the number of their page."""
    return [replace(line, page=page) for line in lines]
