"""What the web search providers share: their options, their interface, and the way from a hit to evidence."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import AfterValidator, SecretStr

from deepcritical_mcp.config import variable_name
from deepcritical_mcp.errors import InvalidInputError, ProviderError
from deepcritical_mcp.identifiers import record_ids
from deepcritical_mcp.logs import hide_keys_in_addresses
from deepcritical_mcp.models import Publication, Value
from deepcritical_mcp.sources.base import Finding, Hit, Net, SourceCheck
from deepcritical_mcp.text import clean_line
from deepcritical_mcp.urls import domain_rule, is_within, normalise_url

if TYPE_CHECKING:
    from deepcritical_mcp.sources.web.web_settings import WebSettings

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
"""Host names ("nih.gov" includes its subdomains), optionally with the start of a path ("who.int/news").

Raises InvalidInputError for anything else.
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
    """One result, cleaned: a web address, texts without markup, a score in 0..1 if the provider returns one."""

    title: str
    url: str
    content: str
    score: float | None = None
    date: str = "Unknown"


@dataclass(frozen=True)
class WebPage:
    """One page of a provider's answer. `total` is the provider's count, 0 if unknown; `more`: another follows."""

    hits: Sequence[WebHit]
    total: int = 0
    more: bool = False


@dataclass(frozen=True)
class WebAnswer:
    """What a provider found, best first; `total_found` is its count. `warnings` name what it could not do."""

    hits: tuple[Hit, ...] = ()
    total_found: int = 0
    warnings: tuple[str, ...] = ()


class WebTool(ABC):
    """A provider of web results.

    Attributes:
        name: wire name, e.g. "brave".
        title: name for people, e.g. "Brave Search".
        key_variable: environment variable of the API key it lacks; "" when it can be asked.
    """

    name: str
    title: str
    key_variable: str = ""

    @classmethod
    @abstractmethod
    def create(cls, settings: WebSettings, net: Net) -> Self:
        """The provider as the settings describe it. Opens no connection yet."""

    @abstractmethod
    async def ask(self, query: str, max_results: int, options: WebOptions) -> WebAnswer:
        """At most `max_results` pages, best first; none when the provider finds none.

        Raises:
            ProviderError: the provider returned no usable answer.
        """

    @abstractmethod
    def check(self) -> SourceCheck:
        """What `doctor` asks."""

    def needs_key(self, key: SecretStr, field: str) -> None:
        """Take `key` for this provider's API key: without one it is skipped, and no log shows it."""
        self.key_variable = "" if key.get_secret_value() else variable_name(field)
        hide_keys_in_addresses(key.get_secret_value())


def key_check(tool: WebTool, ask: Callable[[], Awaitable[object]]) -> SourceCheck:
    """The check of a provider with an API key: `ask` sends the cheapest request that needs it."""
    variable = f"{tool.name.upper()}_API_KEY"

    async def examine() -> Finding:
        if tool.key_variable:
            return Finding(f"no API key (optional); {variable} enables it", "off")
        await ask()
        return Finding("answers; the API key works")

    return SourceCheck(tool.title, examine, key_variable=variable)


async def read_pages(
    page: Callable[[int], Awaitable[WebPage]], options: WebOptions, *, wanted: int, most: int
) -> tuple[WebPage, tuple[str, ...]]:
    """Pages 0, 1, ... as one, in the domains asked for, until there are `wanted` hits or `most` pages were read.

    Only a failure of the first page is an error: a later one keeps what was read, and adds a warning.
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


def as_hits(found: Sequence[WebHit], *, provider: str, max_results: int) -> tuple[Hit, ...]:
    """The first `max_results` pages as hits; a missing score falls evenly with rank from 1.0 to 0.5."""
    kept = found[:max_results]
    last = max(len(kept) - 1, 1)
    return tuple(
        Hit(publication=_page(page, provider), score=page.score if page.score is not None else 1 - 0.5 * rank / last)
        for rank, page in enumerate(kept)
    )


def _page(page: WebHit, provider: str) -> Publication:
    ids = record_ids(page.url)
    title = _SITE_SUFFIX.sub("", page.title) if any(ids) else page.title
    return Publication.of(
        "page",
        page.content,
        provider=provider,
        source="web",
        title=title,
        url=page.url,
        date=page.date,
        **ids._asdict(),
    )


_SITE_SUFFIX = re.compile(r"\s+[-–—|]\s+(PubMed( Central)?|PMC|NIH|NCBI|Europe PMC|PMC - NIH|PMC - PubMed Central)$")


@dataclass(frozen=True)
class SentQuery:
    """A query as it is sent to a provider, and warnings about what that left out."""

    text: str
    warnings: tuple[str, ...] = ()


def sent_query(
    query: str, options: WebOptions | None = None, *, title: str, characters: int, words: int = 10_000
) -> SentQuery:
    """`query` within the provider's limits; with `options`, their domains as `site:` operators where there is room.

    Results outside the domains are dropped afterwards in any case.
    """
    operators = _site_operators(options) if options else ""
    warnings: list[str] = []
    if len(operators) > characters // 2 or len(operators.split()) > words // 2:
        operators = ""
        warnings.append(f"{title} accepts fewer domains than these: its results were filtered afterwards.")
    room = characters - len(operators) - 1
    text = clean_line(query)
    fitting = _first_words(text, room, words - len(operators.split()))
    if fitting != text:
        warnings.append(f"{title} accepts shorter queries only; it was asked: {fitting}")
    return SentQuery(f"{fitting} {operators}".strip(), tuple(warnings))


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
