"""DuckDuckGo's HTML page, asked through `ddgs` without a key."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from importlib import import_module
from itertools import islice
from typing import Any, Self
from urllib.parse import urljoin

import anyio.to_thread

from deepcritical_mcp.errors import BlockedError, ProviderResponseError, ProviderTimeoutError, ProviderUnavailableError
from deepcritical_mcp.models import Publication
from deepcritical_mcp.net.client import ApiClient, Net, RetryPolicy
from deepcritical_mcp.net.fields import MAX_ROWS, MAX_TEXT
from deepcritical_mcp.net.pacing import Pacing
from deepcritical_mcp.sources.base import SourceCheck, as_sent
from deepcritical_mcp.sources.settings import WebSettings
from deepcritical_mcp.sources.web.provider import UNKNOWN_DATE, WebPage, WebTool, web_page
from deepcritical_mcp.sources.web.request import WebOptions
from deepcritical_mcp.urls import host_of

_WORLDWIDE = "wt-wt"
_MAX_PAGE_LENGTH = 500_000
MAX_LINKS, MAX_ELEMENTS = 2 * MAX_ROWS, 200
"""Links of a page that may be results, with the advertisements among them; elements of one result."""
_CHALLENGE = ("anomaly-modal", "anomaly.js", "challenge-form", "bots use duckduckgo", "error-lite@duckduckgo.com")
_NOTHING_FOUND = re.compile(r"class=[\"'][^\"'>]*\bno-results?\b|>\s*no\s+(?:more\s+)?results\b|id=[\"']?links\b", re.I)
_DATE = re.compile(r"\b(\d{4}-\d\d-\d\d)T\d")


class DuckDuckGoTool(WebTool):
    """Searches DuckDuckGo, which needs no key; it has no news search, and "basic" reads one page of ten results.

    The engine of `ddgs` builds and sends the request. Its `DDGS` class raises the same exception for a block, an outage
    and an empty page, so the response is interpreted here. `client` provides the limits, the retries and the meaning of
    a status; its connection pool is not used. `timeout` is in seconds, for one attempt.
    """

    name, title = "duckduckgo", "DuckDuckGo"
    # DuckDuckGo refuses longer queries, and blocks clients that read many pages.
    max_characters = 480
    max_pages = {"basic": 1, "advanced": 3}  # noqa: RUF012

    def __init__(self, client: ApiClient, *, url: str, timeout: float = RetryPolicy.attempt_timeout) -> None:
        self._client, self._url, self._timeout = client, url, timeout

    @classmethod
    def create(cls, settings: WebSettings, net: Net) -> Self:
        client = net.client(cls.name, cls.title, limiter=Pacing(settings.web_delay))
        return cls(client, url=settings.duckduckgo_url, timeout=net.retry.attempt_timeout)

    def check(self) -> SourceCheck:
        ask = partial(self.page, "aspirin", WebOptions(), number=0, wanted=1)
        return SourceCheck.answering(self.title, ask, "answers; needs no API key")

    async def page(self, query: str, options: WebOptions, *, number: int, wanted: int) -> WebPage:
        limit = "" if options.recency == "any" else options.recency[0]

        async def attempt() -> WebPage:
            return await anyio.to_thread.run_sync(self._ask, query, limit, number + 1, abandon_on_cancel=True)

        sent = as_sent({"q": query, "kl": _WORLDWIDE, **({"df": limit} if limit else {})})
        page = replace(await self._client.run(attempt), sent=sent)
        is_told = options.topic == "news" and number == 0
        note = ("DuckDuckGo has no news search: these are general results.",) if is_told else ()
        return replace(page, warnings=(*note, *page.warnings))

    def _ask(self, query: str, limit: str, number: int) -> WebPage:
        import primp

        try:
            from ddgs.engines.duckduckgo import Duckduckgo

            engine = Duckduckgo(timeout=math.ceil(self._timeout))
            form = engine.build_payload(query, _WORLDWIDE, "moderate", limit or None, number)
            response = engine.http_client.client.request(engine.search_method, self._url, data=form, stream=True)
            status, headers, text = response.status_code, response.headers, self._text(response)
        except primp.TimeoutError as error:
            raise ProviderTimeoutError(self.name, "DuckDuckGo did not answer in time.") from error
        except (ImportError, AttributeError, TypeError) as error:  # its engines are not a public interface
            message = f"DuckDuckGo cannot be asked through the installed version of ddgs ({error})."
            raise ProviderResponseError(self.name, message) from error
        except primp.PrimpError as error:
            message = f"DuckDuckGo cannot be reached ({type(error).__name__})."
            raise ProviderUnavailableError(self.name, message) from error
        return self._read(status, {str(name).lower(): str(headers[name]) for name in headers}, text)

    def _text(self, response: Any) -> str:
        """The page, of which no more is read than a page can have, nor for longer than an attempt may take."""
        parts, size, end = list[bytes](), 0, time.monotonic() + self._timeout
        try:
            for part in response.iter_bytes():
                parts.append(part)
                size += len(part)
                if time.monotonic() > end:
                    raise ProviderTimeoutError(self.name, "DuckDuckGo did not answer in time.")
                if size > _MAX_PAGE_LENGTH:
                    break
        finally:
            response.close()
        return b"".join(parts).decode("utf-8", "replace")

    def _read(self, status: int, headers: dict[str, str], text: str) -> WebPage:
        text = text[:_MAX_PAGE_LENGTH]
        lower = text.lower()
        found = [*islice(self._pages(text), MAX_ROWS)]
        is_cut_off = "<html" in lower and "</html>" not in lower
        if status == 200 and found:
            warning = "DuckDuckGo's page was cut off: some results may be missing."
            return WebPage(found, more=True, warnings=(warning,) if is_cut_off else ())
        says_nothing_found = bool(_NOTHING_FOUND.search(text))
        # A result's own words must not look like a challenge.
        is_challenge = not found and any(mark in lower for mark in _CHALLENGE)
        if is_challenge or status in (401, 403) or (status == 202 and not says_nothing_found):
            advice = "Wait a few minutes, or configure an API key for Tavily, Brave Search or SerpAPI."
            told = f"DuckDuckGo blocked this machine as automated traffic (HTTP {status}). {advice}"
            raise BlockedError(self.name, told)
        self._client.raise_for_status(status, headers)
        if is_cut_off or not says_nothing_found:
            raise ProviderResponseError(self.name, "DuckDuckGo sent a page that is not a list of results.")
        return WebPage(found)

    def _pages(self, text: str) -> Iterator[Publication]:
        """The results in a page, without advertisements; their redirect links are resolved."""
        html: Any = import_module("lxml.html")  # no type hints
        try:
            tree = html.document_fromstring(text.encode("utf-8", "replace"), parser=html.HTMLParser(encoding="utf-8"))
        except (html.etree.LxmlError, ValueError):
            return
        # Also match links in headings, in case the class name changes.
        links = tree.xpath("//a[contains(@class, 'result__a')] | //div[contains(@class, 'body')]//h2//a")
        for link in links[:MAX_LINKS]:
            result = next(iter(link.xpath("ancestor::div[contains(@class, 'result__body')]")), link.getparent())
            if result.xpath("ancestor-or-self::div[contains(@class, 'result--ad')]"):
                continue
            within = islice(result.iter("*"), MAX_ELEMENTS)
            snippet = [one for one in within if "result__snippet" in one.get("class", "")][:1]
            day, url = _DATE.search(_words(result)), urljoin("https://duckduckgo.com/", link.get("href", ""))
            date = day[1] if day else UNKNOWN_DATE
            page = web_page(self.name, title=_words(link), url=url, content=_words(*snippet), date=date)
            # Links that still lead to DuckDuckGo are advertisements or its own pages.
            if page and not host_of(page.url).endswith("duckduckgo.com"):
                yield page


def _words(*elements: Any) -> str:
    return " ".join(" ".join(element.text_content()[:MAX_TEXT].split()) for element in elements)
