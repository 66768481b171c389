"""DuckDuckGo's HTML page, asked through `ddgs` without a key."""

from __future__ import annotations

import math
from typing import Self

import anyio.to_thread

from deepcritical_mcp.errors import BlockedError, ProviderResponseError, ProviderTimeoutError, ProviderUnavailableError
from deepcritical_mcp.net.client import ApiClient, RetryPolicy
from deepcritical_mcp.net.pacing import Pacing
from deepcritical_mcp.sources.base import Finding, Net, SourceCheck
from deepcritical_mcp.sources.web.duckduckgo_page import ResultsPage, read_page
from deepcritical_mcp.sources.web.provider import (
    WebAnswer,
    WebOptions,
    WebPage,
    WebTool,
    as_hits,
    read_pages,
    sent_query,
)
from deepcritical_mcp.sources.web.web_settings import WebSettings

# DuckDuckGo refuses longer queries, and blocks those who read many pages.
_MOST_CHARACTERS = 480
_MOST_PAGES = {"basic": 1, "advanced": 3}
_WORLDWIDE = "wt-wt"


class DuckDuckGoTool(WebTool):
    """Searches DuckDuckGo, which needs no key; it has no news search, and "basic" reads one page of ten results.

    The engine of `ddgs` builds and sends the request; its `DDGS` class would raise the same exception for a block, an
    outage and an empty page, so the response is judged here.

    Args:
        client: provides the limits, the retries and the meaning of a status; its connection pool is not used.
        url: the HTML endpoint.
        timeout: seconds for one attempt.
    """

    name = "duckduckgo"
    title = "DuckDuckGo"

    def __init__(self, client: ApiClient, *, url: str, timeout: float = RetryPolicy.attempt_timeout) -> None:
        self._client = client
        self._url = url
        self._timeout = timeout

    @classmethod
    def create(cls, settings: WebSettings, net: Net) -> Self:
        limiter = Pacing(settings.web_delay)
        client = ApiClient(net.http, provider=cls.name, title=cls.title, retry=net.retry, limiter=limiter)
        timeout = (net.retry or RetryPolicy()).attempt_timeout
        return cls(client, url=settings.duckduckgo_url, timeout=timeout)

    def check(self) -> SourceCheck:
        async def examine() -> Finding:
            await self.ask("aspirin", 1, WebOptions(search_depth="basic"))
            return Finding("answers; needs no API key")

        return SourceCheck(self.title, examine)

    async def ask(self, query: str, max_results: int, options: WebOptions) -> WebAnswer:
        words = sent_query(query, options, title=self.title, characters=_MOST_CHARACTERS)
        warnings = list(words.warnings)
        if options.topic == "news":
            warnings.append("DuckDuckGo has no news search: these are results of every kind.")

        async def page(number: int) -> WebPage:
            read = await self._client.run(lambda: self._page(words.text, options, number + 1))
            if read.broken_off:
                warnings.append("DuckDuckGo's page was cut off: some results may be missing.")
            return WebPage(read.hits, more=bool(read.hits))

        most = _MOST_PAGES[options.search_depth]
        found, missing = await read_pages(page, options, wanted=max_results, most=most)
        hits = as_hits(found.hits, provider=self.name, max_results=max_results)
        return WebAnswer(hits, total_found=len(found.hits), warnings=(*warnings, *missing))

    async def _page(self, query: str, options: WebOptions, number: int) -> ResultsPage:
        limit = "" if options.recency == "any" else options.recency[0]
        return await anyio.to_thread.run_sync(self._ask, query, limit, number, abandon_on_cancel=True)

    def _ask(self, query: str, limit: str, number: int) -> ResultsPage:
        import primp
        from ddgs.engines.duckduckgo import Duckduckgo

        engine = Duckduckgo(timeout=math.ceil(self._timeout))
        form = engine.build_payload(query, _WORLDWIDE, "moderate", limit or None, number)
        try:
            response = engine.http_client.client.request(engine.search_method, self._url, data=form)
            status, headers, text = response.status_code, response.headers, response.text
        except primp.TimeoutError as error:
            raise ProviderTimeoutError(self.name, "DuckDuckGo did not answer in time.") from error
        except primp.PrimpError as error:
            raise ProviderUnavailableError(
                self.name, f"DuckDuckGo cannot be reached ({type(error).__name__})."
            ) from error
        return self._judge(status, {str(name).lower(): str(headers[name]) for name in headers}, text)

    def _judge(self, status: int, headers: dict[str, str], text: str) -> ResultsPage:
        page = read_page(text)
        if status == 200 and page.hits:
            return page
        if page.is_challenge or status in (401, 403) or (status == 202 and not page.says_nothing_found):
            raise BlockedError(
                self.name,
                f"DuckDuckGo blocked this machine as automated traffic (HTTP {status}). Wait a few minutes, or "
                "configure an API key for Tavily, Brave Search or SerpAPI.",
            )
        self._client.raise_for_status(status, headers)
        if page.broken_off or not page.says_nothing_found:
            raise ProviderResponseError(self.name, "DuckDuckGo sent a page that is not a list of results.")
        return page
