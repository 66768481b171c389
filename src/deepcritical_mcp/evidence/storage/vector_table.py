"""The vectors of one session in memory: one matrix, in which the nearest are found by comparing all of them.

Up to some 50,000 vectors this is as fast as an approximate index, and complete (HNSW's recall@50 is 0.955 there).
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from deepcritical_mcp.evidence.storage.rows import NearPassage, Vector

PART = "\n"
"""Between the id of a publication and the number of its passage."""
FIRST_ROWS = 64
"""Rows of a table that begins to be filled; a multiple of `BLOCK`."""
BLOCK = 16
"""Rows that are compared with up to 32 queries in one product. OpenBLAS computes so small a product in the calling
thread; for a larger one it starts threads that wait busily for the next for 25 ms, and take that from the model
(measured with 10,000 vectors: 18 ms of processor time a query, 5 ms in blocks)."""
MAX_QUERIES = 32
FEW_QUERIES = 4
"""Queries that are compared row by row, in this thread too: of 17,000 vectors, one in 0.6 ms instead of 1.3, eight in
3.7 instead of 2.9."""
_FREE = -1


class VectorTable:
    """Vectors by publication and passage. Thread-safe; who needs several steps at once holds `lock`."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._matrix: NDArray[np.float32] = np.empty((0, 0), np.float32)
        self._rows: dict[str, list[int]] = {}
        """The rows of each publication, in passage order."""
        self._places: list[tuple[str, int]] = []
        """The publication and the passage of each row."""
        self._labels: NDArray[np.int16] = np.empty(0, np.int16)
        """The source of each row, as its number in `_sources`."""
        self._sources: dict[str, int] = {"": 0}
        self._source_of: dict[str, int] = {}
        self._free: list[int] = []
        self.changes = 0
        """Counts up whenever vectors are set or removed."""
        self._changed: dict[str, None] | None = None

    def __len__(self) -> int:
        return len(self._places) - len(self._free)

    def put(self, id: str, first: int, vectors: Sequence[Vector] | NDArray[np.float32]) -> None:
        """Set the vectors of a publication from passage `first` on, unless earlier ones are missing here."""
        new = np.asarray(vectors, np.float32)
        with self.lock:
            self._note(id)
            rows = self._rows.get(id, [])
            if not len(new) or first > len(rows):
                return
            self._reserve(first + len(new) - len(rows), new.shape[1])
            rows = self._rows.setdefault(id, rows)
            for part in range(len(rows), first + len(new)):
                rows.append(self._row_for(id, part))
            self._matrix[rows[first : first + len(new)]] = new
            self._labels[rows] = self._source_of.get(id, 0)

    def set_source(self, id: str, source: str) -> None:
        """Set the source of a publication, which may have no vectors yet."""
        with self.lock:
            label = self._source_of[id] = self._sources.setdefault(source, len(self._sources))
            if id in self._rows:
                self._labels[self._rows[id]] = label

    def cut(self, id: str, first: int = 0) -> None:
        """Remove the vectors of a publication from passage `first` on."""
        with self.lock:
            self._note(id)
            rows = self._rows.get(id, [])
            gone = rows[first:]
            self._labels[gone] = _FREE
            self._free += gone
            del rows[first:]
            if not rows:
                self._rows.pop(id, None)
                self._source_of.pop(id, None)

    def clear(self) -> None:
        """Remove everything."""
        with self.lock:
            self.changes += 1
            self._changed = None
            self._matrix, self._labels = np.empty((0, 0), np.float32), np.empty(0, np.int16)
            self._rows, self._places, self._free, self._source_of = {}, [], [], {}

    def count(self, id: str) -> int:
        """How many vectors of a publication are here."""
        return len(self._rows.get(id, ()))

    def take_changed(self, limit: int) -> list[str]:
        """The next publications that have changed since all were taken; at first all count as changed."""
        with self.lock:
            if self._changed is None:
                self._changed = dict.fromkeys(self._rows)
            taken = list(self._changed)[:limit]
            for id in taken:
                del self._changed[id]
            return taken

    @property
    def has_changed(self) -> bool:
        """Whether `take_changed` would give any."""
        return self._changed is None or bool(self._changed)

    def _note(self, id: str) -> None:
        self.changes += 1
        if self._changed is not None:
            self._changed[id] = None

    def get(self, id: str, count: int | None = None) -> NDArray[np.float32] | None:
        """The first vectors [passages, dimension] of a publication, at most `count`; None if there are none."""
        with self.lock:
            rows = self._rows.get(id)
            return self._matrix[rows[:count]] if rows else None

    def nearest(
        self, vectors: Sequence[Vector], limit: int, source: str | None, least: float = -1.0
    ) -> list[list[NearPassage]]:
        """See `Space.nearest`."""
        queries = np.asarray(vectors, np.float32)
        with self.lock:
            used = len(self._places)
            label = None if source is None else self._sources.get(source, _FREE)
            if used == len(self._free) or label == _FREE:
                return [[] for _ in queries]
            found: list[list[NearPassage]] = []
            for start in range(0, len(queries), MAX_QUERIES):
                cosines = self._cosines(queries[start : start + MAX_QUERIES], used)
                if least > -1.0:
                    rows = np.flatnonzero((cosines >= least).any(axis=1))
                    cosines, labels = cosines[rows], self._labels[rows]
                else:
                    rows, labels = None, self._labels[:used]
                cosines = np.ascontiguousarray(cosines.T)
                others = labels == _FREE if label is None else labels != label
                if others.any():
                    cosines[:, others] = -np.inf
                found += [self._best(row, limit, rows, least) for row in cosines]
            return found

    def _cosines(self, queries: NDArray[np.float32], used: int) -> NDArray[np.float32]:
        """The cosines [rows, queries]."""
        if len(queries) <= FEW_QUERIES:
            return np.vecdot(self._matrix[:used, None], queries)
        blocks = self._matrix[: -(-used // BLOCK) * BLOCK].reshape(-1, BLOCK, self._matrix.shape[1])
        return (blocks @ queries.T).reshape(-1, len(queries))[:used]

    def _best(
        self, cosines: NDArray[np.float32], limit: int, rows: NDArray[np.int64] | None, least: float
    ) -> list[NearPassage]:
        """The nearest of those `rows`; of all rows if None."""
        if limit < len(cosines):
            some = np.flatnonzero(cosines >= np.partition(cosines, -limit)[-limit])
        else:
            some = np.arange(len(cosines))
        order = some[np.argsort(-cosines[some], kind="stable")][:limit]
        places, worst = self._places, least if least > -1.0 else -np.inf
        found = zip((order if rows is None else rows[order]).tolist(), cosines[order].tolist(), strict=True)
        return [
            NearPassage(places[row][0], places[row][1], cosine)
            for row, cosine in found
            if cosine > -np.inf and cosine >= worst
        ]

    def _reserve(self, count: int, dimension: int) -> None:
        needed = len(self._places) + max(count - len(self._free), 0)
        if needed > len(self._matrix):
            size = max(-(-needed // FIRST_ROWS) * FIRST_ROWS, 2 * len(self._matrix))
            matrix, labels = np.zeros((size, dimension), np.float32), np.full(size, _FREE, np.int16)
            if used := len(self._places):
                matrix[:used], labels[:used] = self._matrix[:used], self._labels[:used]
            self._matrix, self._labels = matrix, labels

    def _row_for(self, id: str, part: int) -> int:
        if self._free:
            row = self._free.pop()
            self._places[row] = id, part
        else:
            row = len(self._places)
            self._places.append((id, part))
        return row


def part_id(id: str, part: int) -> str:
    """The id of the record of a publication's passage."""
    return f"{id}{PART}{part}" if part else id


def id_and_part(part_id: str) -> tuple[str, int]:
    """The publication and the number of the passage that the record with that id is of."""
    id, _, part = part_id.partition(PART)
    return id, int(part or 0)


def stacked(ids: Sequence[str], vectors: Sequence[Vector]) -> dict[str, NDArray[np.float32]]:
    """The vectors of each publication in passage order, from passages in any order; of one that lacks some, those
    before."""
    rows: dict[str, dict[int, Vector]] = {}
    for (id, part), vector in zip(map(id_and_part, ids), vectors, strict=True):
        rows.setdefault(id, {})[part] = vector
    found = {id: [some[part] for part in takewhile(some.__contains__, itertools.count())] for id, some in rows.items()}
    return {id: np.asarray(some, np.float32) for id, some in found.items() if some}
