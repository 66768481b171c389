"""One ranking out of what PubMed lists for each wording of a question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from deepcritical_mcp.errors import ProviderError
from deepcritical_mcp.models import QueryReport
from deepcritical_mcp.search.fusion import fuse
from deepcritical_mcp.sources.pubmed.eutils import LAST_RESULT, ESearchAnswer

BLOCK = 200
"""So many results of each wording are fused at a time."""

WEIGHT_OF_THE_QUERY = 3.0
"""Against 1 for each variant: fused as an equal, a variant costs more than it finds."""


@dataclass(frozen=True)
class Asked:
    """A wording with PubMed's answer or the reason why there is none."""

    query: str
    is_direct: bool
    answer: ESearchAnswer | None = None
    error: ProviderError | None = None

    @property
    def ids(self) -> Sequence[str]:
        """The PMIDs it found, best first."""
        return self.answer.ids if self.answer else ()

    @property
    def report(self) -> QueryReport:
        """For the result: `results` counts all that PubMed has for the wording."""
        if self.answer:
            return QueryReport(query=self.query, status="ok", results=self.answer.count)
        return QueryReport(query=self.query, status="failed", detail=self.error.message if self.error else "")


@dataclass(frozen=True)
class Window:
    """A part of a ranking.

    Attributes:
        pmids: from the offset asked for.
        total: results in all; of several wordings, as many as are known to exist.
        ends: whether nothing follows `pmids`.
    """

    pmids: tuple[str, ...]
    total: int
    ends: bool


def depth_for(last: int) -> int:
    """How many results of each wording are needed to rank the first `last`: whole blocks."""
    return min(LAST_RESULT, math.ceil(last / BLOCK) * BLOCK)


def window_of_one(asked: Asked, offset: int) -> Window:
    """The window of a single wording, whose answer begins at `offset`."""
    total = asked.answer.count if asked.answer else 0
    return Window(tuple(asked.ids), total, offset + len(asked.ids) >= total)


def window_of_all(asked: Sequence[Asked], offset: int, size: int, depth: int) -> Window:
    """The window of all wordings together, each of which was asked for its first `depth` results."""
    answered = [one for one in asked if one.answer]
    ranking = _fused([one.ids for one in answered], [WEIGHT_OF_THE_QUERY if one.is_direct else 1 for one in answered])
    pmids = tuple(ranking[offset : offset + size])
    counts = [one.answer.count for one in answered if one.answer]
    exhausted = all(count <= depth for count in counts)
    return Window(pmids, max(len(ranking), *counts, 0), exhausted and offset + len(pmids) >= len(ranking))


def _fused(rankings: Sequence[Sequence[str]], weights: Sequence[float]) -> list[str]:
    """Reciprocal rank fusion, block after block: going deeper never changes what came before, so that pages of one
    search neither repeat nor miss a record."""
    order: dict[str, None] = {}
    for depth in range(BLOCK, max(map(len, rankings), default=0) + BLOCK, BLOCK):
        order.update(dict.fromkeys(fuse([ranking[:depth] for ranking in rankings], weights)))
    return list(order)
