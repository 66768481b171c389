"""Merging of rankings."""

from __future__ import annotations

from collections.abc import Sequence

RANK_CONSTANT = 60
"""k of reciprocal rank fusion, as Cormack, Clarke and Büttcher (SIGIR 2009) chose it."""


def fuse(rankings: Sequence[Sequence[str]], weights: Sequence[float] = (), k: int = RANK_CONSTANT) -> list[str]:
    """One ranking out of several by reciprocal rank: an item scores the sum of weight / (k + rank) over the rankings.

    Without `weights` all rankings count the same. Items of equal score keep the order in which they first appear; an
    item that a ranking names twice counts there once, at its better rank.

    Raises:
        ValueError: `weights` are given, but not one for each ranking.
    """
    scores: dict[str, float] = {}
    for ranking, weight in zip(rankings, weights or [1.0] * len(rankings), strict=True):
        for rank, item in enumerate(dict.fromkeys(ranking), start=1):
            scores[item] = scores.get(item, 0.0) + weight / (k + rank)
    return sorted(scores, key=lambda item: -scores[item])
