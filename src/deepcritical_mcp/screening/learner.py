"""What is learned from decisions: two linear support vector machines, one on words and one on vectors of meaning, whose
standardized scores are added. Everything is computed anew from the decisions and is the same each time.

The model on words is ASReview's ELAS u4 (asreview 3.0, `models/models.py`): TF-IDF of single words and pairs, squared
hinge loss, C = 0.11, and the included records together weighing 9.8 times as much as the excluded ones.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]

COST = 0.11
BALANCE = 9.8
MOST_COMMON = 0.95
"""A term in more than this share of the records says nothing."""
TOLERANCE = 1e-4
"""Of the gradient, relative to that at zero."""
NEWTON_STEPS, CG_STEPS = 30, 80
_WORD = re.compile(r"\w\w+")


class Dense(NamedTuple):
    """Rows [records, dimension] of vectors, with a constant column for the intercept."""

    values: Floats

    @classmethod
    def of(cls, vectors: NDArray[np.float32]) -> Dense:
        return cls(np.hstack([vectors.astype(np.float64), np.ones((len(vectors), 1))]))

    @property
    def width(self) -> int:
        return self.values.shape[1]

    def chosen(self, rows: Numbers) -> Dense:
        return Dense(self.values[rows])

    def dot(self, weights: Floats) -> Floats:
        return self.values @ weights

    def sum(self, weights: Floats) -> Floats:
        return weights @ self.values

    def own_share(self, active: Floats) -> Floats:
        """How much of a row's output is its own doing, for each unit that is missing: exactly, by its leverage."""
        matrix = np.eye(self.width) + self.values.T @ (active[:, None] * self.values)
        leverage = active * np.sum(self.values * np.linalg.solve(matrix, self.values.T).T, axis=1)
        return leverage / (1 - leverage)


class Sparse(NamedTuple):
    """The entries of a matrix, row by row.

    Attributes:
        lengths: how many entries each row has.
        rows, columns, values: of each entry.
        width: the number of columns.
    """

    lengths: Numbers
    rows: Numbers
    columns: Numbers
    values: Floats
    width: int

    @classmethod
    def of(cls, lengths: Numbers, columns: Numbers, values: Floats, width: int) -> Sparse:
        return cls(lengths, np.repeat(np.arange(len(lengths)), lengths), columns, values, width)

    def chosen(self, rows: Numbers) -> Sparse:
        """Only these rows, in this order."""
        lengths, starts = self.lengths[rows], (np.cumsum(self.lengths) - self.lengths)[rows]
        at = np.arange(int(lengths.sum())) + np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
        return Sparse.of(lengths, self.columns[at], self.values[at], self.width)

    def dot(self, weights: Floats) -> Floats:
        """Its product with weights of the columns: a number for each row."""
        return np.bincount(self.rows, self.values * weights[self.columns], len(self.lengths)).astype(np.float64)

    def sum(self, weights: Floats) -> Floats:
        """The sum of its rows, each times its weight: a number for each column."""
        return np.bincount(self.columns, self.values * weights[self.rows], self.width).astype(np.float64)

    def own_share(self, active: Floats) -> Floats:
        """The same, without what others would learn in its place: texts have few words in common (measured: the
        outputs without a row correlate with the exact ones by 0.99)."""
        return active


Features = Dense | Sparse


