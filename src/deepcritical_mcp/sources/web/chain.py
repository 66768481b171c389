"""One query through the providers of web results, until one of them has an answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import anyio
import structlog

from deepcritical_mcp.errors import AllProvidersFailedError, ProviderError, ProviderTimeoutError
from deepcritical_mcp.models import Evidence, ProviderReport
from deepcritical_mcp.net.breaker import Circuit
from deepcritical_mcp.sources.web.earlier_results import CachedAnswer, WebCache
from deepcritical_mcp.sources.web.provider import WebAnswer, WebOptions, WebTool

logger = structlog.stdlib.get_logger(__name__)

CACHE = "cache"
# Part of the time, and at most so many seconds, that is kept for looking into the cache.
_SHARE_FOR_CACHE, _MOST_FOR_CACHE = 0.1, 2.0


@dataclass(frozen=True)
class ChainAnswer:
    """What the chain brought: evidence, best first, and what each provider that was reached did."""

    evidence: tuple[Evidence, ...]
    total_found: int
    reports: tuple[ProviderReport, ...]
    warnings: tuple[str, ...] = ()
    from_cache: bool = False


class ProviderChain:
    """Asks the providers in order; the first that finds something answers, and the cache does when all fail.

    A provider is asked by at most `concurrency` queries at once, and left alone while its circuit is open. Each may
    take an even share of the time that is left for it and those after it.

    Args:
        providers: in the order in which they are asked; one without its key is skipped.
        seconds: longest time for one query where no deadline is set around it.
        clock: monotonic seconds, of the circuits.
        now: seconds since the epoch, for the age of cached answers.
    """

    name = "web"

    def __init__(
        self,
        providers: Sequence[WebTool],
        cache: WebCache,
        *,
        concurrency: int = 3,
        seconds: float = 45.0,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._providers = tuple(providers)
        self._cache = cache
        self._seconds = seconds
        self._now = now
        self._slots = {provider.name: anyio.Semaphore(concurrency) for provider in providers}
        self._circuits: Mapping[str, Circuit] = {
            provider.name: Circuit(provider.name, provider.title, clock=clock) for provider in providers
        }

    async def search(self, query: str, max_results: int) -> list[Evidence]:
        """The evidence of `ask` with the options' defaults; this makes the chain a `SearchTool`.

        Raises:
            AllProvidersFailedError: nobody answered and nothing fitting is cached.
        """
        return list((await self.ask(query, max_results, WebOptions())).evidence)

    async def ask(self, query: str, max_results: int, options: WebOptions) -> ChainAnswer:
        """The first answer with results; an empty one only when no provider that answered found anything.

        Raises:
            AllProvidersFailedError: nobody answered and nothing fitting is cached; it holds every cause in order.
        """
        end = self._end()
        reports: list[ProviderReport] = []
        warnings: list[str] = []
        causes: list[ProviderError] = []
        for index, provider in enumerate(self._providers):
            if provider.key_variable:
                reports.append(_skipped(provider))
                continue
            following = sum(not later.key_variable for later in self._providers[index + 1 :])
            try:
                answer = await self._ask(provider, query, max_results, options, end=end, following=following)
            except ProviderError as error:
                logger.info("falling back", provider=error.provider, code=error.code)
                causes.append(error)
                reports.append(ProviderReport(name=provider.name, status="failed", detail=error.message))
                continue
            reports.append(_answered(provider, answer))
            warnings += answer.warnings
            if answer.evidence:
                await self._cache.put(query, options, provider=provider.name, evidence=answer.evidence)
                return ChainAnswer(answer.evidence, answer.total_found, tuple(reports), tuple(warnings))
        answered = any(report.status == "ok" for report in reports)
        if answered and not causes:
            return ChainAnswer((), 0, tuple(reports), tuple(warnings))
        return await self._fall_back(query, max_results, options, reports, warnings, causes)

    async def _fall_back(
        self,
        query: str,
        max_results: int,
        options: WebOptions,
        reports: Sequence[ProviderReport],
        warnings: Sequence[str],
        causes: Sequence[ProviderError],
    ) -> ChainAnswer:
        """Cached results, else nothing where at least one provider answered, else the error."""
        cached = await self._cache.find(query, options)
        if cached is not None:
            evidence = cached.evidence[:max_results]
            origin = self._origin(cached)
            report = ProviderReport(name=CACHE, status="ok", detail=origin, results=len(evidence))
            told = f'Nobody could answer "{query}" now; these are {origin}.'
            return ChainAnswer(evidence, len(evidence), (*reports, report), (*warnings, told), from_cache=True)
        if any(report.status == "ok" for report in reports):
            return ChainAnswer((), 0, tuple(reports), tuple(warnings))
        raise AllProvidersFailedError(
            "No web search provider could answer: "
            + " ".join(cause.message for cause in causes)
            + " Nothing fitting is cached. Try again later, or have another provider's key set.",
            causes,
            retry_after=min((cause.retry_after for cause in causes if cause.retry_after), default=0.0),
        )

    async def _ask(
        self, provider: WebTool, query: str, max_results: int, options: WebOptions, *, end: float, following: int
    ) -> WebAnswer:
        circuit, slots = self._circuits[provider.name], self._slots[provider.name]
        circuit.check()
        with anyio.move_on_after(_share(end, following)) as waiting:
            await slots.acquire()
        if waiting.cancelled_caught:
            raise ProviderTimeoutError(provider.name, f"{provider.title} was busy with other queries for too long.")
        try:
            with circuit.guard():
                seconds = _share(end, following)
                with anyio.move_on_after(seconds):
                    return await provider.ask(query, max_results, options)
                raise ProviderTimeoutError(
                    provider.name, f"{provider.title} did not answer within {seconds:.3g} seconds."
                )
        finally:
            slots.release()

    def _end(self) -> float:
        """When the providers' time is up, on the event loop's clock."""
        now = anyio.current_time()
        seconds = min(self._seconds, anyio.current_effective_deadline() - now)
        return now + seconds - min(_SHARE_FOR_CACHE * seconds, _MOST_FOR_CACHE)

    def _origin(self, cached: CachedAnswer) -> str:
        age = _duration(self._now() - cached.asked)
        return f'cached results that {cached.provider} found {age} ago for "{cached.query}"'


def _share(end: float, following: int) -> float:
    return max(0.0, end - anyio.current_time()) / (1 + following)


def _skipped(provider: WebTool) -> ProviderReport:
    detail = f"no key: set {provider.key_variable} to use {provider.title}"
    return ProviderReport(name=provider.name, status="skipped", detail=detail)


def _answered(provider: WebTool, answer: WebAnswer) -> ProviderReport:
    detail = "" if answer.evidence else "found nothing"
    return ProviderReport(name=provider.name, status="ok", detail=detail, results=len(answer.evidence))


def _duration(seconds: float) -> str:
    """E.g. "3 hours"; less than a minute is "a moment"."""
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        count = int(seconds // length)
        if count > 0:
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return "a moment"
