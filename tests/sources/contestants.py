"""The web providers, made for the tests: quick to give up, on loopback."""

from __future__ import annotations

from collections.abc import Callable

import httpx
from pydantic import SecretStr

from deepcritical_mcp.errors import BlockedError
from deepcritical_mcp.net.client import ApiClient, RetryPolicy
from deepcritical_mcp.sources.web.brave import BraveTool
from deepcritical_mcp.sources.web.duckduckgo import DuckDuckGoTool
from deepcritical_mcp.sources.web.provider import WebTool
from deepcritical_mcp.sources.web.serpapi import SerpApiTool
from deepcritical_mcp.sources.web.tavily import TavilyTool
from tests.sources import wire
from tests.sources.contract import PATIENT, Contestant

KEY = SecretStr("the-key-0123456789")


def make_tavily(url: str, http: httpx.AsyncClient, retry: RetryPolicy = PATIENT) -> WebTool:
    client = ApiClient(http, provider="tavily", title="Tavily", retry=retry, follow_redirects=False)
    return TavilyTool(client, base_url=url, api_key=KEY)


def make_brave(url: str, http: httpx.AsyncClient, retry: RetryPolicy = PATIENT) -> WebTool:
    client = ApiClient(
        http, provider="brave", title="Brave", retry=retry, explain=BraveTool.explain, follow_redirects=False
    )
    return BraveTool(client, base_url=url, api_key=KEY)


def make_serpapi(url: str, http: httpx.AsyncClient, retry: RetryPolicy = PATIENT) -> WebTool:
    client = ApiClient(
        http, provider="serpapi", title="SerpAPI", retry=retry, explain=SerpApiTool.explain, follow_redirects=False
    )
    return SerpApiTool(client, base_url=url, api_key=KEY)


def make_duckduckgo(url: str, http: httpx.AsyncClient, retry: RetryPolicy = PATIENT) -> WebTool:
    client = ApiClient(http, provider="duckduckgo", title="DuckDuckGo", retry=retry)
    return DuckDuckGoTool(client, url=f"{url}/html/", timeout=retry.attempt_timeout)


CONTESTANTS = (
    Contestant("tavily", make_tavily, wire.tavily(), wire.tavily(())),
    Contestant("brave", make_brave, wire.brave(), wire.brave(())),
    Contestant("serpapi", make_serpapi, wire.serpapi(), wire.serpapi_empty()),
    Contestant("duckduckgo", make_duckduckgo, wire.duckduckgo(), wire.duckduckgo_empty(), refusal=BlockedError),
)

WEB_TOOLS: tuple[Callable[[str, httpx.AsyncClient, RetryPolicy], WebTool], ...] = (
    make_tavily,
    make_brave,
    make_serpapi,
    make_duckduckgo,
)
