"""Finds the lists of references in a draft, by their headings in any language or by their looks, and its tables of
references, and cuts them into entries: numbered, bulleted, one a line or a paragraph, with wrapped lines. Each line
belongs to an entry or to a piece that is not read as one, so nothing vanishes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise, takewhile, zip_longest
from string import ascii_lowercase
from typing import NamedTuple

from deepcritical_mcp.checking.draft.draft_parts import Block, ListEntry, draft_words
from deepcritical_mcp.checking.draft.entry_looks import (
    has_date_or_id,
    has_place,
    is_bare_id,
    is_one,
    is_prose,
    is_remark,
    is_repeated,
    is_surely_entry,
    is_whole_entry,
    starts_like_entry,
    starts_with_names,
    stated_ids,
)
from deepcritical_mcp.text import clean_line

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
_MARKUP = " \t#>*_=:.~—–-{}\\|•·<>/"
_NUMBERING = re.compile(
    r"^(?:[0-9]{1,2}(?:\.[0-9]{1,2}){0,3}[.)]?|[IVX]{1,5}[.)]|[A-Z][.)]|第?[一二三四五六七八九十]{1,3}[、.])\s{0,5}(?=\S)"
)
_COUNT = re.compile(r"\s{0,3}(?:[(\[][^()\[\]]{1,40}[)\]]| (?:[0-9]{1,3}|[a-z])| (?:of|der|des|to) .{1,40})$")
_RUN_IN = re.compile(r"(?<!\S)(?:\[([0-9]{1,3})\]|\(([0-9]{1,3})\)|([0-9]{1,3})[.)])(?=\s)")
_LONGEST_HEADING = 90
_LEAST_CELL = 40
_NAMED = ("reference", "references", "citation", "citations")


class DraftLine(NamedTuple):
    """A line of a draft, as written from its first letter on; `number` is that of its block, `part` its own in the
    block."""

    text: str
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
    """What stands in front of the entry that begins in a line."""
    if not (found := _MARK.match(line.text)):
        return EntryMark()
    kind = str(found.lastgroup)
    label = found[kind].translate(_SUPERSCRIPTS)
    is_number = kind == "key" and label.isdecimal()
    return EntryMark("bracket" if is_number else kind, label if kind != "bullet" else "", found.end())


class _Piece:
    """An entry as far as it was read, or what may be one."""

    def __init__(self, line: DraftLine, mark: EntryMark, label: str, *, is_marked: bool) -> None:
        self.first, self.mark, self.label, self.is_marked = line, mark, label, is_marked
        self.lines = list[str]()
        self.is_dated, self.is_bare = False, True
        self.add(line._replace(text=line.text[mark.length :]))

    @property
    def is_whole(self) -> bool:
        return (self.is_dated or self.is_bare) and self.is_ended

    def add(self, line: DraftLine) -> None:
        self.is_bare = not any(self.lines) and is_bare_id(line.text)
        self.lines.append(line.text)
        self.is_ended = _has_ended(line)
        self.is_dated = self.is_dated or has_date_or_id(line.text)

    def entry(self, *, is_among_marked: bool) -> ListEntry:
        text, place = "\n".join(self.lines).strip(), (self.first.number, self.first.part)
        if not any(map(str.isalnum, text)):
            return ListEntry(f"{self.label}. {text}" if self.label else text, place, "", STRAY)
        if is_repeated(text):
            return ListEntry(text, place, self.label, POINTS)
        is_like = not is_remark(text) or (starts_with_names(text) and (has_place(text) or not is_prose(text)))
        is_read = self.label or (is_like and (self.is_marked or not is_among_marked or is_one(text)))
        return ListEntry(text, place, self.label, "" if is_read else STRAY)


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
    is_apart = not (level or first.islower() or first.isdigit() or is_bare_id(rest.split(" ")[0]))
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
    for number, one in enumerate(written):
        yield ListEntry(one, entry.place, f"{entry.label}{ascii_lowercase[number % 26]}" if entry.label else "")


class FoundList(NamedTuple):
    """A list of references: its entries, and the lines of the draft that it takes, `first` up to `end`."""

    first: int
    end: int
    entries: Sequence[ListEntry]


def draft_lines(blocks: Sequence[Block]) -> list[DraftLine]:
    """The lines of a draft's blocks, as they are written."""
    return [
        DraftLine(line, block, number, part)
        for number, block in enumerate(blocks)
        for part, line in enumerate(block.source.split("\n"))
    ]


