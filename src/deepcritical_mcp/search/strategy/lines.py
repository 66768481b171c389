"""The lines of a strategy as people paste it: one text, numbered lines in any dress, or PubMed's history."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.search.strategy.syntax import (
    MAX_DEPTH,
    OPERATORS,
    Flaw,
    Group,
    Reference,
    Term,
    Tree,
    parse,
    references,
)
from deepcritical_mcp.text import clean_text

MAX_LINES = 150
MAX_QUERY = 60_000
"""Characters of a line with all lines that it names."""
_NUMBERED = re.compile(r"\s*(?:search\s*)?(?:#|s(?=\d)|line\s+|\()?(\d{1,3})(?:\s*[.):|](?!\d)\s*|\s+)(?=\S)(.+)", re.I)
_NEXT_NUMBER = re.compile(r"\s(?=#?\d{1,3}[.):]\s)")
_ROW_FILTERS = re.compile(r"(?<!\w)filters(?: applied)?:[ \t]*([^\t\n]+)", re.IGNORECASE)
# What PubMed and people write after a line: "1,234", "(n = 12)", "55 results", "12 10:30:00".
_COUNT = re.compile(
    r"(?:\t|[ ]{2}|(?<=[\])\"*\d])[ ])\(?(?:n ?= ?)?\d[\d,.]{0,12}\)?(?: ?(?:results?|hits|records))?"
    r"(?: \d?\d:\d\d(?::\d\d)?)?$",
    re.IGNORECASE,
)
_CELL = re.compile(
    r"(?i)details|sort by.*|most recent|\d?\d:\d\d(?::\d\d)?|\W*"
    r"|\(?(?:n ?= ?)?[\d,.]+\)?(?: ?(?:results?|hits|records))?"
)
_NUMBERS = r"#?\d{1,3}(?:\s*[-–]\s*#?\d{1,3})?"
_LISTS = re.compile(
    rf"\b(and|or)\s*/\s*({_NUMBERS}(?:\s*,\s*{_NUMBERS}){{0,99}})|({_NUMBERS}(?:\s*,\s*{_NUMBERS}){{0,99}})\s*/\s*(and|or)\b",
    re.IGNORECASE,
)
# A row without a number goes on with the line before it if it looks so; else it is a caption.
_CONTINUES = re.compile(r"\s*(?:and\b|or\b|not\b|\))", re.IGNORECASE)
_HAS_SYNTAX = re.compile(r'[\w"*)] ?\[\w|\w\*|#\d|\b(?:AND|OR|NOT)\b')
_ONLY_NUMBERS = re.compile(r"(?:[\s()]|#?\d{1,3}(?!\w)|\b(?:and|or|not)\b)+", re.IGNORECASE)
_NAMED = re.compile(r"\b(?:s(?=\d)|line\s+|#\s+)(\d{1,3})\b", re.IGNORECASE)
"""How a line names another one, but for "#3"."""
_MARKDOWN = re.compile(r"^[ \t]*(?:[-•|](?!\S)|\|)[ \t]*|\*\*|\\(?=[*#\[\]])", re.MULTILINE)
_OPERAND = re.compile(r"(^\s*|\(\s*|\b(?:and|or|not)\s+)(\d{1,3})(?=\s*(?:$|\)|\s(?:and|or|not)\b))", re.IGNORECASE)
"""A number that stands where a term would."""
_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»＂", '"'))


class Place(IntEnum):
    """Where a part stands: what is written in its place elsewhere may find more or less; in what NOT excludes, no more;
    and in what NOT leaves of that, exactly the same."""

    KEPT = 0
    EXCLUDED = 1
    EXACT = 2


@dataclass(frozen=True)
class Line:
    """A line: its text as given, its tree, and what is wrong in its form."""

    number: str
    text: str
    tree: Tree | None
    flaws: tuple[Flaw, ...] = ()


@dataclass(frozen=True)
class Strategy:
    """The lines of a strategy, in its order; the last one is the whole. Rows that are captions, and the filters that a
    history names beside its queries, are no part of it."""

    lines: tuple[Line, ...]
    is_numbered: bool = False
    captions: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    _whole: dict[str, Tree | None] = field(default_factory=dict[str, "Tree | None"], compare=False)

    @cached_property
    def by_number(self) -> dict[str, Line]:
        return {line.number: line for line in self.lines}

    @property
    def whole(self) -> Line:
        return self.lines[-1]

    @cached_property
    def used(self) -> frozenset[str]:
        """The numbers of the lines that the whole needs."""
        found, left = set[str](), [self.whole.number]
        while left:
            if (number := left.pop()) in self.by_number and number not in found:
                found.add(number)
                left += references(self.by_number[number].tree)
        return frozenset(found)

    @cached_property
    def places(self) -> Mapping[str, Place]:
        """The least strict place in which each line is used."""
        found = dict[str, Place]()

        def walk(tree: Tree | None, place: Place) -> None:
            if isinstance(tree, Reference):
                found[tree.number] = min(place, found.get(tree.number, place))
            for number, one in enumerate(tree.items if isinstance(tree, Group) else ()):
                is_not = isinstance(tree, Group) and tree.operator == "NOT" and number > 0
                walk(one, (Place.EXACT if place else Place.EXCLUDED) if is_not else place)

        for line in reversed(self.lines):
            walk(line.tree, found.setdefault(line.number, Place.KEPT))
        return found

    def query(self, tree: Tree | None) -> str:
        """A tree as one query for PubMed, each reference replaced by its line; "" if one of them is not there.

        Raises:
            InvalidInputError: it is longer than `MAX_QUERY`.
        """
        return str(resolved) if (resolved := self.resolved(tree)) else ""

    def resolved(self, tree: Tree | None) -> Tree | None:
        """A tree with each line in place of its number; None if one of them is not there. Raises as `query` does."""
        length = self._length(tree, {})
        if length > MAX_QUERY:
            raise InvalidInputError(
                f"With the lines that it names, the strategy has more than {MAX_QUERY:,} characters: test it in parts."
            )
        return self._resolved(tree) if length else None

    def _length(self, tree: Tree | None, known: dict[str, int], seen: frozenset[str] = frozenset()) -> int:
        """About how many characters the query will have; 0 if it lacks a line, or names itself."""
        if isinstance(tree, Reference):
            line = self.by_number.get(tree.number)
            if line is None or tree.number in seen or len(seen) > MAX_DEPTH:
                return 0
            if tree.number not in known:
                known[tree.number] = self._length(line.tree, known, seen | {tree.number})
            return known[tree.number]
        if isinstance(tree, Group):
            parts = [self._length(one, known, seen) for one in tree.items]
            return sum(parts) + 7 * len(parts) if all(parts) else 0
        return len(str(tree)) if tree else 0

    def _resolved(self, tree: Tree | None) -> Tree | None:
        if isinstance(tree, Reference):
            return self._resolved(self.by_number[tree.number].tree)
        if isinstance(tree, Group):
            return Group(tree.operator, tuple(one for one in map(self._resolved, tree.items) if one))
        return tree

    def blocks(self) -> tuple[dict[str, Tree], dict[str, Tree]]:
        """What AND joins in the whole, by name, and what NOT excludes from it: "#3" is a line, "B" the second part of
        a strategy in one line."""
        joined, excluded, named = dict[str, Tree](), dict[str, Tree](), set[str]()

        def take(tree: Tree | None, name: str, *, is_not: bool = False) -> None:
            if isinstance(tree, Reference):
                line = self.by_number.get(tree.number)
                if line and line.number not in named:
                    named.add(line.number)
                    take(line.tree, f"#{line.number}", is_not=is_not)
            elif isinstance(tree, Group) and tree.operator != "OR" and not is_not:
                take(tree.items[0], "")
                for one in tree.items[1:]:
                    take(one, "", is_not=tree.operator == "NOT")
            elif tree is not None:
                kept = excluded if is_not else joined
                kept.setdefault(name or letter(len(joined) + len(excluded)), tree)

        take(self.whole.tree, f"#{self.whole.number}" if self.is_numbered else "")
        return joined, excluded


def letter(place: int) -> str:
    """The name of a part by its place: "A", …, "Z", "AA"."""
    return chr(65 + place) if place < 26 else letter(place // 26 - 1) + letter(place % 26)


def read_strategy(text: str) -> Strategy:
    """The strategy in a text.

    Raises:
        InvalidInputError: there is no term in it, or it has too many lines.
    """
    text = _MARKDOWN.sub("", re.sub(r"([ \t])[ \t]{2,}", r"\1\1", clean_text(text).translate(_QUOTES)))
    captions, filters = list[str](), list[str]()
    rows = _history(text, filters) or _numbered(text, captions, filters)
    if len(rows) > MAX_LINES:
        raise InvalidInputError(f"strategy: at most {MAX_LINES} lines, got {len(rows)}.")
    is_numbered = len(rows) > 1
    numbers = {number for number, _ in rows} if is_numbered else set[str]()
    lines = [Line(number, row, *parse(_with_marks(row, numbers) if is_numbered else row)) for number, row in rows]
    if not any(line.tree for line in lines):
        raise InvalidInputError("strategy: there is no search term in it. Pass a query in PubMed's syntax.")
    return Strategy(tuple(lines), is_numbered, tuple(captions), tuple(dict.fromkeys(filters)))


def _history(text: str, filters: list[str]) -> list[tuple[str, str]]:
    """The lines of the file that PubMed's history saves, the oldest first; [] if it is not one. What its column of
    filters has goes into `filters`."""
    head, _, _ = text.partition("\n")
    names = [name.strip().strip('"').lower() for name in head.split(",")]
    if not {"query", "search number"} <= {*names}:
        return []
    cells = list(csv.DictReader(text.splitlines()[1:], names))
    filters += [str(row["filters"]).strip() for row in cells if str(row.get("filters") or "").strip()]
    rows = [(str(row["search number"]).strip("# ")[:4], row["query"]) for row in cells]
    return sorted(
        ((number, query) for number, query in rows if number.isdecimal() and query), key=lambda row: int(row[0])
    )


def _numbered(text: str, captions: list[str], filters: list[str]) -> list[tuple[str, str]]:
    """The lines by their numbers; rows between them that are no part of one are `captions`, and what PubMed's page
    shows as filters of a line goes into `filters`.

    Raises:
        InvalidInputError: each row has a number, but not each its own, or not in their order.
    """
    filters += [found[1].strip() for found in _ROW_FILTERS.finditer(text)]
    rows = [row for row in _ROW_FILTERS.sub("", text).split("\n") if row.strip()]
    if len(rows) == 1:  # a strategy that lost its line breaks
        pieces = _NEXT_NUMBER.split(rows[0])
        starts = [one.lstrip("# ").partition(str(place))[0] for place, one in enumerate(pieces, start=1)]
        rows = rows if any(starts) else pieces
    marks = [_NUMBERED.match(row) for row in rows]
    clear = [mark for mark in marks if mark and not mark[0][: mark.start(2)].strip().isdigit()]
    marks = [mark if len(clear) < 2 or mark in clear else None for mark in marks]
    found = [mark for mark in marks if mark and (not _CONTINUES.match(mark[2]) or _LISTS.match(mark[2]))]
    if found and len(clear) < 2 and any(map(_HAS_SYNTAX.search, rows[: marks.index(found[0])])):
        found = []  # a row that begins with a number, as a name of a substance may
    numbers = [int(mark[1]) for mark in found]
    is_numbered = len(numbers) > 1 and (numbers == sorted({*numbers}) or numbers[::-1] == sorted({*numbers}))
    if not is_numbered and 1 < len(found) == len(rows):
        shown = ", ".join(map(str, numbers))
        raise InvalidInputError(f"strategy: the lines have the numbers {shown}. Number each once, in order.")
    if not is_numbered:
        if len(rows) > 1 and any(re.search(r"#\d", row) for row in rows):
            return [(str(place), _without_counts(row)) for place, row in enumerate(rows, start=1)]
        text = " ".join(rows)
        alone = re.fullmatch(r"#?1\s*[.):]\s+(.+)", text) if len(rows) == 1 else None
        return [("1", alone[1] if alone else text)]
    lines: list[tuple[str, str]] = []
    for row, mark in zip(rows, marks, strict=True):
        if mark in found and mark:
            lines.append((mark[1].lstrip("0") or "0", _without_counts(mark[2])))
        elif lines and _ONLY_NUMBERS.fullmatch(_without_counts(row)):
            lines.append((str(int(lines[-1][0]) + 1), _without_counts(row)))
        elif lines and (_CONTINUES.match(row) or _is_open(lines[-1][1]) or _HAS_SYNTAX.search(row)):
            lines[-1] = lines[-1][0], f"{lines[-1][1]} {_without_counts(row)}"
        elif any(map(str.isalnum, row)):
            captions.append(row.strip())
    return lines if numbers[0] < numbers[-1] else lines[::-1]


def _is_open(line: str) -> bool:
    """Whether the next row belongs to a line: after an operator, or inside of brackets or quotes."""
    ends = line.upper().replace(")", " ").split()[-1:]
    return any(one in OPERATORS for one in ends) or line.count("(") > line.count(")") or line.count('"') % 2 > 0


def _without_counts(row: str) -> str:
    """A line without what is copied with it: cells of a table, the number of results, a time."""
    cells = [cell.strip() for cell in row.replace("|", "\t").split("\t")]
    kept = [cell for cell in cells if not _CELL.fullmatch(cell)] if len(cells) > 1 else [row]
    query = max(kept, key=lambda cell: (bool(_HAS_SYNTAX.search(cell)), len(cell)), default=row)
    is_marked = query.strip().lower().startswith("search:")
    return _COUNT.sub("", query.strip()[7 if is_marked else 0 :].strip()).strip()


def _with_marks(row: str, numbers: Collection[str]) -> str:
    """A numbered line with "#" before each line that it names: "or/1-3" becomes "(#1 OR #2 OR #3)"."""

    def listed(found: re.Match[str]) -> str:
        every = list[str]()
        for one in (found[2] or found[3]).split(","):
            first, *last = (int(number) for number in re.findall(r"\d+", one))
            every += map(str, range(first, min(last[0] if last else first, first + MAX_LINES) + 1))
        return f"({f' {(found[1] or found[4]).upper()} '.join(f'#{number}' for number in every)})"

    named = _NAMED.sub(r"#\1", row)
    row = _LISTS.sub(listed, named if _ONLY_NUMBERS.fullmatch(named) else row)
    every = _ONLY_NUMBERS.fullmatch(row)  # so that a line that is not there is missed
    return _OPERAND.sub(lambda found: f"{found[1]}#{found[2]}" if every or found[2] in numbers else found[0], row)


def concept_terms(tree: Tree | None) -> Iterator[Term]:
    """The terms of a part of a strategy that it looks for: without those that NOT excludes."""
    if isinstance(tree, Term):
        yield tree
    elif isinstance(tree, Group):
        for one in tree.items[:1] if tree.operator == "NOT" else tree.items:
            yield from concept_terms(one)
