"""Hybrid ranking: by meaning and by words."""

from __future__ import annotations

from collections.abc import Sequence

from deepcritical_mcp.evidence.fusion import fuse

Scored = Sequence[tuple[str, float]]
"""Ids and scores, best first."""

DIRECT_WEIGHT = 2.0
"""Weight of the question itself beside each of its variants."""


def hybrid(by_meaning: Scored, by_words: Scored) -> list[str]:
    """One ranking out of cosines and BM25 scores."""
    return fuse([[id for id, _ in by_meaning], [id for id, _ in by_words]])


def merge_wordings(rankings: Sequence[Sequence[str]]) -> list[str]:
    """One ranking out of those of the question (the first) and of its variants."""
    return fuse(rankings, [DIRECT_WEIGHT] + [1.0] * (len(rankings) - 1))
