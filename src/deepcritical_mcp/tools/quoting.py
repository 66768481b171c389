"""Text from outside as visibly quoted Markdown that does nothing; tables stay tables."""

from __future__ import annotations

import re

from deepcritical_mcp.models import PARAGRAPH_BREAK
from deepcritical_mcp.text import inert

_DELIMITERS = re.compile(r"\|(?:\s*:?-+:?\s*\|)+\s*")
_CELL_END = re.compile(r"(?<!\\)\|")
GAP = "[…]"
"""Marks what is left out of a passage."""


def quote_lines(text: str, indent: str = "") -> list[str]:
    """The lines of a text, each quoted."""
    return [f"{indent}> {line}" for line in inert(text).split("\n")]


def quoted_passage(text: str) -> list[str]:
    """The lines of a text with parts: its paragraphs, and its tables as tables."""
    paragraphs = [_table(one) or quote_lines(one) for one in text.split(PARAGRAPH_BREAK) if one]
    return [line for number, lines in enumerate(paragraphs) for line in ([">"] if number else []) + lines]


def _table(paragraph: str) -> list[str]:
    """A quoted table; [] if the paragraph is not one. A row stands for what was left out, or the table would end."""
    rows = paragraph.split("\n")
    if len(rows) < 2 or not _DELIMITERS.fullmatch(rows[1]):
        return []
    if not all(row.startswith("|") or row == GAP for row in rows):
        return []
    width = len(_cells(rows[1]))
    cells = ([GAP, *[""] * (width - 1)] if row == GAP else _cells(row) for row in rows)
    shown = (" | ".join(_CELL_END.sub(r"\\|", inert(cell.replace("\\|", "|"))) for cell in row) for row in cells)
    return [f"> {rows[1].strip()}" if number == 1 else f"> | {row} |" for number, row in enumerate(shown)]


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in _CELL_END.split(row.strip().removeprefix("|").removesuffix("|"))]
