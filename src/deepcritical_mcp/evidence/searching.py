"""One search of a session, by meaning and by words. Blocks; runs in worker threads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from deepcritical_mcp.evidence.catalogue import Catalogue
from deepcritical_mcp.evidence.chunking import EVERYTHING, Passage, Scope, by_place, indexed_text, own_title
from deepcritical_mcp.evidence.embedding.calibration import EVEN_WORDS_WEIGHT, Calibration
from deepcritical_mcp.evidence.paper_passages import CLOSE_COVERAGE, Embedded, best_within
from deepcritical_mcp.evidence.passage_quotes import PassagePage, page_of, together
from deepcritical_mcp.evidence.storage.stored_items import Vector
from deepcritical_mcp.evidence.text_index import (
    OF_A_WHOLE,
    WordScores,
    hybrid_scores,
    is_passage,
    priority,
    scores_among,
    split_unit,
    unit_of,
)
from deepcritical_mcp.models import (
    NO_ABSTRACT,
    DocumentPassage,
    Evidence,
    Publication,
    RelatedEvidence,
    Text,
    status_label,
)
from deepcritical_mcp.text import cut_at_sentence, words_of

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

_Shown = tuple[Evidence, str]
"""An item, and the piece of its text that is closest to the query."""


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

    def scores(self, units: Sequence[str]) -> dict[str, float]:
        """The scores of units; the word score stands in for a missing cosine."""
        lexical, coverage = self.words.at(units)
        near = [self.cosines.get(unit, own) for unit, own in zip(units, lexical.tolist(), strict=True)]
        found = hybrid_scores(near, lexical, coverage, self.words.wholes.terms, self.weight)
        added = [self.priority(unit) if is_passage(unit) else OF_A_WHOLE for unit in units]
        return dict(zip(units, (found + added).tolist(), strict=True))


class Search:
    """A search in one session, among the evidence in `scope`.

    What is ranked are units (see `units`): publications with all their short texts, and passages of long texts.
    """

    def __init__(self, catalogue: Catalogue, calibration: Calibration | None, scope: Scope = EVERYTHING) -> None:
        self._catalogue = catalogue
        self._weight = calibration.words_weight if calibration else EVEN_WORDS_WEIGHT
        self._floor = calibration.nothing_close if calibration else 0.0
        self._scope = scope
        self._items: dict[tuple[str, ...], _Shown] = {}
        units = (
            unit_of(id, part, catalogue.layout(id).short)
            for id in (catalogue.where(scope.includes) if scope != EVERYTHING else ())
            for part, passage in enumerate(catalogue.layout(id).passages)
            if scope.includes_text(passage.text)
        )
        self._only = None if scope == EVERYTHING else [*dict.fromkeys(units)]
        """The units of which a text is in scope; None for all."""

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
        wholes = {unit: self._catalogue.layout(unit) for unit in scores if not is_passage(unit)}
        # There is only a title, which answers nothing, unless the question names it.
        bare = {id for id, one in wholes.items() if one.is_bare and not wanted >= {*words_of(one.publication.title)}}
        ranking = sorted(scores, key=lambda unit: (unit in bare, -scores[unit]))
        relevance = self._relevance(asked[0], ranking)
        folded = self._folded([unit for unit in ranking if relevance[unit] >= min_relevance])
        ranked = [*islice(_spread(folded, scores), page.offset + page.limit + 1)]

        def shown(some: slice) -> list[_Shown]:
            return self._shown(ranked[some], relevance, asked[0])

        place = page_of(len(ranked), page, lambda some: page.length([item for item, _ in shown(some)]))
        items = shown(place)
        seen = ranked[: place.stop]
        close = vectors is None or not items or any(self._is_close(variant, seen) for variant in asked)
        evidence, parts = tuple(item for item, _ in items), tuple(part for _, part in items)
        return Found(evidence, parts, close, place.stop if place.stop < len(ranked) else -1)

    def within(
        self, id: str, text: Text, question: str, vector: Vector | None, page: PassagePage, abstract: Sequence[Embedded]
    ) -> tuple[tuple[DocumentPassage, ...], int]:
        """See `EvidenceStore.best_passages`; `vector` is the question's, None without a model; `abstract` are passages
        to rank besides those of the text, with their vectors."""
        numbered = [row for row in enumerate(self._catalogue.layout(id).passages) if row[1].text == text]
        vectors = self.vectors([id]).get(id, ()) if vector is not None else ()
        known = [own for _, own in abstract] + [vectors[number] for number, _ in numbered if number < len(vectors)]
        cosines = [] if vector is None else [float(np.dot(vector, one)) for one in known]
        passages = [passage for passage, _ in abstract] + [passage for _, passage in numbered]
        return best_within(passages, question, cosines, page, self._weight, self._floor)

    def closest(
        self, query: str, vectors: NDArray[np.float32] | None, exclude: Set[str], limit: int, min_relevance: float
    ) -> tuple[RelatedEvidence, ...]:
        """See `EvidenceStore.related`; `min_relevance` is the relevance from which evidence counts as close."""
        candidates = limit + len(exclude) + EXTRA_CANDIDATES
        asked = self._variants(query, self._catalogue.by_words([query]), vectors, candidates)[0]
        relevance = self._relevance(asked, [*(asked.cosines or asked.words.top(candidates))])
        texts = {unit: self._passage(unit, asked).text.content for unit in relevance}
        ranking = sorted(relevance, key=lambda unit: (texts[unit] == NO_ABSTRACT, -relevance[unit]))
        close = [(unit, split_unit(unit)[0]) for unit in ranking if relevance[unit] >= min_relevance]
        others = [unit for unit, id in close if exclude.isdisjoint((id, *self._catalogue.links(id)))]
        of_each = list({split_unit(unit)[0]: unit for unit in reversed(others)}.values())[::-1]
        shown = self._shown([*islice(self._folded(of_each), limit)], relevance, asked)
        return tuple(_in_brief(item) for item, _ in shown)

    def _is_close(self, variant: _Variant, units: Sequence[str]) -> bool:
        is_near = any(variant.cosines.get(unit, 0.0) >= self._floor for unit in units)
        return is_near or bool(np.any(variant.words.at(units)[1] >= CLOSE_COVERAGE))

    def _variants(
        self, query: str, words: Sequence[WordScores], vectors: NDArray[np.float32] | None, limit: int
    ) -> list[_Variant]:
        crowd = CROWDED if self._catalogue.has_long_texts else 1
        count = min(crowd * max(MIN_NEAREST, 3 * limit), self._catalogue.passages)
        known = [None] * len(words) if vectors is None else list(vectors)
        extra = cache(partial(self._priority, query))
        asked = [_Variant(some, vector, self._weight, extra) for some, vector in zip(words, known, strict=True)]
        if vectors is not None and self._only is not None:  # every passage in scope with every variant
            for id, own in self.vectors(dict.fromkeys(split_unit(unit)[0] for unit in self._only)).items():
                layout = self._catalogue.layout(id)
                for variant, cosines in zip(asked, (vectors @ own.T).tolist(), strict=True):
                    for part, (passage, cosine) in enumerate(zip(layout.passages, cosines, strict=False)):
                        if self._scope.includes_text(passage.text):
                            variant.enter(unit_of(id, part, layout.short), part, cosine)
        elif vectors is not None and count:
            for variant, rows in zip(asked, self._catalogue.space.table.nearest(list(vectors), count), strict=True):
                for row in rows:
                    # A row under an earlier id, or of an earlier text, may have outlived it.
                    if row.part < self._catalogue.vectors(row.id):
                        unit = unit_of(row.id, row.part, self._catalogue.layout(row.id).short)
                        variant.enter(unit, row.part, row.cosine)
        return asked

    def _priority(self, query: str, unit: str) -> float:
        """See `priority`; `unit` is a passage."""
        id, part = split_unit(unit)
        layout = self._catalogue.layout(id)
        is_there = layout.short <= part < layout.total  # its text may have changed since it was found
        return priority(layout.passages[part], query, layout.standings[part - layout.short]) if is_there else 0.0

    def _ranked(self, asked: Sequence[_Variant], depth: int) -> dict[str, float]:
        """The scores of the candidates of all variants, by meaning and by words, merged.

        The question weighs at least double, and at least as much as all variants together. Scores are summed, not
        ranks. Measured with paper conclusions as variants of each other: an off-topic variant costs 1 to 3 points of
        nDCG@10, against 20 to 60 with rank fusion, and a good variant gains where rank fusion loses 2.
        """
        scores: list[dict[str, float]] = []
        for variant in asked:
            found = {**variant.cosines, **variant.words.top(max(MIN_WORD_CANDIDATES, depth), self._only)}
            self._measure([variant], found)
            scores.append(variant.scores([*found]))
        if len(asked) > 1:
            best = [*{id for some in scores for id in sorted(some, key=lambda unit: -some[unit])[:depth]}]
            self._measure(asked, best)
            scores = [variant.scores(best) for variant in asked]
        weights = [max(QUESTION_WEIGHT, len(scores) - 1)] + [1.0] * (len(scores) - 1)
        weighted = list(zip(weights, scores, strict=True))
        return {unit: sum(weight * some[unit] for weight, some in weighted) for unit in scores[0]}

    def _measure(self, asked: Sequence[_Variant], ids: Collection[str]) -> None:
        """Add the missing cosines of every variant to these ids."""
        unknown = {*ids} - set[str].intersection(*({*variant.cosines} for variant in asked))
        vectors = self.vectors({split_unit(unit)[0] for unit in unknown}) if asked[0].vector is not None else {}
        for unit in unknown:
            id, part = split_unit(unit)
            own = vectors.get(id, ())
            some = own[: self._catalogue.layout(id).short] if part < 0 else own[part : part + 1]
            for variant in asked:
                if variant.vector is not None and len(some) and unit not in variant.cosines:
                    variant.cosines[unit] = max(np.vecdot(some, variant.vector).tolist())

    def vectors(self, ids: Iterable[str]) -> dict[str, NDArray[np.float32]]:
        """The vectors that the session holds of these publications."""
        counts = {id: self._catalogue.vectors(id) for id in ids}
        return self._catalogue.space.vectors({id: count for id, count in counts.items() if count})

    def _relevance(self, question: _Variant, units: Sequence[str]) -> dict[str, float]:
        known, words = question.cosines, question.words
        return {unit: _clipped(known[unit] if unit in known else words.at([unit])[0].item()) for unit in units}

    def _folded(self, ranking: Sequence[str]) -> Iterator[str]:
        """The best of each group of nearly identical publications; of a preprint and its article the article."""
        ranked, known = {split_unit(unit)[0] for unit in ranking}, set[str]()
        for unit in ranking:
            id = split_unit(unit)[0]
            if id in known or not self._catalogue.is_folded(unit, known, ranked):
                known.add(id)
                yield unit

    def _shown(self, units: Sequence[str], relevance: Mapping[str, float], asked: _Variant) -> list[_Shown]:
        """Each publication by the text of it that matched best (of a long text, its passages, one item for each part),
        and the piece of its text that is closest to the query."""
        found = [self._passage(unit, asked) for unit in units]
        groups = {tuple(units[at] for at in numbers): numbers for numbers in by_place(found)}
        for group, numbers in groups.items():
            if group not in self._items:  # a page is measured with more and more of them
                first = found[numbers[0]]
                kept = self._catalogue.item_or_successor(split_unit(group[0])[0])
                item = self._catalogue.shown(kept.publication, first.text)
                changes: dict[str, object] = {"relevance": max(map(relevance.__getitem__, group))}
                if first.part is not None:
                    content, anchor = together([found[at] for at in numbers])
                    changes |= {"content": content, "content_truncated": len(content) < len(first.text.content)}
                    changes |= {"section": first.part.path, "anchor": anchor}
                item = item.model_copy(update=changes)
                self._items[group] = item, item.content if first.part else self._part(group[0], asked)
        return [self._items[group] for group in groups]

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
        title = own_title(self._catalogue.item_or_successor(split_unit(unit)[0]).publication, passage.text)
        return passage.content.removeprefix(f"{title}. ") if title else passage.content


def relevances(query: NDArray[np.float32], vectors: Iterable[Sequence[Vector] | NDArray[np.float32]]) -> list[float]:
    """The similarity of each publication to `query`, from its vectors."""
    return [_clipped(max(np.vecdot(np.asarray(some, np.float32), query).tolist())) for some in vectors]


def shared_words(query: str, evidence: Sequence[Publication]) -> list[float]:
    """A substitute for relevance without a model: BM25 among `evidence`, scaled to 0..1."""
    scores = scores_among(map(indexed_text, evidence), query)
    return [*map(_clipped, scores.at(map(str, range(len(evidence))))[0].tolist())]


def _spread(ranked: Iterator[str], scores: Mapping[str, float]) -> Iterator[str]:
    """The units, best first, of which about half are of one publication at most, where others are nearly as good."""
    left, counts = list[str](), Counter[str]()
    while left := left or [*islice(ranked, 1)]:
        least, most, at = NEARLY_AS_GOOD * scores[left[0]], (counts.total() + 1) / 2, 0
        while scores[left[at]] < least or counts[split_unit(left[at])[0]] > most:
            at += 1
            left += islice(ranked, int(at == len(left)))
            if at == min(AHEAD, len(left)):
                at = 0
                break
        counts[split_unit(left[at])[0]] += 1
        yield left.pop(at)


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