class Terms:
    """The words and pairs of words of records, counted once for each text."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._counted: dict[str, tuple[str, Numbers, Floats]] = {}
        self.names: Sequence[str] = ()

    def features(self, texts: Mapping[str, str]) -> Sparse:
        """The TF-IDF of all `texts`, by id, each of length 1 without the constant column, the last.

        Terms of a single record tell it from all others, whatever they are: its column stands for them.
        """
        self._counted = {id: self._count(id, text) for id, text in texts.items()}
        some = list(self._counted.values())
        lengths = np.array([len(numbers) for _, numbers, _ in some], np.int64)
        columns = np.concatenate([numbers for _, numbers, _ in some] or [np.zeros(0, np.int64)])
        counts = np.concatenate([found for *_, found in some] or [np.zeros(0)])
        found = np.bincount(columns, minlength=len(self._numbers))
        values = (1 + np.log(counts)) * (np.log((1 + len(some)) / (1 + found)) + 1)[columns]
        rows = np.repeat(np.arange(len(some)), lengths)
        values[found[columns] > MOST_COMMON * len(some)] = 0
        norms = np.sqrt(np.bincount(rows, values**2, len(some)))
        values /= np.where(norms, norms, 1)[rows]
        shared = (found[columns] > 1) & (values > 0)
        own = np.sqrt(np.bincount(rows[~shared], values[~shared] ** 2, len(some)))
        names = np.flatnonzero(found > 1)
        place = np.zeros(len(found), np.int64)
        place[names] = np.arange(len(names))
        all_names = list(self._numbers)
        self.names = [all_names[at] for at in names]
        # Each row: its shared terms, its own column, and the constant one.
        each = np.arange(len(some))
        order = np.argsort(np.concatenate([rows[shared], each, each]), kind="stable")
        width = len(names) + len(some) + 1
        columns = np.concatenate([place[columns[shared]], len(names) + each, np.full(len(some), width - 1)])
        values = np.concatenate([values[shared], own, np.ones(len(some))])
        lengths = np.bincount(rows[shared], minlength=len(some)) + 2
        return Sparse.of(lengths, columns[order], values[order], width)

    def _count(self, id: str, text: str) -> tuple[str, Numbers, Floats]:
        if (known := self._counted.get(id)) and known[0] == text:
            return known
        words = _WORD.findall(text.lower())
        counts = Counter(words)
        counts.update(f"{one} {other}" for one, other in pairwise(words))
        numbers = [self._numbers.setdefault(term, len(self._numbers)) for term in counts]
        return text, np.array(numbers, np.int64), np.array(list(counts.values()), np.float64)


class Trained(NamedTuple):
    """A support vector machine.

    Attributes:
        weights: of the columns.
        outputs: of the rows that it was trained on.
        left_out: about what these outputs would be if a row had not been among them.
    """

    weights: Floats
    outputs: Floats
    left_out: Floats


def trained(features: Features, included: Flags, cost: float = COST, balance: float = BALANCE) -> Trained:
    """The support vector machine with squared hinge loss that separates included rows from others, found by Newton's
    method on its primal problem (Keerthi and DeCoste, JMLR 2005), in two or three steps of full length."""
    signs = np.where(included, 1.0, -1.0)
    costs = np.where(included, 1.0, included.sum() / (balance * max(1, (~included).sum())))
    costs *= 2 * cost * len(costs) / costs.sum()
    found, outputs, least = np.zeros(features.width), np.zeros(len(signs)), 0.0
    for _ in range(NEWTON_STEPS):
        missing = signs - outputs
        active = np.where(signs * missing > 0, costs, 0.0)
        gradient = found - features.sum(active * missing)
        size = float(np.linalg.norm(gradient))
        least = least or TOLERANCE * size
        if size <= least:
            break
        step = _solved(features, active, -gradient)
        found, outputs = found + step, outputs + features.dot(step)
    active = np.where(signs * (signs - outputs) > 0, costs, 0.0)
    return Trained(found, outputs, outputs - features.own_share(active) * (signs - outputs))


def _solved(features: Features, active: Floats, target: Floats) -> Floats:
    """The solution of (I + XᵀDX) s = target, with D = `active`, by conjugate gradients."""
    solution, residual = np.zeros(features.width), target.copy()
    direction, square = residual.copy(), float(residual @ residual)
    least = square * 1e-4
    for _ in range(CG_STEPS):
        if square <= least:
            break
        product = direction + features.sum(active * features.dot(direction))
        length = square / float(direction @ product)
        solution += length * direction
        residual -= length * product
        before, square = square, float(residual @ residual)
        direction = residual + square / before * direction
    return solution
