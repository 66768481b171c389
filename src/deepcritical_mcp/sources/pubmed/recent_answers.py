"""What PubMed answered to the variants of a search, for the search's next pages."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

from deepcritical_mcp.sources.pubmed.eutils_answers import ESearchAnswer

KEPT_FOR_PAGES = 600.0
"""Seconds within which a next page continues what the first one was told."""
MAX_KEPT_IDS = 100_000
"""Of all answers: some 7 MB. The longest answer has 10,000, that of a variant on the first pages 200."""
_FIXED = 20
"""What the rest of an answer takes, counted in ids."""


class RecentAnswers:
    """The latest answers by what was asked, the oldest dropped first."""

    def __init__(self, *, max_ids: int = MAX_KEPT_IDS, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_ids, self._clock = max_ids, clock
        self._answers: dict[Hashable, tuple[float, ESearchAnswer]] = {}
        self._count = 0

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, key: Hashable) -> ESearchAnswer | None:
        """The answer to `key`, if it is recent."""
        at, answer = self._answers.get(key, (0.0, None))
        return answer if self._clock() - at < KEPT_FOR_PAGES else None

    def put(self, key: Hashable, answer: ESearchAnswer) -> None:
        """Keep an answer in place of an earlier one, and drop what is too old or too much."""
        self._drop(key)
        self._answers[key] = self._clock(), answer
        self._count += _FIXED + len(answer.ids)
        while self._answers and (self._count > self._max_ids or self.get(next(iter(self._answers))) is None):
            self._drop(next(iter(self._answers)))

    def _drop(self, key: Hashable) -> None:
        if key in self._answers:
            _, answer = self._answers.pop(key)
            self._count -= _FIXED + len(answer.ids)
