"""The embedding vectors used last, in memory; `net.cache` keeps more of them on disk."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping

MEMORY_LIMIT = 32 * 1024 * 1024
"""Bytes: about 20,000 vectors of the shipped model."""


class MemoryCache:
    """Vectors by key, up to a number of bytes; drops the least recently used. Safe to use from several threads."""

    def __init__(self, limit: int = MEMORY_LIMIT) -> None:
        self._limit = limit
        self._size = 0
        self._vectors: OrderedDict[bytes, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, keys: Collection[bytes]) -> dict[bytes, bytes]:
        """The vectors of those `keys` that are cached."""
        with self._lock:
            found = {key: self._vectors[key] for key in keys if key in self._vectors}
            for key in found:
                self._vectors.move_to_end(key)
        return found

    def put(self, vectors: Mapping[bytes, bytes]) -> None:
        """Cache `vectors`, dropping the least recently used ones beyond the limit."""
        with self._lock:
            for key, vector in vectors.items():
                self._size += len(vector) - len(self._vectors.pop(key, b""))
                self._vectors[key] = vector
            while self._size > self._limit:
                self._size -= len(self._vectors.popitem(last=False)[1])
