"""BM25 over stemmed words, kept in step with a session as it grows.

The scores are those of bm25s with its default method ("lucene", after Kamphuis et al., ECIR 2020). bm25s itself
precomputes all scores, so that one new document means all of them again (half a second at 10,000 abstracts); here the
postings are kept, and a query scores its few terms on the fly.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log1p
from typing import Protocol
from zlib import crc32

import numpy as np
import Stemmer
from bm25s.stopwords import STOPWORDS_EN  # pyright: ignore[reportMissingTypeStubs]
from numpy.typing import NDArray

K1 = 1.2
B = 0.75
MERGE_AT = 20_000
"""Postings that are searched unsorted before they are merged with the sorted ones."""


class _Stemmer(Protocol):
    def stemWords(self, words: list[str], /) -> list[str]: ...


_WORD = re.compile(r"\w+")
_STOP_WORDS = frozenset(STOPWORDS_EN)
_stemmer: _Stemmer = Stemmer.Stemmer("english")  # pyright: ignore  # comes without types
_stemming = threading.Lock()


@dataclass(frozen=True, slots=True)
class Words:
    """A text's words as the index keeps them: the hash of each stem, and how often it occurs."""

    terms: NDArray[np.uint32]
    counts: NDArray[np.uint16]
    length: int


def words_of(text: str) -> Words:
    """The stems of a text without English stop words; IC₅₀ is IC50."""
    plain = unicodedata.normalize("NFKC", text).lower()
    words = [word for word in _WORD.findall(plain) if word not in _STOP_WORDS]
    with _stemming:
        stems = _stemmer.stemWords(words)
    counts = Counter(stems)
    return Words(
        np.fromiter((crc32(stem.encode()) for stem in counts), np.uint32, len(counts)),
        np.minimum(np.fromiter(counts.values(), np.int64, len(counts)), 65_535).astype(np.uint16),
        len(stems),
    )


@dataclass(frozen=True, slots=True)
class LexicalScores:
    """BM25 of a query's words, scaled by the most that any document could reach, so that it lies in 0..1.

    Attributes:
        terms: how many different words the query has.
    """

    _scores: NDArray[np.float32]
    _coverage: NDArray[np.float32]
    _ids: Sequence[str]
    _slots: Mapping[str, int]
    terms: int

    def top(self, limit: int, only: Iterable[str] | None = None) -> dict[str, float]:
        """At most `limit` documents (of `only`, when given) that share a word with the query, best first."""
        scores = self._scores
        if only is not None:
            allowed = np.zeros(len(scores), np.bool_)
            slots = (self._slots.get(document, len(scores)) for document in only)
            allowed[[slot for slot in slots if slot < len(scores)]] = True  # others came after the scoring
            scores = np.where(allowed, scores, 0.0)
        found = np.flatnonzero(scores > 0)
        if len(found) > limit:
            found = found[np.argpartition(-scores[found], limit - 1)[:limit]]
        best = found[np.argsort(-scores[found], kind="stable")]
        return {self._ids[int(slot)]: float(scores[slot]) for slot in best}

    def of(self, document: str) -> float:
        """The score of one document, 0.0 when it is unknown."""
        return self._at(self._scores, document)

    def coverage(self, document: str) -> float:
        """Which part of the query's words, weighed by their rarity, a document has: 0..1."""
        return self._at(self._coverage, document)

    def _at(self, values: NDArray[np.float32], document: str) -> float:
        slot = self._slots.get(document, len(values))
        return float(values[slot]) if slot < len(values) else 0.0


