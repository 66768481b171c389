"""Tavily: searches through its own client over our connection pool, and reads pages that do not serve programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Protocol, Self, cast

import anyio.to_thread
import httpx

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import ProviderError, ProviderResponseError
from deepcritical_mcp.net.client import ApiClient, Net
from deepcritical_mcp.net.fields import (
    MAX_ROWS,
    first_records,
    json_answer,
    mapping_of,
    number_of,
    text_of,
    without_markup,
)
from deepcritical_mcp.net.guard import Guard, is_refusal
from deepcritical_mcp.reading.page_metadata import shown
from deepcritical_mcp.sources.base import as_sent
from deepcritical_mcp.sources.lookup import Copy, FullTextSource, Wanted
from deepcritical_mcp.sources.settings import WebSettings
from deepcritical_mcp.sources.web.keyed import KeyedTool
from deepcritical_mcp.sources.web.provider import WebPage, without_markdown
from deepcritical_mcp.sources.web.request import WebOptions
from deepcritical_mcp.text import clean_text

# Limits of Tavily's search endpoint.
_MAX_RESULTS, _MAX_INCLUDED, _MAX_EXCLUDED = 20, 300, 150


class _TavilyClient(Protocol):
    """The part of `tavily.AsyncTavilyClient` that is used here."""

    async def search(self, query: str, **options: object) -> Mapping[str, object]: ...


class _Relay(httpx.AsyncBaseTransport):
    """Sends the requests of Tavily's client over our pool, and checks the responses before that client does.

    That client would confuse 403 with a used-up quota (432, 433), lose `Retry-After`, treat `{}` as no results, and
    add its key to the headers of the `httpx` client it gets. So it gets a separate one, with this transport.
    """

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        headers = {name: value for name, value in request.headers.items() if name.startswith(("authorization", "x-"))}
        body: object = json.loads(await request.aread())
        response = await self._client.send(request.method, str(request.url), json=body, headers=headers)
        return httpx.Response(200, content=await anyio.to_thread.run_sync(self._checked, response))

    def _checked(self, response: httpx.Response) -> bytes:
        """The rows that are read, with the texts limited: that client parses them on the event loop."""
        payload = json_answer(self._client.provider, self._client.title, response)
        if "results" not in payload:
            raise ProviderResponseError(self._client.provider, "Tavily sent an answer without results.")
        rows = payload["results"]
        if not isinstance(rows, list):
            return response.content
        kept = [mapping_of(row) for row in cast(list[object], rows)[:MAX_ROWS]]
        texts = ("title", "url", "content", "published_date")
        short = [{key: text_of(row.get(key)) for key in texts} | {"score": number_of(row.get("score"))} for row in kept]
        return json.dumps({"results": short}).encode()


class TavilyTool(KeyedTool):
    """Searches the web with Tavily; `search_depth` is passed on. Its client would silently search without a key."""

    name, title = "tavily", "Tavily"
    max_characters, site_operators = 400, False
    key_header = ("Authorization", "Bearer {}")
    date_fields = ("published_date",)
    pace = (60.0, "tavily_per_minute")
    probed = ("usage", {})  # free; a search would cost a credit
    _tavily: _TavilyClient | None = None

    async def page(self, query: str, options: WebOptions, *, number: int, wanted: int) -> WebPage:
        hosts = _hosts(options.include_domains)
        asked: dict[str, object] = {
            "search_depth": options.search_depth,
            "topic": options.topic,
            "max_results": min(wanted, _MAX_RESULTS),
            "time_range": "" if options.recency == "any" else options.recency,
            # Domains that do not fit are filtered afterward.
            "include_domains": hosts if len(hosts) <= _MAX_INCLUDED else [],
            "exclude_domains": _hosts(one for one in options.exclude_domains if "/" not in one)[:_MAX_EXCLUDED],
        }
        asked = {name: value for name, value in asked.items() if value}
        tavily = self._tavily = self._tavily or await anyio.to_thread.run_sync(self._connect)

        async def attempt() -> WebPage:
            payload = await tavily.search(query, **asked)
            return await anyio.to_thread.run_sync(self.results, payload["results"], abandon_on_cancel=True)

        limit = (f"Tavily returns at most {_MAX_RESULTS} results.",) if wanted > _MAX_RESULTS else ()
        return replace(await self._client.run(attempt), warnings=limit, sent=as_sent({"query": query, **asked}))

    def content(self, row: Mapping[str, object]) -> str:
        return without_markup(without_markdown(text_of(row.get("content"))))

    def _connect(self) -> _TavilyClient:
        from tavily import AsyncTavilyClient  # pyright: ignore[reportMissingTypeStubs]  # no type hints

        own = httpx.AsyncClient(base_url=self._base_url, transport=_Relay(self._client), trust_env=False)
        return cast(_TavilyClient, AsyncTavilyClient(api_key=self._key, client=own))


def _hosts(rules: Iterable[str]) -> list[str]:
    """The hosts of domain rules, once each, as Tavily writes them."""
    hosts = dict.fromkeys(rule.partition("/")[0] for rule in rules)
    return [host if "." in host else f"*.{host}" for host in hosts]


_MOST_CHARACTERS = 2_000_000


class TavilyExtract(FullTextSource):
    """Asks Tavily for the text of a page; costs a credit for five pages."""

    name, title, has_browser = "tavily", "Tavily", True

    def __init__(self, tool: TavilyTool, guard: Guard) -> None:
        self._tool, self._guard = tool, guard
        self.off = f"no API key ({tool.key_variable})" if tool.key_variable else ""

    @classmethod
    def create(cls, settings: Settings, net: Net) -> Self:
        return cls(TavilyTool.create(settings.of(WebSettings), net), Guard(cls.name))

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
