"""What a draft consists of, as far as citations go. Positions are characters of the draft as it was given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

DraftForm = Literal["text", "bibtex", "ris", "csl-json"]
"""Text with or without sentences (a bare list, too), or a file of a reference manager."""


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
    start: int
    end: int
    label: str = ""
    is_inline: bool = False


@dataclass(frozen=True)
class CitingSentence:
    """A sentence that cites references, by their indexes.

    Attributes:
        text: on one line, as written, with the marks that cite.
        claim: the same without these marks and without markup.
    """

    text: str
    claim: str
    start: int
    references: tuple[int, ...]


@dataclass(frozen=True)
class DraftQuotation:
    """A quotation: its words without the marks around them, and the references that it is attributed to (indexes)."""

    text: str
    start: int
    references: tuple[int, ...] = ()


@dataclass(frozen=True)
class UnreadEntry:
    """What stands in a draft as a reference, or among them, and was not read as one: as written, and why."""

    text: str
    start: int
    reason: str


@dataclass(frozen=True)
class Draft:
    """A draft; `remarks` tell what is wrong with it as a whole: citations without an entry, entries without one. The
    references and what is `unread` together are all the entries that it has."""

    form: DraftForm
    references: tuple[DraftReference, ...] = ()
    sentences: tuple[CitingSentence, ...] = ()
    quotations: tuple[DraftQuotation, ...] = ()
    remarks: tuple[str, ...] = ()
    unread: tuple[UnreadEntry, ...] = ()
