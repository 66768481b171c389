"""What every reader of drafts gives: the draft's blocks in their order, each with what its markup says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

BlockKind = Literal["heading", "paragraph", "item", "row", "note", "entry", "code"]
MarkKind = Literal["note", "key", "raised", "link", "quoted"]


@dataclass(frozen=True, slots=True)
class Mark:
    """What the markup says of a stretch of a block's text.

    Attributes:
        kind: "note" (the mark of a note), "key" (of citation keys, one mark for a whole "[@a; @b]" or "\\cite{a,b}"),
            "raised" (superscript), "link", "quoted" (by markup: quotation marks are found in the text).
        target: the label of the note; the keys, joined by ","; the address of the link.
    """

    kind: MarkKind
    start: int
    end: int
    target: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """A heading, a paragraph, an item of a list, a row of a table, a note, an entry of references, or code.

    Attributes:
        kind: "row": its cells are joined by tabs; "note": a footnote's text; "entry": known to be a reference, as a
            LaTeX \\bibitem.
        text: as it reads, without markup, with the source's line breaks.
        start: where it stands in the draft, in characters; up to `end`.
        level: of a heading from 1, or the depth of an item from 1.
        label: the number of an item as written, the label of a note, the key of an entry.
        is_quotation: whether it stands in a block quotation.
    """

    kind: BlockKind
    text: str
    start: int
    end: int
    level: int = 0
    label: str = ""
    marks: tuple[Mark, ...] = ()
    is_quotation: bool = False


def lines_apart(block: Block, source: str) -> list[Block]:
    """The lines of a block, which stand below each other in the source, too."""
    found, at, start, left = list[Block](), 0, block.start, list(block.marks)[::-1]
    for line in block.text.split("\n"):
        stop = source.find("\n", start, block.end)
        stop = block.end if stop < 0 else stop
        marks, end = list[Mark](), at + len(line)
        while left and left[-1].start < end:
            mark = left.pop()
            marks += (
                [replace(mark, start=mark.start - at, end=mark.end - at)]
                if at <= mark.start and mark.end <= end
                else []
            )
        start += len(source[start:stop]) - len(source[start:stop].lstrip(" \t>"))
        found.append(replace(block, text=line, start=start, end=stop, marks=tuple(marks)))
        at, start = end + 1, min(stop + 1, block.end)
    return found


def joined_lines(lines: Sequence[Block]) -> Block:
    """Lines of a block as one block again."""
    marks, at = list[Mark](), 0
    for line in lines:
        marks += (replace(mark, start=mark.start + at, end=mark.end + at) for mark in line.marks)
        at += len(line.text) + 1
    text = "\n".join(line.text for line in lines)
    return replace(lines[0], text=text, end=lines[-1].end, marks=tuple(marks))
