"""One ranking out of several."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deepcritical_mcp.models import merged
from deepcritical_mcp.sources.base import Hit

RANK_CONSTANT = 60
"""k of reciprocal rank fusion, as Cormack, Clarke and Büttcher (SIGIR 2009) chose it."""

QUERY_WEIGHT = 3.0
"""Of the query itself, against 1 for each variant: with equal weight, a variant costs more than it finds."""

_NOT_A_LETTER = re.compile(r"[\W_]+")
_LEAST_TITLE, _LEAST_CONTENT = 25, 100


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


def fuse_in_blocks(rankings: Sequence[Sequence[str]], weights: Sequence[float], block: int) -> list[str]:
    """Reciprocal rank fusion, block after block of each ranking: going deeper never changes what came before, so that
    pages of one search neither repeat nor miss an item."""
    order: dict[str, None] = {}
    for depth in range(block, max(map(len, rankings), default=0) + block, block):
        order.update(dict.fromkeys(fuse([ranking[:depth] for ranking in rankings], weights)))
    return list(order)


@dataclass(frozen=True)
class United:
    """Records found by several variants, each once.

    Attributes:
        names: for each variant, the id under which each of its records is listed here.
        records: by id.
        duplicates: how many came more than once.
    """

    names: Sequence[Mapping[str, str]]
    records: dict[str, Hit]
    duplicates: int


def unite(found: Sequence[Mapping[str, Hit]]) -> United:
    """What several variants found, by id and in rank order, as one set of records.

    Two results are one record when they have the same id, or word for word the same title and text, if these are long
    enough to tell.
    """
    records: dict[str, Hit] = {}
    by_text: dict[str, str] = {}
    listed: list[dict[str, str]] = []
    for items in found:
        names: dict[str, str] = {}
        for id, item in items.items():
            name = names[id] = id if id in records else by_text.setdefault(_text_key(item) or id, id)
            records[name] = _united(records[name], item) if name in records else item
        listed.append(names)
    return United(listed, records, sum(map(len, listed)) - len(records))


def _text_key(hit: Hit) -> str:
    texts = hit.publication.title, hit.publication.text.content
    title, content = (_NOT_A_LETTER.sub(" ", text).strip().casefold() for text in texts)
    return f"{title}\n{content}" if len(title) >= _LEAST_TITLE and len(content) >= _LEAST_CONTENT else ""


def _united(hit: Hit, other: Hit) -> Hit:
    """`hit` with the better score, and with what `other` knows more."""
    return Hit(publication=merged(hit.publication, other.publication), score=max(hit.score, other.score))
