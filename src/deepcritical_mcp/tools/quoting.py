"""Text from outside as visibly quoted Markdown that does nothing; tables stay tables."""

from __future__ import annotations

import re

from deepcritical_mcp.models import PARAGRAPH_BREAK
from deepcritical_mcp.text import as_code, is_active, quoted_lines

_DELIMITERS = re.compile(r"\|(?:\s*:?-+:?\s*\|)+\s*")
_CELL_END = re.compile(r"(?<!\\)\|")
GAP = "[…]"
"""Marks what is left out of a passage."""


def quoted_passage(text: str) -> list[str]:
    """The lines of a text with parts, as they are: its paragraphs, and its tables as tables."""
    paragraphs = [_table(one) or quoted_lines(one) for one in text.split(PARAGRAPH_BREAK) if one]
    return [line for number, lines in enumerate(paragraphs) for line in ([">"] if number else []) + lines]


def _table(paragraph: str) -> list[str]:
    """A quoted table, with what is active in it as code; [] if the paragraph is not one. A row stands for what was left
    out, or the table would end."""
    rows = paragraph.split("\n")
    if len(rows) < 2 or not _DELIMITERS.fullmatch(rows[1]):
        return []
    if not all(row.startswith("|") or row == GAP for row in rows):
        return []
    gap = f"| {GAP} {'| ' * (len(_CELL_END.findall(rows[1])) - 1)}"
    shown = (gap if row == GAP else "|".join(map(_cell, _CELL_END.split(row))) for row in rows)
    return [f"> {row}".rstrip() for row in shown]


def _cell(cell: str) -> str:
    return f" {as_code(cell.strip())} " if is_active(cell.replace("\\|", "|")) else cell
