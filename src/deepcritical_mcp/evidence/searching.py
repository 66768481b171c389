"""One search of a session, by meaning and by words. Blocks; runs in worker threads."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from deepcritical_mcp.evidence.catalogue import Catalogue, indexed_text
from deepcritical_mcp.evidence.lexical import LexicalIndex, LexicalScores, words_of
from deepcritical_mcp.evidence.ranking import hybrid_score, merge_wordings
from deepcritical_mcp.evidence.storage.space import Space
from deepcritical_mcp.models import Evidence, Source

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.storage.rows import Vector

NEAREST = 50
"""Least number of passages that a search by meaning looks at."""
SHARING_WORDS = 10
"""Least number of pieces that a search by words looks at."""
SPARE = 5
"""Places ranked with care beyond those shown: some are folded."""


@dataclass(frozen=True)
class _Wording:
    """One wording of the question: its words' scores, its vector (None without a model), and the cosines found."""

    words: LexicalScores
    vector: NDArray[np.float32] | None
    cosines: dict[str, float]

    def score(self, id: str) -> float:
        """How well `id` answers; what has no vector yet counts as near as its words say."""
        return self.score_at(id, self.cosines.get(id))

    def score_at(self, id: str, cosine: float | None) -> float:
        """How well `id` would answer, were it that near."""
        lexical, coverage = self.words.at(id)
        return hybrid_score(lexical if cosine is None else cosine, lexical, coverage, self.words.terms)


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
        ranking = self._ranked(asked, limit + SPARE)
        relevance = self._relevance(asked[0], ranking)
        chosen = [id for id in ranking if relevance[id] >= min_relevance]
        return self._shown(self._folded(chosen, limit), relevance)

    def closest(
        self, query: str, vectors: NDArray[np.float32] | None, exclude: Collection[str], limit: int, least: float
    ) -> list[Evidence]:
        """See `EvidenceStore.related`; `least` is the relevance from which evidence counts as close."""
        asked = self._wordings([query], vectors, limit + len(exclude) + SPARE)[0]
        relevance = self._relevance(asked, asked.cosines or asked.words.top(limit + len(exclude) + SPARE))
        ranking = sorted(relevance, key=lambda id: -relevance[id])
        others = [
            id
            for id in ranking
            if relevance[id] >= least
            and id not in exclude
            and not any(link in exclude for link in self._catalogue.links(id))
        ]
        return self._shown(self._folded(others, limit), relevance)

    def has_vectors(self, id: str) -> bool:
        """Whether the session holds the vectors of that evidence."""
        return id in self._catalogue and self._catalogue[id].embedded

    def relevances(
        self, query: NDArray[np.float32], evidence: Sequence[Evidence], missing: Sequence[Sequence[Vector]]
    ) -> list[float]:
        """The similarity of each piece to `query`; `missing` are the vectors, in order, of those without any here."""
        kept = self._vectors({piece.id for piece in evidence})
        others = iter(missing)
        vectors = [kept[piece.id] if piece.id in kept else next(others) for piece in evidence]
        return [_clipped(_best_cosine(query, some)) for some in vectors]

    def _wordings(self, texts: Sequence[str], vectors: NDArray[np.float32] | None, limit: int) -> list[_Wording]:
        words = [self._catalogue.by_words(text) for text in texts]
        passages = min(max(NEAREST, 3 * limit), self._catalogue.passages)
        if vectors is None or not passages:
            return [_Wording(some, None, {}) for some in words]
        where = {"source": self._source} if self._source else None
        found = self._space.nearest(list(vectors), passages, where)
        return [
            _Wording(some, vector, _best_passages(rows))
            for some, vector, rows in zip(words, vectors, found, strict=True)
        ]

    def _ranked(self, asked: Sequence[_Wording], depth: int) -> list[str]:
        """The candidates of all wordings, best first."""
        scores = [self._scores(wording, depth) for wording in asked]
        if len(asked) > 1:
            best = {id for some in scores for id in _best(some, depth)}
            self._measure(asked, best)
            scores = [{id: wording.score(id) for id in best} for wording in asked]
        total = merge_wordings(scores)
        return _best(total, len(total))

    def _scores(self, wording: _Wording, depth: int) -> dict[str, float]:
        """One wording's candidates and their scores; the `depth` best are truly the best."""
        scores = {id: wording.score(id) for id in wording.cosines}
        only = self._catalogue.of_source(self._source) if self._source else None
        far = [id for id in wording.words.top(max(SHARING_WORDS, depth), only) if id not in scores]
        self._measure([wording], _hopeful(wording, far, scores, depth))
        found = [id for id in far if id in wording.cosines or wording.vector is None or not self.has_vectors(id)]
        return scores | {id: wording.score(id) for id in found}

    def _measure(self, asked: Sequence[_Wording], ids: Collection[str]) -> None:
        """Complete the cosines of every wording to these ids."""
        unknown = {id for id in ids if any(id not in wording.cosines for wording in asked)}
        vectors = self._vectors(unknown) if asked[0].vector is not None else {}
        for wording in asked:
            if wording.vector is not None:
                for id in vectors.keys() - wording.cosines.keys():
                    wording.cosines[id] = _best_cosine(wording.vector, vectors[id])

    def _vectors(self, ids: Iterable[str]) -> dict[str, NDArray[np.float32]]:
        return self._space.vectors({id: self._catalogue[id].parts for id in ids if self.has_vectors(id)})

    def _relevance(self, question: _Wording, ids: Iterable[str]) -> dict[str, float]:
        return {id: _clipped(question.cosines.get(id, question.words.at(id)[0])) for id in ids}

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
        return [piece.model_copy(update={"relevance": relevance[piece.id]}) for piece in self._catalogue.evidence(ids)]


def shared_words(query: str, evidence: Sequence[Evidence]) -> list[float]:
    """The stand-in for relevance without a model: BM25 among `evidence`, scaled to 0..1."""
    index = LexicalIndex()
    for number, piece in enumerate(evidence):
        index.add(str(number), words_of(indexed_text(piece)))
    scores = index.score(query)
    return [_clipped(scores.at(str(number))[0]) for number in range(len(evidence))]


def _best(scores: Mapping[str, float], depth: int) -> list[str]:
    return sorted(scores, key=lambda id: -scores[id])[:depth]


def _hopeful(wording: _Wording, far: Collection[str], scores: Mapping[str, float], depth: int) -> set[str]:
    """Those of `far` that may come among the `depth` best: they are not among the nearest, so no nearer than the last
    of these."""
    if len(scores) < depth:
        return set(far)
    least = scores[_best(scores, depth)[-1]]
    cosine = min(wording.cosines.values())
    return {id for id in far if wording.score_at(id, cosine) > least}


def _best_passages(rows: Iterable[tuple[str, float]]) -> dict[str, float]:
    best: dict[str, float] = {}
    for id, cosine in rows:
        best[id] = max(cosine, best.get(id, -1.0))
    return best


def _best_cosine(query: NDArray[np.float32], vectors: Iterable[Vector]) -> float:
    return max((float(np.dot(query, np.asarray(vector, np.float32))) for vector in vectors), default=0.0)


def _clipped(cosine: float) -> float:
    return min(max(cosine, 0.0), 1.0)
