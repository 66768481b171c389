"""Whether each provider answers, asked as cheaply as it allows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

import anyio
import httpx
from pydantic import SecretStr

from deepcritical_mcp.cli.checks import Check, Fault, run_check
from deepcritical_mcp.cli.reachability import TOOL
from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import AuthenticationError, BlockedError
from deepcritical_mcp.net.client import ApiClient, RetryPolicy
from deepcritical_mcp.sources.pubmed.eutils import EUtilities
from deepcritical_mcp.sources.pubmed.eutils_answers import explain_refusal as explain_ncbi
from deepcritical_mcp.sources.web.brave import explain_refusal as explain_brave
from deepcritical_mcp.sources.web.duckduckgo import DuckDuckGoTool
from deepcritical_mcp.sources.web.serpapi import explain_refusal as explain_serpapi

_ONCE = RetryPolicy(attempts=1, attempt_timeout=7.0)
_NETWORK = "Check the network and, where there is one, the proxy (HTTPS_PROXY)."


async def all_providers(settings: Settings, keep: Callable[[Check], None]) -> None:
    """Ask all providers at once; each check is kept as soon as it is known."""
    try:
        http = httpx.AsyncClient(timeout=httpx.Timeout(7.0, connect=5.0), follow_redirects=True)
    except (ValueError, ImportError, httpx.InvalidURL) as error:
        finding = f"the proxy setting cannot be used ({type(error).__name__})"
        keep(Check("Proxy", "broken", finding, "Correct HTTP_PROXY, HTTPS_PROXY and ALL_PROXY, or unset them."))
        return

    async def ask(check: Callable[[Settings, httpx.AsyncClient], Awaitable[Check]]) -> None:
        keep(await check(settings, http))

    async with http, anyio.create_task_group() as tasks:
        for check in (_pubmed, _tavily, _brave, _serpapi, _duckduckgo):
            tasks.start_soon(ask, check)
        if settings.chroma_url:
            tasks.start_soon(ask, _chroma_server)
        if settings.redis_url:
            tasks.start_soon(ask, _redis)


async def _pubmed(settings: Settings, http: httpx.AsyncClient) -> Check:
    async def examine() -> str:
        utilities = EUtilities(
            ApiClient(http, provider="pubmed", title="PubMed", retry=_ONCE, explain=explain_ncbi),
            base_url=settings.ncbi_base_url,
            tool=TOOL,
            email=settings.ncbi_email,
            api_key=settings.ncbi_api_key,
        )
        variable = "NCBI_API_KEY" if _is_set(settings.ncbi_api_key) else ""
        await _answered(utilities.esearch("aspirin", retmax=1), variable)
        pace = "with a key, 10 requests a second" if _is_set(settings.ncbi_api_key) else "no key, 3 requests a second"
        if not settings.ncbi_email:
            raise Fault(f"answers; {pace}", "NCBI asks for an address: set NCBI_EMAIL to yours.", state="look")
        return f"answers; {pace}"

    return await run_check("PubMed", examine, mend=_NETWORK, area="literature")


async def _tavily(settings: Settings, http: httpx.AsyncClient) -> Check:
    # What an account has used costs no credit to ask; a search would.
    url, key = f"{settings.tavily_base_url}/usage", settings.tavily_api_key
    client = ApiClient(http, provider="tavily", title="Tavily", retry=_ONCE, follow_redirects=False)
    headers = {"Authorization": f"Bearer {key.get_secret_value()}"}
    return await _with_key("Tavily", key, lambda: client.request("GET", url, _json, headers=headers))


async def _brave(settings: Settings, http: httpx.AsyncClient) -> Check:
    url, key = f"{settings.brave_base_url}/web/search", settings.brave_api_key
    client = ApiClient(
        http, provider="brave", title="Brave Search", retry=_ONCE, explain=explain_brave, follow_redirects=False
    )
    headers = {"Accept": "application/json", "X-Subscription-Token": key.get_secret_value()}
    params = {"q": "aspirin", "count": 1}
    return await _with_key(
        "Brave Search", key, lambda: client.request("GET", url, _json, params=params, headers=headers)
    )


async def _serpapi(settings: Settings, http: httpx.AsyncClient) -> Check:
    # The account is free to ask; a search would be one of the plan's.
    url, key = f"{settings.serpapi_base_url}/account", settings.serpapi_api_key
    client = ApiClient(
        http, provider="serpapi", title="SerpAPI", retry=_ONCE, explain=explain_serpapi, follow_redirects=False
    )
    params = {"api_key": key.get_secret_value()}
    return await _with_key("SerpAPI", key, lambda: client.request("GET", url, _json, params=params))


async def _duckduckgo(settings: Settings, http: httpx.AsyncClient) -> Check:
    async def examine() -> str:
        client = ApiClient(http, provider="duckduckgo", title="DuckDuckGo", retry=_ONCE)
        tool = DuckDuckGoTool(client, url=settings.duckduckgo_url, timeout=_ONCE.attempt_timeout)
        await _answered(tool.search("aspirin", 1, search_depth="basic"), "")
        return "answers; needs no key"

    return await run_check("DuckDuckGo", examine, mend=_NETWORK, area="web")


async def _chroma_server(settings: Settings, http: httpx.AsyncClient) -> Check:
    async def examine() -> str:
        response = await http.get(f"{settings.chroma_url}/api/v2/heartbeat")
        if response.status_code != 200:
            raise Fault(f"HTTP {response.status_code}")
        return "answers"

    mend = "Start the server that DEEPCRITICAL_CHROMA_URL names, or unset it."
    return await run_check("Chroma server", examine, mend=mend, area="store")


async def _redis(settings: Settings, http: httpx.AsyncClient) -> Check:
    async def examine() -> str:
        parts = urlsplit(settings.redis_url)
        stream = await anyio.connect_tcp(parts.hostname or "localhost", parts.port or 6379)
        await stream.aclose()
        return "takes connections"

    mend = "Start the server that DEEPCRITICAL_REDIS_URL names, or unset it."
    return await run_check("Redis", examine, mend=mend)


async def _with_key(part: str, key: SecretStr, ask: Callable[[], Awaitable[object]]) -> Check:
    variable = f"{part.split()[0].upper()}_API_KEY"
    if not _is_set(key):
        return Check(part, "off", f"no key; optional: {variable} switches it on", area="web")

    async def examine() -> str:
        await _answered(ask(), variable)
        return "answers; the key is good"

    return await run_check(part, examine, mend=_NETWORK, area="web")


async def _answered(request: Awaitable[object], variable: str) -> None:
    try:
        await request
    except AuthenticationError as error:
        raise Fault(error.message, f"Correct {variable} or unset it." if variable else _NETWORK) from error
    except BlockedError as error:
        raise Fault(error.message, "Wait some minutes, or set a key of Tavily, Brave Search or SerpAPI.") from error


def _json(response: httpx.Response) -> object:
    try:
        return response.json()
    except ValueError as error:
        raise Fault("answers with something that is no JSON", "Check its address among the settings.") from error


def _is_set(key: SecretStr) -> bool:
    return bool(key.get_secret_value())
