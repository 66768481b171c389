"""The texts of a session: how each publication is divided into passages, and in which of them a word occurs."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import NamedTuple

from deepcritical_mcp.evidence.lexical import HashedWords, LexicalIndex
from deepcritical_mcp.evidence.units import Layout, WordScores, is_passage, unit_of, words_in
from deepcritical_mcp.models import Publication

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
            layout = Layout.of(publication)
            words = {unit: HashedWords.of(some) for unit, some in words_in(publication, layout)}
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
