"""One search of a session, by meaning and by words. Blocks; runs in worker threads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from deepcritical_mcp.evidence.catalogue import Catalogue
from deepcritical_mcp.evidence.chunking import EVERYTHING, Passage, Scope, indexed_text, own_title
from deepcritical_mcp.evidence.embedding.calibration import EVEN_WORDS_WEIGHT, Calibration
from deepcritical_mcp.evidence.lexical import LexicalIndex, hybrid_score
from deepcritical_mcp.evidence.paper_passages import CLOSE_COVERAGE, OF_A_WHOLE, best_within, priority
from deepcritical_mcp.evidence.passage_quotes import PassagePage, Quotation, by_place, page_of
from deepcritical_mcp.evidence.stemming import words_of
from deepcritical_mcp.evidence.storage.stored_items import Vector
from deepcritical_mcp.evidence.text_index import WordScores, is_passage, split_unit, unit_of
from deepcritical_mcp.models import (
    NO_ABSTRACT,
    DocumentPassage,
    Evidence,
    Publication,
    RelatedEvidence,
    Text,
    status_label,
)
from deepcritical_mcp.text import cut_at_sentence

SNIPPET_LENGTH = 240
MIN_NEAREST = 50
"""Minimum number of passages that a search by meaning looks at."""
MIN_WORD_CANDIDATES = 10
"""Minimum number of items that a search by words looks at."""
EXTRA_CANDIDATES = 5
"""Ranks beyond those shown that are scored exactly, since some results are folded."""
CROWDED = 2
"""How many times as many passages a search by meaning looks at where there are long texts."""
AHEAD = 40
"""How many ranks later a passage of another publication may stand that comes first."""
NEARLY_AS_GOOD = 0.85
"""Share of a passage's score down to which those of others come first, if most are of its publication."""
QUESTION_WEIGHT = 2.0
"""Lowest weight of the question; each of its variants has weight 1. Less than `QUERY_WEIGHT` of `search.search_steps`,
because scores are summed here, not ranks: what an off-topic variant finds has low scores."""


@dataclass(frozen=True)
class Found:
    """What a search of a session found.

    Attributes:
        evidence: best first; of a text with parts, the passages of each part, with gaps marked, under the id of the
            text.
        parts: the part of its text that is closest to the query: all of it, or one chunk of a long one.
        close: whether any of it is close to the query; True without a calibration.
        next_offset: how many passages come before those that follow; -1 if there are no more.
    """

    evidence: tuple[Evidence, ...] = ()
    parts: tuple[str, ...] = ()
    close: bool = True
    next_offset: int = -1

    def first(self, count: int) -> Found:
        """The same with only the best `count` items."""
        return Found(self.evidence[:count], self.parts[:count], self.close)

    def without(self, ids: Collection[str]) -> Found:
        """The same without the evidence with these ids."""
        rows = [row for row in zip(self.evidence, self.parts, strict=True) if row[0].id not in ids]
        return Found(tuple(one for one, _ in rows), tuple(part for _, part in rows), self.close, self.next_offset)


@dataclass
class _Variant:
    """One variant of the query: its word scores, its vector (None without a model), the cosines found by unit, and the
    nearest passage of each unit, if known."""

    words: WordScores
    vector: NDArray[np.float32] | None
    weight: float
    priority: Callable[[str], float]
    cosines: dict[str, float] = field(default_factory=dict[str, float])
    parts: dict[str, int] = field(default_factory=dict[str, int])

    def enter(self, unit: str, part: int, cosine: float) -> None:
        """Record how close a passage is, unless a closer one of the same unit is known."""
        if cosine > self.cosines.get(unit, -2.0):
            self.cosines[unit], self.parts[unit] = cosine, part

    def score(self, unit: str) -> float:
        """The score of `unit`; its word score stands in for a missing cosine."""
        lexical, coverage = self.words.at(unit)
        near = self.cosines.get(unit, lexical)
        return hybrid_score(near, lexical, coverage, self.words.terms, self.weight) + self.priority(unit)


