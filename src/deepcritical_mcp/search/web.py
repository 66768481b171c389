"""Web search: every wording of a question through the chain of providers, merged into one answer."""

from __future__ import annotations

import math
import pkgutil
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Protocol

import anyio
from pydantic import Field

from deepcritical_mcp.errors import AllProvidersFailedError, EvidenceStoreError, InvalidInputError, SessionFullError
from deepcritical_mcp.models import Evidence, RelatedEvidence, SearchResult, Value
from deepcritical_mcp.progress import Progress, no_progress
from deepcritical_mcp.search.merging import merge
from deepcritical_mcp.search.outcomes import Outcome, errors_of, failure_of, provider_reports, query_reports
from deepcritical_mcp.sources.web import PROVIDERS
from deepcritical_mcp.sources.web.chain import ProviderChain
from deepcritical_mcp.sources.web.provider import Domains, Recency, SearchDepth, Topic, WebOptions, WebTool
from deepcritical_mcp.text import clean_line

if TYPE_CHECKING:
    import httpx

    from deepcritical_mcp.config import Settings
    from deepcritical_mcp.evidence.store import AddOutcome
    from deepcritical_mcp.sources.web.earlier_results import Embedder

MOST_RESULTS = 50
# Part of the time, and at most so many seconds, that is kept for storing what was found.
_SHARE_FOR_STORING, _MOST_FOR_STORING = 0.15, 5.0


class WebRequest(Value):
    """What to search the web for; the fields are the parameters of the tool `web_search`."""

    query: str
    variants: tuple[str, ...] = ()
    max_results: Annotated[int, Field(ge=1, le=MOST_RESULTS)] = 10
    min_score: Annotated[float, Field(ge=0, le=1)] = 0.3
    search_depth: SearchDepth = "advanced"
    topic: Topic = "general"
    recency: Recency = "any"
    include_domains: Domains = ()
    exclude_domains: Domains = ()
    only_new: bool = False

    @property
    def options(self) -> WebOptions:
        """The part that each provider is asked with."""
        return WebOptions(
            search_depth=self.search_depth,
            topic=self.topic,
            recency=self.recency,
            include_domains=self.include_domains,
            exclude_domains=self.exclude_domains,
        )

    @property
    def wordings(self) -> tuple[str, ...]:
        """The query and its variants on one line each, without blanks and repetitions."""
        lines: dict[str, str] = {}
        for text in (self.query, *self.variants):
            line = clean_line(text)
            lines.setdefault(line.casefold(), line)
        lines.pop("", None)
        return tuple(lines.values())


class Session(Protocol):
    """The part of `EvidenceStore` that a web search needs."""

    @property
    def session_id(self) -> str: ...

    @property
    def warnings(self) -> tuple[str, ...]: ...

    async def known(self, evidence: Sequence[Evidence]) -> list[str]: ...

    async def add_evidence(self, evidence: Sequence[Evidence]) -> tuple[AddOutcome, ...]: ...

    async def related(self, query: str, *, exclude: Collection[str], limit: int = 5) -> tuple[RelatedEvidence, ...]: ...


@dataclass(frozen=True)
class _Selection:
    """The pages that answer a request, best first, and what was left out."""

    evidence: Sequence[Evidence]
    duplicates: int
    warnings: tuple[str, ...] = ()


class WebSearch:
    """Searches the web for a question and its variants, and keeps what it finds in the caller's session.

    Args:
        chain: answers one wording.
        seconds: longest time for a search where no deadline is set around it.
    """

    def __init__(self, chain: ProviderChain, *, seconds: float = 45.0) -> None:
        self.chain = chain
        self._seconds = seconds

    async def search(self, request: WebRequest, store: Session, *, progress: Progress = no_progress) -> SearchResult:
        """At most `max_results` pages, best first, now kept in the session.

        A wording that fails does not spoil the others: it is named in `queries` and `errors`.

        Raises:
            InvalidInputError: the query is blank.
            AllProvidersFailedError: no wording was answered.
            DeadlineExceededError: no wording was answered in time.
        """
        if not clean_line(request.query):
            raise InvalidInputError("query is blank: say what to search for.")
        outcomes = await self._ask_all(request, progress)
        if not any(outcome.answer for outcome in outcomes):
            raise failure_of(outcomes)
        await progress(0.7, "merging what was found")
        selection = await _select(outcomes, request, store)
        await progress(0.8, f"keeping {_count(len(selection.evidence))} in the session")
        return await _keep(outcomes, selection, request, store)

    async def _ask_all(self, request: WebRequest, progress: Progress) -> list[Outcome]:
        """Every wording side by side; what has no answer when time runs out goes without."""
        outcomes = [Outcome(wording) for wording in request.wordings]
        wanted = min(MOST_RESULTS, request.max_results * (2 if request.only_new else 1))

        async def ask(index: int, query: str) -> None:
            try:
                answer = await self.chain.ask(query, wanted, request.options)
                outcomes[index] = Outcome(query, answer)
            except AllProvidersFailedError as error:
                outcomes[index] = Outcome(query, error=error)
            done = sum(outcome.answer is not None or outcome.error is not None for outcome in outcomes)
            await progress(0.1 + 0.6 * done / len(outcomes), f"{done} of {len(outcomes)} queries done")

        await progress(0.1, f"searching the web for {len(outcomes)} quer{'y' if len(outcomes) == 1 else 'ies'}")
        with anyio.move_on_after(self._seconds_for_asking()):
            async with anyio.create_task_group() as tasks:
                for index, outcome in enumerate(tuple(outcomes)):
                    tasks.start_soon(ask, index, outcome.query)
        return outcomes

    def _seconds_for_asking(self) -> float:
        left = anyio.current_effective_deadline() - anyio.current_time()
        seconds = self._seconds if math.isinf(left) else left
        return seconds - min(_SHARE_FOR_STORING * seconds, _MOST_FOR_STORING)


