"""The queries of a session by number, for results that name which of them found a piece of evidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from deepcritical_mcp.models import Evidence, QueryReport, with_numbers_shown

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.store import EvidenceStore

LATEST_QUERIES = 3
"""Of the queries that found a piece of evidence, so many are named."""


async def with_queries(
    store: EvidenceStore, evidence: Iterable[Evidence]
) -> tuple[tuple[Evidence, ...], tuple[QueryReport, ...]]:
    """`evidence` with the numbers of the latest queries that found it, and these queries."""
    pieces = list(evidence)
    kept = await store.publications([piece.id for piece in pieces])
    found_by: dict[str, Sequence[str]] = {id: kept[id].found_by[-LATEST_QUERIES:] for id in kept}
    asked = dict.fromkeys(query for piece in pieces for query in found_by.get(piece.id, ()))
    numbers = {query: number for number, query in enumerate(asked, start=1)}
    numbered = tuple(
        piece.model_copy(update={"found_by": tuple(sorted(numbers[one] for one in found_by.get(piece.id, ())))})
        for piece in pieces
    )
    queries = [QueryReport(index=number, query=query, status="ok") for query, number in numbers.items()]
    return numbered, with_numbers_shown(queries, numbered)
