"""One search of a session, by meaning and by words. Blocks; runs in worker threads."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepcritical_mcp.evidence.catalogue import Catalogue
from deepcritical_mcp.evidence.chunking import Passage, indexed_text, own_title, passages
from deepcritical_mcp.evidence.embedding.calibration import EVEN_WORDS_WEIGHT, Calibration
from deepcritical_mcp.evidence.lexical import LexicalIndex, LexicalScores, words_of
from deepcritical_mcp.evidence.ranking import hybrid_score, merge_variants
from deepcritical_mcp.evidence.scope import EVERYTHING, Scope
from deepcritical_mcp.evidence.storage.rows import Vector
from deepcritical_mcp.evidence.storage.space import NearPassage, Space
from deepcritical_mcp.models import NO_ABSTRACT, Evidence, Publication, RelatedEvidence, status_label
from deepcritical_mcp.text import cut_at_sentence

SNIPPET_LENGTH = 240
NEAREST = 50
"""Least number of passages that a search by meaning looks at."""
SHARING_WORDS = 10
"""Least number of pieces that a search by words looks at."""
SPARE = 5
"""Places ranked with care beyond those shown: some are folded."""


CLOSE_COVERAGE = 0.5
"""Share of a query's words, weighted by their rarity, that makes evidence close to it whatever the model says."""


@dataclass(frozen=True)
class Found:
    """What a search of a session found.

    Attributes:
        evidence: best first.
        parts: the part of its text that is closest to the query: all of it, or one chunk of a long one.
        close: whether any of it is close to the query; True without a calibration, when nobody knows.
    """

    evidence: tuple[Evidence, ...] = ()
    parts: tuple[str, ...] = ()
    close: bool = True

    def first(self, count: int) -> Found:
        """The best `count` of it."""
        return Found(self.evidence[:count], self.parts[:count], self.close)


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
    """A search in one session, among the evidence in `scope`."""

    def __init__(
        self,
        space: Space,
        catalogue: Catalogue,
        calibration: Calibration | None,
        scope: Scope = EVERYTHING,
    ) -> None:
        self._space = space
        self._catalogue = catalogue
        self._weight = calibration.words_weight if calibration else EVEN_WORDS_WEIGHT
        self._floor = calibration.nothing_close if calibration else 0.0
        self._scope = scope
        self._only = None if scope == EVERYTHING else catalogue.where(scope.includes)

    def best(
        self, variants: Sequence[str], vectors: NDArray[np.float32] | None, limit: int, min_relevance: float
    ) -> Found:
        """See `EvidenceStore.search`; `vectors` are the variants', None without a model."""
        asked = self._variants(variants, vectors, limit)
        ranking = self._ranked(asked, limit + SPARE)
        relevance = self._relevance(asked[0], ranking)
        chosen = self._folded([id for id in ranking if relevance[id] >= min_relevance], limit)
        close = vectors is None or not chosen or any(self._is_close(variant, id) for variant in asked for id in chosen)
        parts = tuple(self._part(id, asked[0]) for id in chosen)
        return Found(tuple(self._shown(chosen, relevance, asked[0])), parts, close)

    def _is_close(self, variant: _Variant, id: str) -> bool:
        return variant.cosines.get(id, 0.0) >= self._floor or variant.words.at(id)[1] >= CLOSE_COVERAGE

    def closest(
        self, query: str, vectors: NDArray[np.float32] | None, exclude: Collection[str], limit: int, least: float
    ) -> list[Evidence]:
        """See `EvidenceStore.related`; `least` is the relevance from which evidence counts as close."""
        asked = self._variants([query], vectors, limit + len(exclude) + SPARE)[0]
        relevance = self._relevance(asked, asked.cosines or asked.words.top(limit + len(exclude) + SPARE))
        ranking = sorted(relevance, key=lambda id: (self._has_no_text(id), -relevance[id]))
        others = [
            id
            for id in ranking
            if relevance[id] >= least
            and id not in exclude
            and not any(link in exclude for link in self._catalogue.links(id))
        ]
        return self._shown(self._folded(others, limit), relevance, asked)

    def _has_no_text(self, id: str) -> bool:
        return self._catalogue[id].publication.text.content == NO_ABSTRACT

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
        count = min(max(NEAREST, 3 * limit), self._catalogue.passages)
        if vectors is None or not count:
            return [_Variant(some, None, {}, {}, self._weight) for some in words]
        if self._scope.kind or self._scope.status:
            best = [self._measured(vector) for vector in vectors]
        else:
            where = {"source": self._scope.source} if self._scope.source else None
            best = [_best_passages(rows) for rows in self._space.nearest(list(vectors), count, where)]
        return [
            _Variant(some, vector, *found, self._weight)
            for some, vector, found in zip(words, vectors, best, strict=True)
        ]

    def _measured(self, vector: NDArray[np.float32]) -> tuple[dict[str, float], dict[str, int]]:
        """The best cosine of every publication in scope, and the passage that has it."""
        cosines: dict[str, float] = {}
        parts: dict[str, int] = {}
        for id, vectors in self._vectors(self._only or ()).items():
            kinds = [passage.text.kind for passage in passages(self._catalogue[id].publication)]
            near = np.asarray(vectors, np.float32) @ vector
            allowed = [at for at, kind in enumerate(kinds[: len(near)]) if self._scope.kind in (None, kind)]
            if allowed:
                parts[id] = max(allowed, key=lambda at: float(near[at]))
                cosines[id] = float(near[parts[id]])
        return cosines, parts

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
        far = [id for id in variant.words.top(max(SHARING_WORDS, depth), self._only) if id not in scores]
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
            piece = self._catalogue.shown(publication, self._passage(publication.id, asked).text)
            pieces.append(piece.model_copy(update={"relevance": relevance[publication.id]}))
        return pieces

    def _passage(self, id: str, asked: _Variant) -> Passage:
        some = passages(self._catalogue[id].publication)
        first = next((at for at, one in enumerate(some) if self._scope.kind in (None, one.text.kind)), 0)
        return some[min(asked.parts.get(id, first), len(some) - 1)]

    def _part(self, id: str, asked: _Variant) -> str:
        """The passage closest to the query, without the title in front of it."""
        passage = self._passage(id, asked)
        if passage.text.content == NO_ABSTRACT:
            return NO_ABSTRACT
        title = own_title(self._catalogue[id].publication, passage.text)
        return passage.content.removeprefix(f"{title}. ") if title else passage.content


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


def related_evidence(piece: Evidence) -> RelatedEvidence:
    """A piece in brief."""
    return RelatedEvidence(
        id=piece.id,
        title=_marked_title(piece),
        url=piece.citation.url,
        snippet=cut_at_sentence(piece.content, SNIPPET_LENGTH),
        relevance=piece.relevance,
    )


def _marked_title(piece: Evidence) -> str:
    """The title, after the paper's status where that is not "ok": a reader must not see one without the other."""
    label = status_label(piece.citation.status)
    return f"{label}: {piece.citation.title}" if label else piece.citation.title
