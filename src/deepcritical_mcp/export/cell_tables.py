"""Tables of cells with text from outside, as CSV and as Markdown."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

from deepcritical_mcp.text import clean_line, inert

_SIGN = "[-=+@＝＋－＠]"
_FORMULA = re.compile(rf"[^\w(\[{{]*{_SIGN}")
"""A sign that begins a formula, after nothing but punctuation."""
_AFTER_SEMICOLON = re.compile(rf"(;[\s\"']*)(?={_SIGN})")
_NOT_IN_CODE = frozenset("`|\\")


def csv_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """CSV as in RFC 4180: commas, quotation marks where they are needed, CRLF after each row.

    Each cell is one line. What a spreadsheet would take for a formula has an apostrophe in front, also after a
    semicolon, where some of them divide a line. There is no byte order mark: a file for Excel is written with the
    encoding "utf-8-sig".
    """
    written = io.StringIO()
    csv.writer(written).writerows([head, *([_without_formula(cell) for cell in row] for row in rows)])
    return written.getvalue()


def _without_formula(cell: str) -> str:
    line = clean_line(cell)
    line = _AFTER_SEMICOLON.sub(r"\1'", line)
    return f"'{line}" if _FORMULA.match(line) else line


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in GitHub's Markdown. The cells are Markdown already: see `cell` and `code_cell`."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def cell(text: str) -> str:
    """`text` from outside as a cell that shows the same characters and does nothing."""
    return plain_line(text).replace("|", "\\|")


def plain_line(text: str) -> str:
    """`text` from outside as one line of Markdown that shows the same characters and does nothing."""
    return inert(clean_line(text))


def code_cell(text: str) -> str:
    """`text` as code, so that it can be copied as it is; escaped if it cannot stand in code in a table."""
    line = clean_line(text)
    return cell(line) if not line or _NOT_IN_CODE & {*line} else f"`{line}`"
