"""Tables of PDFs: rows of pieces that stand side by side, below each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from deepcritical_mcp.reading import markdown_table

LEAST_ROWS, MOST_APART = 3, 4.0
"""Of a table; and sizes of letters between two of them."""
SPACE, CROSSING = 3.5, 0.15
"""Points between two columns, and the share of the rows that may have something there, such as a heading of several."""


class PdfLine(NamedTuple):
    """A line of text, or the part of it in one column. Positions in points, from the lower left corner of the page.
    `cells` are its parts if they may be cells of a table, `words` those between blanks."""

    text: str
    left: float
    bottom: float
    right: float
    top: float
    size: float
    page: int = 0
    cells: Sequence[PdfLine] = ()
    words: Sequence[PdfLine] = ()


class Table(NamedTuple):
    """A table: the page that it is on, from 0, and its rows in Markdown."""

    page: int
    text: str


def pieces(lines: Sequence[PdfLine]) -> Iterator[list[PdfLine] | Table]:
    """Text and tables in turn. A table is several rows below each other, of cells that stand below each other."""
    text, rows, cells_above = list[PdfLine](), list[list[PdfLine]](), list[PdfLine]()
    for row in [*_rows_of(lines), []]:
        cells = [cell for line in row for cell in line.cells or (line,)]
        is_next = bool(cells and rows) and _continues(cells_above, cells)
        if rows and not is_next and _is_table(rows):
            yield text
            yield Table(rows[0][0].page, _as_table(rows))
            text, rows = [], []
        elif not is_next:
            text += [line for one in rows for line in one]
            rows = []
        if len(cells) > 1 or is_next:
            rows.append(row)
            cells_above = cells if len(cells) > 1 else cells_above
        else:
            text += row
    yield text


def _is_table(rows: Sequence[Sequence[PdfLine]]) -> bool:
    """Whether rows are many enough; a line that is set wide has cells of a letter each."""
    cells = [cell for row in rows for line in row for cell in line.cells or (line,)]
    full = [row for row in rows if len(row) > 1 or row[0].cells]
    return len(full) >= LEAST_ROWS and sum(len(one.text) for one in cells) >= 2 * len(cells)


def _rows_of(lines: Sequence[PdfLine]) -> Iterator[list[PdfLine]]:
    """Lines that stand side by side, in a row, from left to right."""
    row = list[PdfLine]()
    for line in lines:
        last = row[-1] if row else None
        is_beside = last and last.page == line.page and abs(last.bottom - line.bottom) < 0.4 * line.size
        if last and not (is_beside and line.left > last.right):
            yield row
            row = []
        row.append(line)
    if row:
        yield row


def _continues(above: Sequence[PdfLine], below: Sequence[PdfLine]) -> bool:
    """Whether a row is the next one of a table: close below, with a cell beneath another one, apart from the first; or
    the next line of one of its cells."""
    first, other = above[0], below[0]
    if first.page != other.page or not 0 < first.bottom - other.bottom < MOST_APART * other.size:
        return False
    if len(below) == 1:
        is_alike = abs(other.size - above[-1].size) < 0.08 * other.size
        return is_alike and any(abs(one.left - other.left) < other.size / 2 for one in above[1:])
    return any(
        min(abs(one.left - two.left), abs(one.right - two.right), abs(one.left + one.right - two.left - two.right) / 2)
        < other.size
        for one in above[1:]
        for two in below[1:]
    )


def _as_table(rows: Sequence[Sequence[PdfLine]]) -> str:
    """The rows in Markdown. What stands in one column only, and not in the first, goes on with the row above."""
    bounds = _bounds(rows)
    filled = list[list[str]]()
    for row in rows:
        cells = [""] * (len(bounds) + 1)
        for word in (word for line in row for word in line.words or (line,)):
            at = sum(bound < (word.left + word.right) / 2 for bound in bounds)
            cells[at] = f"{cells[at]} {word.text}".strip()
        if filled and not cells[0] and sum(map(bool, cells)) == 1:
            filled[-1] = [f"{one} {more}".strip() for one, more in zip(filled[-1], cells, strict=True)]
        else:
            filled.append(cells)
    return markdown_table(filled[0], filled[1:])


def _bounds(rows: Sequence[Sequence[PdfLine]]) -> list[float]:
    """Where the spaces between columns are, from left to right: where hardly any row has a word."""
    steps = Counter[float]()
    for row in rows:
        for left, right in _covered(row):
            steps[left] += 1
            steps[right] -= 1
    found, start, crossing = list[float](), None, 0
    for at in sorted(steps):
        if start is not None and crossing <= CROSSING * len(rows) < crossing + steps[at]:
            found += [(start + at) / 2] if at - start >= SPACE else []
            start = None
        crossing += steps[at]
        if start is None and crossing <= CROSSING * len(rows):
            start = at
    return found


def _covered(row: Sequence[PdfLine]) -> Iterator[tuple[float, float]]:
    """From where to where a row has words, without overlaps."""
    spans = sorted((word.left, word.right) for line in row for word in line.words or (line,))
    left, right = spans[0]
    for start, end in spans[1:]:
        if start > right:
            yield left, right
            left = start
        right = max(right, end)
    yield left, right
