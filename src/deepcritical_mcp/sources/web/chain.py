"""The web as a source: asks the search providers in turn until one has results."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Literal, Self

import anyio

from deepcritical_mcp.config import Settings
from deepcritical_mcp.deadline import TO_READ_CACHE, even_share, seconds_before
from deepcritical_mcp.errors import AllProvidersFailedError, ProviderError, ProviderTimeoutError
from deepcritical_mcp.models import ProviderReport
from deepcritical_mcp.net.circuit_breaker import CircuitBreaker
from deepcritical_mcp.net.client import Net
from deepcritical_mcp.net.pacing import Slots
from deepcritical_mcp.sources.base import Answer, Source, SourceCheck
from deepcritical_mcp.sources.settings import WebSettings
from deepcritical_mcp.sources.web.duckduckgo import DuckDuckGoTool
from deepcritical_mcp.sources.web.earlier_results import WebCache
from deepcritical_mcp.sources.web.keyed import BraveTool, SerpApiTool
from deepcritical_mcp.sources.web.provider import WebTool
from deepcritical_mcp.sources.web.request import WebOptions, WebRequest
from deepcritical_mcp.sources.web.tavily import TavilyTool

logger = logging.getLogger(__name__)

PROVIDERS: tuple[type[WebTool], ...] = (TavilyTool, BraveTool, SerpApiTool, DuckDuckGoTool)
"""In the order in which they are asked."""


class ProviderChain(Source[WebRequest]):
    """Asks the providers in order; the first that finds something answers, and the cache does when all fail.

    One without its API key is skipped. At most `concurrency` queries at a time ask the same provider, and none while
    its circuit is open. The time left, or `seconds` where no deadline is set around a query, is divided evenly between
    a provider and those after it.

    Args:
        clock: monotonic seconds, of the circuits.
    """

    name, title, kind, cited_as, tool = "web", "Web search", "web", "web", "web_search"
    request, scored, block = WebRequest, True, 0

    def __init__(
        self,
        providers: Sequence[WebTool],
        cache: WebCache,
        *,
        concurrency: int = 3,
        seconds: float = 45.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._providers, self._cache, self._seconds = tuple(providers), cache, seconds
        self._slots = {provider.name: Slots(concurrency) for provider in providers}
        self._circuits = {one.name: CircuitBreaker(one.name, one.title, clock=clock) for one in providers}

    @classmethod
    def create(cls, settings: Settings, net: Net) -> Self:
        ours = settings.of(WebSettings)
        cache = WebCache(settings.cache_dir, ttl=ours.cache_ttl)
        providers = [provider.create(ours, net) for provider in PROVIDERS]
        return cls(providers, cache, concurrency=ours.web_concurrency, seconds=settings.deadline)

    def checks(self) -> Sequence[SourceCheck]:
        return [provider.check() for provider in self._providers]

    async def ask(self, variant: str, request: WebRequest, *, offset: int = 0, limit: int) -> Answer:
        """The first answer with results, else a cached one; an empty one only if a provider answered.

        Raises:
            AllProvidersFailedError: none answered and nothing suitable is cached; it contains every cause in order.
        """
        end = anyio.current_time() + seconds_before(TO_READ_CACHE, cap=self._seconds)
        reports, remarks, causes = list[ProviderReport](), list[str](), list[ProviderError]()

        def report(name: str, status: Literal["ok", "failed", "skipped"], detail: str, results: int = 0) -> None:
            reports.append(ProviderReport(name=name, status=status, detail=detail, results=results))

        def reported(answer: Answer, **more: Any) -> Answer:
            detail = f"answered by {reports[-1].name}" if answer.ids else "found nothing"
            return replace(answer, reports=tuple(reports), remarks=tuple(remarks), detail=detail, **more)

        for index, provider in enumerate(self._providers):
            if provider.key_variable:
                report(provider.name, "skipped", f"no API key: set {provider.key_variable} to use {provider.title}")
                continue
            following = sum(not later.key_variable for later in self._providers[index + 1 :])
            try:
                answer = await self._ask(provider, variant, limit, request, end=end, following=following)
            except ProviderError as error:
                logger.info("%s failed (%s), falling back", error.provider, error.code)
                causes.append(error)
                report(provider.name, "failed", error.message)
                continue
            report(provider.name, "ok", "" if answer.ids else "found nothing", len(answer.ids))
            remarks += answer.remarks
            if answer.ids:
                await self._cache.put(variant, request, provider=provider.name, found=answer)
                return reported(answer, answered_by=provider.title)
        if causes and (cached := await self._cache.find(variant, request)):
            earlier = Answer.whole(cached.records[:limit], cached.scores)
            asked = datetime.fromtimestamp(cached.asked, UTC)
            origin = f"cached results that {cached.provider} found on {asked:%Y-%m-%d at %H:%M} UTC"
            report("cache", "ok", origin, len(earlier.ids))
            remarks.append(f"No provider could answer now; these are {origin}.")
            answered_by = f"earlier results of {cached.provider}, {asked:%Y-%m-%d}"
            return reported(earlier, from_cache=True, answered_by=answered_by)
        if causes and all(one.status != "ok" for one in reports):
            said = " ".join(cause.message for cause in causes)
            told = f"No web search provider could answer: {said} Nothing suitable is cached."
            advice = "Try again later, or configure another provider's API key."
            wait = min((cause.retry_after for cause in causes if cause.retry_after), default=0.0)
            raise AllProvidersFailedError(f"{told} {advice}", causes, retry_after=wait)
        return reported(Answer.whole(()))

    async def _ask(
        self, provider: WebTool, query: str, max_results: int, options: WebOptions, *, end: float, following: int
    ) -> Answer:
        circuit = self._circuits[provider.name]
        circuit.check()
        async with AsyncExitStack() as held:
            with anyio.move_on_after(even_share(end, following)) as waiting:
                await held.enter_async_context(self._slots[provider.name].slot())
            if waiting.cancelled_caught:
                raise ProviderTimeoutError(provider.name, f"{provider.title} was busy with other queries for too long.")
            with circuit.guard():
                seconds = even_share(end, following)
                with anyio.move_on_after(seconds):
                    return await provider.ask(query, max_results, options)
                told = f"{provider.title} did not answer within {seconds:.3g} seconds."
                raise ProviderTimeoutError(provider.name, told)
