"""The texts of a session: how each publication is divided into passages, and in which of them a word occurs.

What is derived from the texts is cached in the session's file, so that a session opens quickly. A cached row is used if
its item has not been written since, and if the version of this server that derived it would derive the same today.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from deepcritical_mcp._version import __version__
from deepcritical_mcp.evidence.chunking import Passage, indexed_text, long_passages, passages, short_passages
from deepcritical_mcp.evidence.clustering import LookupKey
from deepcritical_mcp.evidence.lexical import HashedWords, LexicalIndex, LexicalScores, Scores
from deepcritical_mcp.evidence.paper_passages import standings
from deepcritical_mcp.models import NO_ABSTRACT, Publication
from deepcritical_mcp.text import words_of

_PART = "\n"


@dataclass(slots=True)
class Layout:
    """How a publication is divided: into `total` passages, of which the first `short` are those of its texts without
    parts; of the others, their standings (see `paper_passages.standings`)."""

    publication: Publication
    short: int
    total: int
    standings: Sequence[float]
    _passages: Sequence[Passage] | None = None

    @property
    def is_bare(self) -> bool:
        """Whether there is only a title."""
        return all(text.content == NO_ABSTRACT for text in self.publication.texts)

    @property
    def passages(self) -> Sequence[Passage]:
        """All of them."""
        if self._passages is None:
            self._passages = tuple(passages(self.publication))
        return self._passages

    @classmethod
    def of(cls, publication: Publication) -> Layout:
        """The layout of a publication's present texts."""
        short, long = short_passages(publication), [*long_passages(publication)]
        return cls(publication, len(short), len(short) + len(long), standings(long), (*short, *long))


class WordScores(NamedTuple):
    """How well publications as wholes, by id, and passages of long texts, by `unit_of`, match a query by words."""

    wholes: LexicalScores
    passages: LexicalScores

    def at(self, units: Sequence[str]) -> tuple[Scores, Scores]:
        """See `LexicalScores.at`."""
        (scores, coverage), (others, more) = self.wholes.at(units), self.passages.at(units)
        return scores + others, coverage + more

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


class IndexedTexts(NamedTuple):
    """What is indexed of a publication: the words of each of its units, see `unit_of`; and what its members can be
    looked up by, if known."""

    layout: Layout
    words: Mapping[str, HashedWords]
    keys: Collection[LookupKey] | None = None

    @classmethod
    def of(cls, publication: Publication) -> IndexedTexts:
        """Read a publication's present texts."""
        with _reading:
            layout, whole = Layout.of(publication), indexed_text(publication)
            words = {publication.id: HashedWords.of(words_of(whole))} if whole else {}
            for part, passage in enumerate(layout.passages[layout.short :], start=layout.short):
                words[unit_of(publication.id, part, layout.short)] = HashedWords.of(words_of(passage.content))
        return cls(layout, words)


class TextIndex:
    """Layouts and words of publications, by id. Not thread-safe."""

    def __init__(self) -> None:
        self.layouts: dict[str, Layout] = {}
        self._units: dict[str, tuple[str, ...]] = {}
        self.wholes = LexicalIndex()
        self.passages = LexicalIndex(b=0.0)

    def put(self, id: str, texts: IndexedTexts) -> None:
        """Set the texts of publication `id`."""
        self.remove(id)
        self.layouts[id], self._units[id] = texts.layout, tuple(texts.words)
        for unit, words in texts.words.items():
            self._of(unit).enter(unit, words)

    def remove(self, id: str) -> None:
        """Forget the texts of publication `id`."""
        for unit in self._units.pop(id, ()):
            self._of(unit).remove(unit)
        self.layouts.pop(id, None)

    def texts(self, id: str) -> IndexedTexts:
        """What was put under `id`."""
        return IndexedTexts(self.layouts[id], {unit: self._of(unit).words_at(unit) for unit in self._units[id]})

    def _of(self, unit: str) -> LexicalIndex:
        return self.passages if is_passage(unit) else self.wholes


_ORIGIN = [5, __version__]
"""Increase the number when passages, stems, keys or this format change within a version."""


def packed_texts(texts: IndexedTexts, keys: Collection[LookupKey]) -> bytes:
    """What is indexed of an item, and what its members can be looked up by, serialized."""
    units = [
        (split_unit(unit)[1], one.total, base64.b64encode(one.hashes).decode(), base64.b64encode(one.counts).decode())
        for unit, one in texts.words.items()
    ]
    layout = texts.layout
    return json.dumps([_ORIGIN, layout.short, layout.total, layout.standings, list(keys), units]).encode()


def unpacked_texts(publication: Publication, data: bytes) -> IndexedTexts | None:
    """What `packed_texts` serialized of a publication; None if that was another version."""
    row = json.loads(data)
    if row[0] != _ORIGIN:
        return None
    _, short, total, standings, keys, units = row
    words = {
        unit_of(publication.id, part, short): HashedWords(base64.b64decode(hashes), base64.b64decode(counts), length)
        for part, length, hashes, counts in units
    }
    return IndexedTexts(Layout(publication, short, total, standings), words, [(kind, value) for kind, value in keys])
