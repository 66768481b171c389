"""Footnotes that only name a work of the list of references: "North/Pfefferbaum (2013), S. 510"."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from deepcritical_mcp.checking.draft.author_year import NameIndex, named_citations
from deepcritical_mcp.checking.draft.inline_references import stated_ids
from deepcritical_mcp.checking.draft.list_entries import ListEntry

_LONGEST = 120
_WORD = re.compile(r"[^\s,/&()]{1,60}")
_MOST_WORDS = 5
_LEADS = frozenset("see also cf vgl siehe auch voir compare and und y et".split())
_PAGES = re.compile(
    r"[\s,.:;)]{0,5}(?:(?:hier|here|esp\.|pp?\.|S\.|at|f{1,2}\.?|passim|[0-9]{1,5}(?:[–-][0-9]{1,5})?)[\s,.;]{0,3}){0,6}"
)


class ShortNotes(NamedTuple):
    """The labels of the notes that only name an entry, by the text of that entry; and the other notes."""

    labels: Mapping[str, tuple[str, ...]]
    others: Sequence[ListEntry]


def short_notes(notes: Sequence[ListEntry], entries: Sequence[str]) -> ShortNotes:
    """Which of the notes only name one of the entries."""
    labels, others = dict[str, tuple[str, ...]](), list[ListEntry]()
    index = NameIndex(entries) if notes else None
    for note in notes:
        meant = _meant(note.text, index) if index else []
        if len(meant) == 1:
            named = entries[meant[0]]
            labels[named] = (*labels.get(named, ()), note.label)
        else:
            others.append(note)
    return ShortNotes(labels, others)


def _meant(note: str, index: NameIndex) -> list[int]:
    """The entries that a note names if it says nothing else."""
    cited = [*named_citations(note)] if len(note) <= _LONGEST and not any(stated_ids(note)) else []
    if len(cited) != 1:
        return []
    before = _WORD.findall(note[: cited[0].start])
    is_named = len(before) <= _MOST_WORDS and all(
        one[0].isupper() or one.strip(".").lower() in _LEADS for one in before
    )
    return index.entries(cited[0]) if is_named and _PAGES.fullmatch(note, cited[0].end) else []
