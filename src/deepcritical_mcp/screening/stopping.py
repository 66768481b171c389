"""What the decisions so far tell about the relevant records that remain. None of it says that screening is done."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from deepcritical_mcp.models import StopEstimate
from deepcritical_mcp.screening.ranking import Ranking, Records, learn

TARGET = 0.95
"""The recall that is asked about."""
MISSED = 1 - TARGET
SIGNIFICANT = 0.05
DOUBT = 0.2
LOOKS = 3
LEAST_RELEVANT = 5
"""Relevant records from which on something is estimated."""
IN_A_ROW, SHARE = 50, 0.1


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


class StopRule:
    """The stop rule in use. It holds when the hypergeometric criterion is met, or when, in three looks in a row, nearly
    every included record would have been found without its own decision.

    That is, each included record is taken out of the decisions in turn: does it still stand in front of all that are
    undecided? By meaning, at least 95 % must, which is cautious (measured: this finds too many missing). By words, so
    few may fall behind that this would happen by chance in one case of five at most, were 5 % missing. What is
    measured is in `bench/screening.py`.

    Looks that were taken are remembered, by what was decided then.
    """

    def __init__(self, records: Records) -> None:
        self._records = records
        self._looks: dict[int, bool] = {}

    def holds(self, decided: Mapping[int, bool], ranking: Ranking) -> bool:
        """Whether nearly all would have been found, now and in the two looks before. `decided` is in the order of the
        decisions."""
        rows, step = list(decided.items()), self.step
        self._looks[hash(frozenset(rows))] = _finds_all(ranking)
        return all(self._look(rows[: len(rows) - ago * step]) for ago in range(LOOKS))

    @property
    def step(self) -> int:
        """How many decisions lie between two looks."""
        return max(10, math.ceil(len(self._records.ids) / 500) * 10)

    def _look(self, rows: Sequence[tuple[int, bool]]) -> bool:
        key = hash(frozenset(rows))
        if key not in self._looks:
            is_enough = sum(included for _, included in rows) >= LEAST_RELEVANT
            self._looks[key] = is_enough and _finds_all(learn(self._records, dict(rows)))
        return self._looks[key]


def _finds_all(ranking: Ranking) -> bool:
    relevant, (_, words, *meaning) = ranking.relevant, ranking.behind
    if relevant < LEAST_RELEVANT:
        return False
    by_chance = sum(math.comb(relevant, k) * MISSED**k * TARGET ** (relevant - k) for k in range(words + 1))
    return by_chance <= DOUBT or any(one <= MISSED * relevant for one in meaning)


def stop_estimate(rule: StopRule, ranking: Ranking, decided: Mapping[int, bool]) -> StopEstimate:
    """What decisions about rows, in their order, tell about those that remain."""
    found, total = list(decided.values()), len(ranking.records.ids)
    relevant, behind, left = ranking.relevant, ranking.behind[0], total - len(found)
    p = hypergeometric_p(found, total)
    is_met = p < SIGNIFICANT or rule.holds(decided, ranking)
    missing = -1
    if relevant >= LEAST_RELEVANT and behind <= relevant / 2:
        missing = min(left, round(relevant * behind / (relevant - behind)))
    recall = relevant / (relevant + missing) if missing >= 0 else 0.0
    met, not_met = _heuristics(found, total, missing)
    return StopEstimate(
        rule_met=is_met,
        says=_said(is_met, p, missing, recall, relevant, behind),
        p=round(p, 4),
        missing=missing,
        recall=round(recall, 3),
        met=met,
        not_met=not_met,
    )


def _said(is_met: bool, p: float, missing: int, recall: float, relevant: int, behind: int) -> str:
    """The estimate in sentences, and what it assumes."""
    seen = (
        f"{relevant - behind:,} of {relevant:,} relevant ones would stand in front of all undecided ones, had they not "
        "been decided"
    )
    if relevant < LEAST_RELEVANT:
        estimate = f"How many remain cannot be estimated from fewer than {LEAST_RELEVANT} relevant records."
    elif missing < 0:
        estimate = f"How many remain cannot be estimated yet: only {seen}."
    else:
        estimate = (
            f"Probably undecided still: {missing:,} relevant, so that {recall:.0%} are found: {seen}. This assumes "
            "that what is missing is like what was found."
        )
    return (
        f"Stop rule {'met' if is_met else 'not met'}. {estimate} "
        f"Hypergeometric criterion: p = {p:.3f} to find so few last if recall were below 95 %, assuming an order no "
        "worse than chance. Not seen here: whether the key papers that you know are included, what another search "
        "finds, and what a second person finds among the excluded. Whether to stop is yours to decide and to report."
    )


def _heuristics(found: Sequence[bool], total: int, missing: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the SAFE procedure asks for before active learning stops (Boetje and van de Schoot, Systematic Reviews
    2024;13:81), as far as a program can see it: what is met, and what is not."""
    decided, relevant = len(found), sum(found)
    row = decided - max((at for at, one in enumerate(found, 1) if one), default=0)
    expected = min(total, 2 * (relevant + max(0, missing)))
    least = (
        f"{expected:,}, twice the relevant ones that there probably are"
        if missing >= 0
        else "twice the relevant ones, which cannot be estimated yet"
    )
    rows = (
        (row >= IN_A_ROW, f"{row:,} excluded in a row, of at least {IN_A_ROW} (then the order as it is finds no more)"),
        (
            decided >= total * SHARE,
            f"{100 * decided // total} % of all records decided, of at least 10 % (then there is enough to learn from)",
        ),
        (
            missing >= 0 and decided >= expected,
            f"{decided:,} decided, of at least {least} (then not only the obvious ones were read)",
        ),
    )
    return tuple(one for is_met, one in rows if is_met), tuple(one for is_met, one in rows if not is_met)
