"""Google's results through SerpAPI."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import httpx

from deepcritical_mcp.errors import ProviderError, ProviderResponseError, ProviderUnavailableError, QuotaExceededError
from deepcritical_mcp.net.json_fields import field_at, mapping_of, number_of, text_at
from deepcritical_mcp.sources.base import as_sent
from deepcritical_mcp.sources.web.provider import KeyedTool, WebPage
from deepcritical_mcp.sources.web.request import WebOptions

_PER_PAGE = 10
_NOTHING_FOUND = re.compile(r"(hasn't|has not|didn't|did not) returned? any results|no results", re.IGNORECASE)
_USED_UP = re.compile(r"(run|ran) out|used up|out of searches", re.IGNORECASE)
_UNFINISHED = ("Error", "Processing", "Queued")


class SerpApiTool(KeyedTool):
    """Searches Google through SerpAPI, which accepts its key only in the URL; "basic" reads one page of ten results."""

    name = "serpapi"
    title = "SerpAPI"
    # Google returns ten results a page whatever `num` says (since September 2025), and uses 32 words of a query. Each
    # page counts as one search of the plan, so "basic" reads a single page.
    max_characters = 2_000
    max_words = 32
    max_pages = {"basic": 1, "advanced": 5}  # noqa: RUF012
    url_field = "link"
    content_field = "snippet"
    date_fields = ("published_at", "iso_date", "date")
    probed = ("account", {})  # free; a search would count toward the plan

    async def page(self, query: str, options: WebOptions, *, number: int, wanted: int) -> WebPage:
        parameters: dict[str, str | int] = {"engine": "google", "q": query, "hl": "en", "output": "json"}
        if options.topic == "news":
            parameters["tbm"] = "nws"
        if options.recency != "any":
            parameters["tbs"] = f"qdr:{options.recency[0]}"
        if number:
            parameters["start"] = number * _PER_PAGE
        return replace(await self.get("search.json", self._read, parameters), sent=as_sent(parameters))

    def _read(self, payload: Mapping[str, object]) -> WebPage:
        rows = payload.get("news_results") or payload.get("organic_results")
        problem = text_at(payload, "error")
        status = text_at(payload, "search_metadata.status")
        if not rows and _NOTHING_FOUND.search(problem):
            return WebPage(())
        if not rows and _USED_UP.search(problem):
            raise QuotaExceededError(self.name, "The plan's searches at SerpAPI are used up.")
        if not rows and status in _UNFINISHED:
            raise ProviderUnavailableError(self.name, "SerpAPI could not get results from Google. Try again later.")
        if not rows and problem:
            raise ProviderResponseError(self.name, "SerpAPI sent an error instead of results.")
        if not payload.keys() & {"organic_results", "news_results", "search_information", "search_metadata"}:
            raise ProviderResponseError(self.name, "SerpAPI sent JSON that is not a search result.")
        total = number_of(field_at(payload, "search_information", "total_results")) or 0
        more = "next" in mapping_of(payload.get("serpapi_pagination"))
        return self.results(rows, total=max(0, int(total)), more=more)

    @staticmethod
    def explain(response: httpx.Response) -> ProviderError | None:
        """429 is the hourly limit, or no searches left."""
        if response.status_code == 429 and _USED_UP.search(response.text):
            return QuotaExceededError("serpapi", "The plan's searches at SerpAPI are used up (HTTP 429).")
        return None
