"""Tavily: searches the web, and reads pages that do not serve programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from deepcritical_mcp.errors import ProviderError, ProviderResponseError
from deepcritical_mcp.net.guard import Guard, guard_of, is_refusal
from deepcritical_mcp.net.json_fields import (
    first_records,
    text_of,
    without_markup,
)
from deepcritical_mcp.reading.page_metadata import shown
from deepcritical_mcp.sources.base import Hit, Net, as_sent
from deepcritical_mcp.sources.full_text import Copy, FullTextSource, Wanted
from deepcritical_mcp.sources.settings import WebSettings
from deepcritical_mcp.sources.web.provider import KeyedTool, WebPage, without_markdown
from deepcritical_mcp.sources.web.request import WebOptions
from deepcritical_mcp.text import clean_text

if TYPE_CHECKING:
    from deepcritical_mcp.config import Settings

# Limits of Tavily's search endpoint.
_MAX_RESULTS = 20
_MAX_INCLUDED = 300
_MAX_EXCLUDED = 150


class TavilyTool(KeyedTool):
    """Searches the web with Tavily; `search_depth` is passed on."""

    name = "tavily"
    title = "Tavily"
    max_characters = 400
    site_operators = False
    key_header = ("Authorization", "Bearer {}")
    date_fields = ("published_date",)
    probed = ("usage", {})  # free; a search would cost a credit

    @classmethod
    def spacing(cls, settings: WebSettings) -> float:
        return 60 / settings.tavily_per_minute

    async def page(self, query: str, options: WebOptions, *, number: int, wanted: int) -> WebPage:
        hosts = _hosts(options.include_domains)
        asked: dict[str, object] = {
            "query": query,
            "search_depth": options.search_depth,
            "topic": options.topic,
            "max_results": min(wanted, _MAX_RESULTS),
            "time_range": "" if options.recency == "any" else options.recency,
            # Domains that do not fit are filtered afterward.
            "include_domains": hosts if len(hosts) <= _MAX_INCLUDED else [],
            "exclude_domains": _hosts(one for one in options.exclude_domains if "/" not in one)[:_MAX_EXCLUDED],
        }
        asked = {name: value for name, value in asked.items() if value}
        limit = (f"Tavily returns at most {_MAX_RESULTS} results.",) if wanted > _MAX_RESULTS else ()
        hits = await self.get("search", self._hits_in, body=asked)
        return WebPage(hits, warnings=limit, sent=as_sent(asked))

    def content(self, row: Mapping[str, object]) -> str:
        return without_markup(without_markdown(text_of(row.get("content"))))

    def _hits_in(self, payload: Mapping[str, object]) -> list[Hit]:
        if "results" not in payload:
            raise ProviderResponseError(self.name, "Tavily sent an answer without results.")
        return self.hits(payload["results"])


def _hosts(rules: Iterable[str]) -> list[str]:
    """The hosts of domain rules, once each, as Tavily writes them."""
    hosts = dict.fromkeys(rule.partition("/")[0] for rule in rules)
    return [host if "." in host else f"*.{host}" for host in hosts]


_MOST_CHARACTERS = 2_000_000


class TavilyExtract(FullTextSource):
    """Asks Tavily for the text of a page; costs a credit for five pages."""

    name = "tavily"
    title = "Tavily"
    has_browser = True

    def __init__(self, tool: TavilyTool, guard: Guard) -> None:
        self._tool = tool
        self._guard = guard
        self.off = f"no API key ({tool.key_variable})" if tool.key_variable else ""

    @classmethod
    def create(cls, settings: Settings, net: Net) -> Self:
        return cls(TavilyTool.create(settings.of(WebSettings), net), guard_of(cls.name, fetch_private=False))

    def accepts(self, wanted: Wanted) -> bool:
        return bool(wanted.urls)

    async def read(self, wanted: Wanted) -> Copy:
        url = wanted.urls[0]
        try:
            await self._guard.check(url)
        except ProviderError as error:
            if is_refusal(error):
                return Copy("not_allowed", error.message, url=url)
            raise
        body = {"urls": [url], "extract_depth": "basic", "format": "markdown"}
        return await self._tool.get("extract", lambda payload: self._copy(payload, url), body=body)

    def _copy(self, payload: Mapping[str, object], url: str) -> Copy:
        rows = first_records(payload.get("results"))
        text = next((value for row in rows if isinstance(value := row.get("raw_content"), str) and value.strip()), "")
        if not text:
            return Copy("no_text", "Tavily could not read this page either.", url=url)
        from deepcritical_mcp.reading.user_text import read_own_text

        text = clean_text(self._tool.masked(text)[:_MOST_CHARACTERS])
        reading, title = read_own_text(without_markup(without_markdown(text, keeps_headings=True)))
        status, detail = shown(reading.content, "", reading.content, is_closed=False, is_article=False)
        fields = {"title": title, "url": url} if title else {"url": url}
        return Copy(status, detail, replace(reading, fields=fields) if reading.content else None, url)
