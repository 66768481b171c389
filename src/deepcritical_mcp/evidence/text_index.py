"""The texts of a session: how each publication is divided into passages, in which of them a word occurs, and how they
rank: by BM25 over stemmed words, by words and meaning together, and by their place in a paper.

The formula is Lucene's variant of BM25 (Kamphuis et al., ECIR 2020). Scores are computed at query time, from the
postings of its few terms: precomputed scores would all change with every added document.
What is derived from the texts is cached in the session's file, so that a session opens quickly. A cached row is used if
its item has not been written since, and if the version of this server that derived it would derive the same today.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deepcritical_mcp._version import __version__
from deepcritical_mcp.evidence.chunking import Passage, indexed_text, long_passages, passages, short_passages
from deepcritical_mcp.evidence.clustering import LookupKey
from deepcritical_mcp.excerpts import has_figures
from deepcritical_mcp.models import NO_ABSTRACT, Publication
from deepcritical_mcp.text import words_of

Scores = NDArray[Any]

K1 = 1.2
B = 0.75
"""How much the length of a document counts, for abstracts and notes."""
SCANNED = 10_000
"""Latest postings that are searched one by one; more are entered into the order of all."""
STRICTNESS = 3.0
"""How strongly a document is penalized for having only some of a short query's words."""


@dataclass(frozen=True, slots=True)
class LexicalScores:
    """The BM25 scores of all documents for one query, divided by the highest possible score, so in 0..1.

    Attributes:
        terms: number of distinct words in the query.
    """

    _scores: Scores
    _coverage: Scores
    _ids: Sequence[str]
    _slots: Mapping[str, int]
    terms: int

    def top(self, limit: int, only: Iterable[str] | None = None) -> dict[str, float]:
        """At most `limit` documents (of `only`, if given) that share a word with the query, best first."""
        scores = self._scores
        if only is not None:
            allowed, scores = self._places(only), np.zeros(len(scores))
            scores[allowed] = self._scores[allowed]
        found = np.flatnonzero(scores > 0)
        if len(found) > limit:
            found = found[np.argpartition(-scores[found], limit - 1)[:limit]]
        best = found[np.argsort(-scores[found], kind="stable")]
        return {self._ids[int(slot)]: float(scores[slot]) for slot in best}

    def at(self, documents: Iterable[str]) -> tuple[Scores, Scores]:
        """The scores of documents and their coverage, the share of the query's words that each has, weighted by their
        rarity. All are in 0..1, and 0.0 for an unknown document."""
        places = self._places(documents)
        return self._scores[places], self._coverage[places]

    def _places(self, documents: Iterable[str]) -> NDArray[np.intp]:
        """Where documents stand; unknown ones, and those that were added later, at the end, where all is 0."""
        end = len(self._scores) - 1
        return np.minimum(np.array([self._slots.get(one, end) for one in documents], np.intp), end)


def hybrid_scores(cosines: Sequence[Any], lexical: Scores, coverage: Scores, terms: int, words_weight: float) -> Scores:
    """The relevance of documents to a query with `terms` different words: a weighted sum of cosine and scaled BM25.

    One stray word must not outrank a close meaning: the fewer words the query has, the less they weigh, and the more
    `coverage` counts, the share of them that the document has. On MED and PubMedQA, whole and in sessions of 20 to 200
    items, this beats reciprocal rank fusion throughout (mean nDCG@10 90.6 against 88.4), because ranks
    cannot tell a weak word match from a close meaning. `words_weight` is that of the model's `Calibration`.
    """
    known = np.asarray(cosines, np.float64)
    if not terms:
        return known
    weight = words_weight * terms / (terms + 1)
    return (1 - weight) * known + weight * lexical * coverage ** (STRICTNESS / terms)


@lru_cache(16_384)
def _hashed(word: str) -> int:
    """A number for a word, the same in every process, unlike Python's own: indexes are kept."""
    return int.from_bytes(hashlib.blake2b(word.encode(errors="replace"), digest_size=8).digest(), "little", signed=True)


class HashedWords(NamedTuple):
    """The words of a text, hashed (8 bytes each), how often each occurs (4 bytes each), and how many there are."""

    hashes: bytes | memoryview
    counts: bytes | memoryview
    total: int

    @classmethod
    def of(cls, words: Counter[str]) -> HashedWords:
        """The words that `words_of` found."""
        return cls(array("q", map(_hashed, words)).tobytes(), array("I", words.values()).tobytes(), words.total())


