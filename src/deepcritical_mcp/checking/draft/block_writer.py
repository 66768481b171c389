"""Puts the blocks of a draft together from pieces of text and what their markup says."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from deepcritical_mcp.checking.draft.draft_blocks import Block, BlockKind, Mark, MarkKind


@dataclass
class _Open:
    kind: BlockKind = "paragraph"
    level: int = 0
    label: str = ""
    parts: list[str] = field(default_factory=list[str])
    length: int = 0
    start: int = -1
    end: int = 0
    marks: list[Mark] = field(default_factory=list[Mark])


class BlockWriter:
    """The blocks so far, and the open one."""

    def __init__(self) -> None:
        self.blocks = list[Block]()
        self.quotations = 0
        self._notes = 0
        self._waiting = list[Block]()
        self._open = _Open()

    @property
    def kind(self) -> BlockKind:
        return self._open.kind

    def begin(self, kind: BlockKind, level: int = 0, label: str = "") -> None:
        """End the open block, and open another one."""
        self.end()
        self._open = _Open(kind, level, label)

    def put(self, text: str, start: int = 0, end: int = 0) -> None:
        """Text that stands there in the draft."""
        one = self._open
        one.parts.append(text)
        one.length += len(text)
        if text.strip():
            one.start = start + len(text) - len(text.lstrip()) if one.start < 0 else one.start
            one.end = end - (len(text) - len(text.rstrip()) if end - start == len(text) else 0)

    @contextmanager
    def mark(self, kind: MarkKind, target: str = "") -> Generator[None]:
        """What is put meanwhile has this mark."""
        one, start = self._open, self._open.length
        yield
        if one is self._open and one.length > start:
            one.marks.append(Mark(kind, start, one.length, target))

    @contextmanager
    def note(self, start: int = 0, end: int = 0) -> Generator[None]:
        """What is put meanwhile is the text of a note, the mark of which stands here."""
        self._notes += 1
        label = str(self._notes)
        with self.mark("note", label):
            self.put(f"[^{label}]", start, end)
        outer, self._open = self._open, _Open("note", 0, label)
        yield
        if block := self._ended():
            self._waiting.append(block)
        self._open = outer

    def end(self) -> None:
        """End the open block, if it has text, and the notes in it."""
        if block := self._ended():
            self.blocks.append(block)
        self.blocks += self._waiting
        self._waiting = []
        self._open = _Open()

    def _ended(self) -> Block | None:
        one, text = self._open, "".join(self._open.parts)
        bare, before = text.strip(), len(text) - len(text.lstrip())
        marks = [
            replace(mark, start=max(0, mark.start - before), end=min(mark.end - before, len(bare)))
            for mark in one.marks
        ]
        inside = tuple(mark for mark in marks if mark.start < mark.end)
        if not bare:
            return None
        return Block(one.kind, bare, one.start, one.end, one.level, one.label, inside, self.quotations > 0)
