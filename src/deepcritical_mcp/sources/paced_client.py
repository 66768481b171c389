"""How a client of a provider without keys is built: in its pace, shared by all processes."""

from __future__ import annotations

from collections.abc import Callable

import httpx

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import ProviderError
from deepcritical_mcp.net.client import ApiClient
from deepcritical_mcp.net.pacing import shared_pacing
from deepcritical_mcp.sources.base import Net


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
