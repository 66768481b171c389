"""Tavily, through its own client over our connection pool."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Protocol, cast

import anyio.to_thread
import httpx

from deepcritical_mcp.errors import ProviderResponseError
from deepcritical_mcp.net.client import ApiClient
from deepcritical_mcp.net.json_fields import MAX_ROWS, json_answer, mapping_of, number_of, text_of, without_markup
from deepcritical_mcp.sources.base import Hit, as_sent
from deepcritical_mcp.sources.web.payload import without_markdown
from deepcritical_mcp.sources.web.provider import KeyedTool, WebPage
from deepcritical_mcp.sources.web.web_request import WebOptions
from deepcritical_mcp.sources.web.web_settings import WebSettings

# Limits of Tavily's search endpoint.
_MAX_RESULTS = 20
_MAX_INCLUDED = 300
_MAX_EXCLUDED = 150


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
        short = [
            {**{name: text_of(row.get(name)) for name in texts}, "score": number_of(row.get("score"))} for row in kept
        ]
        return json.dumps({"results": short}).encode()


class TavilyTool(KeyedTool):
    """Searches the web with Tavily; `search_depth` is passed on. Its client would silently search without a key."""

    name = "tavily"
    title = "Tavily"
    max_characters = 400
    site_operators = False
    key_header = ("Authorization", "Bearer {}")
    date_fields = ("published_date",)
    _tavily: _TavilyClient | None = None

    @classmethod
    def spacing(cls, settings: WebSettings) -> float:
        return 60 / settings.tavily_per_minute

    async def probe(self) -> object:
        # The usage endpoint is free; a search would cost a credit.
        return await self.get("usage", dict)

    async def page(self, query: str, options: WebOptions, *, number: int, wanted: int) -> WebPage:
        tavily = self._tavily = self._tavily or await anyio.to_thread.run_sync(self._connect)

        parameters = _parameters(wanted, options)

        async def attempt() -> list[Hit]:
            payload = await tavily.search(query, **parameters)
            return await anyio.to_thread.run_sync(self.hits, payload["results"], abandon_on_cancel=True)

        limit = (f"Tavily returns at most {_MAX_RESULTS} results.",) if wanted > _MAX_RESULTS else ()
        sent = as_sent({"query": query, **parameters})
        return WebPage(await self._client.run(attempt), warnings=limit, sent=sent)

    def content(self, row: Mapping[str, object]) -> str:
        return without_markup(without_markdown(text_of(row.get("content"))))

    def _connect(self) -> _TavilyClient:
        from tavily import AsyncTavilyClient  # pyright: ignore[reportMissingTypeStubs]  # no type hints

        own = httpx.AsyncClient(base_url=self._base_url, transport=_Relay(self._client), trust_env=False)
        return cast(_TavilyClient, AsyncTavilyClient(api_key=self._key, client=own))


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
