"""The tree of a document that pandoc has read, as blocks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from deepcritical_mcp.checking.draft.draft_parts import Block, BlockKind, BlockWriter
from deepcritical_mcp.net.json_fields import list_of, mapping_of, text_of

BESIDE = "draft"
"""The format of a raw block that is a file next to the document: its paragraphs are those of the draft."""
_QUOTES = {"DoubleQuote": "“”", "SingleQuote": "‘’"}
_SPACES = {"Space": " ", "SoftBreak": " ", "LineBreak": "\n"}
_CLOSED: tuple[BlockKind, ...] = ("row", "note", "entry")
"""What may have several paragraphs."""


def pandoc_blocks(text: str) -> list[Block]:
    """The blocks of a document in pandoc's JSON, [] if it is none; they stand in their texts, joined by blank lines.
    What is nested too deeply is left out."""
    reader = _PandocReader()
    try:
        loaded: object = json.loads(text)
        reader.read(list_of(mapping_of(loaded).get("blocks")))
    except (ValueError, RecursionError):
        pass
    reader.writer.end()
    blocks, at = list[Block](), 0
    for one in reader.writer.blocks:
        blocks.append(replace(one, start=at, end=at + len(one.text)))
        at += len(one.text) + 2
    return blocks


def _part(content: object, at: int) -> object:
    parts = list_of(content)
    return parts[at] if at < len(parts) else None


class _PandocReader:
    """What is read so far."""

    def __init__(self) -> None:
        self.writer = BlockWriter()
        self._depth = 0

    def read(self, value: object) -> None:
        """An element, or all in a list; what is no element of the tree, as attributes, says nothing."""
        if isinstance(value, list):
            for one in cast(list[object], value):
                self.read(one)
        elif isinstance(value, dict):
            element: Mapping[str, object] = mapping_of(cast(object, value))
            self._element(text_of(element.get("t")), element.get("c"))

    def _element(self, kind: str, content: object) -> None:
        writer = self.writer
        if kind == "Str":
            writer.put(text_of(content).replace("\xa0", " "))
        elif kind in _SPACES:
            writer.put(_SPACES[kind])
        elif kind in ("Para", "Plain", "LineBlock"):
            for number, line in enumerate(list_of(content) if kind == "LineBlock" else [content]):
                writer.put("\n" if number else "")
                self.read(line)
            writer.put("\n" if writer.kind in ("note", "entry") else " " if writer.kind == "row" else "")
            if writer.kind not in _CLOSED:
                writer.end()
        elif kind == "Header":
            level = _part(content, 0)
            writer.begin("heading", level if isinstance(level, int) else 1)
            self.read(_part(content, 2))
            writer.end()
        elif kind in ("BulletList", "OrderedList"):
            self._list(list_of(content if kind == "BulletList" else _part(content, 1)), _part(content, 0), kind)
        elif kind == "BlockQuote":
            writer.quotations += 1
            self.read(content)
            writer.quotations -= 1
        elif kind in ("CodeBlock", "RawBlock"):
            is_beside = _part(content, 0) == BESIDE
            for one in text_of(_part(content, 1)).split("\n\n"):
                writer.begin("paragraph" if is_beside else "code")
                writer.put(one)
            writer.end()
        elif kind == "Table":
            self._table(content)
        elif kind == "Div":
            self._div(content)
        elif kind in ("Code", "Math"):
            writer.put(text_of(_part(content, 1)))
        elif kind == "Note":
            with writer.note():
                self.read(content)
        else:
            self._inline(kind, content)

    def _inline(self, kind: str, content: object) -> None:
        writer = self.writer
        if kind == "Quoted":
            before, after = _QUOTES.get(text_of(mapping_of(_part(content, 0)).get("t")), "“”")
            writer.put(before)
            self.read(_part(content, 1))
            writer.put(after)
        elif kind == "Superscript":
            with writer.mark("raised"):
                self.read(content)
        elif kind == "Cite":
            keys = (text_of(mapping_of(one).get("citationId")) for one in list_of(_part(content, 0)))
            with writer.mark("key", ",".join(keys)):
                self.read(_part(content, 1))
        elif kind == "Link" and (address := text_of(_part(_part(content, 2), 0))) and not address.startswith("#"):
            with writer.mark("link", address):
                self.read(_part(content, 1))
                writer.put("" if _shows(_part(content, 1), address) else f" ({address})")
        elif kind != "RawInline" and not (kind == "Link" and _shown(_part(content, 1)) in ("↩", "↩︎", "↑", "^")):
            self.read(content)

    def _list(self, items: Sequence[object], attributes: object, kind: str) -> None:
        self._depth += 1
        first = _part(attributes, 0)
        for number, item in enumerate(items, first if isinstance(first, int) else 1):
            if self.writer.kind not in _CLOSED:
                self.writer.begin("item", self._depth, str(number) if kind == "OrderedList" else "")
            self.read(item)
        self._depth -= 1

    def _table(self, content: object) -> None:
        """Caption, head, bodies and foot: a row is a pair of attributes and cells."""
        if self.writer.kind in _CLOSED:  # within another one
            return self.read(content)
        self.writer.end()
        self.read(_part(content, 1))
        bodies = [rows for body in list_of(_part(content, 4)) for rows in (_part(body, 2), _part(body, 3))]
        for row in (
            one for rows in (_part(_part(content, 3), 1), *bodies, _part(_part(content, 5), 1)) for one in list_of(rows)
        ):
            self.writer.begin("row")
            for number, cell in enumerate(list_of(_part(row, 1))):
                self.writer.put("\t" if number else "")
                self.read(_part(cell, 4))
            self.writer.end()
        return None

    def _div(self, content: object) -> None:
        name = text_of(_part(_part(content, 0), 0))
        is_entry = name.startswith("ref-") or "csl-entry" in list_of(_part(_part(content, 0), 1))
        if is_entry:
            self.writer.begin("entry", label=name.removeprefix("ref-"))
        self.read(_part(content, 1))
        if is_entry:
            self.writer.end()


def _shown(inlines: object) -> str:
    return "".join(text_of(mapping_of(one).get("c")) for one in list_of(inlines))


def _shows(inlines: object, address: str) -> bool:
    """Whether the text of a link is its address, or a part of it, as a DOI."""
    shown = _shown(inlines)
    return len(shown) > 7 and shown.strip(" .").removeprefix("doi:") in address
