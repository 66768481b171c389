"""The lines of a strategy as people paste it: one text, numbered lines in any dress, or PubMed's history."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.search.strategy.syntax import (
    MAX_DEPTH,
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
_NUMBERED = re.compile(r"\s*(?:search\s*)?(?:#|s(?=\d)|line\s+)?(\d{1,3})(?:\s*[.):|](?!\d)\s*|\s+)(?=\S)(.+)", re.I)
_REFERS = re.compile(r"\s*(?:and|or|not)\b(?!\s*/)", re.IGNORECASE)
# What PubMed and people write after a line: "1,234", "(n = 12)", "55 results", "12 10:30:00".
_COUNT = re.compile(
    r"(?:\t|[ ]{2}|(?<=[\])\"*\d])[ ])\(?(?:n ?= ?)?\d[\d,.]{0,12}\)?(?: ?(?:results?|hits|records))?"
    r"(?: \d?\d:\d\d(?::\d\d)?)?$",
    re.IGNORECASE,
)
_CELL = re.compile(r"(?i)details|sort by.*|most recent|\d?\d:\d\d(?::\d\d)?|[\d,.]+|\W*")
_RANGE = r"#?(\d{1,3})\s*[-–]\s*#?(\d{1,3})"
_SPANS = re.compile(rf"\b(and|or)\s*/\s*{_RANGE}|{_RANGE}\s*/\s*(and|or)\b", re.IGNORECASE)
_LISTS = re.compile(r"\b(and|or)\s*/\s*#?(\d{1,3}(?:\s*,\s*#?\d{1,3})+)", re.IGNORECASE)
_ONLY_NUMBERS = re.compile(r"(?:[\s()]|#?\d{1,3}(?!\w)|\b(?:and|or|not)\b)+", re.IGNORECASE)
_OPERAND = re.compile(r"(^\s*|\(\s*|\b(?:and|or|not)\s+)(\d{1,3})(?=\s*(?:$|\)|\s(?:and|or|not)\b))", re.IGNORECASE)
"""A number that stands where a term would."""
_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»＂", '"'))


@dataclass(frozen=True)
class Line:
    """A line: its text as given, its tree, and what is wrong in its form."""

    number: str
    text: str
    tree: Tree | None
    flaws: tuple[Flaw, ...] = ()


@dataclass(frozen=True)
class Strategy:
    """The lines of a strategy, in its order; the last one is the whole."""

    lines: tuple[Line, ...]
    is_numbered: bool = False
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
    text = re.sub(r"([ \t])[ \t]{2,}", r"\1\1", clean_text(text).translate(_QUOTES))
    rows = _history(text) or _numbered(text)
    if len(rows) > MAX_LINES:
        raise InvalidInputError(f"strategy: at most {MAX_LINES} lines, got {len(rows)}.")
    is_numbered = len(rows) > 1
    numbers = {number for number, _ in rows} if is_numbered else set[str]()
    lines = [Line(number, row, *parse(_with_marks(row, numbers) if is_numbered else row)) for number, row in rows]
    if not any(line.tree for line in lines):
        raise InvalidInputError("strategy: there is no search term in it. Pass a query in PubMed's syntax.")
    return Strategy(tuple(lines), is_numbered)


def _history(text: str) -> list[tuple[str, str]]:
    """The lines of the file that PubMed's history saves, the oldest first; [] if it is not one."""
    head, _, _ = text.partition("\n")
    names = [name.strip().lower() for name in head.split(",")]
    if not {"query", "search number"} <= {*names}:
        return []
    rows = [
        (re.sub(r"\D", "", str(row["search number"]))[:4], row["query"])
        for row in csv.DictReader(text.splitlines()[1:], names)
    ]
    return sorted(((number, query) for number, query in rows if number and query), key=lambda row: int(row[0]))


def _numbered(text: str) -> list[tuple[str, str]]:
    rows = [row for row in text.split("\n") if row.strip()]
    marks = [_NUMBERED.match(row) for row in rows]
    found = [mark for mark in marks if mark and not _REFERS.match(mark[2])]
    numbers = [int(mark[1]) for mark in found]
    is_numbered = len(numbers) > 1 and (numbers == sorted({*numbers}) or numbers[::-1] == sorted({*numbers}))
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
        elif lines:
            lines[-1] = lines[-1][0], f"{lines[-1][1]} {_without_counts(row)}"
    return lines if numbers[0] < numbers[-1] else lines[::-1]


def _without_counts(row: str) -> str:
    """A line without what is copied with it: cells of a table, the number of results, a time."""
    cells = [cell.strip() for cell in row.split("\t")]
    kept = [cell for cell in cells if not _CELL.fullmatch(cell)] if len(cells) > 1 else [row]
    text = re.sub(r"^\s*search:\s*", "", max(kept, key=len, default=row), flags=re.IGNORECASE)
    return _COUNT.sub("", text.strip()).strip()


def _with_marks(row: str, numbers: Collection[str]) -> str:
    """A numbered line with "#" before each line that it names: "or/1-3" becomes "(#1 OR #2 OR #3)"."""

    def span(found: re.Match[str]) -> str:
        operator, first, last = (found[1], found[2], found[3]) if found[1] else (found[6], found[4], found[5])
        return _joined(operator, range(int(first), min(int(last), int(first) + MAX_LINES) + 1))

    row = _SPANS.sub(span, row)
    row = _LISTS.sub(lambda found: _joined(found[1], re.findall(r"\d+", found[2])), row)
    return _OPERAND.sub(lambda found: f"{found[1]}#{found[2]}" if found[2] in numbers else found[0], row)


def _joined(operator: str, numbers: Sequence[object] | range) -> str:
    return f"({f' {operator.upper()} '.join(f'#{number}' for number in numbers)})"


def concept_terms(tree: Tree | None) -> Iterator[Term]:
    """The terms of a part of a strategy that it looks for: without those that NOT excludes."""
    if isinstance(tree, Term):
        yield tree
    elif isinstance(tree, Group):
        for one in tree.items[:1] if tree.operator == "NOT" else tree.items:
            yield from concept_terms(one)
