"""Brave Search's API: web pages and news."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from typing import Self

import httpx
from pydantic import SecretStr

from deepcritical_mcp.errors import (
    AuthenticationError,
    ProviderError,
    ProviderRequestError,
    ProviderResponseError,
    QuotaExceededError,
    RateLimitError,
)
from deepcritical_mcp.net.client import ApiClient, retry_after_seconds
from deepcritical_mcp.net.pacing import Pacing
from deepcritical_mcp.sources.base import Net, SourceCheck
from deepcritical_mcp.sources.web.dates import UNKNOWN, current_date, publication_date
from deepcritical_mcp.sources.web.payload import (
    hit_of,
    json_object,
    list_of,
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

# Of Brave's endpoints. A page is counted, not a result, and there are ten of them.
_MOST_ON_A_PAGE = {"general": 20, "news": 50}
_MOST_PAGES = 10
_MOST_CHARACTERS = 400
_MOST_WORDS = 50
_FRESHNESS = {"day": "pd", "week": "pw", "month": "pm", "year": "py"}
_PROVIDER = "brave"
_TITLE = "Brave Search"


class BraveTool(WebTool):
    """Searches Brave's index; "advanced" asks for more of each page's text where the plan has it.

    Args:
        client: asks under Brave's limits; with `explain=explain_refusal`.
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
        self.needs_key(api_key, "brave_api_key")
        self._client = client
        self._base_url = base_url
        self._key = api_key
        self._today = today
        self._plan_has_extra_snippets = True

    @classmethod
    def create(cls, settings: WebSettings, net: Net) -> Self:
        client = ApiClient(
            net.http,
            provider=cls.name,
            title=cls.title,
            retry=net.retry,
            limiter=Pacing(max(settings.web_delay, 1 / settings.brave_per_second)),
            explain=explain_refusal,
            follow_redirects=False,
        )
        return cls(client, base_url=settings.brave_base_url, api_key=settings.brave_api_key)

    async def ask(self, query: str, max_results: int, options: WebOptions) -> WebAnswer:
        words = sent_query(query, options, title=self.title, characters=_MOST_CHARACTERS, words=_MOST_WORDS)
        count = min(max_results, _MOST_ON_A_PAGE[options.topic])

        async def page(number: int) -> WebPage:
            return await self._page(words.text, options, count=count, offset=number)

        found, warnings = await read_pages(page, options, wanted=max_results, most=_MOST_PAGES)
        hits = as_hits(found.hits, provider=self.name, max_results=max_results)
        return WebAnswer(hits, total_found=len(found.hits), warnings=(*words.warnings, *warnings))

    def check(self) -> SourceCheck:
        return key_check(self, lambda: self._request("web", {"q": "aspirin", "count": 1}))

    async def _page(self, query: str, options: WebOptions, *, count: int, offset: int) -> WebPage:
        parameters: dict[str, str | int] = {"q": query, "count": count, "offset": offset}
        if options.recency != "any":
            parameters["freshness"] = _FRESHNESS[options.recency]
        kind = "news" if options.topic == "news" else "web"
        if options.search_depth == "advanced" and self._plan_has_extra_snippets:
            try:
                return await self._request(kind, {**parameters, "extra_snippets": "true"})
            except _OptionNotInPlanError:
                self._plan_has_extra_snippets = False
        return await self._request(kind, parameters)

    async def _request(self, kind: str, parameters: Mapping[str, str | int]) -> WebPage:
        headers = {"Accept": "application/json", "X-Subscription-Token": self._key.get_secret_value()}
        url = f"{self._base_url}/{kind}/search"
        return await self._client.request("GET", url, self._parse, params=parameters, headers=headers)

    def _parse(self, response: httpx.Response) -> WebPage:
        payload = json_object(self.name, self.title, response)
        if not payload.keys() & {"type", "query", "web", "news", "results"}:
            raise ProviderResponseError(self.name, "Brave Search sent JSON that is not a search result.")
        if payload.get("type") == "ErrorResponse":
            raise ProviderResponseError(self.name, "Brave Search sent an error instead of results.")
        rows = payload.get("results") or mapping_of(payload.get("web")).get("results")
        hits = read_hits(self.name, self.title, rows, self._hit)
        return WebPage(hits, more=mapping_of(payload.get("query")).get("more_results_available") is True)

    def _hit(self, row: Mapping[str, object]) -> WebHit:
        texts = [row.get("description"), *list_of(row.get("extra_snippets"))]
        content = "\n".join(dict.fromkeys(filter(None, (without_markup(text_of(text)) for text in texts))))
        return hit_of(
            title=without_markup(text_of(row.get("title"))),
            url=text_of(row.get("url")),
            content=content,
            date=self._date(row),
            secret=self._key.get_secret_value(),
        )

    def _date(self, row: Mapping[str, object]) -> str:
        for field in ("page_age", "age"):
            date = publication_date(text_of(row.get(field)), self._today())
            if date != UNKNOWN:
                return date
        return UNKNOWN


class _OptionNotInPlanError(ProviderRequestError):
    """The plan does not include an option of the request."""


def explain_refusal(response: httpx.Response) -> ProviderError | None:
    """What Brave's error body tells beyond its status: a bad token comes as 422, a used-up quota as 429."""
    try:
        payload = mapping_of(response.json())
    except (ValueError, RecursionError):
        return None
    problems = [payload.get("error"), *list_of(payload.get("errors"))]
    problem = next((mapping_of(row) for row in problems if row), mapping_of(None))
    code, meta = text_of(problem.get("code")), mapping_of(problem.get("meta"))
    if code == "OPTION_NOT_IN_PLAN":
        return _OptionNotInPlanError(_PROVIDER, "The Brave Search plan does not include a requested option.")
    if response.status_code == 422 and _is_about_the_token(code, response.text):
        return AuthenticationError(_PROVIDER, "Brave Search refused the API key (HTTP 422). Check BRAVE_API_KEY.")
    if response.status_code == 429:
        return _limit_error(response, code, meta)
    return None


def _is_about_the_token(code: str, body: str) -> bool:
    return "TOKEN" in code.upper() or "subscription-token" in body.lower() or "subscription token" in body.lower()


def _limit_error(response: httpx.Response, code: str, meta: Mapping[str, object]) -> ProviderError | None:
    quota, used = number_of(meta.get("quota_limit")), number_of(meta.get("quota_current"))
    # "1, 0": requests left in this second, and in this month.
    left = response.headers.get("x-ratelimit-remaining", "").partition(",")[2].strip()
    if "QUOTA" in code.upper() or (quota and used is not None and used >= quota) or left == "0":
        return QuotaExceededError(_PROVIDER, "The plan's quota at Brave Search is used up (HTTP 429).")
    if retry_after_seconds(response.headers.get("retry-after", "")):
        return None
    # "1, 1419704": seconds until the limit by the second and the one by the month are open again.
    wait = number_of(response.headers.get("x-ratelimit-reset", "").partition(",")[0])
    if not wait or wait < 0:
        return None
    return RateLimitError(_PROVIDER, "Brave Search allows no more requests for now (HTTP 429).", retry_after=wait)
