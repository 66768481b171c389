"""Finds the lists of references in a draft: by their headings, in any language, or by their looks."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files
from itertools import groupby, zip_longest
from typing import NamedTuple

from deepcritical_mcp.checking.draft.draft_parts import Block
from deepcritical_mcp.checking.draft.entry_looks import (
    has_date_or_id,
    is_bare_id,
    is_prose,
    is_repeated,
    is_surely_entry,
    is_whole_entry,
    starts_like_entry,
)
from deepcritical_mcp.checking.draft.list_entries import DraftLine, ListEntry, entries_in, mark_of
from deepcritical_mcp.text import clean_line

_MARKUP = " \t#>*_=:.~—–-{}\\|•·<>/"
_NUMBERING = re.compile(
    r"(?:[0-9]{1,2}(?:\.[0-9]{1,2}){0,3}[.)]?|[IVX]{1,5}[.)]|[A-Z][.)]|第?[一二三四五六七八九十]{1,3}[、.])\s{0,5}(?=\S)"
)
_COUNT = re.compile(r"\s{0,3}(?:[(\[][^()\[\]]{1,40}[)\]]| [0-9A-Z]{1,3}| (?:of|der|des|to) .{1,40})$")
_FLOAT = re.compile(r"(?:figure|table|fig\.|box|scheme|tabelle|abbildung) [0-9a-z]{1,4}\b")
_RUN_IN = re.compile(r"[#*_ \t]{0,8}([^\W\d_][^\n:：*]{1,40}?)[*_ ]{0,4}(?:[:：]|(?= \[?1[\].)] ))[*_ ]{0,4}(?=\S)")
_NUMBER = re.compile(r"[*_]{0,2}\[?([0-9]{1,4})[\].)]{1,2}\s{1,8}")
_SENTENCE = re.compile(r"[a-z)\]][.?!](?:\s|$)")
_LONGEST_HEADING = 90
_LEAST_PROSE = 200
_LEAST_CELL = 40


@lru_cache(maxsize=1)
def _titles() -> Mapping[str, Collection[str]]:
    found = dict[str, set[str]]()
    for row in (files("deepcritical_mcp.checking.draft") / "list_headings.txt").read_text("utf-8").splitlines():
        if not row.startswith("#"):
            kind, _, titles = row.partition("\t")
            found.setdefault(kind, set()).update(titles.split("|"))
    return found


class FoundList(NamedTuple):
    """A list of references: its entries, and the lines of the draft that it takes, `first` up to `end`."""

    first: int
    end: int
    entries: Sequence[ListEntry]


def draft_lines(blocks: Sequence[Block], source: str) -> list[DraftLine]:
    """The lines of a draft's blocks, as they are written."""
    found = list[DraftLine]()
    for number, block in enumerate(blocks):
        at = block.start
        if block.kind == "item":
            at = source.rfind("\n", 0, block.start) + 1
        for part, line in enumerate(source[at : block.end].split("\n")):
            bare = line.lstrip(" \t>")
            start = at + len(line) - len(bare)
            before = source[source.rfind("\n", 0, start) + 1 : start].replace(">", " ").expandtabs(4)
            indent = len(before) if not before.strip() else 0
            found.append(DraftLine(bare.rstrip(), start, start + len(bare.rstrip()), indent, block, number, part))
            at += len(line) + 1
    return found


def reference_lists(lines: Sequence[DraftLine]) -> list[FoundList]:
    """The lists of a draft that have entries; without headings, the block of entries at its end, or all of it."""
    found = [one for one in _headed(lines) if one.entries]
    return found or _unheaded(lines)


def _title(line: str) -> str:
    """What a line says as a heading, in small letters without markup and number; "" if it is too long for one."""
    if len(line) > 2 * _LONGEST_HEADING:
        return ""
    bare = _NUMBERING.sub("", line.strip(_MARKUP), count=1).strip(_MARKUP)
    bare = re.sub(r"\s+", " ", bare).casefold() if len(bare) <= _LONGEST_HEADING else ""
    short = _COUNT.sub("", bare).strip(_MARKUP)
    # "R E F E R E N C E S"
    return bare.replace(" ", "") if len(bare) > 8 and all(len(one) == 1 for one in bare.split()) else short or bare


def _run_in(line: str) -> int:
    """Where the first entry begins in a line that opens with the heading, "References: 1. Berg"; 0 in any other."""
    found = _RUN_IN.match(line)
    return found.end() if found and _title(found[1]) in _titles()["list"] else 0


def _headed(lines: Sequence[DraftLine]) -> Iterator[FoundList]:
    at = 0
    while at < len(lines):
        line, titles = lines[at], _titles()
        title, body = _title(line.text), _run_in(line.text)
        is_sure = title in titles["list"] or body > 0
        words = title.replace(",", " ").split() if line.block.kind == "heading" else ()
        may_be = title in titles["maybe"] or any(
            all(word in words for word in one.split()) for one in titles["words"] if words
        )
        if line.block.kind not in ("item", "row", "note", "entry") and (is_sure or may_be):
            end = _end(lines, at + 1, line.block.level)
            rest = [line._replace(text=line.text[body:], start=line.start + body)] if body else []
            entries = entries_in([*rest, *lines[at + 1 : end]])
            if is_sure or _are_entries(entries):
                stop = _stop(lines, at + 1, end, entries)
                yield FoundList(at, stop, entries)
                at = max(stop, at + 1) - 1
        at += 1


