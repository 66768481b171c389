"""The searches of a log, each once: pages put together, repetitions by a watch told apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from deepcritical_mcp.export.searched_sources import SearchedSource, searched_source
from deepcritical_mcp.models import LoggedSearch

PAGING_LIMITS = ("at most ", "only results new")
"""How limits begin that make no other search."""


@dataclass(frozen=True)
class DistinctSearch:
    """A search with all of its pages and repetitions: what it led to, and how many of its `total` results were
    examined, each counted once."""

    source: SearchedSource
    queries: tuple[str, ...]
    ids: frozenset[str]
    total: int
    examined: int
    duplicates: int
    left_out: int


def distinct_searches(log: Sequence[LoggedSearch]) -> list[DistinctSearch]:
    """The searches that were answered, without look-ups: pages are put together, and a repeated page counts once.

    What a watch found when it repeated a search belongs to that search, as far as no other had found it.
    """
    again, pages = repetitions(log), dict[tuple[object, ...], list[LoggedSearch]]()
    for place, one in enumerate(log):
        if one.kind != "lookup" and not one.failed and place not in again:
            pages.setdefault((*_asked(one), _lasting(one)), []).append(one)
    searches = {key: _together(some) for key, some in pages.items()}
    known = {id for search in searches.values() for id in search.ids}
    for place in sorted(again):
        one = log[place]
        asked, fresh = _asked(one), frozenset(one.ids) - known
        alike = [key for key in searches if key[: len(asked)] == asked]
        key = max(alike, key=lambda key: key[-1] == _lasting(one))
        searches[key] = replace(searches[key], ids=searches[key].ids | fresh)
        known |= fresh
    return list(searches.values())


def repetitions(log: Sequence[LoggedSearch]) -> set[int]:
    """The places of entries in which a watch repeated a search that had been answered before: for what had been added
    since, or as it was. A watch that makes up for what failed or was missed repeats nothing."""
    answered, whole, found = set[tuple[object, ...]](), set[tuple[object, ...]](), set[int]()
    for place, one in enumerate(log):
        asked, lasting = _asked(one), (*_asked(one), _lasting(one))
        if one.is_watch and (lasting in whole or (asked in answered and has_since(one))):
            found.add(place)
        elif one.kind != "lookup" and not one.failed:
            answered.add(asked)
            if one.is_whole:
                whole.add(lasting)
    return found


def made_good(log: Sequence[LoggedSearch]) -> dict[int, int]:
    """The places of entries that failed or were incomplete, each with that of the later entry in which the same was
    asked for and nothing was missed."""
    missed, found = dict[tuple[object, ...], list[int]](), dict[int, int]()
    for place, one in enumerate(log):
        key = (*_asked(one), _lasting(one), one.first, has_since(one))
        if one.is_whole:
            found |= dict.fromkeys(missed.pop(key, ()), place)
        else:
            missed.setdefault(key, []).append(place)
    return found


def _asked(one: LoggedSearch) -> tuple[object, ...]:
    return one.kind, one.source, tuple(dict.fromkeys(query.query for query in one.queries))


def _lasting(one: LoggedSearch) -> tuple[str, ...]:
    """The limits without those of one run."""
    return tuple(limit for limit in one.filters if not limit.startswith(PAGING_LIMITS) and not _is_since(one, limit))


def has_since(one: LoggedSearch) -> bool:
    """Whether a watch asked only for what had been added since a day."""
    return any(_is_since(one, limit) for limit in one.filters)


def _is_since(one: LoggedSearch, limit: str) -> bool:
    """Whether it is the day from which on a watch looks for what was added."""
    return one.is_watch and limit.startswith(("added to ", "posted since "))


def _together(runs: Sequence[LoggedSearch]) -> DistinctSearch:
    """`runs` are the pages of one search, each as often as it was asked for; some may overlap."""
    pages: dict[int, list[LoggedSearch]] = {}
    for one in runs:
        pages.setdefault(one.first, []).append(one)
    reached = examined = duplicates = left_out = 0
    for first, some in sorted(pages.items()):
        last = first - 1 + max(one.examined for one in some)
        new = max(0, last - max(reached, first - 1))
        # Of a page that overlaps the one before it no more can be counted than it had besides.
        most = new if first <= reached else last + max(one.duplicates + one.left_out for one in some)
        duplicates += min(most, max(one.duplicates for one in some))
        left_out += min(most, max(one.left_out for one in some))
        examined, reached = examined + new, max(reached, last)
    return DistinctSearch(
        source=searched_source(runs[0]),
        queries=tuple(one.query for one in runs[0].queries),
        ids=frozenset(id for one in runs for id in one.ids),
        total=max(one.total for one in runs),
        examined=examined,
        duplicates=duplicates,
        left_out=left_out,
    )
