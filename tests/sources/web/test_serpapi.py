"""What only SerpAPI does."""

from __future__ import annotations

import datetime

import httpx
import pytest

from deepcritical_mcp.errors import (
    ProviderError,
    ProviderRequestError,
    ProviderResponseError,
    ProviderUnavailableError,
    QuotaExceededError,
    RateLimitError,
)
from deepcritical_mcp.sources.web.provider import WebTool
from tests.net.stand_in import Answer, stand_in
from tests.sources import wire
from tests.sources.contestants import KEY, make_serpapi
from tests.sources.contract import TRIES, found

TODAY = datetime.date(2026, 3, 15)


def serpapi(url: str, http: httpx.AsyncClient) -> WebTool:
    return make_serpapi(url, http, today=lambda: TODAY)


async def test_options_are_googles_own(http: httpx.AsyncClient):
    async with stand_in(wire.serpapi()) as provider:
        await found(
            serpapi(provider.url, http),
            "metformin cancer",
            7,
            recency="year",
            include_domains=["nih.gov"],
            exclude_domains=["x.example"],
        )
    (asked,) = provider.asked
    assert (asked.method, asked.path) == ("GET", "/search.json")
    assert asked.query == {
        "engine": "google",
        "q": "metformin cancer site:nih.gov -site:x.example",
        "hl": "en",
        "output": "json",
        "tbs": "qdr:y",
        "api_key": KEY.get_secret_value(),
    }


async def test_news_are_read_from_their_own_list(http: httpx.AsyncClient):
    page = wire.Page("News", "https://a.example/n", "Text.", date="2 weeks ago")
    async with stand_in(wire.serpapi([page], rows="news_results")) as provider:
        (item,) = await found(serpapi(provider.url, http), "metformin", 5, topic="news")
    assert provider.asked[0].query["tbm"] == "nws"
    assert item.publication.date == "2026-03"


@pytest.mark.parametrize(
    ("answer", "error", "tries"),
    [
        (wire.serpapi_refusal(400, "Missing query `q` parameter."), ProviderRequestError, 1),
        (wire.serpapi_refusal(429, "Your account has run out of searches."), QuotaExceededError, 1),
        (wire.serpapi_refusal(429, "You exceed your hourly throughput."), RateLimitError, TRIES),
        (wire.serpapi_refusal(200, "Your searches for the month have run out."), QuotaExceededError, 1),
        (wire.serpapi_refusal(200, "Try again.", search_status="Error"), ProviderUnavailableError, TRIES),
        (wire.serpapi_refusal(200, "Something new."), ProviderResponseError, TRIES),
    ],
)
async def test_refusals_are_told_apart(http: httpx.AsyncClient, answer: Answer, error: type[ProviderError], tries: int):
    async with stand_in(answer) as provider:
        with pytest.raises(ProviderError) as caught:
            await found(serpapi(provider.url, http), "metformin", 5)
    assert type(caught.value) is error
    assert len(provider.asked) == tries
