"""Footnotes: "[^a]: Berg J. …" with its indented lines, "^[Berg J. …]" and "\\footnote{Berg J. …}" in a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator

from deepcritical_mcp.checking.draft.entry_forms import (
    end_of_repeated,
    has_date_or_id,
    is_no_entry,
    is_whole_entry,
    is_without_verb,
)
from deepcritical_mcp.checking.draft.list_entries import ListEntry
from deepcritical_mcp.checking.draft.masking import lines_of
from deepcritical_mcp.checking.draft.short_notes import names_titles
from deepcritical_mcp.checking.draft.signals import end_of_signal

_INLINE = re.compile(r"\^\[((?:[^\[\]]|\[[^\[\]\n]{0,300}\]){8,3000})\]")
_LATEX = re.compile(r"\\(?:foot|end)note(?:text)?(?:\[[0-9]{1,4}\])?\{")
_LONGEST_NOTE = 3_000
_LONGEST_UNREAD = 120
_UNREAD = re.compile(
    r"[^\W\d_a-z][^\d\[=%<>]{1,100}\b\d{1,5}(?![\w%]|\s?(?:%|[a-z]{2}))"
    r"|(?:See|Cf\.|Vgl\.|Siehe) (?:notes?|Anm\.|Fn\.) \d"
)
"""A page behind words: "Berg, Weiss, l. c., p. 12"; no measure, "Mean of 12 patients"."""
_NOTE = re.compile(r" {0,3}\[\^([^\]\s]{1,60})\]:[ \t]{0,4}")


def footnotes_in(text: str) -> Iterator[ListEntry]:
    """The footnotes that are references; one that only explains something belongs to the text."""
    return (one for one in _notes_in(text) if _is_reference(one.text))


def unread_notes(text: str) -> Iterator[ListEntry]:
    """The footnotes that may name a work in a form that was not read: short, with a number, and without a verb."""
    for one in _notes_in(text):
        is_short = len(one.text) <= _LONGEST_UNREAD and is_without_verb(one.text)
        if is_short and _UNREAD.match(one.text) and not _is_reference(one.text):
            yield one


def _notes_in(text: str) -> Iterator[ListEntry]:
    lines = [*lines_of(text)]
    for number, line in enumerate(lines):
        if (mark := _NOTE.match(line.text)) is None:
            continue
        last, next_one = number, number + 1
        while next_one < len(lines) and not _NOTE.match(lines[next_one].text):
            if not lines[next_one].text.strip():
                if not "".join(one.text for one in lines[next_one + 1 : next_one + 2]).startswith(("    ", "\t")):
                    break
            else:
                last = next_one
            next_one += 1
        start, end = line.start + mark.end(), lines[last].end
        yield ListEntry(text[start:end].strip(), start, end, f"^{mark[1]}")


def with_marks_for_notes(text: str) -> tuple[str, list[ListEntry]]:
    """A text of the same length with marks, "[^1i]", for the notes within its sentences that are references; these."""
    notes = list[ListEntry]()

    spans = [(*one.span(), *one.span(1)) for one in _INLINE.finditer(text)] if "^[" in text else []
    spans += [
        (one.start(), end + 1, one.end(), end) for one in _LATEX.finditer(text) if (end := _closing(text, one.end()))
    ]
    parts, at = list[str](), 0
    for start, end, low, high in sorted(spans):
        if start >= at and _is_reference(text[low:high].strip()):
            label = f"^{len(notes) + 1}i"
            notes.append(ListEntry(text[low:high].strip(), low, high, label))
            parts += [text[at:start], f"[{label}]".ljust(end - start)]
            at = end
    return "".join((*parts, text[at:])), notes


def _closing(text: str, at: int) -> int:
    """Where the bracket stands that closes the one before `at`; 0 if it is too far away."""
    depth = 1
    for end in range(at, min(len(text), at + _LONGEST_NOTE)):
        depth += (text[end] == "{") - (text[end] == "}")
        if not depth:
            return end
    return 0


def _is_reference(note: str) -> bool:
    note = note[end_of_signal(note) :]
    if is_whole_entry(note) or (has_date_or_id(note) and not is_no_entry(note)) or names_titles(note):
        return True
    rest = note[end_of_repeated(note) :].lstrip(" ;,.)")
    return len(rest) < len(note) and (not rest or names_titles(rest) or rest[0] == "(" or rest[0].islower())