class LexicalIndex:
    """The postings of one session. Not thread-safe."""

    def __init__(self) -> None:
        self._slots: dict[str, int] = {}
        self._ids: list[str] = []
        self._lengths = np.zeros(64, np.float32)
        self._alive = np.zeros(64, np.bool_)
        self._words = 0
        self._norms: NDArray[np.float32] | None = None
        self._sorted = _Postings()
        self._recent: list[_Postings] = []
        self._recent_size = 0

    def __len__(self) -> int:
        return len(self._slots)

    def add(self, document: str, words: Words) -> None:
        """Index `document` under its words, in place of earlier ones."""
        self.remove(document)
        self._norms = None
        slot = len(self._ids)
        if slot == len(self._lengths):
            self._lengths = np.concatenate([self._lengths, np.zeros_like(self._lengths)])
            self._alive = np.concatenate([self._alive, np.zeros_like(self._alive)])
        self._ids.append(document)
        self._slots[document] = slot
        self._lengths[slot], self._alive[slot] = words.length, True
        self._words += words.length
        self._recent.append(_Postings(words.terms, np.full(len(words.terms), slot, np.int32), words.counts))
        self._recent_size += len(words.terms)
        if self._recent_size > max(MERGE_AT, len(self._sorted.terms) // 8):
            self._merge()

    def remove(self, document: str) -> None:
        """Forget `document`, if it is known."""
        slot = self._slots.pop(document, None)
        if slot is not None:
            self._alive[slot] = False
            self._norms = None
            self._words -= int(self._lengths[slot])

    def score(self, query: str) -> LexicalScores:
        """How well every document matches the query's words."""
        words = words_of(query)
        scores, coverage = np.zeros((2, len(self._ids)), np.float32)
        norms = self._length_norms()
        if len(self._recent) > 1:
            self._recent = [_Postings.joined(self._recent)]
        ceiling = 0.0
        for term, weight in zip(words.terms, words.counts.tolist(), strict=True):
            slots, counts = self._occurrences(term)
            idf = weight * log1p((len(self._slots) - len(slots) + 0.5) / (len(slots) + 0.5))
            scores[slots] += idf * counts / (counts + norms[slots])
            coverage[slots] += idf
            ceiling += idf
        ceiling = ceiling or 1.0
        return LexicalScores(scores / ceiling, coverage / ceiling, self._ids, self._slots, len(words.terms))

    def _length_norms(self) -> NDArray[np.float32]:
        """How much each document's length damps the counts of its words."""
        if self._norms is None:
            mean = max(self._words / max(len(self._slots), 1), 1.0)
            self._norms = (K1 * (1 - B) + K1 * B / mean * self._lengths[: len(self._ids)]).astype(np.float32)
        return self._norms

    def _occurrences(self, term: np.uint32) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """In which documents a term occurs, and how often."""
        first = np.searchsorted(self._sorted.terms, term, side="left")
        last = np.searchsorted(self._sorted.terms, term, side="right")
        slots, counts = self._sorted.slots[first:last], self._sorted.counts[first:last]
        for recent in self._recent:
            new = np.flatnonzero(recent.terms == term)
            slots, counts = np.concatenate([slots, recent.slots[new]]), np.concatenate([counts, recent.counts[new]])
        if len(self._slots) < len(self._ids):
            living = self._alive[slots]
            slots, counts = slots[living], counts[living]
        return slots, counts.astype(np.float32)

    def _merge(self) -> None:
        everything = _Postings.joined([self._sorted, *self._recent])
        living = self._alive[everything.slots]
        order = np.flatnonzero(living)
        order = order[np.argsort(everything.terms[order], kind="stable")]
        self._sorted = _Postings(everything.terms[order], everything.slots[order], everything.counts[order])
        self._recent, self._recent_size = [], 0


class _Postings:
    """Which term occurs in which document (by slot), and how often: three columns."""

    __slots__ = ("counts", "slots", "terms")

    def __init__(
        self,
        terms: NDArray[np.uint32] | None = None,
        slots: NDArray[np.int32] | None = None,
        counts: NDArray[np.uint16] | None = None,
    ) -> None:
        self.terms = np.zeros(0, np.uint32) if terms is None else terms
        self.slots = np.zeros(0, np.int32) if slots is None else slots
        self.counts = np.zeros(0, np.uint16) if counts is None else counts

    @classmethod
    def joined(cls, parts: list[_Postings]) -> _Postings:
        if not parts:
            return cls()
        return cls(
            np.concatenate([part.terms for part in parts]),
            np.concatenate([part.slots for part in parts]),
            np.concatenate([part.counts for part in parts]),
        )