def with_lists_apart(text: str) -> str:
    """`text` with a line for each entry of a list that is written on one line, and for the heading
    in front of it, "References: 1. Berg … 2. Ruiz …"."""
    return "\n\n".join(map(_with_list_apart, text.split("\n\n")))


def _with_list_apart(text: str) -> str:
    for form in (1, 2, 3):
        chains = [list[re.Match[str]]()]
        for found in _RUN_IN.finditer(text):
            value = int(found[form] or 0)
            if value == 1:
                chains.append([found])
            elif value and value == len(chains[-1]) + 1:
                chains[-1].append(found)
        chain = max(chains, key=len)
        starts = [one.start() for one in chain]
        pieces = [text[one.end() : end] for one, end in zip(chain, [*starts[1:], len(text)], strict=False)]
        before = text[: starts[0]] if chain else ""
        words = before.split()[-4:]
        title = next((n for n in (4, 3, 2, 1) if _title(" ".join(words[-n:])) in draft_words("list")), 0)
        is_list = sum(map(is_whole_entry, pieces)) >= _MOST * len(pieces) and len(chain) + bool(title) > 1
        if is_list and not is_prose(pieces[0]) and (title or before[-1:] in ("", "\n")):
            parts = [text[one:two] for one, two in pairwise((*starts, len(text)))]
            head = before.rsplit(None, title)[0] if title and len(words) > title else before
            rest = before[len(head) + 1 :] if head != before else ""
            return "\n".join((*((head, rest) if rest else (head,)), *parts))
    return text


def reference_lists(lines: Sequence[DraftLine]) -> list[FoundList]:
    """The lists of a draft that have entries; without headings, the block of entries at its end, or all of it."""
    headed = [one for one in _headed(lines) if one.entries]
    return [one for one in headed if not all(entry.reason for entry in one.entries)] or _unheaded(lines) or headed


def _title(line: str) -> str:
    """What a line says as a heading, in small letters without markup and number; "" if it is too long for one."""
    if len(line) > 2 * _LONGEST_HEADING:
        return ""
    bare = _NUMBERING.sub("", line.strip(_MARKUP), count=1).strip(_MARKUP)
    bare = " ".join(bare.split()).casefold() if len(bare) <= _LONGEST_HEADING else ""
    short = _COUNT.sub("", bare).strip(_MARKUP)
    return short or bare


def _headed(lines: Sequence[DraftLine]) -> Iterator[FoundList]:
    at, known = 0, {word for title in draft_words("list") for word in title.split()}
    while at < len(lines):
        line, title = lines[at], _title(lines[at].text)
        is_sure, words = title in draft_words("list"), title.replace(",", " ").split()
        may_be = title in draft_words("maybe") or (
            (line.block.kind == "heading" or {*words} <= known)
            and any(all(word in words for word in one.split()) for one in draft_words("words"))
        )
        if line.block.kind not in ("item", "row") and (is_sure or may_be):
            end = _end(lines, at + 1, line.block.level)
            entries = entries_in(lines[at + 1 : end])
            if is_sure or _are_entries(entries):
                yield FoundList(at, end, entries)
                at = end - 1
        at += 1


def _are_entries(entries: Sequence[ListEntry]) -> bool:
    alike = sum(
        bool(one.label and is_whole_entry(one.text))
        or is_surely_entry(one.text)
        or is_repeated(one.text)
        or (starts_like_entry(one.text) and not is_prose(one.text))
        for one in entries
    )
    return any(is_one(one.text) for one in entries) and 2 * alike > len(entries)


