"""What requests to all of NCBI's services have in common: their pace and who sends them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import httpx

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import ProviderError
from deepcritical_mcp.net.client import ApiClient
from deepcritical_mcp.net.pacing import shared_pacing
from deepcritical_mcp.sources.base import Net
from deepcritical_mcp.sources.pubmed.eutils import EUtilities
from deepcritical_mcp.sources.pubmed.pubmed_settings import PubMedSettings

SPACING_WITHOUT_KEY = 0.37
SPACING_WITH_KEY = 0.11
"""Seconds between two starts. NCBI allows 3 requests a second, 10 with a key; a tenth is left for network jitter."""
MAX_IDS = 200
"""Identifiers in one request."""
Explain = Callable[[httpx.Response], ProviderError | None]


def ncbi_client(
    settings: Settings, net: Net, *, provider: str, title: str, explain: Explain, steps: int = 1
) -> ApiClient:
    """A client in the pace that all of NCBI's services share; `steps` is how many requests a call sends."""
    ours = settings.of(PubMedSettings)
    key = ours.ncbi_api_key.get_secret_value()
    limiter = shared_pacing(
        SPACING_WITH_KEY if key else SPACING_WITHOUT_KEY,
        name="ncbi",
        identity=f"{ours.ncbi_base_url}\n{key}",
        folder=settings.cache_dir,
        redis_url=settings.redis_url.get_secret_value(),
        steps=steps,
    )
    return ApiClient(
        net.http,
        provider=provider,
        title=title,
        retry=net.retry,
        limiter=limiter,
        explain=explain,
        follow_redirects=False if key else None,
    )


def eutilities(settings: Settings, client: ApiClient) -> EUtilities:
    """E-utilities through `client`, with the key and the email address of the settings."""
    ours = settings.of(PubMedSettings)
    return EUtilities(client, base_url=ours.ncbi_base_url, email=settings.ncbi_email.strip(), api_key=ours.ncbi_api_key)


def in_batches(values: Sequence[str]) -> list[Sequence[str]]:
    """`values` in batches that one request may ask for."""
    return [values[at : at + MAX_IDS] for at in range(0, len(values), MAX_IDS)]
