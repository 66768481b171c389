"""Choose from many proposals exactly as many as were asked for, in the promised proportion."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Literal

from deepcritical_mcp.models import ExpandedQuery
from deepcritical_mcp.search.expansion.vocabulary import STOP_WORDS

SEMANTIC_SHARE = 0.37
Strategy = Literal["direct", "broader", "specific"]
Reformulation = Literal["syntactic", "semantic"]
QuerySource = Literal["mesh", "rules", "evidence", "sampling"]


def semantic_count(count: int) -> int:
    """How many of `count` queries are semantic: 37 %, rounded to the nearest whole number.

    For 1 to 8 queries: 0, 1, 1, 1, 2, 2, 3, 3.
    """
    return math.floor(SEMANTIC_SHARE * count + 0.5)


def kind_at(position: int) -> Reformulation:
    """The kind of the query at `position`, such that every beginning of the list keeps the proportion."""
    return "semantic" if semantic_count(position + 1) > semantic_count(position) else "syntactic"


def same_words_key(query: str) -> frozenset[str]:
    """Equal for two queries that differ only in case, spacing, punctuation, order, repetition or stop words."""
    words = {re.sub(r"^\W+|\W+$", "", word) for word in query.casefold().split()}
    return frozenset(words - STOP_WORDS - {""}) or frozenset({query.casefold()})


def choose(direct: ExpandedQuery, proposals: Iterable[ExpandedQuery], *, count: int) -> tuple[ExpandedQuery, ...]:
    """`direct`, then the first different proposals of each kind, in the proportion of `kind_at`.

    From 3 queries on, a broader and a specific one are among them. A kind that runs out is made up for by the other.
    """
    different = _different([direct, *proposals])[1:]
    chosen = [direct]
    for position in range(1, count):
        rest = [proposal for proposal in different if proposal not in chosen]
        fitting = [proposal for proposal in rest if proposal.reformulation == kind_at(position)] or rest
        if not fitting:
            break
        chosen.append(fitting[0])
    if count >= 3:
        strategies: tuple[Strategy, ...] = ("broader", "specific")
        for strategy in strategies:
            chosen = _with_strategy(chosen, different, strategy)
    return tuple(chosen)


def _different(queries: Sequence[ExpandedQuery]) -> list[ExpandedQuery]:
    by_words: dict[frozenset[str], ExpandedQuery] = {}
    for query in queries:
        by_words.setdefault(same_words_key(query.query), query)
    return list(by_words.values())


def _with_strategy(
    chosen: Sequence[ExpandedQuery], different: Sequence[ExpandedQuery], strategy: Strategy
) -> list[ExpandedQuery]:
    """`chosen`, in which the last query that can be spared gave way to one of the missing strategy."""
    if any(query.strategy == strategy for query in chosen):
        return list(chosen)
    for position in range(len(chosen) - 1, 0, -1):
        old = chosen[position]
        if old.strategy != "direct" and sum(query.strategy == old.strategy for query in chosen) == 1:
            continue
        for new in different:
            if new.strategy == strategy and new.reformulation == old.reformulation and new not in chosen:
                return [*chosen[:position], new, *chosen[position + 1 :]]
    return list(chosen)
