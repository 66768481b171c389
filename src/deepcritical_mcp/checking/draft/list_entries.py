"""Cuts a list of references into its entries: numbered, bulleted, one a line or a paragraph, with wrapped lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from string import ascii_lowercase
from typing import NamedTuple

from deepcritical_mcp.checking.draft.entry_forms import (
    ID,
    has_date_or_id,
    is_bare_id,
    is_no_entry,
    is_whole_entry,
    starts_like_entry,
)
from deepcritical_mcp.checking.draft.masking import Line, lines_of
from deepcritical_mcp.checking.draft.page_breaks import unbroken
from deepcritical_mcp.search.references import Statements

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_MARK = re.compile(
    r"""[ \t>]{0,20}(?:[-*+•·]\ {1,3})?(?:
        \[\^(?P<note>[^\]\s]{1,60})\]:[ \t]{0,4}
      | \\bibitem(?:\[[^\]\n]{0,200}\])?\{(?P<bibitem>[^{}\n]{1,100})\}[ \t]{0,4}
      | (?:\*{1,2})?\[(?P<bracket>[0-9]{1,4})\](?:\*{1,2})?:?[ \t]{0,8}
      | \((?P<paren>[0-9]{1,4})\)[ \t]{1,8}
      | (?:\*{1,2})?(?P<dot>[0-9]{1,4})(?:\ ?\\?[.)]|、|．|[-–](?=\ ))(?:\*{1,2})?(?![0-9])[ \t]{0,8}
      | (?P<raised>[⁰¹²³⁴-⁹]{1,4})[.)]?[ \t]{0,4}
      | (?:\^|<sup>)(?P<sup>[0-9]{1,4})(?:\^|</sup>)[ \t]{0,4}
      | \[(?P<key>[A-Za-z][\w+:.-]{1,40}(?:[ ,&+]{1,3}[\w.+-]{1,20}){0,3})\](?![(\[]):?[ \t]{1,8}
      | (?P<bare>[0-9]{1,4})(?:[ ]{1,8}|\t[ \t]{0,8})(?=[^\W\d_]|["“„«\[])
    )""",
    re.VERBOSE,
)
_NUMBERS = ("bracket", "paren", "dot", "raised", "sup", "bare")
_BULLET = re.compile(r"[ \t>]{0,20}[-*+•·◦▪–—]\s{1,4}(?=\S)")
_INDENT = re.compile(r"[ \t>]*")
_PAGE_NUMBER = re.compile(
    r"\s{0,40}(?:page |p\. ?|[-–—] ?)?[0-9]{1,4}(?: ?[-–—]|(?: of | ?/ ?)[0-9]{1,4})?\s{0,9}", re.IGNORECASE
)
_ENDED = re.compile(r"[.\])}>\"”’*]\s{0,4}$|[0-9][a-z]?\s{0,4}$|/\S{1,300}\s{0,4}$")
_PMID = re.compile(r"[1-9][0-9]{4,8}")
_PMIDS = re.compile(
    rf"(?:PMIDs?:?\s{{0,2}})?(?:{_PMID.pattern}(?:\s{{0,3}}[,;]\s{{0,3}}|\s{{1,3}})(?:PMID:?\s{{0,2}})?){{1,300}}{_PMID.pattern}\.?",
    re.IGNORECASE,
)
_IN_ONE_LINE = re.compile(r"(?:(?<=\s)|^)(?:\[([0-9]{1,3})\]|([0-9]{1,3})[.)])\s{1,3}(?=[^\W\d_]|[\"“„«])")
_LETTER = re.compile(r"(?:(?<=\s)|\A)\(?([a-z]|[1-9])\)\s{1,4}(?=\S)")
_WHOLE_SHARE = 0.8
"""Of the lines of a list that are entries by themselves, if none is wrapped."""
_MOST_MISSING = 10
"""Numbers that may be missing between two entries."""


class ListEntry(NamedTuple):
    """An entry of a list; `text` is without its mark and without lines that only have a page number. `apart` are the
    identifiers in it, "pmid:1", that are entries of their own. `says` is what the cells of a table say of it."""

    text: str
    start: int
    end: int
    label: str = ""
    apart: tuple[str, ...] = ()
    says: Statements | None = None


class _Start(NamedTuple):
    """Where an entry begins: its line, where its text begins, and its label."""

    line: int
    at: int
    label: str = ""


def entries_in(text: str, start: int, end: int) -> list[ListEntry]:
    """The entries of the list between two positions, without what follows the last one."""
    lines = [
        line for line in lines_of(text, start, end) if not line.text.lstrip().startswith(("#", "\\end{", "\\begin{"))
    ]
    marked = _labelled_starts(lines) or _bulleted_starts(lines)
    entries = [*_between(lines, marked or _plain_starts(lines), is_marked=bool(marked))]
    while entries and not marked and len(entries) > 1 and is_no_entry(entries[-1].text):
        entries.pop()
    entries = [part for one in entries for part in _parts(text, one)] if len(entries) <= 3 else entries
    return [part for one in entries for part in parts_apart(one)]


def parts_apart(entry: ListEntry) -> list[ListEntry]:
    """The references of an entry that has several, "(a) Berg … (b) Ruiz …" or "PMID 1234567, 2345678"; else itself."""
    return _lettered(entry) or [*_numbers_apart(entry)]


def part_label(label: str, letter: str) -> str:
    """The label of a part of an entry: "3a", "^n (a)"; "" without a label."""
    return f"{label} ({letter})" if label.startswith("^") else label and label + letter


def _lettered(entry: ListEntry) -> list[ListEntry]:
    """The references of an entry that has several, "3. (a) Berg … (b) Ruiz …", with labels "3a", "3b"; else []. Also
    "(1) Berg … (2) Ruiz …"."""
    marks = [*_LETTER.finditer(entry.text)]
    letters = [ascii_lowercase[int(one[1]) - 1] if one[1].isdecimal() else one[1] for one in marks]
    if len(marks) < 2 or marks[0].start() or letters != [*ascii_lowercase[: len(marks)]]:
        return []
    bounds = [*(one.start() for one in marks[1:]), len(entry.text)]
    pieces = [entry.text[one.end() : end].strip(" ;\n") for one, end in zip(marks, bounds, strict=True)]
    if not all(has_date_or_id(piece) and starts_like_entry(piece) for piece in pieces):
        return []
    return [
        ListEntry(piece, entry.start, entry.end, part_label(entry.label, one))
        for one, piece in zip(letters, pieces, strict=True)
    ]


def _numbers_apart(entry: ListEntry) -> Iterator[ListEntry]:
    """The PMIDs of a line that has nothing else, "PMID 1234567, 2345678"; else the entry itself."""
    if not _PMIDS.fullmatch(entry.text):
        yield entry
        return
    for number, one in enumerate(_PMID.finditer(entry.text)):
        at = entry.start + one.start()
        yield ListEntry(f"PMID {one[0]}", at, at + len(one[0]), part_label(entry.label, ascii_lowercase[number % 26]))


def _between(lines: Sequence[Line], starts: Sequence[_Start], *, is_marked: bool) -> Iterator[ListEntry]:
    ends = [*(one.line for one in starts[1:]), len(lines)][: len(starts)]
    for start, end in zip(starts, ends, strict=True):
        first = lines[start.line]
        kept, entry, blank = [Line(first.text[start.at - first.start :], start.at, first.end)], _SoFar(), False
        entry = entry.with_line(kept[0].text)
        for line in lines[start.line + 1 : end]:
            if not line.text.strip() or _PAGE_NUMBER.fullmatch(line.text):
                blank = True
                continue
            if is_marked and blank and entry.is_whole and _opens_paragraph(line.text):
                break
            kept.append(line)
            entry, blank = entry.with_line(line.text), False
        whole = unbroken("\n".join(line.text for line in kept)).strip()
        if any(map(str.isalnum, whole)):
            yield ListEntry(whole, start.at, kept[-1].start + len(kept[-1].text.rstrip()), start.label)


def _opens_paragraph(line: str) -> bool:
    """Whether a line behind an empty one has nothing to do with the entry before it."""
    return (
        not line.startswith((" ", "\t", ">"))
        and not line[:1].islower()
        and not line[:1].isdigit()
        and not ID.match(line)
    )


def _labelled_starts(lines: Sequence[Line]) -> list[_Start]:
    """The lines with a number or a key in front, if the first entry has one. Numbers must go on from one to the next:
    a wrapped line may begin with one, too."""
    first = next((number for number, line in enumerate(lines) if line.text.strip()), None)
    marks = [_MARK.match(line.text) for line in lines]
    if first is None or not _opens(marks, lines, first):
        return []
    starts, last, last_kind = list[_Start](), 0, ""
    for number, (line, mark) in enumerate(zip(lines, marks, strict=True)):
        if mark is None:
            continue
        kind = str(mark.lastgroup)
        if kind not in _NUMBERS:
            if kind != "key" or not starts or last_kind == "key":
                starts.append(_Start(number, line.start + mark.end(), _label(mark)))
                last_kind = kind
            continue
        value = int(mark[kind].translate(_SUPERSCRIPTS))
        rest = line.text[mark.end() :]
        if starts and not _follows(value, last, kind, last_kind, rest):
            continue
        lazy = (kind == "dot" and value == last == 1) or (
            starts and value == 1 and last > 1 and starts[-1].label != str(last)
        )
        starts.append(_Start(number, line.start + mark.end(), str(len(starts) + 1) if lazy else str(value)))
        last, last_kind = value, kind
    return starts


def _opens(marks: Sequence[re.Match[str] | None], lines: Sequence[Line], first: int) -> bool:
    """Whether the first entry of a list, or the one after some words about the list, has a mark."""
    near = [number for number in range(first, min(first + 4, len(lines))) if marks[number]]
    if not near:
        return False
    mark = marks[near[0]]
    if mark is None or mark.lastgroup != "bare":
        return near[0] == first or not is_whole_entry(lines[first].text)
    # "1 Smith J. …" without a dot is a mark only if "2 …" follows.
    values = [int(one["bare"]) for one in marks if one and one.lastgroup == "bare"]
    return near[0] == first and any(two == one + 1 for one, two in pairwise(values))


def _label(mark: re.Match[str]) -> str:
    return f"^{mark['note']}" if mark["note"] else mark["bibitem"] or mark["key"] or ""


def _follows(value: int, last: int, kind: str, last_kind: str, rest: str) -> bool:
    """Whether a number in front of a line is the next entry's."""
    if kind != last_kind:
        return False
    if value == last + 1:
        return True
    capital = rest.lstrip('*_"“„«[ ')[:1]
    looks = ((capital.isupper() or not capital.islower()) and has_date_or_id(rest)) or starts_like_entry(rest)
    return looks and (last < value <= last + _MOST_MISSING or value == 1 or (value == last and kind == "bracket"))


def _bulleted_starts(lines: Sequence[Line]) -> list[_Start]:
    """The lines with a bullet of the outermost level, if the first one has one."""
    marks = [_BULLET.match(line.text) for line in lines]
    first = next((number for number, line in enumerate(lines) if line.text.strip()), None)
    if first is None or not any(marks[first : first + 3]):
        return []
    least = min(_indent(line.text) for line, mark in zip(lines, marks, strict=True) if mark)
    return [
        _Start(number, line.start + mark.end())
        for number, (line, mark) in enumerate(zip(lines, marks, strict=True))
        if mark and _indent(line.text) == least
    ]


def _indent(line: str) -> int:
    found = _INDENT.match(line)
    return len(found[0].expandtabs(4)) if found else 0


def _plain_starts(lines: Sequence[Line]) -> list[_Start]:
    """The lines that begin an entry without a mark: the first of each paragraph, and within one each line that begins
    like an entry after one that is complete."""
    whole = [is_whole_entry(line.text) for line in lines if line.text.strip()]
    if sum(whole) >= _WHOLE_SHARE * len(whole):
        return [
            _Start(number, line.start)
            for number, line in enumerate(lines)
            if line.text.strip() and (is_whole_entry(line.text) or not line.text.strip()[:1].islower())
        ]
    indents = [_indent(line.text) for line in lines if line.text.strip()]
    hangs = len({*indents}) > 1 and indents[0] == min(indents)
    least = min(indents, default=0)
    separated = 8 * sum(not line.text.strip() for line in lines[1:-1]) > len(whole)
    starts, entry, blank = list[_Start](), _SoFar(), True
    for number, line in enumerate(lines):
        if not line.text.strip():
            blank = True
            continue
        outdented = _indent(line.text) == least if hangs else None
        if not starts or _begins(line.text, entry, blank=blank, outdented=outdented, separated=separated):
            starts.append(_Start(number, line.start))
            entry = _SoFar()
        entry, blank = entry.with_line(line.text), False
    return starts


class _SoFar(NamedTuple):
    """What an entry has in the lines that were read: a date or a number of a record, nothing but that, and its end."""

    is_dated: bool = False
    is_bare: bool = False
    is_ended: bool = False

    @property
    def is_whole(self) -> bool:
        return self.is_dated and self.is_ended

    def with_line(self, line: str) -> _SoFar:
        return _SoFar(
            self.is_dated or has_date_or_id(line),
            is_bare_id(line) and not self.is_dated,
            _ENDED.search(line[-400:]) is not None,
        )


def _begins(line: str, entry: _SoFar, *, blank: bool, outdented: bool | None, separated: bool) -> bool:
    """Whether a line begins an entry; `outdented` is None if the list has no hanging lines, `separated` means that
    empty lines are between entries."""
    if entry.is_bare or (blank and entry.is_dated):
        return True
    if blank:
        # A list with an empty line within an entry, as copies of PDF files have it.
        return starts_like_entry(line) or not line.strip()[:1].islower()
    if outdented is not None:
        return outdented and (starts_like_entry(line) or (entry.is_whole and not line.strip()[:1].islower()))
    if not entry.is_whole:
        return False
    if separated or is_bare_id(line):
        return starts_like_entry(line) and is_whole_entry(line) and not is_bare_id(line)
    return starts_like_entry(line) or (is_whole_entry(line) and line.strip()[:1].isupper() and ";" not in line[:6])


def _parts(text: str, entry: ListEntry) -> Iterator[ListEntry]:
    """The entries of a list that is one line, "1. Berg … 2. Ruiz …"; else the entry itself."""
    value = int(entry.label) if entry.label.isdecimal() else 0
    cuts = list[re.Match[str]]()
    for found in _IN_ONE_LINE.finditer(text, entry.start, entry.end) if value else ():
        if int(found[1] or found[2]) == value + len(cuts) + 1:
            cuts.append(found)
    bounds = [entry.start, *(one.start() for one in cuts), entry.end]
    begins = [entry.start, *(one.end() for one in cuts)]
    pieces = [text[start:end].strip() for start, end in zip(begins, bounds[1:], strict=True)]
    if len(pieces) < 2 or not all(map(is_whole_entry, pieces)):
        yield entry
        return
    for number, (piece, start, end) in enumerate(zip(pieces, begins, bounds[1:], strict=True)):
        yield ListEntry(piece, start, end, str(value + number))