class Search:
    """A search in one session, among the evidence in `scope`.

    What is ranked are units (see `units`): publications with all their short texts, and passages of long texts.
    """

    def __init__(self, catalogue: Catalogue, calibration: Calibration | None, scope: Scope = EVERYTHING) -> None:
        self._catalogue = catalogue
        self._weight = calibration.words_weight if calibration else EVEN_WORDS_WEIGHT
        self._floor = calibration.nothing_close if calibration else 0.0
        self._scope = scope
        self._only = None if scope == EVERYTHING else self._in_scope()
        self._priorities: dict[str, float] = {}

    def best(
        self,
        query: str,
        words: Sequence[WordScores],
        vectors: NDArray[np.float32] | None,
        min_relevance: float,
        page: PassagePage,
    ) -> Found:
        """See `EvidenceStore.search`; `words` and `vectors` are the variants', the latter None without a model."""
        most = page.offset + page.limit + 1 + AHEAD
        asked = self._variants(query, words, vectors, most)
        scores = self._ranked(asked, most + EXTRA_CANDIDATES)
        wanted = {*words_of(query)}
        ranking = sorted(scores, key=lambda unit: (self._is_bare(unit, wanted), -scores[unit]))
        relevance = self._relevance(asked[0], ranking)
        folded = self._folded([id for id in ranking if relevance[id] >= min_relevance], most)
        ranked = _spread(folded, scores)

        def shown(some: slice) -> tuple[list[Evidence], list[str]]:
            return self._shown(ranked[some], relevance, asked[0])

        place = page_of(len(ranked), page, lambda some: page.length(shown(some)[0]))
        items, parts = shown(place)
        seen = ranked[: place.stop]
        close = vectors is None or not items or any(self._is_close(variant, id) for variant in asked for id in seen)
        return Found(tuple(items), tuple(parts), close, place.stop if place.stop < len(ranked) else -1)

    def _is_bare(self, unit: str, wanted: Set[str]) -> bool:
        """Whether there is only a title, which answers nothing, and the question does not name it."""
        one = self._catalogue[split_unit(unit)[0]].publication
        return all(text.content == NO_ABSTRACT for text in one.texts) and not wanted >= {*words_of(one.title)}

    def within(
        self,
        id: str,
        text: Text,
        question: str,
        vector: NDArray[np.float32] | None,
        page: PassagePage,
        wanted: Callable[[str], bool] | None,
        abstract: Sequence[tuple[Passage, Vector]] = (),
    ) -> tuple[tuple[DocumentPassage, ...], int]:
        """See `EvidenceStore.best_passages`; `vector` is the question's, None without a model; `abstract` are passages
        to rank besides those of the text, with their vectors."""
        numbered = [row for row in enumerate(self._catalogue.layout(id).passages) if row[1].text == text]
        vectors = self._vectors([id]).get(id, ()) if vector is not None else ()
        known = [own for _, own in abstract] + [vectors[number] for number, _ in numbered if number < len(vectors)]
        cosines = [] if vector is None else [float(np.dot(vector, one)) for one in known]
        passages = [passage for passage, _ in abstract] + [passage for _, passage in numbered]
        return best_within(passages, question, cosines, page, self._weight, self._floor, wanted)

    def closest(
        self,
        query: str,
        vectors: NDArray[np.float32] | None,
        exclude: Set[str],
        limit: int,
        min_relevance: float,
    ) -> tuple[RelatedEvidence, ...]:
        """See `EvidenceStore.related`; `min_relevance` is the relevance from which evidence counts as close."""
        candidates = limit + len(exclude) + EXTRA_CANDIDATES
        asked = self._variants(query, self._catalogue.by_words([query]), vectors, candidates)[0]
        relevance = self._relevance(asked, asked.cosines or asked.words.top(candidates))
        texts = {unit: self._passage(unit, asked).text.content for unit in relevance}
        ranking = sorted(relevance, key=lambda unit: (texts[unit] == NO_ABSTRACT, -relevance[unit]))
        close = [(unit, split_unit(unit)[0]) for unit in ranking if relevance[unit] >= min_relevance]
        others = [unit for unit, id in close if exclude.isdisjoint((id, *self._catalogue.links(id)))]
        of_each = list({split_unit(unit)[0]: unit for unit in reversed(others)}.values())[::-1]
        return tuple(map(_in_brief, self._shown(self._folded(of_each, limit), relevance, asked)[0]))

    def known_vectors(self, publications: Sequence[Publication]) -> dict[str, NDArray[np.float32]]:
        """The vectors that the session holds of these publications: those of their short texts, or of long texts where
        there are no others."""
        vectors = self._vectors({one.id for one in publications})
        return {id: some[: self._catalogue.layout(id).short or None] for id, some in vectors.items()}

    def _is_close(self, variant: _Variant, id: str) -> bool:
        return variant.cosines.get(id, 0.0) >= self._floor or variant.words.at(id)[1] >= CLOSE_COVERAGE

    def _variants(
        self, query: str, words: Sequence[WordScores], vectors: NDArray[np.float32] | None, limit: int
    ) -> list[_Variant]:
        crowd = CROWDED if self._catalogue.has_long_texts else 1
        count = min(crowd * max(MIN_NEAREST, 3 * limit), self._catalogue.passages)
        known = [None] * len(words) if vectors is None or not count else list(vectors)
        extra = partial(self._priority, query)
        asked = [_Variant(some, vector, self._weight, extra) for some, vector in zip(words, known, strict=True)]
        if vectors is None or not count:
            return asked
        if self._only is not None:
            self._enter_scope(asked, vectors)
        else:
            for variant, rows in zip(asked, self._catalogue.space.nearest(list(vectors), count), strict=True):
                for row in rows:
                    # A row under an earlier id, or of an earlier text, may have outlived it.
                    if row.part < self._catalogue.vectors(row.id):
                        variant.enter(self._unit(row.id, row.part), row.part, row.cosine)
        return asked

    def _priority(self, query: str, unit: str) -> float:
        """See `priority`; once for each unit."""
        if not is_passage(unit):
            return OF_A_WHOLE
        if unit not in self._priorities:
            id, part = split_unit(unit)
            some = self._catalogue.layout(id).passages[part:][:1]
            self._priorities[unit] = priority(some[0], query) if some else 0.0
        return self._priorities[unit]

    def _unit(self, id: str, part: int) -> str:
        return unit_of(id, part, self._catalogue.layout(id).short)

    def _in_scope(self) -> list[str]:
        """The units of which a text is in scope."""
        units: dict[str, None] = {}
        for id in self._catalogue.where(self._scope.includes):
            for part, passage in enumerate(self._catalogue.layout(id).passages):
                if self._scope.includes_text(passage.text):
                    units[self._unit(id, part)] = None
        return list(units)

    def _enter_scope(self, asked: Sequence[_Variant], queries: NDArray[np.float32]) -> None:
        """Compare every passage in scope with every variant."""
        ids = dict.fromkeys(split_unit(unit)[0] for unit in self._only or ())
        for id, vectors in self._vectors(ids).items():
            some = self._catalogue.layout(id).passages[: len(vectors)]
            for variant, cosines in zip(asked, (queries @ vectors.T).tolist(), strict=True):
                for part, (passage, cosine) in enumerate(zip(some, cosines, strict=False)):
                    if self._scope.includes_text(passage.text):
                        variant.enter(self._unit(id, part), part, cosine)

    def _ranked(self, asked: Sequence[_Variant], depth: int) -> dict[str, float]:
        """The scores of the candidates of all variants."""
        scores = [self._scores(variant, depth) for variant in asked]
        if len(asked) > 1:
            best = {id for some in scores for id in sorted(some, key=lambda unit: -some[unit])[:depth]}
            self._measure(asked, best)
            scores = [{id: variant.score(id) for id in best} for variant in asked]
        return merge_variants(scores)

    def _scores(self, variant: _Variant, depth: int) -> dict[str, float]:
        """One variant's candidates, by meaning and by words, and their scores."""
        found = {**variant.cosines, **variant.words.top(max(MIN_WORD_CANDIDATES, depth), self._only)}
        self._measure([variant], found)
        return {id: variant.score(id) for id in found}

    def _measure(self, asked: Sequence[_Variant], ids: Collection[str]) -> None:
        """Add the missing cosines of every variant to these ids."""
        unknown = {id for id in ids if any(id not in variant.cosines for variant in asked)}
        vectors = self._vectors({split_unit(unit)[0] for unit in unknown}) if asked[0].vector is not None else {}
        for unit in unknown:
            id, part = split_unit(unit)
            own = vectors.get(id, ())
            some = own[: self._catalogue.layout(id).short] if part < 0 else own[part : part + 1]
            for variant in asked:
                if variant.vector is not None and len(some) and unit not in variant.cosines:
                    variant.cosines[unit] = _best_cosine(variant.vector, some)

    def _vectors(self, ids: Iterable[str]) -> dict[str, NDArray[np.float32]]:
        counts = {id: self._catalogue.vectors(id) for id in ids}
        return self._catalogue.space.vectors({id: count for id, count in counts.items() if count})

    def _relevance(self, question: _Variant, ids: Iterable[str]) -> dict[str, float]:
        known = question.cosines
        return {id: _clipped(known[id] if id in known else question.words.at(id)[0]) for id in ids}

    def _folded(self, ranking: Sequence[str], limit: int) -> list[str]:
        """The best of each group of nearly identical publications; of a preprint and its article the article."""
        shown, ranked = list[str](), {split_unit(unit)[0] for unit in ranking}
        known: set[str] = set()
        for unit in ranking:
            id = split_unit(unit)[0]
            if len(shown) == limit:
                break
            if id in known or not self._catalogue.is_folded(unit, known, ranked):
                shown.append(unit)
                known.add(id)
        return shown

    def _shown(
        self, units: Sequence[str], relevance: Mapping[str, float], asked: _Variant
    ) -> tuple[list[Evidence], list[str]]:
        """Each publication by the text of it that matched best (of a long text, its passages, one item for each part);
        and for each item the piece of its text that is closest to the query."""
        found = [self._passage(unit, asked) for unit in units]
        items, parts = list[Evidence](), list[str]()
        for numbers, quotation in by_place(found):
            unit, first = units[numbers[0]], found[numbers[0]]
            item = self._catalogue.shown(self._catalogue[split_unit(unit)[0]].publication, first.text)
            nearest = max(relevance[units[at]] for at in numbers)
            items.append(item.model_copy(update={"relevance": nearest, **_place(first, quotation)}))
            parts.append(items[-1].content if first.part else self._part(unit, asked))
        return items, parts

    def _passage(self, unit: str, asked: _Variant) -> Passage:
        id, part = split_unit(unit)
        layout = self._catalogue.layout(id)
        if part >= 0:
            return layout.passages[min(part, len(layout.passages) - 1)]  # its text may have changed since it was found
        some = layout.passages[: layout.short] or layout.passages[:1]
        first = next((at for at, one in enumerate(some) if self._scope.includes_text(one.text)), 0)
        return some[min(asked.parts.get(unit, first), len(some) - 1)]

    def _part(self, unit: str, asked: _Variant) -> str:
        """The passage closest to the query, without the title in front of it."""
        passage = self._passage(unit, asked)
        if passage.text.content == NO_ABSTRACT:
            return NO_ABSTRACT
        title = own_title(self._catalogue[split_unit(unit)[0]].publication, passage.text)
        return passage.content.removeprefix(f"{title}. ") if title else passage.content


