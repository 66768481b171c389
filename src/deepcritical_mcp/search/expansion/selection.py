"""Choose queries from the proposals: all different, in the usual mix of kinds as far as the proposals allow."""

from __future__ import annotations

import math
import string
from collections.abc import Iterable, Sequence
from typing import Literal

from deepcritical_mcp.models import ExpandedQuery
from deepcritical_mcp.search.expansion.word_lists import FUNCTION_WORDS, NEGATIONS

SEMANTIC_SHARE = 0.37
Strategy = Literal["direct", "broader", "specific"]
Reformulation = Literal["syntactic", "semantic"]
QuerySource = Literal["mesh", "rules", "evidence", "sampling"]

_SILENT_WORDS = FUNCTION_WORDS - NEGATIONS
_PUNCTUATION = string.punctuation + "“”„‘’«»¿¡…"


def semantic_count(count: int) -> int:
    """How many of `count` queries are semantic: 37 %, rounded to the nearest whole number.

    For 1 to 8 queries: 0, 1, 1, 1, 2, 2, 3, 3.
    """
    return math.floor(SEMANTIC_SHARE * count + 0.5)


def kind_at(position: int) -> Reformulation:
    """The kind of the query at `position`, such that every beginning of the list keeps the proportion."""
    return "semantic" if semantic_count(position + 1) > semantic_count(position) else "syntactic"


def same_words_key(query: str) -> frozenset[str]:
    """Equal for two queries that differ only in case, spacing, punctuation, order, repetition or function words."""
    words = {word.strip(_PUNCTUATION) for word in query.casefold().split()}
    return frozenset(words - _SILENT_WORDS - {""}) or frozenset({query.casefold()})


def choose(direct: ExpandedQuery, proposals: Iterable[ExpandedQuery], *, count: int) -> tuple[ExpandedQuery, ...]:
    """`direct`, then the first different proposals of each kind: at most `count` in all, in the mix of `kind_at`.

    Where one kind runs out the other takes its place. From 3 queries on, a broader and a specific one are among them if
    they were proposed.
    """
    different = _different([direct, *proposals])[1:]
    chosen = [direct]
    for position in range(1, count):
        rest = [proposal for proposal in different if proposal not in chosen]
        fitting = [proposal for proposal in rest if proposal.reformulation == kind_at(position)] or rest
        chosen += fitting[:1]
    if count >= 3:
        strategies: tuple[Strategy, ...] = ("broader", "specific")
        for strategy in strategies:
            chosen = _with_strategy(chosen, different, strategy)
    return tuple(chosen)


def _different(queries: Sequence[ExpandedQuery]) -> list[ExpandedQuery]:
    """Without the queries that have the same words, or ask the same of PubMed, as one before them."""
    words: set[frozenset[str]] = set()
    asked: set[str] = set()
    different: list[ExpandedQuery] = []
    for query in queries:
        key, pubmed_query = same_words_key(query.query), query.pubmed_query.casefold()
        if key not in words and pubmed_query not in asked:
            different.append(query)
            words.add(key)
            asked.add(pubmed_query)
    return different


def _with_strategy(
    chosen: Sequence[ExpandedQuery], different: Sequence[ExpandedQuery], strategy: Strategy
) -> list[ExpandedQuery]:
    """`chosen`, its last query that can be spared replaced by the first of a missing strategy and the same kind."""
    if any(query.strategy == strategy for query in chosen):
        return list(chosen)
    for position in range(len(chosen) - 1, 0, -1):
        old = chosen[position]
        if sum(query.strategy == old.strategy for query in chosen) == 1:
            continue
        for new in different:
            if new.strategy == strategy and new.reformulation == old.reformulation:
                return [*chosen[:position], new, *chosen[position + 1 :]]
    return list(chosen)
