"""Several sources at once: each that answers counts, and each that does not is named."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import anyio

from deepcritical_mcp.errors import AllProvidersFailedError, DeepCriticalError
from deepcritical_mcp.evidence.store import AddOutcome
from deepcritical_mcp.models import Evidence, ProviderReport, Publication, QueryReport, RelatedEvidence, SearchResult
from deepcritical_mcp.progress import Progress, no_progress
from deepcritical_mcp.search.fusion import fuse
from deepcritical_mcp.search.gathering import SearchSession
from deepcritical_mcp.search.pipeline import SourceSearch
from deepcritical_mcp.sources.base import Source


class SearchHandler:
    """Searches all sources side by side.

    Args:
        sources: in the order in which equally ranked results appear.
        seconds: longest time for a search where no deadline is set around it.
    """

    def __init__(self, sources: Sequence[Source], *, seconds: float = 45.0) -> None:
        self._searches = [SourceSearch(source, seconds=seconds) for source in sources]

    async def execute(self, query: str, max_results_per_tool: int = 10) -> SearchResult:
        """What `search` finds; nothing is kept, and `session_id` is "". For Python programs.

        Raises:
            InvalidInputError: the query is blank.
            AllProvidersFailedError: no source answered; it holds each one's error in order.
        """
        return await self.search(query, max_results_per_tool, _NoSession())

    async def search(
        self, query: str, max_results: int, session: SearchSession, *, progress: Progress = no_progress
    ) -> SearchResult:
        """The results of all sources, fused by rank, each record once; `errors` and `providers` name those that failed.

        Raises:
            InvalidInputError: the query is blank.
            AllProvidersFailedError: no source answered; it holds each one's error in order.
        """
        searches = self._searches
        requests = [search.source.request(query=query, max_results=max_results) for search in searches]
        results: dict[int, SearchResult] = {}
        failures: dict[int, DeepCriticalError] = {}

        async def run(index: int) -> None:
            try:
                results[index] = await searches[index].search(requests[index], session, progress=progress)
            except DeepCriticalError as error:
                failures[index] = error

        async with anyio.create_task_group() as tasks:
            for index in range(len(searches)):
                tasks.start_soon(run, index)
        causes = [failures[index] for index in sorted(failures)]
        if not results:
            message = "No source could answer: " + " ".join(cause.message for cause in causes)
            raise AllProvidersFailedError(message, causes)
        reports = [
            _report(search.source, results.get(index), failures.get(index)) for index, search in enumerate(searches)
        ]
        return _fused(query, session.session_id, [results[index] for index in sorted(results)], causes, reports)


def _report(source: Source, result: SearchResult | None, error: DeepCriticalError | None) -> ProviderReport:
    if result is None:
        return ProviderReport(name=source.name, status="failed", detail=error.message if error else "")
    return ProviderReport(name=source.name, status="ok", results=len(result.evidence))


def _fused(
    query: str,
    session_id: str,
    results: Sequence[SearchResult],
    causes: Sequence[DeepCriticalError],
    reports: Sequence[ProviderReport],
) -> SearchResult:
    by_id: dict[str, Evidence] = {}
    for result in results:
        for item in result.evidence:
            by_id.setdefault(item.id, item)
    order = fuse([[item.id for item in result.evidence] for result in results])
    count = sum(len(result.evidence) for result in results)
    return SearchResult(
        session_id=session_id,
        query=query,
        evidence=tuple(by_id[id] for id in order),
        sources_searched=tuple(dict.fromkeys(source for result in results for source in result.sources_searched)),
        total_found=count,
        queries=(QueryReport(query=query, status="ok", results=len(by_id)),),
        errors=(*(cause.message for cause in causes), *(text for result in results for text in result.errors)),
        duplicates_removed=count - len(by_id),
        providers=tuple(reports),
    )


@dataclass(frozen=True)
class _NoSession:
    """Keeps nothing and knows nothing."""

    session_id: str = ""
    warnings: tuple[str, ...] = ()

    async def publications(self, ids: Sequence[str]) -> dict[str, Publication]:
        return {}

    async def known(self, publications: Sequence[Publication]) -> list[str]:
        return [""] * len(publications)

    async def add_evidence(self, publications: Sequence[Publication]) -> tuple[AddOutcome, ...]:
        return tuple(AddOutcome(index, "added", one, Evidence.of(one)) for index, one in enumerate(publications))

    async def relevance(self, query: str, publications: Sequence[Publication]) -> list[float]:
        return [0.0] * len(publications)

    async def related(self, query: str, *, exclude: Collection[str], limit: int = 5) -> tuple[RelatedEvidence, ...]:
        return ()
