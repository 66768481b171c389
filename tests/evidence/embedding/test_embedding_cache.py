"""Vectors kept in memory."""

from __future__ import annotations

from deepcritical_mcp.evidence.embedding.service import MemoryCache

VECTOR = bytes(range(256)) * 6
FIRST, SECOND, THIRD, FOURTH = KEYS = [b"1", b"2", b"3", b"4"]


def test_the_least_recently_used_vectors_are_dropped_beyond_the_limit() -> None:
    cache = MemoryCache(limit=3 * len(VECTOR))
    cache.put({FIRST: VECTOR, SECOND: VECTOR, THIRD: VECTOR})

    cache.get([FIRST])
    cache.put({FOURTH: VECTOR})

    assert set(cache.get(KEYS)) == {FIRST, THIRD, FOURTH}
