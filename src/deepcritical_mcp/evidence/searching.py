"""One search of a session, by meaning and by words. Blocks; runs in worker threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from deepcritical_mcp.evidence.catalogue import Catalogue, indexed_text
from deepcritical_mcp.evidence.chroma import Space
from deepcritical_mcp.evidence.lexical import LexicalIndex, words_of
from deepcritical_mcp.evidence.ranking import Scored, hybrid, merge_wordings
from deepcritical_mcp.models import Evidence, Source

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.records import Vector

CANDIDATES = 100
"""Least number of candidates that each of the two rankings gives."""


class Search:
    """A search in one session, among the evidence of one source or of all (None)."""

    def __init__(self, space: Space, catalogue: Catalogue, source: Source | None) -> None:
        self._space = space
        self._catalogue = catalogue
        self._source: Source | None = source

    def best(
        self, wordings: Sequence[str], vectors: NDArray[np.float32] | None, limit: int, min_relevance: float
    ) -> list[Evidence]:
        """See `EvidenceStore.search_similar`; `vectors` are the wordings', None without a model."""
        candidates = max(CANDIDATES, 2 * limit)
        words = [self._catalogue.by_words(wording, candidates, self._source) for wording in wordings]
        cosines: list[Scored] = [[] for _ in wordings]
        if vectors is not None:
            cosines = self._by_meaning(vectors, candidates)
        ranking = merge_wordings([hybrid(near, lexical) for near, lexical in zip(cosines, words, strict=True)])
        relevance = dict(words[0])
        if vectors is not None:
            relevance.update(self._relevances(vectors[0], ranking, cosines[0]))
        chosen = [id for id in ranking if relevance.get(id, 0.0) >= min_relevance]
        return self._shown(self._folded(chosen, limit), relevance)

    def has_vectors(self, id: str) -> bool:
        """Whether the session holds the vectors of that evidence."""
        return id in self._catalogue and self._catalogue[id].embedded

    def relevances(
        self, query: NDArray[np.float32], evidence: Sequence[Evidence], missing: Sequence[Sequence[Vector]]
    ) -> list[float]:
        """The similarity of each piece to `query`; `missing` are the vectors, in order, of those without any here."""
        kept = self._kept_relevances(query, [piece.id for piece in evidence if self.has_vectors(piece.id)])
        others = iter(missing)
        return [kept[piece.id] if piece.id in kept else _relevance(query, next(others)) for piece in evidence]

    def shared_words(self, query: str, evidence: Sequence[Evidence]) -> list[float]:
        """The stand-in for relevance without a model: BM25 among `evidence`, scaled to 0..1."""
        index = LexicalIndex()
        for number, piece in enumerate(evidence):
            index.add(str(number), words_of(indexed_text(piece)))
        scores = dict(index.search(query, len(evidence)))
        return [scores.get(str(number), 0.0) for number in range(len(evidence))]

    def _by_meaning(self, vectors: NDArray[np.float32], candidates: int) -> list[Scored]:
        limit = min(candidates, self._catalogue.passages)
        if not limit:
            return [[] for _ in vectors]
        where = {"source": self._source} if self._source else None
        return [_best_passages(rows) for rows in self._space.nearest(list(vectors), limit, where)]

    def _relevances(self, query: NDArray[np.float32], ids: Sequence[str], near: Scored) -> dict[str, float]:
        known = {id: _clipped(cosine) for id, cosine in near}
        unknown = [id for id in ids if id not in known and self.has_vectors(id)]
        return known | self._kept_relevances(query, unknown)

    def _kept_relevances(self, query: NDArray[np.float32], ids: Sequence[str]) -> dict[str, float]:
        vectors = self._space.vectors({id: self._catalogue[id].parts for id in ids})
        return {id: _relevance(query, list(some)) for id, some in vectors.items()}

    def _folded(self, ranking: Sequence[str], limit: int) -> list[str]:
        """The best of each group of pieces that say nearly the same."""
        shown: dict[str, None] = {}
        for id in ranking:
            if len(shown) == limit:
                break
            if not any(other in shown for other in self._catalogue.links(id)):
                shown[id] = None
        return list(shown)

    def _shown(self, ids: Sequence[str], relevance: dict[str, float]) -> list[Evidence]:
        items = self._space.fetch(ids)
        return [
            items[id].evidence.model_copy(
                update={"relevance": relevance.get(id, 0.0), "similar": self._catalogue.links(id)}
            )
            for id in ids
            if id in items
        ]


def _best_passages(rows: Scored) -> Scored:
    best: dict[str, float] = {}
    for id, cosine in rows:
        best[id] = max(cosine, best.get(id, -1.0))
    return list(best.items())


def _relevance(query: NDArray[np.float32], vectors: Sequence[Vector]) -> float:
    return _clipped(max((float(np.dot(query, np.asarray(vector, np.float32))) for vector in vectors), default=0.0))


def _clipped(cosine: float) -> float:
    return min(max(float(cosine), 0.0), 1.0)
