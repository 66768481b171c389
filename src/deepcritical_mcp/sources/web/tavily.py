"""Tavily: searches, and reads pages that do not serve programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from deepcritical_mcp.errors import ProviderError, ProviderResponseError
from deepcritical_mcp.net.guard import Guard, guard_of, is_refusal
from deepcritical_mcp.net.json_fields import first_records, text_of, without_markup
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

    @classmethod
    def spacing(cls, settings: WebSettings) -> float:
        return 60 / settings.tavily_per_minute

    async def probe(self) -> object:
        # The usage endpoint is free; a search would cost a credit.
        return await self.get("usage", dict)

    async def page(self, query: str, options: WebOptions, *, number: int, wanted: int) -> WebPage:
        body = {"query": query, **_parameters(wanted, options)}
        limit = (f"Tavily returns at most {_MAX_RESULTS} results.",) if wanted > _MAX_RESULTS else ()
        return WebPage(await self.get("search", self._read, body=body), warnings=limit, sent=as_sent(body))

    def _read(self, payload: Mapping[str, object]) -> list[Hit]:
        if "results" not in payload:
            raise ProviderResponseError(self.name, "Tavily sent an answer without results.")
        return self.hits(payload["results"])

    def content(self, row: Mapping[str, object]) -> str:
        return without_markup(without_markdown(text_of(row.get("content"))))


def _parameters(max_results: int, options: WebOptions) -> dict[str, object]:
    """Our options as Tavily's parameters; domains that do not fit are filtered afterward."""
    hosts = [_host(rule) for rule in options.include_domains]
    parameters = {
        "search_depth": options.search_depth,
        "topic": options.topic,
        "max_results": min(max_results, _MAX_RESULTS),
        "time_range": "" if options.recency == "any" else options.recency,
        "include_domains": list(dict.fromkeys(hosts)) if len(hosts) <= _MAX_INCLUDED else [],
        "exclude_domains": [_host(rule) for rule in options.exclude_domains if "/" not in rule][:_MAX_EXCLUDED],
    }
    return {name: value for name, value in parameters.items() if value}


def _host(rule: str) -> str:
    host = rule.partition("/")[0]
    return host if "." in host else f"*.{host}"


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
