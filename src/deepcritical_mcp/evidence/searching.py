"""One search of a session, by meaning and by words. Blocks; runs in worker threads."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepcritical_mcp.evidence.catalogue import Catalogue
from deepcritical_mcp.evidence.chunking import indexed_text, passages
from deepcritical_mcp.evidence.embedding.calibration import EVEN_WORDS_WEIGHT, Calibration
from deepcritical_mcp.evidence.lexical import LexicalIndex, LexicalScores, words_of
from deepcritical_mcp.evidence.ranking import hybrid_score, merge_variants
from deepcritical_mcp.evidence.storage.rows import Vector
from deepcritical_mcp.evidence.storage.space import NearPassage, Space
from deepcritical_mcp.models import Evidence, Publication, Source

NEAREST = 50
"""Least number of passages that a search by meaning looks at."""
SHARING_WORDS = 10
"""Least number of pieces that a search by words looks at."""
SPARE = 5
"""Places ranked with care beyond those shown: some are folded."""


@dataclass(frozen=True)
class _Variant:
    """One variant of the question: its words' scores, its vector (None without a model), the cosines found, and which
    passage of a publication was nearest, where that is known."""

    words: LexicalScores
    vector: NDArray[np.float32] | None
    cosines: dict[str, float]
    parts: dict[str, int]
    weight: float

    def score(self, id: str) -> float:
        """How well `id` answers; what has no vector yet counts as near as its words say."""
        return self.score_at(id, self.cosines.get(id))

    def score_at(self, id: str, cosine: float | None) -> float:
        """How well `id` would answer, were it that near."""
        lexical, coverage = self.words.at(id)
        return hybrid_score(lexical if cosine is None else cosine, lexical, coverage, self.words.terms, self.weight)


class Search:
    """A search in one session, among the evidence of one source or of all (None)."""

    def __init__(
        self,
        space: Space,
        catalogue: Catalogue,
        calibration: Calibration | None,
        source: Source | None = None,
    ) -> None:
        self._space = space
        self._catalogue = catalogue
        self._weight = calibration.words_weight if calibration else EVEN_WORDS_WEIGHT
        self._source: Source | None = source

    def best(
        self, variants: Sequence[str], vectors: NDArray[np.float32] | None, limit: int, min_relevance: float
    ) -> list[Evidence]:
        """See `EvidenceStore.search_similar`; `vectors` are the variants', None without a model."""
        asked = self._variants(variants, vectors, limit)
        ranking = self._ranked(asked, limit + SPARE)
        relevance = self._relevance(asked[0], ranking)
        chosen = [id for id in ranking if relevance[id] >= min_relevance]
        return self._shown(self._folded(chosen, limit), relevance, asked[0])

    def closest(
        self, query: str, vectors: NDArray[np.float32] | None, exclude: Collection[str], limit: int, least: float
    ) -> list[Evidence]:
        """See `EvidenceStore.related`; `least` is the relevance from which evidence counts as close."""
        asked = self._variants([query], vectors, limit + len(exclude) + SPARE)[0]
        relevance = self._relevance(asked, asked.cosines or asked.words.top(limit + len(exclude) + SPARE))
        ranking = sorted(relevance, key=lambda id: -relevance[id])
        others = [
            id
            for id in ranking
            if relevance[id] >= least
            and id not in exclude
            and not any(link in exclude for link in self._catalogue.links(id))
        ]
        return self._shown(self._folded(others, limit), relevance, asked)

    def has_vectors(self, id: str) -> bool:
        """Whether the session holds the vectors of that evidence."""
        return id in self._catalogue and self._catalogue[id].embedded

    def relevances(
        self, query: NDArray[np.float32], evidence: Sequence[Publication], missing: Sequence[Sequence[Vector]]
    ) -> list[float]:
        """The similarity of each piece to `query`; `missing` are the vectors, in order, of those without any here."""
        kept = self._vectors({piece.id for piece in evidence})
        others = iter(missing)
        vectors = [kept[piece.id] if piece.id in kept else next(others) for piece in evidence]
        return [_clipped(_best_cosine(query, some)) for some in vectors]

    def _variants(self, texts: Sequence[str], vectors: NDArray[np.float32] | None, limit: int) -> list[_Variant]:
        words = [self._catalogue.by_words(text) for text in texts]
        passages = min(max(NEAREST, 3 * limit), self._catalogue.passages)
        if vectors is None or not passages:
            return [_Variant(some, None, {}, {}, self._weight) for some in words]
        where = {"source": self._source} if self._source else None
        found = self._space.nearest(list(vectors), passages, where)
        return [
            _Variant(some, vector, *_best_passages(rows), self._weight)
            for some, vector, rows in zip(words, vectors, found, strict=True)
        ]

    def _ranked(self, asked: Sequence[_Variant], depth: int) -> list[str]:
        """The candidates of all variants, best first."""
        scores = [self._scores(variant, depth) for variant in asked]
        if len(asked) > 1:
            best = {id for some in scores for id in _best(some, depth)}
            self._measure(asked, best)
            scores = [{id: variant.score(id) for id in best} for variant in asked]
        total = merge_variants(scores)
        return _best(total, len(total))

    def _scores(self, variant: _Variant, depth: int) -> dict[str, float]:
        """One variant's candidates and their scores; the `depth` best are truly the best."""
        scores = {id: variant.score(id) for id in variant.cosines}
        only = self._catalogue.of_source(self._source) if self._source else None
        far = [id for id in variant.words.top(max(SHARING_WORDS, depth), only) if id not in scores]
        self._measure([variant], _hopeful(variant, far, scores, depth))
        found = [id for id in far if id in variant.cosines or variant.vector is None or not self.has_vectors(id)]
        return scores | {id: variant.score(id) for id in found}

    def _measure(self, asked: Sequence[_Variant], ids: Collection[str]) -> None:
        """Complete the cosines of every variant to these ids."""
        unknown = {id for id in ids if any(id not in variant.cosines for variant in asked)}
        vectors = self._vectors(unknown) if asked[0].vector is not None else {}
        for variant in asked:
            if variant.vector is not None:
                for id in vectors.keys() - variant.cosines.keys():
                    variant.cosines[id] = _best_cosine(variant.vector, vectors[id])

    def _vectors(self, ids: Iterable[str]) -> dict[str, NDArray[np.float32]]:
        return self._space.vectors({id: self._catalogue[id].parts for id in ids if self.has_vectors(id)})

    def _relevance(self, question: _Variant, ids: Iterable[str]) -> dict[str, float]:
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

    def _shown(self, ids: Sequence[str], relevance: Mapping[str, float], asked: _Variant) -> list[Evidence]:
        """Each publication by the text in which the answer lies."""
        pieces: list[Evidence] = []
        for publication in self._catalogue.publications(ids):
            text = passages(publication)[asked.parts.get(publication.id, 0)].text
            piece = self._catalogue.shown(publication, text)
            pieces.append(piece.model_copy(update={"relevance": relevance[publication.id]}))
        return pieces


