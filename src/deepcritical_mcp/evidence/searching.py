"""One search of a session, by meaning and by words. Blocks; runs in worker threads."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from deepcritical_mcp.evidence.catalogue import Catalogue, indexed_text
from deepcritical_mcp.evidence.chroma import Space
from deepcritical_mcp.evidence.lexical import LexicalIndex, LexicalScores, words_of
from deepcritical_mcp.evidence.ranking import hybrid_score, merge_wordings
from deepcritical_mcp.models import Evidence, Source

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.records import Vector

NEAREST = 100
"""Least number of passages that a search by meaning looks at."""
SHARING_WORDS = 30
"""Least number of pieces that a search by words looks at."""
SPARE = 20
"""Places ranked with care beyond those shown: some are folded, some only other wordings put in front."""


@dataclass(frozen=True)
class _Wording:
    """One wording of the question: its words' scores, its vector (None without a model), and the cosines found."""

    words: LexicalScores
    vector: NDArray[np.float32] | None
    cosines: dict[str, float]


class Search:
    """A search in one session, among the evidence of one source or of all (None)."""

    def __init__(self, space: Space, catalogue: Catalogue, source: Source | None = None) -> None:
        self._space = space
        self._catalogue = catalogue
        self._source: Source | None = source

    def best(
        self, wordings: Sequence[str], vectors: NDArray[np.float32] | None, limit: int, min_relevance: float
    ) -> list[Evidence]:
        """See `EvidenceStore.search_similar`; `vectors` are the wordings', None without a model."""
        asked = self._wordings(wordings, vectors, limit)
        ranking = merge_wordings([self._ranked(wording, limit + SPARE) for wording in asked])
        relevance = self._relevance(asked[0], ranking)
        chosen = [id for id in ranking if relevance[id] >= min_relevance]
        return self._shown(self._folded(chosen, limit), relevance)

    def has_vectors(self, id: str) -> bool:
        """Whether the session holds the vectors of that evidence."""
        return id in self._catalogue and self._catalogue[id].embedded

    def relevances(
        self, query: NDArray[np.float32], evidence: Sequence[Evidence], missing: Sequence[Sequence[Vector]]
    ) -> list[float]:
        """The similarity of each piece to `query`; `missing` are the vectors, in order, of those without any here."""
        kept = self._cosines(query, {piece.id for piece in evidence if self.has_vectors(piece.id)})
        others = iter(missing)
        cosines = [kept[piece.id] if piece.id in kept else _best_cosine(query, next(others)) for piece in evidence]
        return [_clipped(cosine) for cosine in cosines]

    def _wordings(self, texts: Sequence[str], vectors: NDArray[np.float32] | None, limit: int) -> list[_Wording]:
        words = [self._catalogue.by_words(text) for text in texts]
        passages = min(max(NEAREST, 2 * limit), self._catalogue.passages)
        if vectors is None or not passages:
            return [_Wording(some, None, {}) for some in words]
        where = {"source": self._source} if self._source else None
        found = self._space.nearest(list(vectors), passages, where)
        return [
            _Wording(some, vector, _best_passages(rows))
            for some, vector, rows in zip(words, vectors, found, strict=True)
        ]

    def _ranked(self, wording: _Wording, depth: int) -> list[str]:
        """One wording's ranking, exact to `depth`; its cosines are completed on the way."""
        only = self._catalogue.of_source(self._source) if self._source else None
        sharing = wording.words.top(max(SHARING_WORDS, depth), only)
        scores = _hybrid(wording, wording.cosines)
        if wording.vector is not None:
            far = {id: score for id, score in sharing.items() if id not in scores and self.has_vectors(id)}
            found = self._cosines(wording.vector, _hopeful(wording, far, scores, depth))
            wording.cosines.update(found)
            scores.update(_hybrid(wording, found))
        # What has no vector yet counts as near as its words say.
        scores.update(
            (id, score) for id, score in sharing.items() if wording.vector is None or not self.has_vectors(id)
        )
        return sorted(scores, key=lambda id: -scores[id])

    def _relevance(self, question: _Wording, ids: Sequence[str]) -> dict[str, float]:
        if question.vector is None:
            return {id: question.words.of(id) for id in ids}
        missing = {id for id in ids if id not in question.cosines and self.has_vectors(id)}
        cosines = question.cosines | self._cosines(question.vector, missing)
        return {id: _clipped(cosines.get(id, question.words.of(id))) for id in ids}

    def _cosines(self, query: NDArray[np.float32], ids: Collection[str]) -> dict[str, float]:
        vectors = self._space.vectors({id: self._catalogue[id].parts for id in ids})
        return {id: _best_cosine(query, some) for id, some in vectors.items()}

    def _folded(self, ranking: Sequence[str], limit: int) -> list[str]:
        """The best of each group of pieces that say nearly the same."""
        shown: dict[str, None] = {}
        for id in ranking:
            if len(shown) == limit:
                break
            if not any(other in shown for other in self._catalogue.links(id)):
                shown[id] = None
        return list(shown)

    def _shown(self, ids: Sequence[str], relevance: Mapping[str, float]) -> list[Evidence]:
        items = self._space.fetch(ids)
        return [
            items[id].evidence.model_copy(update={"relevance": relevance[id], "similar": self._catalogue.links(id)})
            for id in ids
            if id in items
        ]


def shared_words(query: str, evidence: Sequence[Evidence]) -> list[float]:
    """The stand-in for relevance without a model: BM25 among `evidence`, scaled to 0..1."""
    index = LexicalIndex()
    for number, piece in enumerate(evidence):
        index.add(str(number), words_of(indexed_text(piece)))
    scores = index.score(query)
    return [_clipped(scores.of(str(number))) for number in range(len(evidence))]


def _hybrid(wording: _Wording, cosines: Mapping[str, float]) -> dict[str, float]:
    words = wording.words
    return {id: hybrid_score(cosine, words.of(id), words.terms) for id, cosine in cosines.items()}


def _hopeful(wording: _Wording, far: Mapping[str, float], scores: Mapping[str, float], depth: int) -> set[str]:
    """Those of `far` (ids and lexical scores) that may come among the `depth` best: they are not among the nearest, so
    no nearer than the last of these."""
    if len(scores) < depth:
        return set(far)
    least = sorted(scores.values(), reverse=True)[depth - 1]
    cosine = min(wording.cosines.values())
    return {id for id, score in far.items() if hybrid_score(cosine, score, wording.words.terms) > least}


def _best_passages(rows: Iterable[tuple[str, float]]) -> dict[str, float]:
    best: dict[str, float] = {}
    for id, cosine in rows:
        best[id] = max(cosine, best.get(id, -1.0))
    return best


def _best_cosine(query: NDArray[np.float32], vectors: Iterable[Vector]) -> float:
    return max((float(np.dot(query, np.asarray(vector, np.float32))) for vector in vectors), default=0.0)


def _clipped(cosine: float) -> float:
    return min(max(cosine, 0.0), 1.0)
