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
from typing import Any, Protocol
from zlib import crc32

import numpy as np
import Stemmer
from bm25s.stopwords import STOPWORDS_EN  # pyright: ignore[reportMissingTypeStubs]
from numpy.typing import NDArray

K1 = 1.2
B = 0.75
SORT_AT = 20_000
"""Postings that wait unsorted for the next search."""


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

    _scores: NDArray[Any]
    _coverage: NDArray[Any]
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

    def at(self, document: str) -> tuple[float, float]:
        """The score of one document, and which part of the query's words, weighed by their rarity, it has: both in
        0..1, and 0.0 when it is unknown."""
        slot = self._slots.get(document, len(self._scores))
        if slot >= len(self._scores):
            return 0.0, 0.0
        return float(self._scores[slot]), float(self._coverage[slot])


class LexicalIndex:
    """The postings of one session. Not thread-safe.

    They lie in a few sorted segments, each at least twice as long as the next, so that adding sorts little and finding
    a term looks at little.
    """

    def __init__(self) -> None:
        self._slots: dict[str, int] = {}
        self._ids: list[str] = []
        self._lengths = np.zeros(64, np.float32)
        self._alive = np.zeros(64, np.bool_)
        self._words = 0
        self._norms: NDArray[np.float32] | None = None
        self._segments: list[_Postings] = []
        self._unsorted: list[_Postings] = []
        self._unsorted_size = 0

    def __len__(self) -> int:
        return len(self._slots)

    def add(self, document: str, words: Words) -> None:
        """Index `document` under its words, in place of earlier ones."""
        self.remove(document)
        slot = len(self._ids)
        if slot == len(self._lengths):
            self._lengths = np.concatenate([self._lengths, np.zeros_like(self._lengths)])
            self._alive = np.concatenate([self._alive, np.zeros_like(self._alive)])
        self._ids.append(document)
        self._slots[document] = slot
        self._lengths[slot], self._alive[slot] = words.length, True
        self._words += words.length
        self._norms = None
        self._unsorted.append(_Postings(words.terms, np.full(len(words.terms), slot, np.int32), words.counts))
        self._unsorted_size += len(words.terms)
        if self._unsorted_size > SORT_AT:
            self._sort()

    def remove(self, document: str) -> None:
        """Forget `document`, if it is known."""
        slot = self._slots.pop(document, None)
        if slot is not None:
            self._alive[slot] = False
            self._words -= int(self._lengths[slot])
            self._norms = None

    def score(self, query: str) -> LexicalScores:
        """How well every document matches the query's words."""
        words = words_of(query)
        if self._unsorted:
            self._sort()
        terms, slots, counts = self._occurrences(words.terms)
        total, weights = len(self._slots), words.counts.astype(np.float64)
        frequencies = np.bincount(terms, minlength=len(weights))
        rarities = weights * np.log1p((total - frequencies + 0.5) / (frequencies + 0.5))
        shares = (rarities / max(rarities.sum(), 1e-9))[terms]
        parts = shares * counts / (counts + self._length_norms()[slots])
        scores, coverage = (np.bincount(slots, values, len(self._ids)) for values in (parts, shares))
        return LexicalScores(scores, coverage, self._ids, self._slots, len(weights))

    def _length_norms(self) -> NDArray[np.float32]:
        """How much each document's length damps the counts of its words."""
        if self._norms is None:
            mean = max(self._words / max(len(self._slots), 1), 1.0)
            self._norms = (K1 * (1 - B) + K1 * B / mean * self._lengths[: len(self._ids)]).astype(np.float32)
        return self._norms

    def _occurrences(
        self, terms: NDArray[np.uint32]
    ) -> tuple[NDArray[np.intp], NDArray[np.int32], NDArray[np.float32]]:
        """Every occurrence of a term in a document: which of the terms, the document's slot, how often."""
        found = [segment.of(terms) for segment in self._segments or [_NOTHING]]
        which = np.concatenate([part for part, _ in found])
        slots = np.concatenate([part.slots for _, part in found])
        counts = np.concatenate([part.counts for _, part in found]).astype(np.float32)
        if len(self._slots) == len(self._ids):
            return which, slots, counts
        living = self._alive[slots]
        return which[living], slots[living], counts[living]

    def _sort(self) -> None:
        """Make a segment of what is unsorted, together with segments not twice as long."""
        merged = _Postings.joined(self._unsorted)
        while self._segments and len(self._segments[-1]) < 2 * len(merged):
            merged = _Postings.joined([self._segments.pop(), merged])
        self._segments.append(merged.sorted(self._alive))
        self._unsorted, self._unsorted_size = [], 0


@dataclass(frozen=True, slots=True)
class _Postings:
    """Which term occurs in which document (by slot), and how often: three columns."""

    terms: NDArray[np.uint32]
    slots: NDArray[np.int32]
    counts: NDArray[np.uint16]

    @classmethod
    def joined(cls, parts: Sequence[_Postings]) -> _Postings:
        return cls(
            np.concatenate([part.terms for part in parts]),
            np.concatenate([part.slots for part in parts]),
            np.concatenate([part.counts for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.terms)

    def sorted(self, alive: NDArray[np.bool_]) -> _Postings:
        """By term, without those of documents that are gone."""
        order = np.flatnonzero(alive[self.slots])
        order = order[np.argsort(self.terms[order], kind="stable")]
        return _Postings(self.terms[order], self.slots[order], self.counts[order])

    def of(self, terms: NDArray[np.uint32]) -> tuple[NDArray[np.intp], _Postings]:
        """The postings of these terms, and to which of them each belongs; self must be sorted."""
        first, last = (np.searchsorted(self.terms, terms, side=side) for side in ("left", "right"))
        which = np.repeat(np.arange(len(terms)), last - first)
        starts = first - np.cumsum(last - first) + (last - first)
        places = np.arange(len(which)) + starts[which]
        return which, _Postings(self.terms[places], self.slots[places], self.counts[places])


_NOTHING = _Postings(np.zeros(0, np.uint32), np.zeros(0, np.int32), np.zeros(0, np.uint16))
