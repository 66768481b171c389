"""Tables of cells with text from outside, as CSV and as Markdown, and finished texts in pieces."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from deepcritical_mcp.text import clean_line, inert, largest

_SIGN = "[-=+@＝＋－＠]"
_FORMULA = re.compile(rf"[^\w(\[{{]*{_SIGN}")
"""A sign that begins a formula, after nothing but punctuation."""
_AFTER_SEMICOLON = re.compile(rf"(;[\s\"']*)(?={_SIGN})")


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
    return "".join(f"| {' | '.join(line)} |\n" for line in [head, ["---"] * len(head), *rows])


def cell(text: str) -> str:
    """`text` from outside as a cell that shows the same characters and does nothing."""
    return plain_line(text).replace("|", "\\|")


def plain_line(text: str) -> str:
    """`text` from outside as one line of Markdown that shows the same characters and does nothing."""
    return inert(clean_line(text))


def code_cell(text: str) -> str:
    """`text` as code, so that it can be copied as it is; escaped if it cannot stand in code in a table."""
    line = clean_line(text)
    return cell(line) if not line or {*"`|\\"} & {*line} else f"`{line}`"


@dataclass(frozen=True)
class TextPieces:
    """The pieces of a text; put together, all of them are that text. Of a table, its head, the first `repeated` pieces,
    stands at the start of each part."""

    pieces: Sequence[str] = ()
    repeated: int = 0
    head: str = ""
    separator: str = ""
    tail: str = ""

    def with_pieces(self, pieces: Iterable[str]) -> TextPieces:
        """A text of these pieces in the same form."""
        return replace(self, pieces=[*pieces])

    def chunks(self) -> Iterator[str]:
        """The whole text, a piece each."""
        yield self.head
        yield from (f"{self.separator if number else ''}{one}" for number, one in enumerate(self.pieces))
        yield self.tail

    def __len__(self) -> int:
        return len(self.pieces)

    def part(self, start: int, fits: Callable[[str], bool]) -> tuple[str, int]:
        """As many pieces from `start` on as fit, at least one, and their number."""
        count = largest(1, len(self.pieces) - start, lambda count: fits(self._combined(start, count)))
        return self._combined(start, count), count

    def _combined(self, start: int, count: int) -> str:
        table_head = "".join(self.pieces[: self.repeated]) if start >= self.repeated else ""
        return f"{self.head}{table_head}{self.separator.join(self.pieces[start : start + count])}{self.tail}"


JSON_ARRAY = TextPieces(head="[\n", separator=",\n", tail="\n]\n")


def text_in_pieces(text: str, output: str, *, longest: int) -> TextPieces:
    """The pieces of a text in the form `output`: "csv" and "json" (an array) in rows and entries, any other in lines.
    A line that is longer than `longest` is divided."""
    if output == "json":
        return JSON_ARRAY.with_pieces(json.dumps(one, ensure_ascii=False) for one in json.loads(text))
    lines = _rows(text) if output == "csv" else text.splitlines(keepends=True)
    pieces = [line[at : at + longest] for line in lines for at in range(0, len(line), longest)]
    is_table = output == "markdown" and text.startswith("|")
    return TextPieces(pieces, repeated=1 if output == "csv" else 2 if is_table else 0)


def _rows(text: str) -> list[str]:
    """The rows of a CSV file: a line break within quotation marks does not end one."""
    rows, open_row = list[str](), ""
    for line in text.splitlines(keepends=True):
        open_row += line
        if open_row.count('"') % 2 == 0:
            rows.append(open_row)
            open_row = ""
    return [*rows, open_row] if open_row else rows