class LexicalIndex:
    """The postings of one session: hashed words, the documents (as slots) that have them, and how often, in three long
    columns, because an array for each word would take six times the memory. Not thread-safe.

    Args:
        b: BM25's parameter, how much the length of a document counts, 0..1; 0 for passages of one length.
    """

    def __init__(self, b: float = B) -> None:
        self._b = b
        self._slots: dict[str, int] = {}
        self._ids: list[str] = []
        self._lengths = array("f")
        self._starts = array("Q")
        self._alive = array("b")
        self._words = 0
        self._hashes = array("q")
        self._slots_of = array("I")
        self._counts = array("I")
        self._sorted: NDArray[np.int64] = np.zeros(0, np.int64)
        self._order: NDArray[np.uint32] = np.zeros(0, np.uint32)

    def __len__(self) -> int:
        return len(self._slots)

    def add(self, document: str, words: Counter[str]) -> None:
        """Index `document` under its words; replaces earlier ones."""
        self.enter(document, HashedWords.of(words))

    def enter(self, document: str, words: HashedWords) -> None:
        """Index `document` under its words, hashed; replaces earlier ones."""
        self.remove(document)
        slot = self._slots[document] = len(self._ids)
        self._ids.append(document)
        self._lengths.append(words.total)
        self._alive.append(True)
        self._words += words.total
        self._starts.append(len(self._hashes))
        self._hashes.frombytes(words.hashes)
        self._counts.frombytes(words.counts)
        self._slots_of.extend(array("I", (slot,)) * (len(self._hashes) - len(self._slots_of)))

    def words_at(self, document: str) -> HashedWords:
        """What a document was indexed under."""
        slot = self._slots[document]
        start = self._starts[slot]
        end = self._starts[slot + 1] if slot + 1 < len(self._starts) else len(self._hashes)
        return HashedWords(
            self._hashes[start:end].tobytes(), self._counts[start:end].tobytes(), int(self._lengths[slot])
        )

    def remove(self, document: str) -> None:
        """Forget `document`."""
        if (earlier := self._slots.pop(document, None)) is not None:
            self._alive[earlier] = False
            self._words -= int(self._lengths[earlier])

    def score(self, query: str) -> LexicalScores:
        """Score every document for a query."""
        words, total, size = words_of(query), len(self._slots), len(self._ids) + 1
        # No view of a column may be kept: the column cannot grow as long as there is one.
        postings = self._postings([*map(_hashed, words)])
        at, slots = np.concatenate([self._order[:0], *postings]), np.asarray(self._slots_of)
        living = np.asarray(self._alive).astype(np.bool_)[slots[at]]
        numbers, at = np.repeat(np.arange(len(words)), [*map(len, postings)])[living], at[living]
        slots, counts = slots[at], np.asarray(self._counts)[at].astype(np.float64)
        having = np.bincount(numbers, minlength=len(words))
        rarities = np.array([*words.values()]) * np.log1p((total - having + 0.5) / (having + 0.5))
        shares = (rarities / max(sum(rarities.tolist()), 1e-9))[numbers]
        # BM25's length normalization: what is added to a word's count in the denominator, per document.
        lengths = np.asarray(self._lengths)[slots] / max(self._words / max(total, 1), 1.0)
        norms = K1 * (1 - self._b + self._b * lengths)
        scores = np.bincount(slots, shares * counts / (counts + norms), size)
        return LexicalScores(scores, np.bincount(slots, shares, size), self._ids, self._slots, len(words))

    def _postings(self, words: Sequence[int]) -> list[NDArray[np.uint32]]:
        """Where the postings of each hashed word are, in order: most of them are looked up, the latest are searched."""
        known = len(self._order)
        latest = np.asarray(self._hashes)[known:]
        if len(latest) > SCANNED:
            order = np.argsort(latest, kind="stable")
            places = np.searchsorted(self._sorted, latest[order], "right")
            self._order = np.insert(self._order, places, (order + known).astype(np.uint32))
            self._sorted = np.insert(self._sorted, places, latest[order])
            known, latest = len(self._order), latest[:0]
        starts, ends = (np.searchsorted(self._sorted, words, side) for side in ("left", "right"))
        recent = [(np.flatnonzero(latest == word) + known).astype(np.uint32) for word in words]
        return [np.concatenate((self._order[a:b], some)) for a, b, some in zip(starts, ends, recent, strict=True)]


