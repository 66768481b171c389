"""Clients of providers without keys, in a pace that all processes share, and what their requests have in common."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeVar

import httpx

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import ProviderError
from deepcritical_mcp.net.client import USER_AGENT, ApiClient, InFlight
from deepcritical_mcp.net.pacing import shared_pacing
from deepcritical_mcp.sources.base import Net

T = TypeVar("T")
_WEB_PAGE = re.compile(rb"\s*<(?:!doctype\s+html|html)\b", re.IGNORECASE)


def paced_client(
    settings: Settings,
    net: Net,
    *,
    name: str,
    title: str,
    base_url: str,
    spacing: float,
    explain: Callable[[httpx.Response], ProviderError | None],
    steps: int = 1,
) -> ApiClient:
    """A client for the provider at `base_url`, with `spacing` seconds between two starts.

    Args:
        name: wire name of the provider, under which all clients of it share the pace.
        title: name for people.
        explain: see `ApiClient`.
        steps: how many requests a call sends, one after the other.
    """
    limiter = shared_pacing(
        spacing,
        name=name,
        identity=base_url,
        folder=settings.cache_dir,
        redis_url=settings.redis_url.get_secret_value(),
        steps=steps,
    )
    return ApiClient(
        net.http, provider=name, title=title, retry=net.retry, limiter=limiter, explain=explain, keyless=True
    )


class JsonApi:
    """GET requests to an API that answers in JSON; identical ones at the same time are sent once."""

    def __init__(self, client: ApiClient, base_url: str) -> None:
        self._client, self._base_url = client, base_url
        self._in_flight = InFlight()

    async def get(self, path: str, params: Mapping[str, str], read: Callable[[httpx.Response], T]) -> T:
        """What `read` makes of the answer at `path`."""
        url, headers = f"{self._base_url}/{path}", {"User-Agent": USER_AGENT, "Accept": "application/json"}
        return await self._in_flight.ask(
            (path, tuple(params.items())),
            lambda begin: self._client.request("GET", url, read, begin=begin, params=params, headers=headers),
        )


def is_web_page(body: bytes) -> bool:
    """Whether an answer is a page for people, of a provider out of order or of somebody on the way."""
    return _WEB_PAGE.match(body[:1_000]) is not None