def _end(lines: Sequence[DraftLine], first: int, level: int) -> int:
    """The line before which a list ends. A heading under which the numbers go on does not end it."""
    last = 0
    for at in range(first, len(lines)):
        line = lines[at]
        last = mark_of(line).value or last
        if _ends_list(line, level):
            is_known = _title(line.text) in draft_words("other") | draft_words("list")
            if not _goes_on(lines[at + 1 : at + 1 + NEAR], last) or (is_known and not last):
                return at
    return len(lines)


def _goes_on(lines: Sequence[DraftLine], last: int) -> bool:
    """Whether one of these lines, before the heading of another list, is the entry with the number after `last`."""
    here = takewhile(lambda line: _title(line.text) not in draft_words("list"), lines)
    rests = [line.text[mark.length :] for line in here if (mark := mark_of(line)).value == last + 1]
    return any(starts_like_entry(rest) or is_whole_entry(rest) for rest in rests)


def _ends_list(line: DraftLine, level: int) -> bool:
    title = _title(line.text)
    if title in draft_words("list"):
        return True
    if title and (title in draft_words("other") or _is_float(title)) and not is_surely_entry(line.text):
        return True
    if line.block.kind == "heading" and not starts_like_entry(line.text.strip(" #*")):
        return not 0 < level < line.block.level  # a part of the list: "### Books" under "## References"
    return False


def _is_float(title: str) -> bool:
    """Whether a line is the title of a figure or table, "Table 2. Doses"."""
    name, number, *_ = [*title.split(), "", ""]
    return name in draft_words("float") and 0 < len(number.rstrip(".:")) < 5


def _unheaded(lines: Sequence[DraftLine]) -> list[FoundList]:
    """The block of entries at the end of a draft, or the whole of it, if its entries look like references."""
    entries, end = entries_in(lines), len(lines)
    while entries and entries[-1].reason:
        last = entries.pop()
        end = next(at for at, line in enumerate(lines) if (line.number, line.part) == last.place)
    sure = [is_surely_entry(one.text) for one in entries]
    starts = (at for at, one in enumerate(sure) if one and sum(sure[at:]) > 0.6 * len(sure[at:]))
    first = next(starts, len(sure))
    if len(sure) - first < min(2, len(sure)) or not entries[first:]:
        return []
    start = next(at for at, line in enumerate(lines) if (line.number, line.part) == entries[first].place)
    return [FoundList(start, end, entries[first:])]


def table_entries(blocks: Sequence[Block]) -> dict[int, ListEntry]:
    """The rows of tables that have a whole reference in a cell, and those between them, by the numbers of their
    blocks."""
    found = dict[int, ListEntry]()
    for kind, group in groupby(enumerate(blocks), key=lambda one: one[1].kind):
        rows = [(number, block, block.text.split("\t")) for number, block in group] if kind == "row" else []
        names, before = [cell.strip("*_ ").casefold() for cell in rows[0][2]] if rows else [], len(found)
        for number, _, written in rows:
            named = [*zip_longest(names[: len(written)], written)]
            cells = [f"PMID {cell}" if name == "pmid" and cell[:1].isdigit() else cell for name, cell in named]
            whole = [cell for name, cell in named if is_surely_entry(cell) or (name in _NAMED and is_whole_entry(cell))]
            ids = [cell for cell in cells[1:] if is_bare_id(cell) and any(map(str.isdigit, cell))]
            label = cells[0].strip("[]. ") if cells[0].strip("[]. ").isdecimal() else ""
            if whole and len(whole[0]) >= _LEAST_CELL:
                found[number] = ListEntry(clean_line(" ".join((whole[0], *ids))), (number, 0), label)
        others = [(number, block) for number, block, cells in rows[1:] if number not in found and any(cells)]
        if len(found) - before > len(others):
            found |= {number: ListEntry(clean_line(one.text), (number, 0), reason=STRAY) for number, one in others}
    return found