def scores_among(texts: Iterable[str], query: str, b: float = B) -> LexicalScores:
    """The scores of some texts, under their numbers, for a query: rarity is counted among them."""
    index = LexicalIndex(b)
    for number, text in enumerate(texts):
        index.add(str(number), words_of(text))
    return index.score(query)


REPORTS, PREPARES, FIGURES = 0.1, -0.15, 0.05
"""Added to the score of a passage, which is in 0..1. bench/passages.py, on half of the papers of Evidence Inference:
within 1,500 characters the answer of 95 instead of 78 % of the questions."""
OF_A_WHOLE = REPORTS + FIGURES
"""The same for an abstract or a note as a whole."""
OTHER_QUANTITY = -0.03
"""For each quantity of the question for which a passage has only other values with the same unit."""

_REPORTING = re.compile(
    r"result|finding|outcome|conclusion|efficacy|safety|effect|adverse|abstract|key (?:message|point)", re.I
)
_PREPARING = re.compile(
    r"method|material|introduction|background|eligib|criteria|design|patients and|subjects and|statistic|procedure"
    r"|participants|recruit|sample size|randomi[sz]ation|setting|ethic|funding|acknowledg|interests|conflict|contribut"
    r"|abbreviation|data analys|supplement|availability",
    re.I,
)
ABOUT_PREPARING = re.compile(
    r"method|eligib|criteri|protocol|blind|allocat|concealment|recruit|sample size|statistical|ethic|funded|funding"
    r"|sponsor|conflicts? of interest|questionnaire|\b(?:how|where|when) (?:was|were|did)\b|\bmeasured\b",
    re.I,
)
_QUANTITY = re.compile(r"(\d(?<![\w.,]\d)\d{0,8}(?:[.,]\d{1,9})?)[\s-]{0,2}([a-zµμ][a-z/]{0,9}|%)")


def priority(passage: Passage, question: str, known: float) -> float:
    """What is added to the score of a passage of a long text for a question; `known` is its standing."""
    asked, is_about_preparing = _asked(question)
    place = 0.0 if is_about_preparing else known
    text = passage.quotation.lower().replace("μ", "µ") if asked else ""
    if not any(unit in text for _, unit in asked):  # most passages have none of its units
        return place
    found = _quantities(text)
    others = {unit for _, unit in found}
    return place + OTHER_QUANTITY * sum(one not in found and one[1] in others for one in asked)


def standings(some: Iterable[Passage]) -> list[float]:
    """What the places and the figures of passages add, unless the question is how a study was prepared."""
    found: list[float] = []
    text, is_study = None, False
    for passage in some:
        if passage.text is not text:  # those of a text follow one another
            text = passage.text
            titles = " ".join({title for one in text.parts for title in one.path}).lower()
            # A review or a guideline reports in all of its sections.
            is_study = "method" in titles and ("result" in titles or "finding" in titles)
        place = section_standing((), passage.text.kind)
        if part := passage.part:
            place = section_standing(part.path, part.kind) if is_study else REPORTS
        found.append(place + FIGURES * has_figures(passage.quotation))
    return found


@lru_cache(64)
def _asked(question: str) -> tuple[frozenset[tuple[str, str]], bool]:
    """The quantities of a question, and whether it asks how a study was prepared."""
    return _quantities(question), ABOUT_PREPARING.search(question) is not None


@lru_cache(4_096)
def section_standing(path: tuple[str, ...], kind: str) -> float:
    """By the outermost title that says it; a table reports unless its section prepares."""
    for title in path:
        if _REPORTING.search(title):
            return REPORTS
        if _PREPARING.search(title):
            return PREPARES
    return REPORTS if kind in ("table", "abstract") else 0.0


@lru_cache(4_096)
def _quantities(text: str) -> frozenset[tuple[str, str]]:
    """The numbers with their units, of which the first letters count: "12 weeks" is "12-week"."""
    plain = text.lower().replace("μ", "µ")
    return frozenset((number.replace(",", "."), unit[:4]) for number, unit in _QUANTITY.findall(plain))


_PART = "\n"


@dataclass(slots=True)
class Layout:
    """How a publication is divided: into `total` passages, of which the first `short` are those of its texts without
    parts; of the others, their `standings`."""

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
