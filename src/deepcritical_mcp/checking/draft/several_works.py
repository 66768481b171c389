"""Cuts an entry with several works into these: "Berg, “…” (2019): 4–9; Ruiz, “…” (2020). See Weiss, “…” (2018).".

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, pairwise
from string import ascii_lowercase

from deepcritical_mcp.checking.draft.entry_forms import end_of_repeated, is_bare_id, tells
from deepcritical_mcp.checking.draft.inline_references import StatedId, are_forms, stated_ids
from deepcritical_mcp.checking.draft.list_entries import ListEntry, parts_apart
from deepcritical_mcp.checking.draft.short_notes import names_titles
from deepcritical_mcp.checking.draft.signals import end_of_signal
from deepcritical_mcp.checking.draft.work_forms import AUTHORS_AGAIN, begins_work, is_short_work, is_work, names_start

_BETWEEN = re.compile(r"(?P<weak>[.,)\]]\s{1,9}|\s{0,3}\n\s{0,8}|\s(?:and|und|et|y|plus|[&/|+–—]|--)\s{1,3})|;\s{1,8}")
"""What may stand between two works: a semicolon; a full stop, a comma, a new line or "and" only behind a whole work."""
_LEAD = re.compile(
    r"(?:(?:But|See|Compare|Cf\.|Contra|Also|And|For|Similarly|Likewise|Vgl\.|Siehe|S\.|So|Dazu|Ferner|Voir)\s{1,3})?"
    r"(?:[a-zà-ÿ][\w.’'-]{0,20}[,:]?\s{1,3}){0,8}"
)
"""Words that lead to a work: "See also", "for a contrary view, see", "vgl. auch"."""
_COUNTED = re.compile(r"(?:First|Second|Third|Fourth|Fifth|Last|Finally)(?:ly)?,\s{1,3}|(?:Erstens|Zweitens):?\s{1,3}")
_NEXT = re.compile(r"\b(?:see|also|compare|cf|vgl|siehe|auch)\b", re.IGNORECASE)
_BEHIND_REPEATED = re.compile(r"[\s;,.)]{0,6}(?:(?:and|und|&)\s)?")
_COMMENT = re.compile(r"\b(?:1[5-9]|20)\d\d[a-z]?\)?,? [a-zß-ÿ]{3}")
"""A year in a sentence: "Berg 2001 disagrees"."""
_OPENING = ("[", "“", "„", "«", '"')
_ID_LENGTH = 300
_ENDED = re.compile(r"[\d)\]”\"][.*_)\]]{0,3}\s{0,3}\Z|(?:/\S{1,300}|\b(?:in press|forthcoming)\b)\s{0,3}\Z")
"""How a whole work ends: with its pages, its year, a number or an address."""
_FAR = 1_400
"""Characters of a work that are looked at."""
_MOST_MARKS = 600
_MOST_LETTERS = len(ascii_lowercase)
_LETTER = re.compile(r"[^\W\d_]{3}")
_GAP = re.compile(r"[;.\n,]\s{0,8}(?:(?:and|und|see|cf\.)\s)?|\s(?:and|und|or|see)\s")
_JOINING = re.compile(r"(?:[\s,;(]{1,4}(?:PMIDs?:?|doi:?|and|und|or|see|also|cf\.)){1,4}\Z")
_ENTRY = re.compile(r"\s{0,20}(?:@\w|TY {1,3}-|[{\[]\s{0,20}[\"{])")


def works_apart(entry: ListEntry) -> Iterator[ListEntry]:
    """The works of an entry that has several, with labels such as "^3 (a)"; else the entry itself.

    A work has names, a title and a date of its own, or is nothing but a number of its own; what is not surely such a
    work stays with the one before it.
    """
    if not entry.says and len(parts := parts_apart(entry)) > 1:
        yield from parts
        return
    if entry.says or _ENTRY.match(entry.text):
        yield entry
        return
    works = [part for work in _cut(entry) for part in _by_number(work)]
    if len(works) == 1:
        yield works[0]
        return
    for number, work in enumerate(works):
        letter = ascii_lowercase[number] if number < _MOST_LETTERS else str(number + 1)
        yield work._replace(label=f"{entry.label} ({letter})" if entry.label else "")


def _cut(entry: ListEntry) -> Iterator[ListEntry]:
    text, start = entry.text, 0
    if counted := _COUNTED.match(text):
        start = counted.end()
    start = end_of_signal(text) or start
    if repeated := end_of_repeated(text):
        behind = _BEHIND_REPEATED.match(text, repeated)
        at = behind.end() if behind else repeated
        at += len(_lead(text, at))
        if _is_named(text[at : at + _FAR]):
            yield ListEntry(text[:repeated].strip(), entry.start, entry.start + repeated, entry.label)
            start = at
    for found in islice(_BETWEEN.finditer(text, start + 1), _MOST_MARKS):
        stop, lead = found.start() + (found[0][0] in ")]"), _lead(text, found.end())
        at = found.end() + len(lead)
        if (
            found.start() <= start
            or AUTHORS_AGAIN.match(text, found.start())
            or not (text[at : at + 1].isupper() or text[at : at + 1] in _OPENING or lead)
        ):
            continue
        is_ended = _ENDED.search(text[max(start, stop - 310) : stop]) is not None
        if not is_ended and found["weak"] and not _NEXT.search(lead):
            continue
        is_apart = is_ended and (not found["weak"] or _NEXT.search(lead) is not None)
        before, after = text[start : min(stop, start + _FAR)], text[at : at + _FAR]
        is_short = not found["weak"] and names_titles(after)
        if (is_short or _may_follow(after, lead, is_apart=is_apart)) and _is_any_work(before):
            yield ListEntry(text[start:stop].strip(), entry.start + start, entry.start + stop, entry.label)
            start = at
    yield entry._replace(text=text[start:].strip(), start=entry.start + start) if start else entry


def _is_any_work(text: str) -> bool:
    return is_work(text) or is_short_work(text) or names_titles(text)


def _is_named(text: str) -> bool:
    """Whether what follows "Ibid., 47" names a work, and is no comment."""
    if tells(text) or _COMMENT.search(text[:_ID_LENGTH]):
        return begins_work(text)
    return begins_work(text) or is_work(text) or names_start(text) or names_titles(text) or is_bare_id(text)


def _lead(text: str, at: int) -> str:
    """The words at a place that lead to a work."""
    found = _COUNTED.match(text, at) or _LEAD.match(text, at)
    return found[0] if found else ""


def _may_follow(text: str, lead: str, *, is_apart: bool) -> bool:
    """Whether what follows a mark and the words `lead` is a work of its own; `is_apart` is whether these show that one
    may begin there."""
    if _NEXT.search(lead) and is_bare_id(text[:_ID_LENGTH]):
        return True
    return begins_work(text) or (is_apart and is_work(text))


def _by_number(work: ListEntry) -> list[ListEntry]:
    """A work, and each further PMID and DOI in it as one of its own."""
    ids = [*stated_ids(work.text)]
    further = sorted((*_others(ids, "pmid:"), *_others(ids, "doi:")), key=lambda one: one.start)
    if not further:
        return [work]
    starts = {one.start for one in further}
    ends = {one.start: before.end for before, one in pairwise(ids)}
    apart = [_with_names(work, one, ends.get(one.start, 0)) for one in further]
    rest = any(one.start > further[0].start and one.start not in starts for one in ids)
    if rest or _LETTER.search(work.text, further[-1].end):
        return [work._replace(apart=tuple(one.key for one in further)), *apart]
    text = work.text[: apart[0].start - work.start].rstrip(" ,;:([&\n")
    text = _JOINING.sub("", text)
    closing = ")" if text.count("(") > text.count(")") else ""
    return [work._replace(text=text + closing, end=work.start + len(text)), *apart]


def _others(ids: list[StatedId], kind: str) -> Iterator[StatedId]:
    """The identifiers of one kind besides the first, and besides what is another form of it: "10.1000/1/full"."""
    known = dict[str, None]()
    for one in ids:
        if one.key.startswith(kind) and one.key not in known:
            # Other forms of a DOI stand beside it, or at the end.
            if known and not any(are_forms(one.key, key) for key in (next(iter(known)), next(reversed(known)))):
                yield one
            known[one.key] = None


def _with_names(work: ListEntry, one: StatedId, low: int) -> ListEntry:
    """An identifier as a reference, with the names and the year that stand before it, behind the one at `low`."""
    number = one.written if one.key.startswith("pmid:") else f"doi:{one.key.removeprefix('doi:')}"
    gap = _GAP.search(work.text, low, one.start)
    start = gap.end() if gap else one.start
    if gap and names_start(work.text[start : one.start]):
        return ListEntry(f"{work.text[start : one.start].rstrip()} {number}", work.start + start, work.start + one.end)
    return ListEntry(number, work.start + one.start, work.start + one.end)
