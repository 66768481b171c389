"""Tables of JATS as Markdown: XHTML's and CALS' rows become a grid with every merged cell spelled out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element

from deepcritical_mcp.reading import markdown_table
from deepcritical_mcp.reading.jats_text import FLOATS, Flow, line_of
from deepcritical_mcp.reading.xml_tree import attribute

MAX_COLUMNS = 200
"""As far as merged cells and names of columns reach."""
MAX_REPEATED = 500_000
"""Characters that merged cells may add to a table."""
_IMAGES = ("graphic", "inline-graphic", "media")


class _Cell(NamedTuple):
    text: str
    columns: int
    rows: int
    start: int = -1


def markdown_tables(wrap: Element) -> list[str]:
    """Each table inside `wrap` that has text, as Markdown; of a table that is an image, a remark that says so."""
    found = [text for table in _tables(wrap) for text in markdown_blocks(table)]
    is_image = wrap.tag == "table-wrap" and any(one.tag in _IMAGES for one in wrap.iter())
    return found or ["[This table is an image: its cells are not in the text.]"] * is_image


def markdown_blocks(table: Element, *, is_html: bool = False) -> list[str]:
    """A `<table>`, `<array>` or `<tgroup>` as Markdown: its header rows joined to one, merged cells repeated.

    Header rows between the rows of the body begin a block of their own, so that every value stands below its own
    header. A cell that spans a whole row of the body is a heading, and stands only once. [] for a table without text.
    In HTML, the first row is the header if none is marked.
    """
    header, body = [*_rows(table, "thead")], [*_rows(table, "tbody", "tfoot", "")]
    if not header and body and (is_html or all(child.tag == "th" for child in body[0])):
        header, body = body[:1], body[1:]
    grid = _Grid(table)
    head, rows = [*grid.lines(header)], [*grid.lines(body, is_body=True)]
    if not any(cell for row in (*head, *rows) for cell in row):
        return []
    is_header = [_is_header(row) for row in body]
    blocks = [(head, list[list[str]]())]
    for row, starts in zip(rows, is_header, strict=True):
        starts = starts and not all(is_header)
        if starts and blocks[-1][1]:
            blocks.append(([], []))
        blocks[-1][0 if starts else 1].append(row)
    width = max(map(len, (*head, *rows)))
    return [_markdown(names, some, width) for names, some in blocks if names or some]


def _is_header(row: Element) -> bool:
    """Whether a row names columns: all its cells are header cells, and more than one has text."""
    cells = [child for child in row if child.tag in ("td", "th", "entry")]
    return all(cell.tag == "th" for cell in cells) and sum(bool(line_of(cell)) for cell in cells) > 1


def _markdown(head: Sequence[Sequence[str]], rows: Sequence[Sequence[str]], width: int) -> str:
    columns = ((row[at] if at < len(row) else "" for row in head) for at in range(width))
    names = [" / ".join(dict.fromkeys(filter(None, column))) for column in columns]
    return markdown_table(names, [row for row in rows if any(row)])


def footnotes(wrap: Element) -> Iterator[str]:
    """The notes below a table, and those that stand in its cells, a line each."""
    for foot in wrap.iter("table-wrap-foot"):
        for child in foot:
            notes = [*child] if child.tag in ("fn-group", "table-wrap-foot") else [child]
            yield from filter(None, (line_of(note) for note in notes))
    for cell in (*wrap.iter("td"), *wrap.iter("th"), *wrap.iter("entry")):
        for aside in Flow(cell, is_paragraph=True).asides:
            if aside.tag == "fn":
                yield line_of(aside)


def _tables(wrap: Element) -> Iterator[Element]:
    """The outermost tables, and of CALS' each group."""
    for child in wrap:
        if child.tag in ("table", "array") and (groups := child.findall("tgroup")):
            yield from groups
        elif child.tag in ("table", "array", "tgroup"):
            yield child
        elif child.tag == "alternatives":
            yield from [*_tables(child)][:1]
        elif child.tag not in FLOATS | {"table-wrap-foot", "caption"}:
            yield from _tables(child)


def _rows(table: Element, *parts: str) -> Iterator[Element]:
    """The rows of the table's `parts`; "" are those that stand in none."""
    for child in table:
        if child.tag in ("tr", "row") and "" in parts:
            yield child
        elif child.tag in parts:
            yield from (row for row in child if row.tag in ("tr", "row"))


class _Grid:
    """The texts of the cells of a table."""

    def __init__(self, table: Element) -> None:
        self._columns = {attribute(one, "colname"): at for at, one in enumerate(table.iter("colspec"))}
        self._left = MAX_REPEATED

    def lines(self, rows: Sequence[Element], *, is_body: bool = False) -> Iterator[list[str]]:
        """Those of some rows, row by row."""
        cells = [[self._cell(one) for one in row if one.tag in ("td", "th", "entry")][:MAX_COLUMNS] for row in rows]
        width = max((sum(cell.columns for cell in row) for row in cells), default=0)
        pending: dict[int, tuple[str, int]] = {}  # by column: a cell from above, and how many rows it still fills
        for row in cells:
            is_heading = is_body and len(row) == 1 and not pending and row[0].columns >= max(width, 2)
            yield self._line(row, pending, is_heading=is_heading)

    def _cell(self, element: Element) -> _Cell:
        """A cell, where it begins by the names of CALS' columns."""
        text = line_of(element)
        if element.tag != "entry":
            return _Cell(text, _number(element, "colspan"), _number(element, "rowspan"))
        first = self._columns.get(attribute(element, "namest") or attribute(element, "colname"), -1)
        last = self._columns.get(attribute(element, "nameend"), first)
        return _Cell(text, max(last - first, 0) + 1, _number(element, "morerows", 0) + 1, first)

    def _line(self, row: Sequence[_Cell], pending: dict[int, tuple[str, int]], *, is_heading: bool) -> list[str]:
        """A row with what hangs into it from above; updates `pending` for the next one."""
        line, queue, last = list[str](), iter(row), max(pending, default=-1)
        cell = next(queue, None)
        while cell or len(line) <= last:
            at = len(line)
            if at in pending:
                text, left = pending.pop(at)
                line.append(text if self._allows(text) else "")
                if left > 1 and self._left > 0:
                    pending[at] = (text, left - 1)
            elif cell is None or cell.start > at:
                line.append("")
            else:
                line.append(cell.text)
                span = max(min(cell.columns, MAX_COLUMNS - at), 1)
                line += ["" if is_heading else cell.text for _ in range(span - 1) if self._allows(cell.text)]
                if cell.rows > 1 and self._left > 0:
                    pending |= {at + number: (cell.text, cell.rows - 1) for number in range(span)}
                cell = next(queue, None)
        return line

    def _allows(self, text: str) -> bool:
        """Whether so many more characters may be added to the table."""
        self._left -= len(text) + 3
        return self._left > 0


def _number(element: Element, name: str, least: int = 1) -> int:
    value = attribute(element, name)
    return min(max(int(value), least), MAX_COLUMNS) if value.isdecimal() and len(value) < 10 else least
