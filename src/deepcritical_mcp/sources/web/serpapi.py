"""Google's results through SerpAPI."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping
from typing import Self

import httpx
from pydantic import SecretStr

from deepcritical_mcp.errors import ProviderError, ProviderResponseError, ProviderUnavailableError, QuotaExceededError
from deepcritical_mcp.net.client import ApiClient
from deepcritical_mcp.net.pacing import Pacing
from deepcritical_mcp.sources.base import Net, SourceCheck
from deepcritical_mcp.sources.web.dates import UNKNOWN, current_date, publication_date
from deepcritical_mcp.sources.web.payload import (
    hit_of,
    json_object,
    mapping_of,
    number_of,
    read_hits,
    text_of,
    without_markup,
)
from deepcritical_mcp.sources.web.provider import (
    WebAnswer,
    WebHit,
    WebOptions,
    WebPage,
    WebTool,
    as_hits,
    key_check,
    read_pages,
    sent_query,
)
from deepcritical_mcp.sources.web.web_settings import WebSettings

# Google returns ten results a page whatever `num` says (since September 2025), and reads 32 words. Each page is one
# search of the plan, so "basic" reads a single one.
_ON_A_PAGE = 10
_MOST_PAGES = {"basic": 1, "advanced": 5}
_MOST_CHARACTERS = 2_000
_MOST_WORDS = 32
_PROVIDER = "serpapi"
_TITLE = "SerpAPI"
_NOTHING_FOUND = re.compile(r"(hasn't|has not|didn't|did not) returned? any results|no results", re.IGNORECASE)
_USED_UP = re.compile(r"(run|ran) out|used up|out of searches", re.IGNORECASE)


class SerpApiTool(WebTool):
    """Searches Google through SerpAPI, which takes its key in the address only; "basic" reads one page of ten results.

    Args:
        client: asks under our limits; with `explain=explain_refusal`.
        api_key: empty = the provider is skipped.
    """

    name = _PROVIDER
    title = _TITLE

    def __init__(
        self,
        client: ApiClient,
        *,
        base_url: str,
        api_key: SecretStr,
        today: Callable[[], datetime.date] = current_date,
    ) -> None:
        self.needs_key(api_key, "serpapi_api_key")
        self._client = client
        self._base_url = base_url
        self._key = api_key
        self._today = today

    @classmethod
    def create(cls, settings: WebSettings, net: Net) -> Self:
        client = ApiClient(
            net.http,
            provider=cls.name,
            title=cls.title,
            retry=net.retry,
            limiter=Pacing(settings.web_delay),
            explain=explain_refusal,
            follow_redirects=False,
        )
        return cls(client, base_url=settings.serpapi_base_url, api_key=settings.serpapi_api_key)

    async def ask(self, query: str, max_results: int, options: WebOptions) -> WebAnswer:
        words = sent_query(query, options, title=self.title, characters=_MOST_CHARACTERS, words=_MOST_WORDS)
        parameters: dict[str, str | int] = {"engine": "google", "q": words.text, "hl": "en", "output": "json"}
        if options.topic == "news":
            parameters["tbm"] = "nws"
        if options.recency != "any":
            parameters["tbs"] = f"qdr:{options.recency[0]}"

        async def page(number: int) -> WebPage:
            start = {"start": number * _ON_A_PAGE} if number else {}
            # The key comes last, so that a log that cuts addresses short cuts it first.
            asked = {**parameters, **start, "api_key": self._key.get_secret_value()}
            return await self._client.request("GET", f"{self._base_url}/search.json", self._parse, params=asked)

        found, warnings = await read_pages(page, options, wanted=max_results, most=_MOST_PAGES[options.search_depth])
        hits = as_hits(found.hits, provider=self.name, max_results=max_results)
        return WebAnswer(hits, max(found.total, len(found.hits)), (*words.warnings, *warnings))

    def check(self) -> SourceCheck:
        # Asking for the account is free; a search would count towards the plan.
        url, params = f"{self._base_url}/account", {"api_key": self._key.get_secret_value()}
        return key_check(self, lambda: self._client.request("GET", url, self._account, params=params))

    def _account(self, response: httpx.Response) -> object:
        return json_object(self.name, self.title, response)

    def _parse(self, response: httpx.Response) -> WebPage:
        payload = json_object(self.name, self.title, response)
        rows = payload.get("news_results") or payload.get("organic_results")
        problem, status = text_of(payload.get("error")), mapping_of(payload.get("search_metadata")).get("status")
        if not rows and (problem or status in ("Error", "Processing", "Queued")):
            return self._read_problem(problem, text_of(status))
        if not payload.keys() & {"organic_results", "news_results", "search_information", "search_metadata"}:
            raise ProviderResponseError(self.name, "SerpAPI sent JSON that is not a search result.")
        hits = read_hits(self.name, self.title, rows, self._hit)
        total = number_of(mapping_of(payload.get("search_information")).get("total_results")) or 0
        return WebPage(hits, total=max(0, int(total)), more="next" in mapping_of(payload.get("serpapi_pagination")))

    def _read_problem(self, problem: str, status: str) -> WebPage:
        """An answer with status 200 and an `error`: mostly it only means that nothing was found."""
        if _NOTHING_FOUND.search(problem):
            return WebPage(())
        if _USED_UP.search(problem):
            raise QuotaExceededError(self.name, "The plan's searches at SerpAPI are used up.")
        if status in ("Error", "Processing", "Queued"):
            raise ProviderUnavailableError(self.name, "SerpAPI could not get results from Google. Try again later.")
        raise ProviderResponseError(self.name, "SerpAPI answered with an error instead of results.")

    def _hit(self, row: Mapping[str, object]) -> WebHit:
        return hit_of(
            title=without_markup(text_of(row.get("title"))),
            url=text_of(row.get("link")),
            content=without_markup(text_of(row.get("snippet"))),
            date=self._date(row),
            secret=self._key.get_secret_value(),
        )

    def _date(self, row: Mapping[str, object]) -> str:
        for field in ("published_at", "iso_date", "date"):
            date = publication_date(text_of(row.get(field)), self._today())
            if date != UNKNOWN:
                return date
        return UNKNOWN


def explain_refusal(response: httpx.Response) -> ProviderError | None:
    """What SerpAPI's error body tells beyond its status: 429 is too many an hour, or no searches left at all."""
    if response.status_code == 429 and _USED_UP.search(response.text):
        return QuotaExceededError(_PROVIDER, "The plan's searches at SerpAPI are used up (HTTP 429).")
    return None
