"""The parts of a long text: sections, tables, figures and the like, each with an anchor."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from deepcritical_mcp.models.publication import Line, Value

PartKind = Literal["section", "table", "figure", "references", "sub_article"]
PARAGRAPH_BREAK = "\n\n"
"""Stands between the paragraphs of a text with parts, and nowhere inside one."""
NOT_OWN = "Not the paper's own text"
"""Stands in front of what a sub-article says."""
ANCHOR = r"(?:abstract|[a-z][0-9.]{1,20}(?:[a-z][0-9.]{1,20})?)(?:p[0-9]{1,4}(?:[-–]p?[0-9]{1,4})?)?"
"""What an anchor looks like, as a pattern: "s3.2", "x2f1", "s3.2p4", "s3.2p4-6"."""
_PARAGRAPH_ANCHOR = re.compile(r"(?P<part>.+?)p(?P<first>[1-9][0-9]{0,3})(?:[-–]p?(?P<last>[1-9][0-9]{0,3}))?")


class Part(Value):
    """A part of a text: from `start` in its content up to the next part's.

    Attributes:
        anchor: "s3.2" the second section of the third one, "s0" text before the first section, "t1" a table, "f2" a
            figure, "b1" a section after the body (acknowledgements, appendix), "a1" another abstract than the main one,
            "r1" a list of references, "x1" a sub-article (a translation, a decision letter), "x1.2" a section of it.
        kind: what it is; boxes are sections.
        path: titles from the outermost section in, without labels such as "2.1"; of a table or figure, the path of the
            section that it stands in and its label, e.g. ("Results", "Table 1").
        start: the position of its first character in the text's content.
        parent: the anchor of the part that it belongs to; "" for outermost ones.
    """

    anchor: Line
    kind: PartKind = "section"
    path: tuple[Line, ...] = ()
    start: int = 0
    parent: Line = ""


def own_spans(parts: Sequence[Part], length: int) -> Iterator[tuple[Part, int, int]]:
    """Each part with the start and end of its own text, without its sub-parts', in a content of `length` characters."""
    ends = [*(part.start for part in parts[1:]), *([length] if parts else [])]
    return ((part, part.start, end) for part, end in zip(parts, ends, strict=True))


def with_descendants(parts: Sequence[Part], anchor: str) -> tuple[Part, ...]:
    """The part with that anchor and everything inside it, in order; () if there is none."""
    inside = {anchor}
    found: list[Part] = []
    for part in parts:
        if part.anchor == anchor or part.parent in inside:
            inside.add(part.anchor)
            found.append(part)
    return tuple(found)


def own_length(parts: Sequence[Part], length: int) -> int:
    """How many of a content's `length` characters are the publication's own: sub-articles stand behind them."""
    return next((part.start for part in parts if part.kind == "sub_article"), length)


def section_of(part: Part) -> tuple[str, ...]:
    """The path of a part, which says so if the text is not the publication's own."""
    if part.kind != "sub_article":
        return part.path
    return (f"{NOT_OWN}: {part.path[0] if part.path else part.anchor}", *part.path[1:])


class ParagraphAnchor(NamedTuple):
    """What an anchor means: paragraphs `first` to `last` of a part; 0 and 0 for all of it."""

    part: str
    first: int = 0
    last: int = 0

    def __str__(self) -> str:
        if not self.first:
            return self.part
        return f"{self.part}p{self.first}" + (f"-{self.last}" if self.last > self.first else "")


def split_paragraph_anchor(anchor: str) -> ParagraphAnchor:
    """The part and the paragraphs in "s3.2p4" or "s3.2p4-6"."""
    match = _PARAGRAPH_ANCHOR.fullmatch(anchor)
    if not match:
        return ParagraphAnchor(anchor)
    return ParagraphAnchor(match["part"], int(match["first"]), int(match["last"] or match["first"]))
