"""Cuts a list of references into its entries: numbered, bulleted, one a line or a paragraph, with wrapped lines. Each
line belongs to an entry or to a piece that is not read as one, so nothing vanishes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from string import ascii_lowercase
from typing import NamedTuple

from deepcritical_mcp.checking.draft.draft_parts import Block, ListEntry
from deepcritical_mcp.checking.draft.entry_looks import (
    has_date_or_id,
    has_place,
    is_bare_id,
    is_prose,
    is_remark,
    is_repeated,
    is_whole_entry,
    starts_like_entry,
    starts_with_names,
    stated_ids,
)

POINTS = "it names a work in a few words, or points at another note: give the whole reference"
STRAY = "it stands among the references, and does not look like one"
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_MARK = re.compile(
    r"""(?P<bullet>[-+*•‣▪][ \t]{1,8})?[*_\\]{0,3}(?:
        \\?\[(?P<key>[\w+:.&-]{1,40})\\?\](?![(\[]):?[*_]{0,2}[ \t]{0,8}
      | \((?P<paren>[0-9]{1,4})\)[*_]{0,2}(?:[ \t]{1,8}|$)
      | (?P<dot>[0-9]{1,4})(?:\ ?\\?[.)]|、|．|[-–](?=\ ))[*_]{0,2}(?:[ \t]{1,8}|(?![0-9]))
      | (?:\^|<sup>)?(?P<raised>[⁰¹²³⁴-⁹]{1,4}|(?<=[\^>])[0-9]{1,4})(?:\^|</sup>|[.)])?[ \t]{0,4}
      | (?P<bare>[0-9]{1,4})(?:(?:[ ]{1,8}|\t[ \t]{0,8})(?=[^\W\d_]|["“„«\[])|$)
      | (?(bullet)|(?!)))""",
    re.VERBOSE,
)
"""What stands in front of an entry."""
_NAMES_OF_IDS = frozenset(("PMID", "PMIDS", "PMCID", "PUBMED", "DOI", "DOIS", "ID", "IDS", "AND", "&"))
_SEPARATORS = str.maketrans(",;|", "   ")
_MOST = 0.8
_MOST_MISSING = 10
"""Numbers that may be missing between two entries."""
NEAR = 4
"""Lines in which a list begins."""


class DraftLine(NamedTuple):
    """A line of a draft: as written from its first letter on, with the number of an item; `indent` is what stands in
    front of it. `number` is that of its block, `part` its own in the block."""

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

    kind: str = ""
    label: str = ""
    length: int = 0

    @property
    def value(self) -> int:
        return int(self.label) if self.kind not in ("", "key", "bullet") else 0


def mark_of(line: DraftLine) -> EntryMark:
    """What stands in front of the entry that begins in a line; the number of an item may be known from its list."""
    after = line.block.start - line.start if line.block.kind == "item" and line.opens else 0
    if found := _MARK.match(line.text):
        kind = str(found.lastgroup)
        label = found[kind].translate(_SUPERSCRIPTS)
        if kind != "bullet" or not line.block.label:
            is_number = kind == "key" and label.isdecimal()
            return EntryMark("bracket" if is_number else kind, label if kind != "bullet" else "", found.end())
    if line.block.kind == "item" and line.opens:
        return EntryMark("dot" if line.block.label else "bullet", line.block.label, after)
    return EntryMark()


class _Piece:
    """An entry as far as it was read, or what may be one."""

    def __init__(self, line: DraftLine, mark: EntryMark, label: str, *, is_marked: bool) -> None:
        self.first, self.mark, self.label, self.is_marked = line, mark, label, is_marked
        self.start, self.lines = line.start + mark.length, list[str]()
        self.is_dated, self.is_bare = False, True
        self.add(line._replace(text=line.text[mark.length :]))

    @property
    def is_whole(self) -> bool:
        return (self.is_dated or self.is_bare) and self.is_ended

    def add(self, line: DraftLine) -> None:
        if not any(self.lines):  # a number that stands alone on the line above
            self.start = line.end - len(line.text)
        self.is_bare = not any(self.lines) and is_bare_id(line.text)
        self.lines.append(line.text)
        self.end, self.is_ended = line.end, _has_ended(line)
        self.is_dated = self.is_dated or has_date_or_id(line.text)

    def entry(self, *, is_among_marked: bool) -> ListEntry:
        text, first = "\n".join(self.lines).strip(), self.first
        if not any(map(str.isalnum, text)):  # with its number, if there is one
            whole = first.text if any(map(str.isalnum, first.text)) else f"{self.label}. {text}"
            return ListEntry(whole, first.start, first.end, "", STRAY)
        if is_repeated(text):
            return ListEntry(text, self.start, self.end, self.label, POINTS)
        is_like = not is_remark(text) or (starts_with_names(text) and (has_place(text) or not is_prose(text)))
        is_read = self.label or (is_like and (self.is_marked or not is_among_marked or is_one(text)))
        return ListEntry(text, self.start, self.end, self.label, "" if is_read else STRAY)


def entries_in(lines: Sequence[DraftLine]) -> list[ListEntry]:
    """What a list consists of: its entries, and what is none of them."""
    kinds = ("heading", "row")
    lines = [
        one
        for one in lines
        if any(map(str.isalnum, one.text)) and (one.block.kind not in kinds or is_whole_entry(one.block.text))
    ]
    marks = [mark_of(line) for line in lines]
    starts, found = _marked(lines, marks), list[_Piece]()
    begins = _begins_among_marked if starts else _looks_of_plain(lines)
    for at, (line, mark) in enumerate(zip(lines, marks, strict=True)):
        if at in starts:
            found.append(_Piece(line, mark, starts[at], is_marked=True))
        elif not found or begins(line, mark, found[-1]):
            found.append(_Piece(line, mark if mark.kind == "bullet" else EntryMark(), "", is_marked=False))
        else:
            found[-1].add(line)
    entries = [one.entry(is_among_marked=bool(starts)) for one in found]
    return [part for one in entries if any(map(str.isalnum, one.text)) for part in _ids_apart(one)]


def _marked(lines: Sequence[DraftLine], marks: Sequence[EntryMark]) -> Mapping[int, str]:
    """The lines at which marks say that entries begin, with their labels: numbers that go on from one to the next, for
    a wrapped line may begin with one, too; else keys, or bullets of the outermost level."""
    numbers = [at for at, mark in enumerate(marks) if mark.value]
    chain = max((_chain(lines, marks, numbers[one:]) for one in range(min(NEAR, len(numbers)) or 1)), key=len)
    first = min(chain, default=0)
    if chain and _opens_list(lines, first):
        return chain
    for kind in ("key", "bullet"):
        places = [at for at, mark in enumerate(marks) if mark.kind == kind]
        if places and _opens_list(lines, places[0]):
            least = min(lines[at].block.level for at in places) if kind == "bullet" else 0
            return {at: marks[at].label for at in places if kind == "key" or lines[at].block.level == least}
    return {}


def _opens_list(lines: Sequence[DraftLine], first: int) -> bool:
    return first < NEAR and not any(is_whole_entry(line.text) for line in lines[:first])


def _chain(lines: Sequence[DraftLine], marks: Sequence[EntryMark], numbers: Sequence[int]) -> dict[int, str]:
    """The lines whose numbers go on from that of the first, with these; "1." may stand for each next number."""
    found, last = dict[int, str](), 0
    for at in numbers:
        mark = marks[at]
        if not found or (mark.kind == marks[numbers[0]].kind and _follows(mark, last, lines[at].text[mark.length :])):
            lazy = mark.value == last == 1 or (mark.value == 1 < last and next(reversed(found.values())) != str(last))
            found[at] = str(len(found) + 1) if lazy else mark.label
            last = mark.value
    return found


def _follows(mark: EntryMark, last: int, rest: str) -> bool:
    """Whether a number in front of a line is the next entry's."""
    if mark.value == last + 1:
        return True
    capital = rest.lstrip('*_"“„«[ ')[:1]
    looks = (not capital.islower() and has_date_or_id(rest)) or starts_like_entry(rest)
    return looks and (mark.value == 1 or last - 1 <= mark.value <= last + _MOST_MISSING)


def _begins_among_marked(line: DraftLine, mark: EntryMark, last: _Piece) -> bool:
    """Whether a line without the mark of the list begins an entry, or what is none, behind the last one."""
    rest, first, level = line.text[mark.length :], line.text[:1], line.block.level
    is_bullet = mark.kind == "bullet" and 0 < level <= last.first.block.level
    is_nested = level > 1 and is_whole_entry(rest) and not is_remark(rest) and not is_bare_id(rest)
    is_apart = not (line.indent or level or first.islower() or first.isdigit() or is_bare_id(rest.split(" ")[0]))
    begins = not last.is_marked or is_repeated(rest) or is_bullet or is_nested or (is_apart and last.is_whole)
    return line.opens and begins


def _looks_of_plain(lines: Sequence[DraftLine]) -> Callable[[DraftLine, EntryMark, _Piece], bool]:
    """How entries without marks begin: each line, if most are whole by themselves; else the first line of each
    paragraph, and within one each line that begins like an entry after one that is complete."""
    one_a_line = sum(is_whole_entry(line.text) for line in lines) >= _MOST * len(lines)
    is_separated = 8 * sum(line.opens for line in lines[1:]) > len(lines)

    def begins(line: DraftLine, _: EntryMark, last: _Piece) -> bool:
        is_small = line.text[:1].islower()
        if one_a_line:
            return is_whole_entry(line.text) or not is_small
        if line.opens and (last.is_dated or not is_small):
            is_start = starts_like_entry(line.text) and not is_bare_id(line.text)
            return last.is_whole or is_start or is_repeated(line.text)
        return last.is_whole and _begins(line.text, is_separated=is_separated)

    return begins


def _begins(line: str, *, is_separated: bool) -> bool:
    """Whether a line begins an entry, with the one before it complete."""
    if is_separated or is_bare_id(line):
        return starts_like_entry(line) and is_whole_entry(line) and not is_bare_id(line)
    return starts_like_entry(line) or (is_whole_entry(line) and line[:1].isupper() and ";" not in line[:6])


def _has_ended(line: DraftLine) -> bool:
    end = line.text.rstrip()
    word = end[-400:].rpartition(" ")[2]
    is_number = end[-1:].isdigit() or (end[-2:-1].isdigit() and end[-1:].islower())
    return is_number or end.endswith((*'.])}>"”’*',)) or "/" in word[:-1]


def _ids_apart(entry: ListEntry) -> Iterator[ListEntry]:
    """The identifiers of an entry that has nothing else, "PMID 1234567, 2345678"; else the entry itself."""
    words = [word.strip("[]().:#") for word in entry.text.translate(_SEPARATORS).split()]
    ids = [word for word in words if word.upper() not in _NAMES_OF_IDS]
    written = [f"PMID {one}" if one.isdecimal() and len(one) < 10 else one for one in ids]
    if len(ids) < 2 or not all(map(is_bare_id, written)) or not any(any(stated_ids(one)) for one in written):
        yield entry
        return
    at = 0
    for number, (id, word) in enumerate(zip(written, ids, strict=True)):
        at = entry.text.find(word, at)
        start = min(entry.start + at, entry.end)
        label = f"{entry.label}{ascii_lowercase[number % 26]}" if entry.label else ""
        yield ListEntry(id, start, min(start + len(word), entry.end), label)
        at += len(word)


def is_one(piece: str) -> bool:
    """Whether a text is one whole reference, and no sentence."""
    return is_whole_entry(piece) and not is_prose(piece)
