"""What only Brave Search does."""

from __future__ import annotations

import datetime

import httpx
import pytest

from deepcritical_mcp.errors import (
    AuthenticationError,
    ProviderError,
    ProviderRequestError,
    ProviderResponseError,
    QuotaExceededError,
    RateLimitError,
)
from deepcritical_mcp.sources.web.provider import WebTool
from deepcritical_mcp.sources.web.request import WebOptions
from tests.net.stand_in import Answer, stand_in
from tests.sources import wire
from tests.sources.contestants import KEY, make_brave
from tests.sources.contract import TRIES, found

TODAY = datetime.date(2026, 3, 15)


def brave(url: str, http: httpx.AsyncClient) -> WebTool:
    return make_brave(url, http, today=lambda: TODAY)


async def test_options_are_braves_own_and_the_key_is_a_header(http: httpx.AsyncClient):
    async with stand_in(wire.brave()) as provider:
        await found(
            brave(provider.url, http),
            "metformin cancer",
            7,
            recency="month",
            include_domains=["nih.gov", "who.int"],
            exclude_domains=["x.example"],
        )
    (asked,) = provider.asked
    assert (asked.method, asked.path) == ("GET", "/web/search")
    assert asked.headers["x-subscription-token"] == KEY.get_secret_value()
    assert asked.query == {
        "q": "metformin cancer (site:nih.gov OR site:who.int) -site:x.example",
        "count": "7",
        "offset": "0",
        "freshness": "pm",
        "extra_snippets": "true",
    }


async def test_news_have_their_own_endpoint_and_dates(http: httpx.AsyncClient):
    page = wire.Page("News", "https://a.example/n", "Text.", date="3 days ago")
    async with stand_in(wire.brave_news([page])) as provider:
        (item,) = await found(brave(provider.url, http), "metformin", 30, topic="news", search_depth="basic")
    assert provider.asked[0].path == "/news/search"
    assert provider.asked[0].query == {"q": "metformin", "count": "30", "offset": "0"}
    assert item.publication.date == "2026-03-12"


async def test_long_queries_and_many_domains_are_cut_and_told(http: httpx.AsyncClient):
    domains = tuple(f"site-number-{n}.example.org" for n in range(40))
    async with stand_in(wire.brave(())) as provider:
        answer = await brave(provider.url, http).ask("word " * 80, 5, WebOptions(include_domains=domains))
    assert provider.asked[0].query["q"] == " ".join(["word"] * 50)
    assert [warning.split(":")[0] for warning in answer.remarks] == [
        "Brave Search accepts fewer domains; its results were filtered afterward.",
        "Brave Search accepts shorter queries only; it was asked",
    ]


@pytest.mark.parametrize(
    ("answer", "error", "tries"),
    [
        (wire.brave_refusal(422, "SUBSCRIPTION_TOKEN_INVALID", "The token is invalid."), AuthenticationError, 1),
        (wire.brave_refusal(422, "VALIDATION", "Unable to validate."), ProviderRequestError, 1),
        (wire.brave_refusal(429, "RATE_LIMITED", "Slow down.", X_RateLimit_Reset="30, 9000"), RateLimitError, 1),
        (wire.brave_refusal(429, "RATE_LIMITED", "Slow down."), RateLimitError, TRIES),
        (wire.brave_refusal(429, "QUOTA_LIMITED", "Used up."), QuotaExceededError, 1),
        (wire.as_json({"type": "ErrorResponse", "error": {}}), ProviderResponseError, TRIES),
    ],
)
async def test_refusals_are_told_apart(http: httpx.AsyncClient, answer: Answer, error: type[ProviderError], tries: int):
    async with stand_in(answer) as provider:
        with pytest.raises(ProviderError) as caught:
            await found(brave(provider.url, http), "metformin", 5)
    assert type(caught.value) is error
    assert len(provider.asked) == tries


NOT_IN_PLAN = wire.brave_refusal(400, "OPTION_NOT_IN_PLAN", "The option is not part of the plan.")


async def test_a_plan_without_extra_snippets_is_remembered(http: httpx.AsyncClient):
    async with stand_in(NOT_IN_PLAN, wire.brave()) as provider:
        tool = brave(provider.url, http)
        assert len(await found(tool, "metformin", 5)) == 3
        assert len(await found(tool, "aspirin", 5)) == 3
    assert ["extra_snippets" in asked.query for asked in provider.asked] == [True, False, False]


async def test_a_later_page_that_fails_leaves_no_results_outside_the_domains(http: httpx.AsyncClient):
    pages = [wire.Page(f"P{n}", f"https://{'a' if n % 2 else 'b'}.example/{n}", "Text.") for n in range(20)]
    async with stand_in(wire.brave(pages, more=True), Answer(403)) as provider:
        options = WebOptions(include_domains=("a.example",))
        answer = await brave(provider.url, http).ask("metformin", 20, options)
    assert {hit.publication.url.split("/")[2] for hit in answer.records.values()} == {"a.example"}
    assert len(answer.remarks) == 1
