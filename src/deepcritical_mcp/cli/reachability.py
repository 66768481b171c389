"""Whether NCBI can be reached, answered quickly."""

from __future__ import annotations

import anyio
import httpx

from deepcritical_mcp.config import Settings
from deepcritical_mcp.sources.pubmed.eutils import TOOL
from deepcritical_mcp.sources.pubmed.pubmed_settings import PubMedSettings

_PATIENCE = 4.0


async def ncbi_problem(settings: Settings) -> str:
    """Why E-utilities cannot be reached, in a few words; "" when they answer. Proxies apply as for the server."""
    ours = settings.of(PubMedSettings)
    params = {"retmode": "json", "tool": TOOL} | ({"email": ours.ncbi_email} if ours.ncbi_email else {})
    try:
        with anyio.fail_after(_PATIENCE):
            async with httpx.AsyncClient(timeout=_PATIENCE) as http:
                response = await http.get(f"{ours.ncbi_base_url}/einfo.fcgi", params=params)
    except TimeoutError:
        return f"no answer within {_PATIENCE:g} seconds"
    except httpx.ProxyError:
        return "the proxy refused the request"
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return type(error).__name__
    except (ValueError, ImportError):
        return "the proxy setting cannot be used"
    if response.status_code == 429 or "einforesult" in response.text:
        return ""
    return f"HTTP {response.status_code}, but not from NCBI"
