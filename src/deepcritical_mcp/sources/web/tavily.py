"""Tavily, through its own client over our connection pool."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Mapping
from typing import Protocol, Self, cast

import anyio.to_thread
import httpx
from pydantic import SecretStr

from deepcritical_mcp.errors import ProviderResponseError
from deepcritical_mcp.net.client import ApiClient
from deepcritical_mcp.net.pacing import Pacing
from deepcritical_mcp.sources.base import Net, SourceCheck
from deepcritical_mcp.sources.web.dates import current_date, publication_date
from deepcritical_mcp.sources.web.payload import (
    hit_of,
    json_object,
    number_of,
    read_hits,
    text_of,
    without_markdown,
    without_markup,
)
from deepcritical_mcp.sources.web.provider import (
    WebAnswer,
    WebHit,
    WebOptions,
    WebTool,
    as_hits,
    key_check,
    sent_query,
)
from deepcritical_mcp.sources.web.web_settings import WebSettings

# Of Tavily's search endpoint.
_MOST_RESULTS = 20
_MOST_CHARACTERS = 400
_MOST_INCLUDED = 300
_MOST_EXCLUDED = 150


class _TavilyClient(Protocol):
    """The part of `tavily.AsyncTavilyClient` that is used here."""

    async def search(self, query: str, **options: object) -> Mapping[str, object]: ...


class _Relay(httpx.AsyncBaseTransport):
    """Carries the requests of Tavily's client over our pool, and judges the answers before that client does.

    That client would confuse 403 with a used-up quota (432, 433), lose `Retry-After`, take `{}` for no results, and
    put its key into the headers of the `httpx` client it is given: so it gets one of its own, with this transport.
    """

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        headers = {name: value for name, value in request.headers.items() if name.startswith(("authorization", "x-"))}
        body: object = json.loads(await request.aread())
        response = await self._client.send(request.method, str(request.url), json=body, headers=headers)
        payload = json_object(self._client.provider, self._client.title, response)
        if "results" not in payload:
            raise ProviderResponseError(self._client.provider, "Tavily sent an answer without results.")
        return httpx.Response(200, content=response.content)


class TavilyTool(WebTool):
    """Searches the web with Tavily; `search_depth` "advanced" is Tavily's own.

    Args:
        client: asks under Tavily's limits; it must not follow redirects, which would carry the key away.
        api_key: empty = the provider is skipped, since Tavily's client would silently search without one.
    """

    name = "tavily"
    title = "Tavily"

    def __init__(
        self,
        client: ApiClient,
        *,
        base_url: str,
        api_key: SecretStr,
        today: Callable[[], datetime.date] = current_date,
    ) -> None:
        self.needs_key(api_key, "tavily_api_key")
        self._client = client
        self._base_url = base_url
        self._key = api_key
        self._today = today
        self._tavily: _TavilyClient | None = None

    @classmethod
    def create(cls, settings: WebSettings, net: Net) -> Self:
        limiter = Pacing(max(settings.web_delay, 60 / settings.tavily_per_minute))
        client = ApiClient(
            net.http, provider=cls.name, title=cls.title, retry=net.retry, limiter=limiter, follow_redirects=False
        )
        return cls(client, base_url=settings.tavily_base_url, api_key=settings.tavily_api_key)

    async def ask(self, query: str, max_results: int, options: WebOptions) -> WebAnswer:
        tavily = self._tavily = self._tavily or await anyio.to_thread.run_sync(self._connect)
        words = sent_query(query, title=self.title, characters=_MOST_CHARACTERS)
        parameters = _parameters(max_results, options)

        async def attempt() -> list[WebHit]:
            payload = await tavily.search(words.text, **parameters)
            return read_hits(self.name, self.title, payload["results"], self._hit)

        hits = [hit for hit in await self._client.run(attempt) if options.allows(hit.url)]
        limit = (f"Tavily returns at most {_MOST_RESULTS} results.",) if max_results > _MOST_RESULTS else ()
        hits = as_hits(hits, provider=self.name, max_results=max_results)
        return WebAnswer(hits, total_found=len(hits), warnings=(*words.warnings, *limit))

    def check(self) -> SourceCheck:
        # Asking for the account's usage is free; a search would cost a credit.
        headers = {"Authorization": f"Bearer {self._key.get_secret_value()}"}
        url = f"{self._base_url}/usage"
        return key_check(self, lambda: self._client.request("GET", url, self._account, headers=headers))

    def _account(self, response: httpx.Response) -> object:
        return json_object(self.name, self.title, response)

    def _connect(self) -> _TavilyClient:
        from tavily import AsyncTavilyClient  # pyright: ignore[reportMissingTypeStubs]  # it has no types

        own = httpx.AsyncClient(base_url=self._base_url, transport=_Relay(self._client), trust_env=False)
        return cast(_TavilyClient, AsyncTavilyClient(api_key=self._key.get_secret_value(), client=own))

    def _hit(self, row: Mapping[str, object]) -> WebHit:
        return hit_of(
            title=without_markup(text_of(row.get("title"))),
            url=text_of(row.get("url")),
            content=without_markup(without_markdown(text_of(row.get("content")))),
            score=number_of(row.get("score")),
            date=publication_date(text_of(row.get("published_date")), self._today()),
            secret=self._key.get_secret_value(),
        )


def _parameters(max_results: int, options: WebOptions) -> dict[str, object]:
    """Our options in Tavily's words; what does not fit is filtered afterwards."""
    hosts = [_host(rule) for rule in options.include_domains]
    parameters = {
        "search_depth": options.search_depth,
        "topic": options.topic,
        "max_results": min(max_results, _MOST_RESULTS),
        "time_range": "" if options.recency == "any" else options.recency,
        "include_domains": list(dict.fromkeys(hosts)) if len(hosts) <= _MOST_INCLUDED else [],
        "exclude_domains": [_host(rule) for rule in options.exclude_domains if "/" not in rule][:_MOST_EXCLUDED],
    }
    return {name: value for name, value in parameters.items() if value}


def _host(rule: str) -> str:
    host = rule.partition("/")[0]
    return host if "." in host else f"*.{host}"
