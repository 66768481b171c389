"""What a draft consists of: its blocks, as the parser of Markdown gives them, and what it cites."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

from deepcritical_mcp.data_files import data_lines


@cache
def draft_words(kind: str) -> frozenset[str]:
    """The words or titles of a kind, in small letters, as the file draft_words.txt has them."""
    rows = (row.partition("\t") for row in data_lines(__file__, "draft_words.txt"))
    return frozenset(word for name, _, listed in rows if name == kind for word in listed.split("|"))


@dataclass(frozen=True)
class DraftReference:
    """A reference of a draft.

    Attributes:
        index: its place in the draft's order, from 1; entries of the list of references come before those that stand
            in the text only.
        label: how the draft cites it: "12", "smith2020", "^a"; "" if by names and year, or not at all.
        text: as written, with its markup and line breaks, without the mark in front of it ("12. ", "[^a]: ").
        is_inline: whether it stands in the text itself, "(PMID 123)", and in no list.
    """

    index: int
    text: str
    label: str = ""
    is_inline: bool = False


@dataclass(frozen=True)
class CitingSentence:
    """A sentence that cites references, by their indexes.

    Attributes:
        text: on one line, as written, with the marks that cite.
        claim: the same without these marks and without markup.
        start: where it stands in the draft's running text.
    """

    text: str
    claim: str
    start: int
    references: tuple[int, ...]


@dataclass(frozen=True)
class DraftQuotation:
    """A quotation: its words without the marks around them, and the references that it is attributed to (indexes)."""

    text: str
    references: tuple[int, ...] = ()


@dataclass(frozen=True)
class Draft:
    """A draft; `remarks` tell what is wrong with it as a whole: citations without an entry, entries without one. The
    references and what is `unread` together are all the entries that it has."""

    references: tuple[DraftReference, ...] = ()
    sentences: tuple[CitingSentence, ...] = ()
    quotations: tuple[DraftQuotation, ...] = ()
    remarks: tuple[str, ...] = ()
    unread: tuple[ListEntry, ...] = ()


class ListEntry(NamedTuple):
    """An entry of a list, or what stands there and is not read as one, for a `reason`; `text` is as written, without
    its mark. It begins at `place`, the number of its block and that of its line in this, and `section` is the number of
    its list in the draft."""

    text: str
    place: tuple[int, int] = (0, 0)
    label: str = ""
    reason: str = ""
    section: int = 0


BlockKind = Literal["heading", "paragraph", "item", "note", "entry", "code"]
MarkKind = Literal["note", "key", "raised", "link"]


@dataclass(frozen=True, slots=True)
class Mark:
    """What the markup says of a stretch of a block's text.

    Attributes:
        kind: "note" (the mark of a note), "key" (of citation keys, one mark for a whole "[@a; @b]" or "\\cite{a,b}"),
            "raised" (superscript), "link".
        target: the label of the note; the keys, joined by ","; the address of the link.
    """

    kind: MarkKind
    start: int
    end: int
    target: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """A heading, a paragraph, an item of a list, a note, an entry of references, or code.

    Attributes:
        kind: "paragraph": a row of a table, too, its cells joined by tabs; "note": a footnote's text; "entry": known to
            be a reference, as a LaTeX \\bibitem.
        text: as it reads, without markup, with the source's line breaks.
        source: its lines as written, without the blanks and marks of quotations and headings in front of them, or the
            label of a note.
        level: of a heading from 1, or the depth of an item from 1.
        label: the number of an item as written, the label of a note, the key of an entry.
        is_quotation: whether it stands in a block quotation.
    """

    kind: BlockKind
    text: str
    source: str
    level: int = 0
    label: str = ""
    marks: tuple[Mark, ...] = ()
    is_quotation: bool = False