def shared_words(query: str, evidence: Sequence[Publication]) -> list[float]:
    """The stand-in for relevance without a model: BM25 among `evidence`, scaled to 0..1."""
    index = LexicalIndex()
    for number, piece in enumerate(evidence):
        index.add(str(number), words_of(indexed_text(piece)))
    scores = index.score(query)
    return [_clipped(scores.at(str(number))[0]) for number in range(len(evidence))]


def _best(scores: Mapping[str, float], depth: int) -> list[str]:
    return sorted(scores, key=lambda id: -scores[id])[:depth]


def _hopeful(variant: _Variant, far: Collection[str], scores: Mapping[str, float], depth: int) -> set[str]:
    """Those of `far` that may come among the `depth` best: they are not among the nearest, so no nearer than the last
    of these."""
    if len(scores) < depth:
        return set(far)
    least = scores[_best(scores, depth)[-1]]
    cosine = min(variant.cosines.values())
    return {id for id in far if variant.score_at(id, cosine) > least}


def _best_passages(rows: Iterable[NearPassage]) -> tuple[dict[str, float], dict[str, int]]:
    """The best cosine of each publication, and the passage that has it."""
    cosines: dict[str, float] = {}
    parts: dict[str, int] = {}
    for row in rows:
        if row.cosine > cosines.get(row.id, -2.0):
            cosines[row.id], parts[row.id] = row.cosine, row.part
    return cosines, parts


def _best_cosine(query: NDArray[np.float32], vectors: Iterable[Vector]) -> float:
    return max((float(np.dot(query, np.asarray(vector, np.float32))) for vector in vectors), default=0.0)


def _clipped(cosine: float) -> float:
    return min(max(cosine, 0.0), 1.0)
