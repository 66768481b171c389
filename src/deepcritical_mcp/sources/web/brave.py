"""Brave Search's API: web pages and news."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import httpx

from deepcritical_mcp.errors import (
    AuthenticationError,
    ProviderError,
    ProviderRequestError,
    ProviderResponseError,
    QuotaExceededError,
    RateLimitError,
)
from deepcritical_mcp.net.client import retry_after_seconds
from deepcritical_mcp.net.json_fields import MAX_ROWS, list_of, mapping_of, number_of, text_at, text_of, without_markup
from deepcritical_mcp.sources.base import as_sent
from deepcritical_mcp.sources.settings import WebSettings
from deepcritical_mcp.sources.web.provider import KeyedTool, WebPage
from deepcritical_mcp.sources.web.request import WebOptions

_MAX_PER_PAGE = {"general": 20, "news": 50}
_FRESHNESS = {"day": "pd", "week": "pw", "month": "pm", "year": "py"}


class _OptionNotInPlanError(ProviderRequestError):
    """The plan does not include an option of the request."""


class BraveTool(KeyedTool):
    """Searches Brave's index; "advanced" asks for more of each page's text where the plan has it."""

    name = "brave"
    title = "Brave Search"
    # Limits of Brave's endpoints; `offset` counts pages, at most ten.
    max_characters = 400
    max_words = 50
    max_pages = {"basic": 10, "advanced": 10}  # noqa: RUF012
    key_header = ("X-Subscription-Token", "{}")
    date_fields = ("page_age", "age")
    probed = ("web/search", {"q": "aspirin", "count": 1})
    _plan_has_extra_snippets = True

    @classmethod
    def spacing(cls, settings: WebSettings) -> float:
        return 1 / settings.brave_per_second

    async def page(self, query: str, options: WebOptions, *, number: int, wanted: int) -> WebPage:
        count = min(wanted, _MAX_PER_PAGE[options.topic])
        parameters: dict[str, str | int] = {"q": query, "count": count, "offset": number}
        if options.recency != "any":
            parameters["freshness"] = _FRESHNESS[options.recency]
        path = "news/search" if options.topic == "news" else "web/search"
        if options.search_depth == "advanced" and self._plan_has_extra_snippets:
            try:
                return await self._page(path, {**parameters, "extra_snippets": "true"})
            except _OptionNotInPlanError:
                self._plan_has_extra_snippets = False
        return await self._page(path, parameters)

    async def _page(self, path: str, parameters: Mapping[str, str | int]) -> WebPage:
        return replace(await self.get(path, self._read, parameters), sent=as_sent(parameters))

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
        if response.status_code == 429:
            return _limit_error(response, code, mapping_of(problem.get("meta")))
        return None


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
