"""The web providers, made for the tests: quick to give up, on loopback."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx
from pydantic import SecretStr

from deepcritical_mcp.errors import AuthenticationError, BlockedError, ProviderError
from deepcritical_mcp.net.client import ApiClient, RetryPolicy
from deepcritical_mcp.sources.web.duckduckgo import DuckDuckGoTool
from deepcritical_mcp.sources.web.keyed import BraveTool, SerpApiTool
from deepcritical_mcp.sources.web.provider import WebTool
from deepcritical_mcp.sources.web.tavily import TavilyTool
from tests.net.stand_in import Answer
from tests.sources import wire
from tests.sources.contract import PATIENT

KEY = SecretStr("the-key-0123456789")


def make_tavily(url: str, http: httpx.AsyncClient, retry: RetryPolicy = PATIENT) -> WebTool:
    client = ApiClient(http, provider="tavily", title="Tavily", retry=retry, follow_redirects=False)
    return TavilyTool(client, base_url=url, api_key=KEY)


def make_brave(url: str, http: httpx.AsyncClient, retry: RetryPolicy = PATIENT, **more: Any) -> WebTool:
    client = ApiClient(
        http, provider="brave", title="Brave", retry=retry, explain=BraveTool.explain, follow_redirects=False
    )
    return BraveTool(client, base_url=url, api_key=KEY, **more)


def make_serpapi(url: str, http: httpx.AsyncClient, retry: RetryPolicy = PATIENT, **more: Any) -> WebTool:
    client = ApiClient(
        http, provider="serpapi", title="SerpAPI", retry=retry, explain=SerpApiTool.explain, follow_redirects=False
    )
    return SerpApiTool(client, base_url=url, api_key=KEY, **more)


def make_duckduckgo(url: str, http: httpx.AsyncClient, retry: RetryPolicy = PATIENT) -> WebTool:
    client = ApiClient(http, provider="duckduckgo", title="DuckDuckGo", retry=retry)
    return DuckDuckGoTool(client, url=f"{url}/html/", timeout=retry.attempt_timeout)


@dataclass(frozen=True)
class Contestant:
    """A provider under test: how it is made, and how it says "here they are" and "there is nothing"."""

    name: str
    make: Callable[[str, httpx.AsyncClient, RetryPolicy], WebTool]
    success: Answer
    empty: Answer
    refusal: type[ProviderError] = AuthenticationError  # its meaning of 401 and 403


CONTESTANTS = (
    Contestant("tavily", make_tavily, wire.tavily(), wire.tavily(())),
    Contestant("brave", make_brave, wire.brave(), wire.brave(())),
    Contestant("serpapi", make_serpapi, wire.serpapi(), wire.serpapi_empty()),
    Contestant("duckduckgo", make_duckduckgo, wire.duckduckgo(), wire.duckduckgo_empty(), refusal=BlockedError),
)
