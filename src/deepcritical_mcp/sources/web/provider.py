"""What the providers of web results share: their options, their interface, and the way from a hit to evidence."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import AfterValidator

from deepcritical_mcp.errors import InvalidInputError, ProviderError
from deepcritical_mcp.identifiers import record_ids
from deepcritical_mcp.models import Citation, Evidence, Value
from deepcritical_mcp.text import clean_line
from deepcritical_mcp.urls import domain_rule, is_within, normalise_url

if TYPE_CHECKING:
    import httpx

    from deepcritical_mcp.config import Settings

SearchDepth = Literal["basic", "advanced"]
Topic = Literal["general", "news"]
Recency = Literal["any", "day", "week", "month", "year"]


def _domain_rules(domains: tuple[str, ...]) -> tuple[str, ...]:
    rules: dict[str, None] = {}
    for domain in domains:
        if not domain.strip():
            continue
        if not (rule := domain_rule(domain)):
            raise InvalidInputError(
                f'"{clean_line(domain)[:80]}" is not a domain. Give host names such as "nih.gov" or "who.int/news".'
            )
        rules[rule] = None
    return tuple(rules)


Domains = Annotated[tuple[str, ...], AfterValidator(_domain_rules)]
"""Host names ("nih.gov" stands for its subdomains too), if need be with the start of a path ("who.int/news").

