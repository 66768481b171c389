"""Cuts an entry with several works into these: "Berg, “…” (2019): 4–9; Ruiz, “…” (2020). See Weiss, “…” (2018)."."""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import ascii_lowercase

from deepcritical_mcp.checking.draft.entry_forms import has_date_or_id, starts_with_names
from deepcritical_mcp.checking.draft.list_entries import ListEntry, parts_apart

_CUT = re.compile(
    r"(?:;\s{1,3}(?:(?:and|but|also|see|compare|cf\.|e\.g\.,|for example,|as well as)\s){0,3}"
    r"|[.;]\s{1,3}(?:But see|See|Compare|Cf\.)\s(?:(?:also|e\.g\.,|for example,)\s)?)(?=[^\W\d_])",
    re.IGNORECASE,
)
_WORK = re.compile(r"[^\W\d_][^\d“”\"„«»;\n]{2,150}[,.:]\s{1,3}[“\"„«][^“”\"„«»\n]{12,500}[”\"“»]")
"""Names and a title in quotation marks."""
_TITLE = re.compile(r"[.)?!:]\s{1,3}[^\W\d_a-zß-öø-ÿ][^.?!;\n]{0,300}?(?:\s[a-zß-öø-ÿ]{2,30}){3}")
"""A title without quotation marks: three words in small letters in a row."""
_FAR = 1_400
"""Characters of a work that are looked at."""


def works_apart(entry: ListEntry) -> Iterator[ListEntry]:
    """The works of an entry that has several, each with names, a title and a date or number of its own, with labels
    such as "^3 (a)"; else the entry itself. What is not surely such a work stays with the one before it."""
    if len(parts := parts_apart(entry)) > 1:
        yield from parts
        return
    cuts = [one for one in _CUT.finditer(entry.text) if entry.text[one.end()].isupper()][:25]
    starts, last = [(0, 0)], 0
    for one in cuts:
        before, after = entry.text[last : min(one.start(), last + _FAR)], entry.text[one.end() : one.end() + _FAR]
        if _is_work(before) and _is_work(after):
            starts.append(one.span())
            last = one.end()
    if len(starts) == 1:
        yield entry
        return
    ends = [*(start for start, _ in starts[1:]), len(entry.text)]
    for letter, (_, start), end in zip(ascii_lowercase, starts, ends, strict=False):
        label = f"{entry.label} ({letter})" if entry.label else ""
        yield ListEntry(entry.text[start:end].strip(), entry.start + start, entry.start + end, label)


def _is_work(text: str) -> bool:
    if found := _WORK.search(text[:1_000]):
        return has_date_or_id(text[found.end() : found.end() + 400])
    return starts_with_names(text) and has_date_or_id(text[:1_000]) and _TITLE.search(text[:1_000]) is not None
