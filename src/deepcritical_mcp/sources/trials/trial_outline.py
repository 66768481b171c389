"""Writes the registration of a trial as sections and tables; its Markdown becomes plain paragraphs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import count

from deepcritical_mcp.net.json_fields import text_of, without_markup
from deepcritical_mcp.reading import Section
from deepcritical_mcp.sources.trials.contact_details import without_contacts
from deepcritical_mcp.text import clean_line

MAX_CHARACTERS = 100_000
"""Of one field; ClinicalTrials.gov allows 32,000."""
_ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+.!<>~|=&-])")
_ITEM = re.compile(r"\s*(?:[*•-]|[0-9]{1,2}[.)])\s+")
_WORDS = {
    "NA": "Not applicable",
    "ESTIMATED": "estimated",
    "ACTUAL": "actual",
    "DERIVED": "Found by NLM's matching",
    "NON_RANDOMIZED": "Non-randomized",
}
_PHASE = re.compile(r"PHASE([0-9])")


def in_words(code: str) -> str:
    """The words for a code: "ACTIVE_NOT_RECRUITING" is "Active not recruiting", "PHASE2" "Phase 2"."""
    return _WORDS.get(code) or _PHASE.sub(r"PHASE \1", code).replace("_", " ").capitalize()


def line(value: object) -> str:
    """A field as plain text on one line, without e-mail addresses and telephone numbers."""
    return _on_one_line(text_of(value, MAX_CHARACTERS))


def paragraphs(value: object) -> list[str]:
    """A field as plain paragraphs, each item of a list one of its own; without e-mail addresses and telephone
    numbers."""
    found: list[str] = []
    for block in re.split(r"\n\s*\n", text_of(value, MAX_CHARACTERS).replace("\r\n", "\n")):
        begins = True
        for row in filter(str.strip, block.split("\n")):
            if begins or _ITEM.match(row):
                found.append(row)
            else:
                found[-1] = f"{found[-1]} {row}"
            begins = False
    return [text for text in map(_on_one_line, found) if text]


def labeled(label: str, value: str) -> list[str]:
    """ "Label: value" as a paragraph; none without a value."""
    return [f"{label}: {value}"] if value else []


def _on_one_line(text: str) -> str:
    return without_contacts(clean_line(without_markup(_ESCAPE.sub(r"\1", text))))


class TrialPart:
    """A section of a registration, with its tables and the sections in it. What is empty is never written."""

    def __init__(self, title: str, texts: Iterable[str] = (), *, is_table: bool = False) -> None:
        self._title = title
        self._texts = [*texts]
        self._is_table = is_table
        self._inner: list[TrialPart] = []

    @property
    def is_empty(self) -> bool:
        """Whether there is no text in it or in its parts."""
        return not self._texts and all(part.is_empty for part in self._inner)

    def add(self, title: str, texts: Iterable[str] = ()) -> TrialPart:
        """Add a section to this one."""
        self._inner.append(TrialPart(title, texts))
        return self._inner[-1]

    def add_table(
        self, caption: str, header: Sequence[str], rows: Sequence[Sequence[str]], notes: Iterable[str] = ()
    ) -> None:
        """Add a table, with its notes after it; of a table without rows, the caption and the notes remain."""
        table = [_markdown(header, rows)] if rows else []
        self._inner.append(TrialPart(caption, [*table, *notes], is_table=True))

    def written(self) -> Iterator[Section]:
        """The sections in this one, numbered: "s2.1" is the first section within the second, "t3" a table."""
        return self._written("", (), count(1))

    def _written(self, parent: str, path: tuple[str, ...], tables: Iterator[int]) -> Iterator[Section]:
        numbers = count(1)
        for part in self._inner:
            if part._is_table:
                name = f"Table {(number := next(tables))}"
                texts = [f"{name}. {part._title}", *part._texts]
                yield Section(f"t{number}", texts, "table", (*path, name), parent)
            elif not part.is_empty:
                anchor = f"{parent}.{next(numbers)}" if parent else f"s{next(numbers)}"
                inner = (*path, part._title)
                yield Section(anchor, part._texts, path=inner, parent=parent)
                yield from part._written(anchor, inner, tables)


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(clean_line(cell).replace("|", "\\|") for cell in row) + " |" for row in lines)
