"""What the decisions so far tell about the relevant records that remain. None of it says that screening is done."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from deepcritical_mcp.models import StopEstimate
from deepcritical_mcp.screening.ranking import Ranking

TARGET = 0.95
"""The recall that is asked about."""


def hypergeometric_p(found: Sequence[bool], total: int, target: float = TARGET) -> float:
    """How probable it is at most to have found so few among the last records read, if recall were below `target`.

    The criterion of Callaghan and Müller-Hansen (Systematic Reviews 2020;9:273): each end of the sequence of decisions
    is taken as a random sample of what had not been read before it, and the least of these probabilities counts. Its
    assumption: the order puts relevant records no later than chance would. `found` says of each decision, in order,
    whether the record was relevant; `total` is the number of records.
    """
    relevant = sum(found)
    if not relevant:
        return 1.0
    least = math.floor(relevant / target) + 1  # relevant ones in all, if recall is below the target
    p, before = 1.0, 0
    for start, is_relevant in enumerate((True, *found)):
        # A sample that begins after a relevant record has the fewest.
        if is_relevant:
            before = sum(found[:start])
            p = min(p, _at_most(relevant - before, total - start, least - before, len(found) - start))
    return p


def _at_most(found: int, pool: int, relevant: int, drawn: int) -> float:
    """The probability that so many or fewer of `drawn` records are relevant, of a pool with `relevant` ones."""
    low = max(0, drawn - (pool - relevant))
    if found < low or relevant > pool:
        return 0.0
    one = math.exp(_choose(relevant, low) + _choose(pool - relevant, drawn - low) - _choose(pool, drawn))
    p = one
    for k in range(low, min(found, relevant, drawn)):
        one *= (relevant - k) * (drawn - k) / ((k + 1) * (pool - relevant - drawn + k + 1))
        p += one
    return min(1.0, p)


def _choose(pool: int, some: int) -> float:
    """The logarithm of the number of ways to choose some."""
    return math.lgamma(pool + 1) - math.lgamma(some + 1) - math.lgamma(pool - some + 1)


def stop_estimate(ranking: Ranking, decided: Mapping[int, bool]) -> StopEstimate:
    """What decisions about rows, in their order, tell about those that remain."""
    found = list(decided.values())
    return StopEstimate(rule_met=False, says="", p=hypergeometric_p(found, len(ranking.records.ids)))