async def _select(outcomes: Sequence[Outcome], request: WebRequest, store: Session) -> _Selection:
    """The best pages by fused rank, sorted by score."""
    merged = merge([outcome.answer.evidence if outcome.answer else () for outcome in outcomes])
    good = [page for page in merged.evidence if page.relevance >= request.min_score]
    warnings: list[str] = []
    if len(good) < len(merged.evidence):
        low = len(merged.evidence) - len(good)
        warnings.append(f"{_count(low)} below min_score {request.min_score:g} left out.")
    known = await store.known(good) if request.only_new else [""] * len(good)
    new = [page for page, known_as in zip(good, known, strict=True) if not known_as]
    if good and not new:
        warnings.append("All results were found in this session before; pass only_new=false to see them again.")
    best = sorted(new[: request.max_results], key=lambda page: -page.relevance)
    return _Selection(best, merged.duplicates + len(good) - len(new), tuple(warnings))


async def _keep(
    outcomes: Sequence[Outcome], selection: _Selection, request: WebRequest, store: Session
) -> SearchResult:
    """The result, its evidence as the session now holds it; a session that cannot keep it does not lose it."""
    evidence, errors = selection.evidence, list(errors_of(outcomes))
    related: tuple[RelatedEvidence, ...] = ()
    try:
        evidence = [
            _stored(found, kept) for found, kept in zip(evidence, await store.add_evidence(evidence), strict=True)
        ]
        related = await store.related(request.query, exclude={page.id for page in evidence})
    except (SessionFullError, EvidenceStoreError) as error:
        errors.append(f"The results were found but not all could be kept: {error.message}")
    pages: dict[str, Evidence] = {}
    for page in evidence:
        pages.setdefault(page.id, page)
    answers = [outcome.answer for outcome in outcomes if outcome.answer]
    told = [warning for answer in answers for warning in answer.warnings]
    return SearchResult(
        session_id=store.session_id,
        query=request.query,
        evidence=tuple(pages.values()),
        sources_searched=("web",),
        total_found=max(answers[0].total_found, len(pages)) if outcomes[0].answer else len(pages),
        queries=query_reports(outcomes),
        errors=tuple(errors),
        warnings=tuple(dict.fromkeys((*told, *selection.warnings, *store.warnings))),
        duplicates_removed=selection.duplicates + len(evidence) - len(pages),
        related=related,
        providers=provider_reports(outcomes),
        from_cache=any(answer.from_cache for answer in answers),
    )


def _stored(found: Evidence, outcome: AddOutcome) -> Evidence:
    similar = tuple(dict.fromkeys((*outcome.evidence.similar, *(id for id, _ in outcome.folds))))
    return outcome.evidence.model_copy(update={"relevance": found.relevance, "similar": similar})


def _count(results: int) -> str:
    return "1 result" if results == 1 else f"{results} results"


def create_web_search(settings: Settings, http: httpx.AsyncClient, embedder: Embedder | None = None) -> WebSearch:
    """The web search as the settings describe it, asking through `http`; opens no connection yet.

    `embedder` finds the closest earlier query where nobody answers; without one, shared words do.
    """
    from deepcritical_mcp.sources.web.earlier_results import WebCache

    tools: list[type[WebTool]] = [pkgutil.resolve_name(name) for name in PROVIDERS]
    chain = ProviderChain(
        [tool.create(settings, http) for tool in tools],
        WebCache(settings.cache_dir, ttl=settings.cache_ttl, embedder=embedder),
        concurrency=settings.web_concurrency,
        seconds=settings.deadline,
    )
    return WebSearch(chain, seconds=settings.deadline)