def _stop(lines: Sequence[DraftLine], first: int, end: int, entries: Sequence[ListEntry]) -> int:
    """The line behind the last one of the last entry."""
    last = entries[-1].end if entries else -1
    return next((at for at in range(end, first, -1) if lines[at - 1].start < last), first)


def _are_entries(entries: Sequence[ListEntry]) -> bool:
    whole = any(is_whole_entry(one.text) and not is_prose(one.text) for one in entries)
    alike = sum(is_surely_entry(one.text) or is_repeated(one.text) or _is_titled(one.text) for one in entries)
    return whole and 2 * alike > len(entries)


def _is_titled(text: str) -> bool:
    return starts_like_entry(text) and not is_prose(text)


def _end(lines: Sequence[DraftLine], first: int, level: int) -> int:
    """The line before which a list ends. A heading under which the numbers go on does not end it."""
    last = 0
    for at in range(first, len(lines)):
        line = lines[at]
        mark = _NUMBER.match(line.text)
        last = int(mark[1]) if mark else last
        if (_ends_list(line, level) and not _goes_on(lines[at + 1 : at + 5], last)) or _is_prose_block(line):
            return at
    return len(lines)


def _goes_on(lines: Sequence[DraftLine], last: int) -> bool:
    """Whether one of these lines is the entry with the number after `last`."""
    marks = [(line.text, found) for line in lines if last and (found := _NUMBER.match(line.text))]
    rests = [text[found.end() :] for text, found in marks if int(found[1]) == last + 1]
    return any(starts_like_entry(rest) or is_whole_entry(rest) for rest in rests)


def _ends_list(line: DraftLine, level: int) -> bool:
    title = _title(line.text)
    if title in _titles()["list"]:
        return True
    if title and (title in _titles()["other"] or _FLOAT.match(title)) and not is_surely_entry(line.text):
        return True
    if line.block.kind == "heading" and not starts_like_entry(line.text.strip(" #*")):
        return not 0 < level < line.block.level  # a part of the list: "### Books" under "## References"
    return False


def _is_prose_block(line: DraftLine) -> bool:
    """Whether a paragraph that begins here is sentences rather than entries."""
    text = line.block.text
    if not line.opens or line.block.kind != "paragraph" or len(text) <= _LEAST_PROSE or mark_of(line).kind:
        return False
    is_like = is_whole_entry(text) or starts_like_entry(text)
    return not is_like and len(_SENTENCE.findall(text[:2_000])) > 1


def _unheaded(lines: Sequence[DraftLine]) -> list[FoundList]:
    """The block of entries at the end of a draft, or the whole of it, if its entries look like references."""
    entries = entries_in(lines)
    sure = [is_surely_entry(one.text) for one in entries]
    if sum(sure) > 0.6 * len(sure):
        entries = entries[sure.index(True) :]
    else:
        first = len(entries)
        while first and (
            sure[first - 1] or (first > 1 and sure[first - 2] and is_whole_entry(entries[first - 1].text))
        ):
            first -= 1
        entries = entries[first:] if len(entries) - first > 1 else []
    if not entries:
        return []
    first = next(at for at, line in enumerate(lines) if line.end >= entries[0].start)
    return [FoundList(first, _stop(lines, first, len(lines), entries), entries)]


def with_named_numbers(blocks: Sequence[Block]) -> list[Block]:
    """The blocks, with the numbers in a table's column of PMIDs called so: "PMID 12345678"."""
    found, header = list[Block](), list[str]()
    for block in blocks:
        cells = block.text.split("\t") if block.kind == "row" else []
        header = (header or [cell.strip("*_ ").casefold() for cell in cells]) if cells else []
        named = [
            f"PMID {cell.strip()}" if kind in ("pmid", "pmids", "pubmed id") and cell.strip()[:1].isdigit() else cell
            for kind, cell in zip_longest(header[: len(cells)], cells, fillvalue="")
        ]
        found.append(replace(block, text="\t".join(named), marks=()) if named != cells else block)
    return found


def table_entries(blocks: Sequence[Block]) -> dict[int, ListEntry]:
    """The rows of tables of references, by the numbers of their blocks: of those that have a whole reference in a cell,
    or a column of authors and one of titles. A table of results that only names studies is none."""
    found = dict[int, ListEntry]()
    for kind, group in groupby(enumerate(blocks), key=lambda one: one[1].kind):
        rows = [(number, block, block.text.split("\t")) for number, block in group] if kind == "row" else []
        header = [cell.strip("*_ ").casefold() for cell in rows[0][2]] if rows else []
        is_composed = any("title" in one or "titel" in one for one in header) and any(
            one.startswith(("author", "first author", "autor", "study")) for one in header
        )
        for number, block, cells in rows[1:] or rows:
            whole = [
                cell
                for name, cell in zip_longest(header[: len(cells)], cells, fillvalue="")
                if len(cell) >= _LEAST_CELL
                and (is_surely_entry(cell) or (name.rstrip("s") in ("reference", "citation") and is_whole_entry(cell)))
            ]
            ids = [cell for cell in cells if is_bare_id(cell) and any(map(str.isdigit, cell)) and cell != cells[0]]
            written = (
                " ".join((*whole[:1], *ids))
                if whole
                else ". ".join(cell.rstrip(". ") for cell in cells if cell.strip())
            )
            if whole or (is_composed and has_date_or_id(written)):
                label = cells[0].strip("[]. ") if cells[0].strip("[]. ").isdecimal() else ""
                written = written if whole or not label else written.partition(". ")[2]
                found[number] = ListEntry(clean_line(written), block.start, block.end, label)
    return found
