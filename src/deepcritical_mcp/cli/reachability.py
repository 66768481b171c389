"""Whether NCBI can be asked from here, without waiting long for the answer."""

from __future__ import annotations

import anyio
import httpx

from deepcritical_mcp.config import Settings

TOOL = "deepcritical-mcp"
_PATIENCE = 4.0


async def ncbi_silence(settings: Settings) -> str:
    """Why E-utilities cannot be asked, in a few words; "" when they answer. Proxies count as they do for the server."""
    params = {"retmode": "json", "tool": TOOL} | ({"email": settings.ncbi_email} if settings.ncbi_email else {})
    try:
        with anyio.fail_after(_PATIENCE):
            async with httpx.AsyncClient(timeout=_PATIENCE) as http:
                response = await http.get(f"{settings.ncbi_base_url}/einfo.fcgi", params=params)
    except TimeoutError:
        return f"no answer within {_PATIENCE:g} seconds"
    except httpx.ProxyError:
        return "the proxy refuses"
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return type(error).__name__
    except (ValueError, ImportError):
        return "the proxy setting cannot be used"
    if response.status_code == 429 or "einforesult" in response.text:
        return ""
    return f"HTTP {response.status_code}, but no answer of NCBI's"
