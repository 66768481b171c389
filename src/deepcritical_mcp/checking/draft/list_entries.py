"""Cuts a list of references into its entries: numbered, bulleted, one a line or a paragraph, with wrapped lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from string import ascii_lowercase
from typing import NamedTuple

from deepcritical_mcp.checking.draft.draft_parts import Block
from deepcritical_mcp.checking.draft.entry_looks import (
    has_date_or_id,
    is_bare_id,
    is_remark,
    is_surely_entry,
    is_whole_entry,
    starts_like_entry,
    starts_with_names,
    stated_ids,
)

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_MARK = re.compile(
    r"""[*_\\]{0,3}(?:
        \\?\[(?P<key>[\w+:.&-]{1,40})\\?\](?![(\[]):?[*_]{0,2}[ \t]{0,8}
      | \((?P<paren>[0-9]{1,4})\)[*_]{0,2}[ \t]{1,8}
      | (?P<dot>[0-9]{1,4})(?:\ ?\\?[.)]|、|．|[-–](?=\ ))[*_]{0,2}(?![0-9])[ \t]{0,8}
      | (?:\^|<sup>)?(?P<raised>[⁰¹²³⁴-⁹]{1,4}|(?<=[\^>])[0-9]{1,4})(?:\^|</sup>|[.)])?[ \t]{0,4}
      | (?P<bare>[0-9]{1,4})(?:[ ]{1,8}|\t[ \t]{0,8})(?=[^\W\d_]|["“„«\[])
    )""",
    re.VERBOSE,
)
"""What stands in front of an entry; items of Markdown come without it."""
_IN_ONE_LINE = re.compile(r"(?:(?<=\s)|^)(?:\[([0-9]{1,3})\]|([0-9]{1,3})[.)])\s{1,3}(?=[^\W\d_]|[\"“„«])")
_ENDED = re.compile(r"[.\])}>\"”’*]\s{0,4}$|[0-9][a-z]?\s{0,4}$|/\S{1,300}\s{0,4}$")
_ID_WORD = re.compile(r"[^\s,;|]+")
_PMID = re.compile(r"[1-9][0-9]{0,8}")
_NAMES_OF_IDS = frozenset(("PMID", "PMIDS", "PMCID", "PUBMED", "DOI", "DOIS", "ID", "IDS", "AND", "&"))
_WHOLE_SHARE = 0.8
"""Of the lines of a list that are entries by themselves, if none is wrapped."""
_MOST_MISSING = 10
"""Numbers that may be missing between two entries."""


class ListEntry(NamedTuple):
    """An entry of a list; `text` is as written, without its mark."""

    text: str
    start: int
    end: int
    label: str = ""


class DraftLine(NamedTuple):
    """A line of a draft: as written from its first letter on, with the number of an item; `indent` is what stands in
    front of it. It `opens` its block, whose number is `number`; `part` is its own in the block."""

    text: str
    start: int
    end: int
    indent: int
    block: Block
    number: int
    part: int

    @property
    def opens(self) -> bool:
        """Whether it is the first line of its block."""
        return self.part == 0


class EntryMark(NamedTuple):
    """What stands in front of an entry: a number, a key or a bullet."""

    kind: str
    label: str
    length: int

    @property
    def value(self) -> int:
        return int(self.label) if self.kind not in ("", "key", "bullet") else 0


class _Entry:
    """An entry as far as it was read."""

    def __init__(self, line: DraftLine, mark: EntryMark, label: str) -> None:
        self.label, self.start, self.is_bullet = label, line.start + mark.length, mark.kind == "bullet"
        first = line.text[mark.length :]
        self.lines, self.end, self.indent, self.level = [first], line.end, line.indent, line.block.level
        self.is_dated, self.is_bare, self.is_ended = has_date_or_id(first), is_bare_id(first), _has_ended(first)

    @property
    def is_whole(self) -> bool:
        return (self.is_dated or self.is_bare) and self.is_ended

    def add(self, line: DraftLine) -> None:
        self.lines.append(line.text)
        self.end, self.is_bare, self.is_ended = line.end, False, _has_ended(line.text)
        self.is_dated = self.is_dated or has_date_or_id(line.text)

    def entry(self) -> ListEntry:
        return ListEntry("\n".join(self.lines).strip(), self.start, self.end, self.label)


def _has_ended(line: str) -> bool:
    return _ENDED.search(line[-400:]) is not None


def mark_of(line: DraftLine) -> EntryMark:
    """What stands in front of the entry that begins in a line."""
    if line.block.kind == "item" and line.opens:
        label, length = line.block.label, line.block.start - line.start
        return EntryMark("dot", label, length) if label.isdecimal() else _bracket_in(line, length)
    return _bracket_in(line, 0)


def _bracket_in(line: DraftLine, after: int) -> EntryMark:
    """The mark at the start of a line, or behind the bullet there."""
    none = EntryMark("bullet" if after else "", "", after)
    if (found := _MARK.match(line.text, after)) is None:
        return none
    kind, label = str(found.lastgroup), found[str(found.lastgroup)].translate(_SUPERSCRIPTS)
    if kind == "key" and label.isdecimal():
        kind = "bracket"
    return EntryMark(kind, label, found.end())


def entries_in(lines: Sequence[DraftLine]) -> list[ListEntry]:
    """The entries of a list, without what does not belong to one."""
    lines = _with_their_numbers([line for line in lines if line.block.kind not in ("heading", "row") and line.text])
    marks = [mark_of(line) for line in lines]
    first = _first_marked(lines, marks)
    is_marked = first >= 0
    found = _marked(lines[first:], marks[first:]) if is_marked else _plain(lines)
    entries = [one.entry() for one in found]
    entries = [one for one in entries if any(map(str.isalnum, one.text))]
    while len(entries) > 1 and not is_marked and is_remark(entries[-1].text):
        entries.pop()
    if len(entries) <= 3:
        entries = [part for one in entries for part in _in_one_line(one)]
    return [part for one in entries for part in _ids_apart(one)]


def _with_their_numbers(lines: Sequence[DraftLine]) -> Sequence[DraftLine]:
    """The lines, with the numbers that stand alone on the lines above them, if these go on."""
    alone = [at for at, line in enumerate(lines[:-1]) if line.text.strip("[]().").isdecimal() and len(line.text) < 7]
    values = [int(lines[at].text.strip("[]().")) for at in alone]
    if len(alone) < 2 or values != [*range(values[0], values[0] + len(values))]:
        return lines
    found, numbers = list[DraftLine](), dict(zip(alone, values, strict=True))
    for at, line in enumerate(lines):
        number = f"{numbers[at - 1]}. " if at - 1 in numbers else ""
        if at not in numbers:
            found.append(line._replace(text=number + line.text, start=line.start - len(number)))
    return found


def _first_marked(lines: Sequence[DraftLine], marks: Sequence[EntryMark]) -> int:
    """The first line with a mark, if a list begins with it or after a few words; -1 without one."""
    first = next((at for at, mark in enumerate(marks[:4]) if mark.kind), -1)
    if first > 0 and any(is_whole_entry(line.text) for line in lines[:first]):
        return -1
    if first >= 0 and marks[first].kind == "bare":  # "1 Smith J. …" is a mark only if "2 …" follows
        values = [mark.value for mark in marks if mark.kind == "bare"]
        return first if any(two == one + 1 for one, two in pairwise(values)) else -1
    return first


def _marked(lines: Sequence[DraftLine], marks: Sequence[EntryMark]) -> list[_Entry]:
    """Entries with marks: numbers that go on from one to the next, for a wrapped line may begin with one, too; keys;
    bullets of the outermost level."""
    kind, last, is_open = marks[0].kind, 0, True
    least = min((line.block.level for line, mark in zip(lines, marks, strict=True) if mark.kind == "bullet"), default=0)
    found, addresses = list[_Entry](), _addresses(lines)
    for at, (line, mark) in enumerate(zip(lines, marks, strict=True)):
        rest = line.text[mark.length :]
        if mark.kind == kind and mark.value:
            begins = not found or _follows(mark.value, last, kind, rest)
        else:
            begins = not found or (mark.kind == kind and (kind != "bullet" or line.block.level == least))
        if begins:
            lazy = mark.value == last == 1 or (mark.value == 1 < last and found[-1].label != str(last))
            label = str(len(found) + 1) if mark.value and lazy else mark.label
            found.append(_Entry(line, mark, label))
            last, is_open = mark.value, True
        elif at in addresses or (line.block.level > 1 and line.opens and is_whole_entry(rest) and not is_remark(rest)):
            found.append(_Entry(line, mark, mark.label if mark.value else ""))
            is_open = True
        elif (
            found[-1].is_whole and starts_with_names(rest) and is_surely_entry(rest) and line.indent <= found[-1].indent
        ):
            found.append(_Entry(line, mark if mark.kind in ("bullet", "key") else EntryMark("", "", 0), ""))
            is_open = True
        else:
            is_open = is_open and not (line.opens and found[-1].is_whole and _is_apart(line))
            if is_open:
                found[-1].add(line)
    # An item that says nothing of a work, with items below it, is the name of a group.
    is_group = [
        one.is_bullet and not (one.is_dated or one.is_bare) and one.level < two.level for one, two in pairwise(found)
    ]
    return [one for one, is_name in zip(found, [*is_group, False], strict=False) if not is_name]


def _addresses(lines: Sequence[DraftLine]) -> frozenset[int]:
    """The lines of a list that are one address or number of a record below another of the same kind."""
    kinds = [
        next((id.key.partition(":")[0] for id in stated_ids(line.text)), "") if is_bare_id(line.text) else ""
        for line in lines
    ]
    return frozenset(
        place for at, (one, two) in enumerate(pairwise(kinds)) if one and one == two for place in (at, at + 1)
    )


def _is_apart(line: DraftLine) -> bool:
    """Whether a line that begins a paragraph has nothing to do with the entry before it."""
    first = line.text[:1]
    return not (
        line.indent or line.block.level or first.islower() or first.isdigit() or is_bare_id(line.text.split(" ")[0])
    )


def _follows(value: int, last: int, kind: str, rest: str) -> bool:
    """Whether a number in front of a line is the next entry's."""
    if value == last + 1:
        return True
    capital = rest.lstrip('*_"“„«[ ')[:1]
    looks = (not capital.islower() and has_date_or_id(rest)) or starts_like_entry(rest)
    return looks and (last < value <= last + _MOST_MISSING or value == 1 or (value == last and kind == "bracket"))


def _plain(lines: Sequence[DraftLine]) -> list[_Entry]:
    """Entries without marks: each line, if most are whole by themselves; else the first line of each paragraph, and
    within one each line that begins like an entry after one that is complete."""
    whole = sum(is_whole_entry(line.text) for line in lines)
    one_a_line = whole >= _WHOLE_SHARE * len(lines)
    indents = [line.indent for line in lines]
    hangs = bool(indents) and len({*indents}) > 1 and indents[0] == min(indents)
    before = [one.text for one, two in pairwise(lines) if starts_with_names(two.text)]
    stops = sum(one.endswith(".") for one in before) > _WHOLE_SHARE * len(before)
    is_separated = 8 * sum(line.opens for line in lines[1:]) > len(lines)
    found = list[_Entry]()
    for line in lines:
        entry = found[-1] if found else None
        if entry is None or entry.is_bare:
            begins = True
        elif one_a_line:
            begins = is_whole_entry(line.text) or not line.text[:1].islower()
        elif line.opens and (entry.is_dated or not line.text[:1].islower()):
            begins = entry.is_whole or starts_like_entry(line.text)
        elif hangs:
            is_start = starts_like_entry(line.text) or (entry.is_whole and not line.text[:1].islower())
            begins = line.indent == min(indents) and is_start
        else:
            last = entry.lines[-1].split(" ")[-1]  # an address may end with any sign
            is_ended = entry.is_whole and ("/" in last or not (stops and last[-1:].isdigit()))
            begins = is_ended and _begins(line.text, is_separated=is_separated)
        if begins:
            mark = mark_of(line)
            found.append(_Entry(line, mark if mark.kind == "bullet" else EntryMark("", "", 0), ""))
        else:
            found[-1].add(line)
    return found


def _begins(line: str, *, is_separated: bool) -> bool:
    """Whether a line begins an entry, with the one before it complete."""
    if is_separated or is_bare_id(line):
        return starts_like_entry(line) and is_whole_entry(line) and not is_bare_id(line)
    return starts_like_entry(line) or (is_whole_entry(line) and line[:1].isupper() and ";" not in line[:6])


def _in_one_line(entry: ListEntry) -> Iterator[ListEntry]:
    """The entries of a list that is one line, "1. Berg … 2. Ruiz …"; else the entry itself."""
    value, cuts = int(entry.label) if entry.label.isdecimal() else 0, list[re.Match[str]]()
    for found in _IN_ONE_LINE.finditer(entry.text) if value else ():
        if int(found[1] or found[2]) == value + len(cuts) + 1:
            cuts.append(found)
    bounds = [*(one.start() for one in cuts), len(entry.text)]
    begins = [0, *(one.end() for one in cuts)]
    pieces = [entry.text[start:end].strip() for start, end in zip(begins, bounds, strict=True)]
    if not all(map(is_whole_entry, pieces)):
        begins, bounds, pieces = [0], [len(entry.text)], [entry.text]
    for number, (piece, start, end) in enumerate(zip(pieces, begins, bounds, strict=True)):
        stop = min(entry.start + end, entry.end)
        label = str(value + number) if value else entry.label
        yield ListEntry(piece, min(entry.start + start, stop), stop, label)


def _ids_apart(entry: ListEntry) -> Iterator[ListEntry]:
    """The identifiers of an entry that has nothing else, "PMID 1234567, 2345678"; else the entry itself."""
    found = list[tuple[str, int]]()
    for word in _ID_WORD.finditer(entry.text):
        written = word[0].strip("[]().:#")
        if written.upper() not in _NAMES_OF_IDS:
            id = f"PMID {written}" if _PMID.fullmatch(written) else written
            if not is_bare_id(id):
                found = []
                break
            found.append((id, word.start()))
    if len(found) < 2 or not any(any(stated_ids(id)) for id, _ in found):
        yield entry
        return
    for number, (id, start) in enumerate(found):
        at = min(entry.start + start, entry.end)
        label = f"{entry.label}{ascii_lowercase[number % 26]}" if entry.label else ""
        yield ListEntry(id, at, min(at + len(id), entry.end), label)
