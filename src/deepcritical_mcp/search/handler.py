"""Search of several sources at once; those that fail are named in the result."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import anyio

from deepcritical_mcp.config import variable_name
from deepcritical_mcp.errors import AllProvidersFailedError, ConfigurationError, DeepCriticalError
from deepcritical_mcp.evidence.outcomes import AddOutcome
from deepcritical_mcp.models import Evidence, ProviderReport, Publication, QueryReport, RelatedEvidence, SearchResult
from deepcritical_mcp.progress import Progress, no_progress
from deepcritical_mcp.search.asking import fuse
from deepcritical_mcp.search.gathering import SearchSession
from deepcritical_mcp.search.pipeline import SourceSearch
from deepcritical_mcp.search.witness import Witness
from deepcritical_mcp.sources.base import SearchRequest, Source


class SearchHandler:
    """Searches all sources concurrently, for at most `seconds` where no deadline is set around it.

    Equally ranked results appear in the order of `sources`.
    """

    def __init__(self, sources: Sequence[Source], *, seconds: float = 45.0, witness: Witness | None = None) -> None:
        self._searches = [SourceSearch(source, seconds=seconds, witness=witness) for source in sources]

    async def execute(self, query: str, max_results_per_tool: int = 10) -> SearchResult:
        """What `search` finds, and the same errors; nothing is kept, and `session_id` is "". For Python programs."""
        return await self.search(query, max_results_per_tool, _NoSession())

    async def search(
        self, query: str, max_results: int, session: SearchSession, *, progress: Progress = no_progress
    ) -> SearchResult:
        """The results of all sources, fused by rank, each record once; `errors` and `providers` name those that failed.

        Raises:
            InvalidInputError: the query is blank.
            ConfigurationError: every source is switched off.
            AllProvidersFailedError: no source answered; it contains the error of each, in order.
        """
        if not self._searches:
            raise ConfigurationError(f"Nothing can be searched: {variable_name('off')} switches every source off.")
        requests = [search.source.request(query=query, max_results=max_results) for search in self._searches]
        outcomes: dict[SourceSearch, SearchResult | DeepCriticalError] = {}

        async def run(search: SourceSearch, request: SearchRequest) -> None:
            try:
                outcomes[search] = await search.search(request, session, tool="search", progress=progress)
            except DeepCriticalError as error:
                outcomes[search] = error

        async with anyio.create_task_group() as tasks:
            for search, request in zip(self._searches, requests, strict=True):
                tasks.start_soon(run, search, request)
        ordered = [outcomes[search] for search in self._searches]
        causes = [one for one in ordered if isinstance(one, DeepCriticalError)]
        results = [one for one in ordered if isinstance(one, SearchResult)]
        if not results:
            message = "No source could answer: " + " ".join(cause.message for cause in causes)
            raise AllProvidersFailedError(message, causes)
        rankings = [[item.id for item in result.evidence] for result in results]
        # Of the same record from several sources, the first is shown.
        by_id = {item.id: item for result in reversed(results) for item in result.evidence}
        count = sum(map(len, rankings))
        return SearchResult(
            session_id=session.session_id,
            query=query,
            evidence=tuple(by_id[id] for id in fuse(rankings)),
            sources_searched=tuple(dict.fromkeys(source for result in results for source in result.sources_searched)),
            total_found=count,
            queries=(QueryReport(query=query, status="ok", results=len(by_id)),),
            errors=(*(cause.message for cause in causes), *(text for result in results for text in result.errors)),
            duplicates_removed=count - len(by_id),
            providers=tuple(_report(one.source.name, end) for one, end in zip(self._searches, ordered, strict=True)),
        )


def _report(name: str, outcome: SearchResult | DeepCriticalError) -> ProviderReport:
    if isinstance(outcome, DeepCriticalError):
        return ProviderReport(name=name, status="failed", detail=outcome.message)
    return ProviderReport(name=name, status="ok", results=len(outcome.evidence))


@dataclass(frozen=True)
class _NoSession:
    """A session that stores nothing."""

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

    async def keep_document(self, name: str, content: str) -> None:
        pass
