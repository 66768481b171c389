"""Providers with an API key: what they share, Brave Search (web pages and news), SerpAPI (Google's results)."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import ClassVar, Self, TypeVar

import httpx
from pydantic import SecretStr

from deepcritical_mcp.config import variable_name
from deepcritical_mcp.dates import current_date
from deepcritical_mcp.errors import (
    AuthenticationError,
    ProviderError,
    ProviderRequestError,
    ProviderResponseError,
    ProviderUnavailableError,
    QuotaExceededError,
    RateLimitError,
)
from deepcritical_mcp.logs import hide_keys_in_urls
from deepcritical_mcp.models import UNKNOWN_DATE, Publication
from deepcritical_mcp.net.client import ApiClient, Net, RequestParts, retry_after_seconds
from deepcritical_mcp.net.fields import (
    MAX_ROWS,
    field_at,
    json_answer,
    list_of,
    mapping_of,
    number_of,
    text_at,
    text_of,
    without_markup,
)
from deepcritical_mcp.net.pacing import Pacing
from deepcritical_mcp.sources.base import Finding, SourceCheck, as_sent
from deepcritical_mcp.sources.settings import WebSettings
from deepcritical_mcp.sources.web.provider import WebPage, WebTool, publication_date, web_page
from deepcritical_mcp.sources.web.request import WebOptions

T = TypeVar("T")
Row = Mapping[str, object]
Read = Callable[[Row], T]
Params = Mapping[str, str | int]
MAX_ANSWER = 2 * 1024 * 1024
"""Bytes of an answer; a page of results has a tenth of it."""


class KeyedTool(WebTool):
    """A provider with an API key: class attributes say how requests carry it, and where results have their fields.

    Its settings are `<name>_api_key` and `<name>_base_url`; without a key, it is skipped.

    Attributes:
        key_header: name and format of the header that carries the API key; empty if the key goes into the URL.
        pace: seconds in which the plan allows so many requests, and the setting that has their number; None if it has
            no such limit.
        url_field, content_field: where a result has its address and its text.
        date_fields: where it may have its date, in order of preference.
        probed: path and parameters of the cheapest request that needs the API key.

    Its client must not follow redirects, which would leak the key. `today` is for dates such as "3 days ago".
    """

    key_header: ClassVar[tuple[str, str]] = ("", "")
    pace: ClassVar[tuple[float, str] | None] = None
    url_field: ClassVar[str] = "url"
    content_field: ClassVar[str]
    date_fields: ClassVar[tuple[str, ...]]
    probed: ClassVar[tuple[str, Mapping[str, str | int]]]

    def __init__(
        self, client: ApiClient, *, base_url: str, api_key: SecretStr, today: Callable[[], datetime.date] = current_date
    ) -> None:
        self._client, self._base_url, self._today = client, base_url, today
        self._key = api_key.get_secret_value()
        self.key_variable = "" if self._key else variable_name(f"{self.name}_api_key")
        hide_keys_in_urls(self._key)

    @classmethod
    def create(cls, settings: WebSettings, net: Net) -> Self:
        spacing = cls.pace[0] / getattr(settings, cls.pace[1]) if cls.pace else 0.0
        limiter = Pacing(max(settings.web_delay, spacing))
        client = net.client(
            cls.name, cls.title, limiter=limiter, explain=cls.explain, follow_redirects=False, max_bytes=MAX_ANSWER
        )
        base_url, api_key = getattr(settings, f"{cls.name}_base_url"), getattr(settings, f"{cls.name}_api_key")
        return cls(client, base_url=base_url, api_key=api_key)

    @staticmethod
    def explain(response: httpx.Response) -> ProviderError | None:
        """The error behind a response body that says more than its status; None for any other response."""
        return None

    def check(self) -> SourceCheck:
        variable = variable_name(f"{self.name}_api_key")

        async def examine() -> Finding:
            if self.key_variable:
                return Finding(f"no API key (optional); {variable} enables it", "off")
            path, sent = self.probed
            await self.get(path, dict, sent)
            return Finding("answers; the API key works")

        return SourceCheck(self.title, examine, key_variable=variable)

    async def get(self, path: str, read: Read[T], params: Params | None = None, *, body: Row | None = None) -> T:
        """What `read` makes of the JSON object at `path` below the base URL, to which a `body` is posted."""
        header, form = self.key_header
        headers = {"Accept": "application/json"} | ({header: form.format(self._key)} if header else {})
        # The key comes last, so that logs that truncate URLs cut it off.
        params = {**(params or {}), **({} if header else {"api_key": self._key})}
        parts = RequestParts(headers=headers, json=body) if body else RequestParts(headers=headers, params=params)
        method, url = "POST" if body else "GET", f"{self._base_url}/{path}"
        return await self._client.request(
            method, url, lambda response: read(json_answer(self.name, self.title, response)), **parts
        )

    async def asked(self, path: str, read: Read[WebPage], params: Params) -> WebPage:
        """The page of results that `read` makes of the answer, which says what was asked."""
        return replace(await self.get(path, read, params), sent=as_sent(params))

    def masked(self, text: str) -> str:
        """`text` without the API key, which the provider may repeat."""
        return text.replace(self._key, "***") if self._key else text

    def results(self, rows: object, *, total: int = 0, more: bool = False) -> WebPage:
        """The usable results among `rows`; a row without a web address does not count. Masks the API key in case the
        provider repeats it.

        Raises:
            ProviderResponseError: no row is usable, or `rows` is not a list.
        """
        given = list_of(rows)[:MAX_ROWS]
        if rows is not None and not isinstance(rows, list):
            raise ProviderResponseError(self.name, f"{self.title} sent results that are not a list.")
        pages = ((self._of(row), number_of(row.get("score"))) for row in map(mapping_of, given) if row)
        found = [(page, score) for page, score in pages if page]
        if given and not found:
            raise ProviderResponseError(self.name, f"{self.title} sent results without addresses.")
        scores = {page.id: min(1.0, max(0.0, score)) for page, score in found if score is not None}
        return WebPage([page for page, _ in found], scores, total, more)

    def content(self, row: Mapping[str, object]) -> str:
        """The text of a result."""
        return without_markup(text_of(row.get(self.content_field)))

    def _of(self, row: Mapping[str, object]) -> Publication | None:
        dates = (publication_date(text_of(row.get(field)), self._today()) for field in self.date_fields)
        date = next((date for date in dates if date != UNKNOWN_DATE), UNKNOWN_DATE)
        title, url = without_markup(text_of(row.get("title"))), text_of(row.get(self.url_field))
        title, url, content = map(self.masked, (title, url, self.content(row)))
        return web_page(self.name, title=title, url=url, content=content, date=date)


_MAX_PER_PAGE = {"general": 20, "news": 50}
_FRESHNESS = {"day": "pd", "week": "pw", "month": "pm", "year": "py"}


class _OptionNotInPlanError(ProviderRequestError):
    """The plan does not include an option of the request."""


class BraveTool(KeyedTool):
    """Searches Brave's index; "advanced" asks for more of each page's text where the plan has it."""

    name, title = "brave", "Brave Search"
    # Limits of Brave's endpoints; `offset` counts pages, at most ten.
    max_characters, max_words = 400, 50
    max_pages = {"basic": 10, "advanced": 10}  # noqa: RUF012
    key_header = ("X-Subscription-Token", "{}")
    date_fields = ("page_age", "age")
    pace = (1.0, "brave_per_second")
    probed = ("web/search", {"q": "aspirin", "count": 1})
    _plan_has_extra_snippets = True

    async def page(self, query: str, options: WebOptions, *, number: int, wanted: int) -> WebPage:
        count = min(wanted, _MAX_PER_PAGE[options.topic])
        parameters: dict[str, str | int] = {"q": query, "count": count, "offset": number}
        if options.recency != "any":
            parameters["freshness"] = _FRESHNESS[options.recency]
        path = "news/search" if options.topic == "news" else "web/search"
        if options.search_depth == "advanced" and self._plan_has_extra_snippets:
            parameters["extra_snippets"] = "true"
        try:
            return await self.asked(path, self._read, parameters)
        except _OptionNotInPlanError:
            if "extra_snippets" not in parameters:
                raise
            self._plan_has_extra_snippets = False
        return await self.page(query, options, number=number, wanted=wanted)

    def content(self, row: Mapping[str, object]) -> str:
        texts = [row.get("description"), *list_of(row.get("extra_snippets"))[:MAX_ROWS]]
        return "\n".join(dict.fromkeys(filter(None, (without_markup(text_of(text)) for text in texts))))

    def _read(self, payload: Mapping[str, object]) -> WebPage:
        if not payload.keys() & {"type", "query", "web", "news", "results"}:
            raise ProviderResponseError(self.name, "Brave Search sent JSON that is not a search result.")
        if payload.get("type") == "ErrorResponse":
            raise ProviderResponseError(self.name, "Brave Search sent an error instead of results.")
        rows = payload.get("results") or mapping_of(payload.get("web")).get("results")
        return self.results(rows, more=mapping_of(payload.get("query")).get("more_results_available") is True)

    @staticmethod
    def explain(response: httpx.Response) -> ProviderError | None:
        """A bad token has status 422, a used-up quota 429."""
        try:
            payload = mapping_of(response.json())
        except (ValueError, RecursionError):
            return None
        problems = [payload.get("error"), *list_of(payload.get("errors"))]
        problem = next((mapping_of(row) for row in problems if row), mapping_of(None))
        code, body = text_at(problem, "code").upper(), response.text.lower().replace("-", " ")
        if code == "OPTION_NOT_IN_PLAN":
            return _OptionNotInPlanError("brave", "The Brave Search plan does not include a requested option.")
        if response.status_code == 422 and ("TOKEN" in code or "subscription token" in body):
            return AuthenticationError("brave", "Brave Search refused the API key (HTTP 422). Check BRAVE_API_KEY.")
        return _limit_error(response, code, mapping_of(problem.get("meta"))) if response.status_code == 429 else None


def _limit_error(response: httpx.Response, code: str, meta: Mapping[str, object]) -> ProviderError | None:
    quota, used = number_of(meta.get("quota_limit")), number_of(meta.get("quota_current"))
    # "1, 0": requests left in this second, and in this month; "1, 1419704": seconds until these limits reset.
    limits = (response.headers.get(f"x-ratelimit-{name}", "") for name in ("remaining", "reset"))
    left, reset = ([*map(str.strip, text.split(","))] for text in limits)
    if "QUOTA" in code or (quota and used is not None and used >= quota) or left[1:] == ["0"]:
        return QuotaExceededError("brave", "The plan's quota at Brave Search is used up (HTTP 429).")
    wait = number_of(reset[0]) or 0.0
    if wait <= 0 or retry_after_seconds(response.headers.get("retry-after", "")):
        return None
    message = f"Brave Search's rate limit has been reached (HTTP 429). Try again in {math.ceil(wait)} s."
    return RateLimitError("brave", message, retry_after=wait)


_PER_PAGE = 10
_NO_RESULTS = re.compile(r"(hasn't|has not|didn't|did not) returned? any results|no results", re.IGNORECASE)
_USED_UP = re.compile(r"(run|ran) out|used up|out of searches", re.IGNORECASE)


class SerpApiTool(KeyedTool):
    """Searches Google through SerpAPI, which accepts its key only in the URL; "basic" reads one page of ten results."""

    name, title = "serpapi", "SerpAPI"
    # Google returns ten results a page whatever `num` says (since September 2025), and uses 32 words of a query. Each
    # page counts as one search of the plan, so "basic" reads a single page.
    max_characters, max_words = 2_000, 32
    max_pages = {"basic": 1, "advanced": 5}  # noqa: RUF012
    url_field, content_field = "link", "snippet"
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
        return await self.asked("search.json", self._read, parameters)

    def _read(self, payload: Mapping[str, object]) -> WebPage:
        rows = payload.get("news_results") or payload.get("organic_results")
        problem = text_at(payload, "error")
        status = text_at(payload, "search_metadata.status")
        if not rows and _NO_RESULTS.search(problem):
            return WebPage(())
        if not rows and _USED_UP.search(problem):
            raise QuotaExceededError(self.name, "The plan's searches at SerpAPI are used up.")
        if not rows and status in ("Error", "Processing", "Queued"):
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