def merge_variants(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Merge the scores for the question, which come first, with those for its variants.

    The question weighs at least double, and at least as much as all variants together. Scores are summed, not ranks.
    Measured with paper conclusions as variants of each other: an off-topic variant costs 1 to 3 points of nDCG@10,
    against 20 to 60 with rank fusion, and a good variant gains where rank fusion loses 2.
    """
    weights = [max(QUESTION_WEIGHT, len(scores) - 1)] + [1.0] * (len(scores) - 1)
    total: dict[str, float] = {}
    for weight, some in zip(weights, scores, strict=True):
        for id, score in some.items():
            total[id] = total.get(id, 0.0) + weight * score
    return total


def relevances(query: NDArray[np.float32], vectors: Iterable[Sequence[Vector] | NDArray[np.float32]]) -> list[float]:
    """The similarity of each publication to `query`, from its vectors."""
    return [_clipped(_best_cosine(query, some)) for some in vectors]


def shared_words(query: str, evidence: Sequence[Publication]) -> list[float]:
    """A substitute for relevance without a model: BM25 among `evidence`, scaled to 0..1."""
    index = LexicalIndex()
    for number, item in enumerate(evidence):
        index.add(str(number), words_of(indexed_text(item)))
    scores = index.score(query)
    return [_clipped(scores.at(str(number))[0]) for number in range(len(evidence))]


def _spread(ranked: Sequence[str], scores: Mapping[str, float]) -> list[str]:
    """The units, best first, of which about half are of one publication at most, where others are nearly as good."""
    left, found, counts = [*ranked], list[str](), Counter[str]()
    while left:
        least = NEARLY_AS_GOOD * scores[left[0]]
        near = (unit for unit in left[:AHEAD] if scores[unit] >= least)
        best = next((one for one in near if 2 * counts[split_unit(one)[0]] <= len(found) + 1), left[0])
        left.remove(best)
        found.append(best)
        counts[split_unit(best)[0]] += 1
    return found


def _place(first: Passage, quotation: Quotation) -> dict[str, object]:
    """What distinguishes the evidence of passages of a part of a long text from that of the text."""
    if (part := first.part) is None:
        return {}
    content, anchor = quotation
    is_cut = len(content) < len(first.text.content)
    return {"content": content, "content_truncated": is_cut, "section": part.path, "anchor": anchor}


def _best_cosine(query: NDArray[np.float32], vectors: Iterable[Vector]) -> float:
    return max((float(np.dot(query, np.asarray(vector, np.float32))) for vector in vectors), default=0.0)


def _clipped(cosine: float) -> float:
    return min(max(cosine, 0.0), 1.0)


def _in_brief(item: Evidence) -> RelatedEvidence:
    """An item with the start of its text; a title, or a note on it, never without the paper's mark."""
    label, title = status_label(item.citation.status), item.citation.title
    if label:
        title = f"{title} (on a paper marked {label})" if item.citation.source == "user" else f"{label}: {title}"
    return RelatedEvidence(
        id=item.id,
        title=title,
        url=item.citation.url,
        snippet=cut_at_sentence(item.content, SNIPPET_LENGTH),
        relevance=item.relevance,
    )
