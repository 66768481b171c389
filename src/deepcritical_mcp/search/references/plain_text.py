"""A text without its markup, each letter of which knows where it stands in what was written."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from deepcritical_mcp.text import normalized

Span = tuple[int, int]


@dataclass(frozen=True)
class PlainText:
    """A text, and for each of its characters where it begins and ends in the written one."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    @classmethod
    def of(cls, written: str) -> PlainText:
        """What is written, in one form of its letters."""
        plain = cls(written, range(len(written)), range(1, len(written) + 1))
        return plain if written.isascii() else plain.sub(_NOT_ASCII, lambda found: normalized("NFKC", found[0]))

    def sub(self, pattern: re.Pattern[str], new: str | Callable[[re.Match[str]], str]) -> PlainText:
        """With `new`, a text without groups or what a function makes of a match, in place of what a pattern finds."""
        parts, starts, ends, at = list[str](), list[int](), list[int](), 0
        for found in pattern.finditer(self.text):
            put = new if isinstance(new, str) else new(found)
            parts += self.text[at : found.start()], put
            starts += self.starts[at : found.start()]
            ends += self.ends[at : found.start()]
            if found.start() < found.end():
                starts += [self.starts[found.start()]] * len(put)
                ends += [self.ends[found.end() - 1]] * len(put)
            at = found.end()
        if not at:
            return self
        return PlainText("".join((*parts, self.text[at:])), [*starts, *self.starts[at:]], [*ends, *self.ends[at:]])

    def part(self, start: int, end: int) -> PlainText:
        """A part of it."""
        return PlainText(self.text[start:end], self.starts[start:end], self.ends[start:end])

    def written_at(self, start: int, end: int) -> Span:
        """Where a part of the text stands in what was written."""
        return (self.starts[start], self.ends[end - 1]) if start < end else (0, 0)


_NOT_ASCII = re.compile(r"[^\x00-\x7f]{1,200}")
