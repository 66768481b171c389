"""BM25 over stemmed words, for a session that grows.

The formula is Lucene's variant of BM25 (Kamphuis et al., ECIR 2020). Scores are computed when a query comes, from the
postings of its few terms: precomputed ones would all change with every document that is added.
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
from numpy.typing import NDArray

STOP_WORDS = frozenset(
    """
    a an the this that these those
    he she it they we you his her its their our your him them
    is are was were be been being am do does did has have had will would shall should could might must
    of in on at by for from to into with as
    and or but if then so
    which what when where how there here such
    """.split()
)
"""English function words, which are not indexed. Indexed are negations, words that relate what is compared (than,
between, during), and words that are also names or abbreviations in medicine: WHO, US, ALL, CAN, I."""
K1 = 1.2
B = 0.75
SORT_AT = 20_000
"""Number of unsorted postings that forces a sort before the next search does."""


class SnowballStemmer(Protocol):
    """What we use of PyStemmer, which has no type hints. Not thread-safe."""

    def stemWords(self, words: list[str], /) -> list[str]: ...


_WORD = re.compile(r"\w+")
_stemmer: SnowballStemmer = Stemmer.Stemmer("english")  # pyright: ignore  # no type hints
_stemming = threading.Lock()


@dataclass(frozen=True, slots=True)
class Words:
    """A text's words as the index keeps them.

    Attributes:
        terms: the hash of each different stem.
        counts: how often each occurs.
        length: number of words.
    """

    terms: NDArray[np.uint32]
    counts: NDArray[np.uint16]
    length: int


def words_of(text: str) -> Words:
    """The stems of a text, without stop words. IC₅₀ is read as IC50."""
    plain = unicodedata.normalize("NFKC", text).lower()
    words = [word for word in _WORD.findall(plain) if word not in STOP_WORDS]
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
    """The BM25 scores of all documents for one query, divided by the highest possible score, so in 0..1.

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
            allowed[[slot for slot in slots if slot < len(scores)]] = True  # the others were added later
            scores = np.where(allowed, scores, 0.0)
        found = np.flatnonzero(scores > 0)
        if len(found) > limit:
            found = found[np.argpartition(-scores[found], limit - 1)[:limit]]
        best = found[np.argsort(-scores[found], kind="stable")]
        return {self._ids[int(slot)]: float(scores[slot]) for slot in best}

    def at(self, document: str) -> tuple[float, float]:
        """The score of a document and its coverage, the share of the query's words that it has, weighted by their
        rarity. Both are in 0..1, and 0.0 for an unknown document."""
        slot = self._slots.get(document, len(self._scores))
        if slot >= len(self._scores):
            return 0.0, 0.0
        return float(self._scores[slot]), float(self._coverage[slot])


class LexicalIndex:
    """The postings of one session. Not thread-safe.

    They are kept in a few sorted segments, each at least twice as long as the next, so that adding sorts few postings
    and a lookup searches few segments.
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
        """Index `document` under its words; replaces earlier ones."""
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
        """Remove `document`, if it is indexed."""
        slot = self._slots.pop(document, None)
        if slot is not None:
            self._alive[slot] = False
            self._words -= int(self._lengths[slot])
            self._norms = None

    def score(self, query: str) -> LexicalScores:
        """Score every document for a query."""
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
        """BM25's length normalisation: what is added to a word's count in the denominator, per document."""
        if self._norms is None:
            mean = max(self._words / max(len(self._slots), 1), 1.0)
            self._norms = (K1 * (1 - B) + K1 * B / mean * self._lengths[: len(self._ids)]).astype(np.float32)
        return self._norms

    def _occurrences(
        self, terms: NDArray[np.uint32]
    ) -> tuple[NDArray[np.intp], NDArray[np.int32], NDArray[np.float32]]:
        """Every posting of the terms, as three columns: index into `terms`, slot of the document, count."""
        found = [segment.of(terms) for segment in self._segments or [_NOTHING]]
        which = np.concatenate([part for part, _ in found])
        slots = np.concatenate([part.slots for _, part in found])
        counts = np.concatenate([part.counts for _, part in found]).astype(np.float32)
        if len(self._slots) == len(self._ids):
            return which, slots, counts
        living = self._alive[slots]
        return which[living], slots[living], counts[living]

    def _sort(self) -> None:
        """Make a segment of the unsorted postings, merged with the segments less than twice as long."""
        merged = _Postings.joined(self._unsorted)
        while self._segments and len(self._segments[-1]) < 2 * len(merged):
            merged = _Postings.joined([self._segments.pop(), merged])
        self._segments.append(merged.sorted(self._alive))
        self._unsorted, self._unsorted_size = [], 0


@dataclass(frozen=True, slots=True)
class _Postings:
    """Which term occurs in which document (by slot) and how often, as three columns."""

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
        """Sorted by term, without removed documents."""
        order = np.flatnonzero(alive[self.slots])
        order = order[np.argsort(self.terms[order], kind="stable")]
        return _Postings(self.terms[order], self.slots[order], self.counts[order])

    def of(self, terms: NDArray[np.uint32]) -> tuple[NDArray[np.intp], _Postings]:
        """The postings of these terms, and the index into `terms` of each; self must be sorted."""
        first, last = (np.searchsorted(self.terms, terms, side=side) for side in ("left", "right"))
        which = np.repeat(np.arange(len(terms)), last - first)
        starts = first - np.cumsum(last - first) + (last - first)
        places = np.arange(len(which)) + starts[which]
        return which, _Postings(self.terms[places], self.slots[places], self.counts[places])


_NOTHING = _Postings(np.zeros(0, np.uint32), np.zeros(0, np.int32), np.zeros(0, np.uint16))
