"""What was derived from a session when it was last open, kept beside it so that it opens quickly: the words of its
passages, what its publications can be looked up by, and their vectors.

It is only a cache. What is derived from an item is used as long as the item was not written since, by a version that
derives the same; everything else is derived again.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deepcritical_mcp import __version__
from deepcritical_mcp.evidence.clustering import LookupKey
from deepcritical_mcp.evidence.lexical import HashedWords
from deepcritical_mcp.evidence.storage.backend import Space
from deepcritical_mcp.evidence.storage.rows import KeptItem
from deepcritical_mcp.evidence.text_index import IndexedTexts, Shape
from deepcritical_mcp.evidence.units import unit_of

DERIVED = 2
"""Raise it when passages, stems, keys or this form change within a version."""

Arrays = Mapping[str, NDArray[Any]]


def indexed(
    items: Sequence[KeptItem],
    texts: Mapping[str, IndexedTexts],
    keys: Mapping[str, Collection[LookupKey]],
    space: Space,
) -> Arrays:
    """What `KeptIndex.of` reads, of these items and what is derived from them."""
    ids = [item.publication.id for item in items]
    vectors = space.vectors({item.publication.id: item.vector_count for item in items if item.vector_count})
    found = [vectors.get(id, np.zeros((0, 0), np.float32)) for id in ids]
    words = [list(texts[id].words.items()) for id in ids]
    flat = [one for some in words for _, one in some]
    head = {"origin": _origin(space), "ids": ids, "keys": [list(keys[id]) for id in ids]}
    counts = np.frombuffer(b"".join(one.counts for one in flat), np.uint32)
    return {
        "head": np.frombuffer(json.dumps(head).encode(), np.uint8),
        "written": np.array([item.written for item in items], np.int64),
        "shapes": np.array([texts[id].shape for id in ids], np.int32).reshape(-1, 2),
        "wholes": np.array([bool(some) and some[0][0] == id for id, some in zip(ids, words, strict=True)], np.bool_),
        "totals": np.array([one.total for one in flat], np.int32),
        "sizes": np.array([len(one.counts) // 4 for one in flat], np.int32),
        "hashes": np.frombuffer(b"".join(one.hashes for one in flat), np.int64),
        "counts": counts.astype(np.min_scalar_type(int(counts.max(initial=0)))),
        "parts": np.array(list(map(len, found)), np.int32),
        "vectors": np.concatenate([some for some in found if len(some)] or [np.zeros((0, 0), np.float32)]),
    }


@dataclass
class KeptIndex:
    """What is known of each publication, by id.

    Attributes:
        ids: those of which anything is known, and when each was written.
    """

    ids: Mapping[str, int] = field(default_factory=dict[str, int])
    _texts: Mapping[str, IndexedTexts] = field(default_factory=dict[str, IndexedTexts])
    _keys: Mapping[str, Collection[LookupKey]] = field(default_factory=dict[str, Collection[LookupKey]])
    _vectors: Mapping[str, NDArray[np.float32]] = field(default_factory=dict[str, NDArray[np.float32]])

    @classmethod
    def of(cls, space: Space) -> Self:
        """What `space` has kept; nothing if that is damaged or of another version."""
        arrays = space.index()
        try:
            head = json.loads(arrays["head"].tobytes())
            if head["origin"] == _origin(space):
                return cls._read(arrays, head["ids"], head["keys"])
        except (ArithmeticError, LookupError, MemoryError, RecursionError, TypeError, ValueError):
            pass
        return cls()

    @classmethod
    def _read(cls, arrays: Arrays, ids: Sequence[str], keys: Sequence[Sequence[Sequence[str]]]) -> Self:
        shapes = [Shape(*row) for row in arrays["shapes"].tolist()]
        written, parts = arrays["written"].tolist(), arrays["parts"].tolist()
        words, used = _words(arrays), 0
        texts: dict[str, IndexedTexts] = {}
        for id, shape, has_whole in zip(ids, shapes, arrays["wholes"].tolist(), strict=True):
            units = [id] * has_whole + [unit_of(id, part, shape.short) for part in range(shape.short, shape.total)]
            texts[id] = IndexedTexts(shape, dict(zip(units, words[used : used + len(units)], strict=True)))
            used += len(units)
        rows = np.ascontiguousarray(arrays["vectors"], np.float32)
        if used != len(words) or rows.ndim != 2 or len(rows) != sum(parts):
            raise ValueError("of different lengths")
        vectors = {id: rows[start:end] for id, (start, end) in zip(ids, _ranges(parts), strict=True) if end > start}
        pairs = {id: [(kind, value) for kind, value in some] for id, some in zip(ids, keys, strict=True)}
        return cls(dict(zip(ids, written, strict=True)), texts, pairs, vectors)

    def texts(self, item: KeptItem) -> IndexedTexts | None:
        """What is indexed of an item; None if that is not known."""
        return self._texts[item.publication.id] if self._knows(item) else None

    def keys(self, item: KeptItem) -> Collection[LookupKey] | None:
        """What an item's members can be looked up by; None if that is not known."""
        return self._keys[item.publication.id] if self._knows(item) else None

    def vectors(self, items: Iterable[KeptItem]) -> tuple[dict[str, NDArray[np.float32]], dict[str, int]]:
        """The vectors of those items that have any, and the number of passages of the others that have."""
        known: dict[str, NDArray[np.float32]] = {}
        others: dict[str, int] = {}
        for item in (item for item in items if item.vector_count):
            id = item.publication.id
            if self._knows(item) and len(self._vectors.get(id, ())) == item.parts:
                known[id] = self._vectors[id]
            else:
                others[id] = item.parts
        return known, others

    def _knows(self, item: KeptItem) -> bool:
        return self.ids.get(item.publication.id) == item.written


def _origin(space: Space) -> list[object]:
    return [DERIVED, __version__, space.info.model]


def _words(arrays: Arrays) -> list[HashedWords]:
    hashes = memoryview(arrays["hashes"].astype(np.int64).tobytes())
    counts = memoryview(arrays["counts"].astype(np.uint32).tobytes())
    sizes: list[int] = arrays["sizes"].tolist()
    if not len(hashes) == 2 * len(counts) == 8 * sum(sizes):
        raise ValueError("of different lengths")
    return [
        HashedWords(hashes[8 * start : 8 * end], counts[4 * start : 4 * end], total)
        for total, (start, end) in zip(arrays["totals"].tolist(), _ranges(sizes), strict=True)
    ]


def _ranges(sizes: Sequence[int]) -> list[tuple[int, int]]:
    return list(pairwise(accumulate(sizes, initial=0)))
