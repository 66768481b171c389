"""The order in which undecided records are best read, learned from what was decided, and why each stands there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deepcritical_mcp.screening.learner import (
    COST,
    Dense,
    Features,
    Flags,
    Floats,
    Numbers,
    Sparse,
    Terms,
    trained,
)
from deepcritical_mcp.text import STOP_WORDS

MEANING_COST = 1.0
"""Vectors of meaning are more alike than texts by their words, and need less restraint."""
EVERY = 10
"""Of so many places, one has an uncertain record."""
MAX_WORDS = 3
"""Words that are named for a record, and against it."""


class Records:
    """The records of a session in the form that is learned from; built again when they change.

    Args:
        texts: title and abstract, by id.
        vectors: by id, of those that have one.
        terms: what was counted of earlier texts.
    """

    def __init__(self, texts: Mapping[str, str], vectors: Mapping[str, NDArray[np.float32]], terms: Terms) -> None:
        self.ids = list(texts)
        self.rows = {id: row for row, id in enumerate(self.ids)}
        self.words: Sparse = terms.features(texts)
        self.names: Sequence[str] = terms.names
        has_vector = np.array([id in vectors for id in self.ids])
        self.lacking = int((~has_vector).sum()) if self.ids else 0
        self.meanings: Dense | None = None
        if len(self.ids) and has_vector.any():
            # A record without a vector stands at the mean of the others: only its words count.
            known = np.stack([vectors[id] for id in self.ids if id in vectors])
            rows = np.repeat(known.mean(axis=0, keepdims=True), len(self.ids), axis=0)
            rows[has_vector] = known
            self.meanings = Dense.of(rows)


@dataclass(frozen=True)
class Ranking:
    """What was learned.

    Attributes:
        records: of which.
        scores: of every record: the sum of the two models' scores in standard deviations of those undecided.
        order: the undecided rows of `records`, best first; each `EVERY`th place has an uncertain one.
        uncertain: those on which the two models disagree most: one of them alone puts them in front. With words only,
            those nearest to the border between the two kinds.
        weights: of the words.
        relevant: how many records are included.
        behind: how many of these would stand behind the first undecided one, had they not been decided: by both models
            together, by words, and by meaning, if there are vectors.
    """

    records: Records
    scores: Floats
    order: Sequence[int]
    uncertain: frozenset[int]
    weights: Floats
    relevant: int
    behind: tuple[int, ...]

    @property
    def ids(self) -> list[str]:
        """The ids of the undecided records, best first."""
        return [self.records.ids[row] for row in self.order]

    def words_for(self, row: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The words that speak most for a record, and most against it. A pair stands for its words."""
        words = self.records.words
        start = int(words.lengths[:row].sum())
        at = slice(start, start + int(words.lengths[row]))
        shares = words.values[at] * self.weights[words.columns[at]]
        known = [(float(share), int(one)) for share, one in zip(shares, words.columns[at], strict=True)]
        named = [(share, self.records.names[one]) for share, one in known if one < len(self.records.names)]
        return _first(named, 1), _first(named, -1)


def _first(named: Sequence[tuple[float, str]], sign: int) -> tuple[str, ...]:
    chosen: list[str] = []
    for share, name in sorted(named, key=lambda one: (-sign * one[0], one[1])):
        if share * sign <= 0 or len(chosen) == MAX_WORDS:
            break
        parts = name.split()
        is_said = any(name in other.split() or {*parts} & {*other.split()} for other in chosen)
        if not (is_said or {*parts} & STOP_WORDS or all(part.isdecimal() for part in parts)):
            chosen.append(name)
    return tuple(chosen)


def learn(records: Records, decided: Mapping[int, bool]) -> Ranking:
    """The ranking that the decisions about rows give: whether each was included. At least one must be included, and one
    row undecided."""
    rows = np.array(sorted(decided), np.int64)
    included: Flags = np.array([decided[int(row)] for row in rows])
    undecided = np.setdiff1d(np.arange(len(records.ids)), rows)
    models = [_model(records.words, rows, included, undecided, COST)]
    if records.meanings is not None:
        models.append(_model(records.meanings, rows, included, undecided, MEANING_COST))
    both = np.array([one.scores for one in models])
    scores, left_out = both.sum(axis=0), np.sum([one.left_out for one in models], axis=0)
    doubt = both.max(axis=0) if len(models) > 1 else -np.abs(models[0].outputs)
    best, doubtful = (undecided[np.argsort(-one[undecided], kind="stable")].tolist() for one in (scores, doubt))
    order, uncertain = _mixed(best, doubtful)
    compared = [(scores, left_out), *((one.scores, one.left_out) for one in models)]
    behind = [int((left < front[undecided].max()).sum()) for front, left in compared]
    return Ranking(records, scores, order, uncertain, models[0].weights, int(included.sum()), tuple(behind))


class _Model(NamedTuple):
    """One model: its weights, its outputs for all rows as they are and standardized, and those that the included rows
    would have, had they not been decided."""

    weights: Floats
    outputs: Floats
    scores: Floats
    left_out: Floats


def _model(features: Features, rows: Numbers, included: Flags, undecided: Numbers, cost: float) -> _Model:
    found = trained(features.chosen(rows), included, cost)
    outputs = features.dot(found.weights)
    mean, deviation = outputs[undecided].mean(), outputs[undecided].std() or 1.0
    return _Model(found.weights, outputs, (outputs - mean) / deviation, (found.left_out[included] - mean) / deviation)


def _mixed(best: Sequence[int], doubtful: Sequence[int]) -> tuple[Sequence[int], frozenset[int]]:
    """The rows, best first; each `EVERY`th place has the most doubtful one of those left."""
    order, others = dict[int, None](), iter(doubtful)
    uncertain = set[int]()
    for row in best:
        if len(order) % EVERY == EVERY - 1 and (other := next((one for one in others if one not in order), -1)) >= 0:
            order[other] = None
            uncertain.add(other)
        order.setdefault(row)
    return list(order), frozenset(uncertain)
