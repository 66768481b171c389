"""The texts of a session: how each publication is divided into passages, and in which of them a word occurs.

What was derived from them is kept beside the session so that it opens quickly, only as a cache: a row is used if its
item has not been written since, and if a version derived it that derives the same; everything else is derived again.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from deepcritical_mcp import __version__
from deepcritical_mcp.evidence.chunking import Passage, indexed_text, long_passages, short_passages
from deepcritical_mcp.evidence.clustering import LookupKey
from deepcritical_mcp.evidence.lexical import HashedWords, LexicalIndex, LexicalScores
from deepcritical_mcp.evidence.stemming import words_of
from deepcritical_mcp.models import Publication

_PART = "\n"


@dataclass(frozen=True, slots=True)
class Layout:
    """The passages of a publication, of which the first `short` ones are those of its texts without parts."""

    passages: tuple[Passage, ...]
    short: int

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


_reading = threading.Lock()
"""One text is read at a time: the event loop gets the interpreter back only after all threads that are at work."""


class Shape(NamedTuple):
    """How many passages a publication has, and how many of them are of its texts without parts, which come first."""

    short: int
    total: int


class IndexedTexts(NamedTuple):
    """What is indexed of a publication: the words of each of its units, see `unit_of`; and, if known, its layout, and
    what its members can be looked up by."""

    shape: Shape
    words: Mapping[str, HashedWords]
    layout: Layout | None = None
    keys: Collection[LookupKey] | None = None

    @classmethod
    def of(cls, publication: Publication) -> IndexedTexts:
        """Read a publication's present texts."""
        with _reading:
            layout, whole = Layout.of(publication), indexed_text(publication)
            words = {publication.id: HashedWords.of(words_of(whole))} if whole else {}
            for part, passage in enumerate(layout.passages[layout.short :], start=layout.short):
                words[unit_of(publication.id, part, layout.short)] = HashedWords.of(words_of(passage.content))
        return cls(Shape(layout.short, len(layout.passages)), words, layout)


class TextIndex:
    """Shapes and words of publications, by id. Not thread-safe."""

    def __init__(self) -> None:
        self._shapes: dict[str, Shape] = {}
        self._words = LexicalIndex()
        self._passage_words = LexicalIndex(b=0.0)

    def put(self, id: str, texts: IndexedTexts) -> None:
        """Set the texts of publication `id`."""
        self.remove(id)
        self._shapes[id] = texts.shape
        for unit, words in texts.words.items():
            self._of(unit).enter(unit, words)

    def remove(self, id: str) -> None:
        """Forget the texts of publication `id`."""
        shape = self._shapes.pop(id, Shape(0, 0))
        self._words.remove(id)
        for part in range(shape.short, shape.total):
            self._passage_words.remove(unit_of(id, part, shape.short))

    def shape(self, id: str) -> Shape:
        """The shape of publication `id`."""
        return self._shapes[id]

    def texts(self, id: str) -> IndexedTexts:
        """What was put under `id`."""
        shape = self._shapes[id]
        units = [id, *(unit_of(id, part, shape.short) for part in range(shape.short, shape.total))]
        found = {unit: self._of(unit).words_at(unit) for unit in units}
        return IndexedTexts(shape, {unit: words for unit, words in found.items() if words is not None})

    def score(self, query: str) -> WordScores:
        """See `LexicalIndex.score`."""
        return WordScores(self._words.score(query), self._passage_words.score(query))

    @property
    def has_passages(self) -> bool:
        """Whether any text has parts."""
        return len(self._passage_words) > 0

    def _of(self, unit: str) -> LexicalIndex:
        return self._passage_words if is_passage(unit) else self._words


_ORIGIN = [4, __version__]
"""Increase the number when passages, stems, keys or this format change within a version."""


def packed_texts(texts: IndexedTexts, keys: Collection[LookupKey]) -> bytes:
    """What is indexed of an item, and what its members can be looked up by, serialized."""
    units = [
        (split_unit(unit)[1], one.total, base64.b64encode(one.hashes).decode(), base64.b64encode(one.counts).decode())
        for unit, one in texts.words.items()
    ]
    return json.dumps([_ORIGIN, texts.shape, list(keys), units]).encode()


def unpacked_texts(id: str, data: bytes) -> IndexedTexts | None:
    """What `packed_texts` serialized of item `id`; None if that was another version."""
    origin, shape, keys, units = json.loads(data)
    if origin != _ORIGIN:
        return None
    words = {
        unit_of(id, part, shape[0]) if part >= 0 else id: HashedWords(
            base64.b64decode(hashes), base64.b64decode(counts), total
        )
        for part, total, hashes, counts in units
    }
    return IndexedTexts(Shape(*shape), words, keys=[(kind, value) for kind, value in keys])
