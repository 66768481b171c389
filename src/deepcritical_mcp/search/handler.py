"""Several sources at once: whoever answers counts, and the loss of one is told."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import anyio

from deepcritical_mcp.errors import (
    AllProvidersFailedError,
    DeepCriticalError,
    InvalidInputError,
    ProviderTimeoutError,
)
from deepcritical_mcp.models import Evidence, ProviderReport, QueryReport, SearchResult
from deepcritical_mcp.search.fusion import fuse
from deepcritical_mcp.sources.base import SearchTool
from deepcritical_mcp.text import clean_line

# Part of the time, and at most so many seconds, that is kept for what the caller does with the results.
_SHARE_FOR_THE_CALLER, _MOST_FOR_THE_CALLER = 0.1, 3.0


@dataclass(frozen=True)
class _Finding:
    """What one tool found, or why it did not."""

    name: str
    evidence: Sequence[Evidence] = ()
    error: DeepCriticalError | None = None

    @property
    def report(self) -> ProviderReport:
        if self.error is None:
            return ProviderReport(name=self.name, status="ok", results=len(self.evidence))
        return ProviderReport(name=self.name, status="failed", detail=self.error.message)


class SearchHandler:
    """Runs tools side by side, each a source of its own, and survives the loss of any.

    Args:
        tools: in the order in which equally ranked results appear.
        seconds: longest time for a search where no deadline is set around it.
    """

    def __init__(self, tools: Sequence[SearchTool], *, seconds: float = 45.0) -> None:
        self._tools = tuple(tools)
        self._seconds = seconds

    async def execute(self, query: str, max_results_per_tool: int = 10) -> SearchResult:
        """The results of all tools, fused by rank, each page once; `errors` and `providers` name the tools that failed.

        Nothing is kept: `session_id` is "".

        Raises:
            InvalidInputError: the query is blank.
            AllProvidersFailedError: no tool answered; it holds each one's error in order.
        """
        if not clean_line(query):
            raise InvalidInputError("query is blank: say what to search for.")
        findings = await self._ask_all(query, max_results_per_tool)
        causes = [finding.error for finding in findings if finding.error]
        if len(causes) == len(findings):
            raise AllProvidersFailedError(
                "No source could answer: " + " ".join(cause.message for cause in causes), causes
            )
        return _result(query, findings)

    async def _ask_all(self, query: str, max_results: int) -> list[_Finding]:
        findings = [_Finding(tool.name, error=_too_slow(tool.name)) for tool in self._tools]

        async def ask(index: int, tool: SearchTool) -> None:
            try:
                findings[index] = _Finding(tool.name, await tool.search(query, max_results))
            except DeepCriticalError as error:
                findings[index] = _Finding(tool.name, error=error)

        with anyio.move_on_after(self._seconds_for_asking()):
            async with anyio.create_task_group() as tasks:
                for index, tool in enumerate(self._tools):
                    tasks.start_soon(ask, index, tool)
        return findings

    def _seconds_for_asking(self) -> float:
        left = anyio.current_effective_deadline() - anyio.current_time()
        seconds = self._seconds if math.isinf(left) else left
        return seconds - min(_SHARE_FOR_THE_CALLER * seconds, _MOST_FOR_THE_CALLER)


def _too_slow(name: str) -> ProviderTimeoutError:
    return ProviderTimeoutError(name, f"{name} did not answer in time.")


def _result(query: str, findings: Sequence[_Finding]) -> SearchResult:
    pages: dict[str, Evidence] = {}
    for finding in findings:
        for item in finding.evidence:
            pages.setdefault(item.id, item)
    order = fuse([[item.id for item in finding.evidence] for finding in findings])
    found = sum(len(finding.evidence) for finding in findings)
    answered = [finding for finding in findings if finding.error is None]
    return SearchResult(
        session_id="",
        query=query,
        evidence=tuple(pages[id] for id in order),
        sources_searched=tuple(dict.fromkeys("pubmed" if each.name == "pubmed" else "web" for each in answered)),
        total_found=found,
        queries=(QueryReport(query=query, status="ok", results=len(pages)),),
        errors=tuple(finding.error.message for finding in findings if finding.error),
        duplicates_removed=found - len(pages),
        providers=tuple(finding.report for finding in findings),
    )
