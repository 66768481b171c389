"""Finds the lists of references in a draft, by their headings in any language or by their looks, and its tables of
references."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise, takewhile, zip_longest
from typing import NamedTuple

from deepcritical_mcp.checking.draft.draft_parts import Block, ListEntry, draft_words
from deepcritical_mcp.checking.draft.entry_looks import (
    is_bare_id,
    is_prose,
    is_repeated,
    is_surely_entry,
    is_whole_entry,
    starts_like_entry,
)
from deepcritical_mcp.checking.draft.list_entries import NEAR, STRAY, DraftLine, entries_in, is_one, mark_of
from deepcritical_mcp.text import clean_line

_MARKUP = " \t#>*_=:.~—–-{}\\|•·<>/"
_NUMBERING = re.compile(
    r"^(?:[0-9]{1,2}(?:\.[0-9]{1,2}){0,3}[.)]?|[IVX]{1,5}[.)]|[A-Z][.)]|第?[一二三四五六七八九十]{1,3}[、.])\s{0,5}(?=\S)"
)
_COUNT = re.compile(r"\s{0,3}(?:[(\[][^()\[\]]{1,40}[)\]]| (?:[0-9]{1,3}|[a-z])| (?:of|der|des|to) .{1,40})$")
_RUN_IN = re.compile(r"(?<!\S)(?:\[([0-9]{1,3})\]|\(([0-9]{1,3})\)|([0-9]{1,3})[.)])(?=\s)")
_LONGEST_HEADING = 90
_LEAST_CELL = 40
_NAMED = ("reference", "references", "citation", "citations")
_MOST = 0.8


class FoundList(NamedTuple):
    """A list of references: its entries, and the lines of the draft that it takes, `first` up to `end`."""

    first: int
    end: int
    entries: Sequence[ListEntry]


def draft_lines(blocks: Sequence[Block], source: str) -> list[DraftLine]:
    """The lines of a draft's blocks, as they are written."""
    found = list[DraftLine]()
    for number, block in enumerate(blocks):
        at = block.start if block.kind != "item" else source.rfind("\n", 0, block.start) + 1
        for part, line in enumerate(source[at : block.end].split("\n")):
            bare = line.lstrip(" \t>#")
            start = at + len(line) - len(bare)
            before = source[source.rfind("\n", 0, start) + 1 : start].replace(">", " ").expandtabs(4)
            indent = len(before) if not before.strip() else 0
            found.append(DraftLine(bare.rstrip(), start, start + len(bare.rstrip()), indent, block, number, part))
            at += len(line) + 1
    return found


def with_lists_apart(text: str) -> str:
    """`text`, as long as before, with a line for each entry of a list that is written on one line, and for the heading
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
    entries = entries_in(lines)
    while entries and entries[-1].reason:
        entries.pop()
    sure = [is_surely_entry(one.text) for one in entries]
    starts = (at for at, one in enumerate(sure) if one and sum(sure[at:]) > 0.6 * len(sure[at:]))
    first = next(starts, len(sure))
    if len(sure) - first < min(2, len(sure)) or not entries[first:]:
        return []
    entries = entries[first:]
    within = [at for at, line in enumerate(lines) if line.end >= entries[0].start and line.start < entries[-1].end]
    return [FoundList(within[0], within[-1] + 1, entries)]


def table_entries(blocks: Sequence[Block]) -> dict[int, ListEntry]:
    """The rows of tables that have a whole reference in a cell, and those between them, by the numbers of their
    blocks."""
    found = dict[int, ListEntry]()
    for kind, group in groupby(enumerate(blocks), key=lambda one: one[1].kind):
        rows = [(number, block, block.text.split("\t")) for number, block in group] if kind == "row" else []
        names, before = [cell.strip("*_ ").casefold() for cell in rows[0][2]] if rows else [], len(found)
        for number, block, written in rows:
            named = [*zip_longest(names[: len(written)], written)]
            cells = [f"PMID {cell}" if name == "pmid" and cell[:1].isdigit() else cell for name, cell in named]
            whole = [cell for name, cell in named if is_surely_entry(cell) or (name in _NAMED and is_whole_entry(cell))]
            ids = [cell for cell in cells[1:] if is_bare_id(cell) and any(map(str.isdigit, cell))]
            label = cells[0].strip("[]. ") if cells[0].strip("[]. ").isdecimal() else ""
            if whole and len(whole[0]) >= _LEAST_CELL:
                found[number] = ListEntry(clean_line(" ".join((whole[0], *ids))), block.start, block.end, label)
        others = [(number, block) for number, block, cells in rows[1:] if number not in found and any(cells)]
        if len(found) - before > len(others):
            found |= {
                number: ListEntry(clean_line(one.text), one.start, one.end, reason=STRAY) for number, one in others
            }
    return found
