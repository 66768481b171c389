"""The texts of a session: how each publication is divided into passages, and in which of them a word occurs.

What was derived from them is kept beside the session so that it opens quickly, only as a cache: an entry is used if its
item has not been written since, and if a version derived it that derives the same; everything else is derived again.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np

from deepcritical_mcp import __version__
from deepcritical_mcp.evidence.chunking import Passage, indexed_text, long_passages, short_passages
from deepcritical_mcp.evidence.clustering import LookupKey
from deepcritical_mcp.evidence.lexical import HashedWords, LexicalIndex, LexicalScores
from deepcritical_mcp.evidence.stemming import words_of
from deepcritical_mcp.evidence.storage.backend import Space
from deepcritical_mcp.evidence.storage.stored_items import KeptItem
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


_reading = threading.Lock()
"""One text is read at a time: the event loop gets the interpreter back only after all threads that are at work."""


class Shape(NamedTuple):
    """How many passages a publication has, and how many of them are of its texts without parts, which come first."""

    short: int
    total: int


class IndexedTexts(NamedTuple):
    """What is indexed of a publication: the words of each of its units, see `unit_of`; and its layout, if known."""

    shape: Shape
    words: Mapping[str, HashedWords]
    layout: Layout | None = None

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

    def shape(self, id: str) -> Shape | None:
        """The shape of publication `id`, None for an unknown one."""
        return self._shapes.get(id)

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


DERIVED = 3
"""Increase this when passages, stems, keys or this format change within a version."""


def indexed(
    items: Sequence[KeptItem],
    texts: Mapping[str, IndexedTexts],
    keys: Mapping[str, Collection[LookupKey]],
    model: str,
) -> bytes:
    """What `KeptIndex.of` reads: these items, and what is derived from them, serialized: a line of JSON, then the
    hashed words of all units, and how often each occurs."""
    rows: list[object] = []
    flat: list[HashedWords] = []
    for item in items:
        id, some = item.publication.id, texts[item.publication.id]
        units = [(split_unit(unit)[1], one.total, len(one.counts) // 4) for unit, one in some.words.items()]
        rows.append((id, item.written, some.shape, list(keys[id]), units))
        flat += some.words.values()
    counts = np.frombuffer(b"".join(one.counts for one in flat), np.uint32)
    kind = np.min_scalar_type(int(counts.max(initial=0)))
    head = {"origin": _origin(model), "rows": rows, "words": len(counts), "counts": kind.str}
    hashes = b"".join(one.hashes for one in flat)
    return b"".join((json.dumps(head).encode(), b"\n", hashes, counts.astype(kind).tobytes()))


@dataclass
class KeptIndex:
    """What is known of each publication, by id.

    Attributes:
        ids: those of which anything is known, and when each was written.
    """

    ids: dict[str, int] = field(default_factory=dict[str, int])
    _texts: dict[str, IndexedTexts] = field(default_factory=dict[str, IndexedTexts])
    _keys: dict[str, Collection[LookupKey]] = field(default_factory=dict[str, Collection[LookupKey]])

    @classmethod
    def of(cls, space: Space) -> Self:
        """What `space` has kept; nothing if that is damaged or of another version."""
        try:
            line, _, body = space.index().partition(b"\n")
            head = json.loads(line)
            if head["origin"] == _origin(space.info.model):
                return cls._read(head, memoryview(body))
        except (ArithmeticError, LookupError, MemoryError, RecursionError, TypeError, ValueError):
            pass
        return cls()

    @classmethod
    def _read(cls, head: Mapping[str, Any], body: memoryview) -> Self:
        found, start, size = cls(), 0, int(head["words"])
        counts = memoryview(np.frombuffer(body[8 * size :], head["counts"]).astype(np.uint32).tobytes())
        for id, written, shape, keys, units in head["rows"]:
            words: dict[str, HashedWords] = {}
            for part, total, length in units:
                end = start + length
                unit = unit_of(id, part, shape[0]) if part >= 0 else id
                words[unit] = HashedWords(body[8 * start : 8 * end], counts[4 * start : 4 * end], total)
                start = end
            found.ids[id], found._texts[id] = written, IndexedTexts(Shape(*shape), words)
            found._keys[id] = [(kind, value) for kind, value in keys]
        if not start == size == len(counts) // 4:
            raise ValueError("of different lengths")
        return found

    def texts(self, item: KeptItem) -> IndexedTexts | None:
        """What is indexed of an item; None if that is not known."""
        return self._texts[item.publication.id] if self._knows(item) else None

    def keys(self, item: KeptItem) -> Collection[LookupKey] | None:
        """What an item's members can be looked up by; None if that is not known."""
        return self._keys[item.publication.id] if self._knows(item) else None

    def _knows(self, item: KeptItem) -> bool:
        return self.ids.get(item.publication.id) == item.written


def _origin(model: str) -> list[object]:
    return [DERIVED, __version__, model]
