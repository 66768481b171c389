"""What is ranked in a session: a publication with all its short texts, and each passage of its long texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from deepcritical_mcp.evidence.chunking import Passage, indexed_text, long_passages, short_passages
from deepcritical_mcp.evidence.lexical import LexicalScores
from deepcritical_mcp.evidence.stemming import words_of
from deepcritical_mcp.models import Publication

_PART = "\n"


@dataclass(frozen=True, slots=True)
class Layout:
    """The passages of a publication, of which the first `short` ones are those of its texts without parts."""

    passages: tuple[Passage, ...]
    short: int

    @property
    def count(self) -> int:
        """The number of passages."""
        return len(self.passages)

    @property
    def has_long_texts(self) -> bool:
        """Whether some of them are passages of a long text."""
        return len(self.passages) > self.short

    @classmethod
    def of(cls, publication: Publication) -> Layout:
        """The layout of a publication's present texts."""
        short = short_passages(publication)
        return cls((*short, *long_passages(publication)), len(short))


class WordScores(NamedTuple):
    """How well publications as wholes, by id, and passages of long texts, by `unit_of`, match a query by words."""

    wholes: LexicalScores
    passages: LexicalScores

    @property
    def terms(self) -> int:
        """Number of distinct words in the query."""
        return self.wholes.terms

    def at(self, unit: str) -> tuple[float, float]:
        """See `LexicalScores.at`."""
        return (self.passages if is_passage(unit) else self.wholes).at(unit)

    def top(self, limit: int, only: Collection[str] | None = None) -> dict[str, float]:
        """See `LexicalScores.top`; at most `limit` of each kind."""
        return self.wholes.top(limit, only) | self.passages.top(limit, only)


def unit_of(id: str, part: int, short: int) -> str:
    """What is ranked: a publication with all its short texts, under its id, or one passage of a long text."""
    return id if part < short else f"{id}{_PART}{part}"


def is_passage(unit: str) -> bool:
    """Whether it is a passage of a long text."""
    return _PART in unit


def split_unit(unit: str) -> tuple[str, int]:
    """The id and the number of the passage; -1 for a publication with its short texts."""
    id, _, part = unit.partition(_PART)
    return id, int(part) if part else -1


def has_other_texts(one: Publication, other: Publication) -> bool:
    """Whether the passages of two states of a publication may differ."""
    return one.title != other.title or one.texts != other.texts


def words_in(publication: Publication, layout: Layout) -> Iterator[tuple[str, Counter[str]]]:
    """The units of a publication, each with its words."""
    if whole := indexed_text(publication):
        yield publication.id, words_of(whole)
    for part, passage in enumerate(layout.passages[layout.short :], start=layout.short):
        yield unit_of(publication.id, part, layout.short), words_of(passage.content)
