"""What is to be said about a draft as a whole: citations without an entry, and entries without a citation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from deepcritical_mcp.checking.draft.draft_parts import DraftReference
from deepcritical_mcp.checking.draft.list_entries import ListEntry
from deepcritical_mcp.text import clean_line, clipped

_MOST_NAMED = 12
UNREAD_TABLE = "A table with a column of PMIDs could not be read, so not checked: give it in Markdown, or with tabs."


def draft_remarks(
    references: Sequence[DraftReference],
    cited: Collection[int],
    unknown: Sequence[str],
    other_years: Sequence[str] = (),
    short_titles: Sequence[ListEntry] = (),
    unnumbered: Sequence[str] = (),
    unread: Sequence[ListEntry] = (),
    misnamed: Sequence[str] = (),
) -> Iterator[str]:
    """Remarks on a draft whose citations mean the references `cited` (indexes), what is `unknown`, entries that the
    list has with `other_years`, notes that only name works of which the draft says no more, studies in rows of
    tables that are `unnumbered`, and notes that may name works but are `unread`, and numbers
    that stand beside other names or years than their entries have (`misnamed`)."""
    notes = {f"[{one.label.partition(' (')[0]}]" for one in short_titles}
    unknown = [one for one in unknown if one not in notes]
    listed = [one for one in references if not one.is_inline]
    if unknown and listed:
        yield f"Cited, but not in the list of references: {_enumerated(unknown)}."
    elif unknown:
        yield f"Cited without a list of references, so they cannot be looked up: {_enumerated(unknown)}."
    if short_titles:
        named = _enumerated([f"“{clean_line(one.text).rstrip('.')}”" for one in short_titles])
        yield f"Named in notes by a short title only, so not checked: {named}."
    if misnamed:
        named = _enumerated([f"“{one}”" for one in misnamed])
        yield f"The name or year before these numbers is not in their entries, compare them: {named}."
    if unread:
        named = _enumerated([f"“{clean_line(one.text).rstrip('.')}”" for one in unread])
        yield f"Notes that may name a work, but could not be read, so not checked: {named}."
    if other_years:
        yield f"Cited with another year than in the list of references: {_enumerated(other_years)}."
    if unnumbered:
        named = _enumerated([f"“{one}”" for one in dict.fromkeys(unnumbered)])
        yield f"In a table of numbers, but without one, so not looked up: {named}."
    labels = Counter(one.label for one in listed)  # a second list may begin at 1 again
    uncited = [
        name_of(one if labels[one.label] == 1 else replace(one, label="")) for one in listed if one.index not in cited
    ]
    if uncited and len(uncited) < len(listed):
        yield f"In the list of references, but never cited: {_enumerated(uncited)}."


def name_of(reference: DraftReference) -> str:
    """A reference in a few words: its label, or the beginning of its text."""
    return f"[{reference.label}]" if reference.label else f"“{clipped(clean_line(reference.text[:200]), 40)}”"


def _enumerated(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(clipped(name, 60) for name in names[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