Raises InvalidInputError for what is none.
"""


class WebOptions(Value):
    """How to search, in our words; each provider maps them to its own."""

    search_depth: SearchDepth = "advanced"
    topic: Topic = "general"
    recency: Recency = "any"
    include_domains: Domains = ()
    exclude_domains: Domains = ()

    def allows(self, url: str) -> bool:
        """Whether a result at `url` is in the domains asked for."""
        if self.include_domains and not any(is_within(url, rule) for rule in self.include_domains):
            return False
        return not any(is_within(url, rule) for rule in self.exclude_domains)


@dataclass(frozen=True)
class WebHit:
    """One result, cleaned: a web address, texts without markup, a score in 0..1 if the provider gives one."""

    title: str
    url: str
    content: str
    score: float | None = None
    date: str = "Unknown"


@dataclass(frozen=True)
class WebPage:
    """One page of a provider's answer. `total` is the provider's count, 0 if it gives none; `more`: another follows."""

    hits: Sequence[WebHit]
    total: int = 0
    more: bool = False


@dataclass(frozen=True)
class WebAnswer:
    """What a provider found, best first; `total_found` is its count. `warnings` name what it could not do."""

    evidence: tuple[Evidence, ...] = ()
    total_found: int = 0
    warnings: tuple[str, ...] = ()


class WebTool(ABC):
    """A provider of web results, behind `SearchTool`.

    Attributes:
        name: wire name, e.g. "brave".
        title: name for people, e.g. "Brave Search".
        key_variable: environment variable that sets the key it lacks; "" when it can be asked.
    """

    name: str
    title: str
    key_variable: str = ""

    @classmethod
    @abstractmethod
    def create(cls, settings: Settings, http: httpx.AsyncClient) -> Self:
        """The provider as the settings describe it, asking through `http`."""

    @abstractmethod
    async def ask(self, query: str, max_results: int, options: WebOptions) -> WebAnswer:
        """At most `max_results` pieces of evidence, best first; none when the provider knows none.

        Raises:
            ProviderError: the provider gave no usable answer.
        """

    async def search(
        self,
        query: str,
        max_results: int,
        *,
        search_depth: SearchDepth = "advanced",
        topic: Topic = "general",
        recency: Recency = "any",
        include_domains: Sequence[str] = (),
        exclude_domains: Sequence[str] = (),
    ) -> list[Evidence]:
        """The evidence of `ask`.

        Raises:
            ProviderError: the provider gave no usable answer.
            InvalidInputError: a domain is none.
        """
        options = WebOptions(
            search_depth=search_depth,
            topic=topic,
            recency=recency,
            include_domains=tuple(include_domains),
            exclude_domains=tuple(exclude_domains),
        )
        return list((await self.ask(query, max_results, options)).evidence)


async def read_pages(
    page: Callable[[int], Awaitable[WebPage]], options: WebOptions, *, wanted: int, most: int
) -> tuple[WebPage, tuple[str, ...]]:
    """Pages 0, 1, ... as one, in the domains asked for, until there are `wanted` hits or `most` pages were read.

    Only the first page's failure is one: a later one leaves what is there, and a warning.
    """
    hits: dict[str, WebHit] = {}
    total = 0
    for number in range(most):
        try:
            found = await page(number)
        except ProviderError as error:
            if number == 0:
                raise
            return WebPage(tuple(hits.values()), total), (f"Further results are missing: {error.message}",)
        total = max(total, found.total)
        before = len(hits)
        for hit in found.hits:
            hits.setdefault(normalise_url(hit.url), hit)
        allowed = [hit for hit in hits.values() if options.allows(hit.url)]
        if len(allowed) >= wanted or not found.more or len(hits) == before:
            break
    return WebPage([hit for hit in hits.values() if options.allows(hit.url)], total), ()


def as_evidence(hits: Sequence[WebHit], *, provider: str, query: str, max_results: int) -> tuple[Evidence, ...]:
    """The first `max_results` hits as evidence; where a score is missing, it falls evenly with rank from 1.0 to 0.5."""
    kept = hits[:max_results]
    last = max(len(kept) - 1, 1)
    return tuple(
        _evidence(hit, hit.score if hit.score is not None else 1 - 0.5 * rank / last, provider, query)
        for rank, hit in enumerate(kept)
    )


def _evidence(hit: WebHit, score: float, provider: str, query: str) -> Evidence:
    ids = record_ids(hit.url)
    title = _SITE_SUFFIX.sub("", hit.title) if any(ids) else hit.title
    citation = Citation(source="web", title=title, url=hit.url, date=hit.date, **ids._asdict())
    return Evidence.of(citation, hit.content, provider=provider, relevance=score, found_by=(query,))


_SITE_SUFFIX = re.compile(r"\s+[-–—|]\s+(PubMed( Central)?|PMC|NIH|NCBI|Europe PMC|PMC - NIH|PMC - PubMed Central)$")


@dataclass(frozen=True)
class Wording:
    """A query as it goes to a provider, and what that left out."""

    text: str
    warnings: tuple[str, ...] = ()


def wording(
    query: str, options: WebOptions | None = None, *, title: str, characters: int, words: int = 10_000
) -> Wording:
    """`query` within the provider's limits; with `options`, their domains as `site:` operators where there is room.

    Results outside the domains are dropped afterwards in any case.
    """
    operators = _site_operators(options) if options else ""
    warnings: list[str] = []
    if len(operators) > characters // 2 or len(operators.split()) > words // 2:
        operators = ""
        warnings.append(f"So many domains cannot be asked of {title}: its results were filtered afterwards.")
    room = characters - len(operators) - 1
    text = clean_line(query)
    fitting = _first_words(text, room, words - len(operators.split()))
    if fitting != text:
        warnings.append(f"{title} reads no more of the query than: {fitting}")
    return Wording(f"{fitting} {operators}".strip(), tuple(warnings))


def _site_operators(options: WebOptions) -> str:
    hosts = [rule.partition("/")[0] for rule in options.include_domains]
    included = " OR ".join(f"site:{host}" for host in dict.fromkeys(hosts))
    excluded = " ".join(f"-site:{rule}" for rule in options.exclude_domains if "/" not in rule)
    return f"({included}) {excluded}".strip() if len(hosts) > 1 else f"{included} {excluded}".strip()


def _first_words(text: str, characters: int, words: int) -> str:
    kept = " ".join(text.split()[:words])
    if len(kept) <= characters:
        return kept
    return kept[: characters + 1].rpartition(" ")[0] or kept[:characters]
