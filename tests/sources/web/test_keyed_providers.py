"""What only Tavily, Brave Search or SerpAPI does, which need a key."""

import datetime
import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import httpx
import pytest

from deepcritical_mcp.errors import (
    AuthenticationError,
    ProviderError,
    ProviderRequestError,
    ProviderResponseError,
    ProviderUnavailableError,
    QuotaExceededError,
    RateLimitError,
)
from deepcritical_mcp.sources.web.provider import WebTool
from deepcritical_mcp.sources.web.request import WebOptions
from tests.net.stand_in import Answer, stand_in
from tests.sources import wire
from tests.sources.contestants import KEY, make_brave, make_serpapi, make_tavily
from tests.sources.contract import TRIES, found


def made(name: str, url: str, http: httpx.AsyncClient) -> WebTool:
    if name == "tavily":
        return make_tavily(url, http)
    return (make_brave if name == "brave" else make_serpapi)(url, http, today=lambda: datetime.date(2026, 3, 15))


OPTIONS: dict[str, tuple[Answer, Mapping[str, object], tuple[str, str], tuple[str, str], Mapping[str, object]]] = {
    "tavily": (
        wire.tavily(),
        {
            "search_depth": "basic",
            "topic": "news",
            "recency": "week",
            "include_domains": ["https://www.NIH.gov/", "who.int/news", "gov"],
            "exclude_domains": ["*.example.com", "example.org/blog"],
        },
        ("POST", "/search"),
        ("authorization", f"Bearer {KEY.get_secret_value()}"),
        {
            "query": "metformin cancer",
            "search_depth": "basic",
            "topic": "news",
            "time_range": "week",
            "max_results": 7,
            "include_domains": ["nih.gov", "who.int", "*.gov"],
            "exclude_domains": ["example.com"],
        },
    ),
    "brave": (
        wire.brave(),
        {"recency": "month", "include_domains": ["nih.gov", "who.int"], "exclude_domains": ["x.example"]},
        ("GET", "/web/search"),
        ("x-subscription-token", KEY.get_secret_value()),
        {
            "q": "metformin cancer (site:nih.gov OR site:who.int) -site:x.example",
            "count": "7",
            "offset": "0",
            "freshness": "pm",
            "extra_snippets": "true",
        },
    ),
    "serpapi": (
        wire.serpapi(),
        {"recency": "year", "include_domains": ["nih.gov"], "exclude_domains": ["x.example"]},
        ("GET", "/search.json"),
        ("connection", "keep-alive"),
        {
            "q": "metformin cancer site:nih.gov -site:x.example",
            "engine": "google",
            "hl": "en",
            "output": "json",
            "tbs": "qdr:y",
            "api_key": KEY.get_secret_value(),
        },
    ),
}


@pytest.mark.parametrize("name", OPTIONS)
async def test_options_and_the_place_of_the_key_are_the_providers_own(name: str, http: httpx.AsyncClient):
    answer, options, place, (header, value), sent = OPTIONS[name]
    async with stand_in(answer) as provider:
        await found(made(name, provider.url, http), "  metformin\ncancer ", 7, **options)
    (asked,) = provider.asked
    assert (asked.method, asked.path, asked.headers[header]) == (*place, value)
    assert (json.loads(asked.body) if asked.body else asked.query) == sent


@pytest.mark.parametrize(
    ("name", "answer", "ago", "date", "sent"),
    [
        ("brave", wire.brave_news, "3 days ago", "2026-03-12", {"q": "metformin", "count": "30", "offset": "0"}),
        ("serpapi", partial(wire.serpapi, rows="news_results"), "2 weeks ago", "2026-03", {"tbm": "nws"}),
    ],
)
async def test_news_are_read_from_their_own_list_with_dates(
    name: str, answer: Any, ago: str, date: str, sent: Mapping[str, str], http: httpx.AsyncClient
):
    async with stand_in(answer([wire.Page("News", "https://a.example/n", "Text.", date=ago)])) as provider:
        (item,) = await found(made(name, provider.url, http), "metformin", 30, topic="news", search_depth="basic")
    assert provider.asked[0].query.items() >= sent.items()
    assert name != "brave" or provider.asked[0].path == "/news/search"
    assert item.date == date


@pytest.mark.parametrize(
    ("name", "answer", "error", "tries"),
    [
        ("brave", wire.brave_refusal(422, "SUBSCRIPTION_TOKEN_INVALID", "Invalid."), AuthenticationError, 1),
        ("brave", wire.brave_refusal(422, "VALIDATION", "Unable to validate."), ProviderRequestError, 1),
        ("brave", wire.brave_refusal(429, "RATE_LIMITED", "Slow.", X_RateLimit_Reset="30, 9000"), RateLimitError, 1),
        ("brave", wire.brave_refusal(429, "RATE_LIMITED", "Slow down."), RateLimitError, TRIES),
        ("brave", wire.brave_refusal(429, "QUOTA_LIMITED", "Used up."), QuotaExceededError, 1),
        ("brave", wire.as_json({"type": "ErrorResponse", "error": {}}), ProviderResponseError, TRIES),
        ("serpapi", wire.serpapi_refusal(400, "Missing query `q` parameter."), ProviderRequestError, 1),
        ("serpapi", wire.serpapi_refusal(429, "Your account has run out of searches."), QuotaExceededError, 1),
        ("serpapi", wire.serpapi_refusal(429, "You exceed your hourly throughput."), RateLimitError, TRIES),
        ("serpapi", wire.serpapi_refusal(200, "Your searches for the month have run out."), QuotaExceededError, 1),
        ("serpapi", wire.serpapi_refusal(200, "Again.", search_status="Error"), ProviderUnavailableError, TRIES),
        ("serpapi", wire.serpapi_refusal(200, "Something new."), ProviderResponseError, TRIES),
    ],
)
async def test_refusals_are_told_apart(
    name: str, answer: Answer, error: type[ProviderError], tries: int, http: httpx.AsyncClient
):
    async with stand_in(answer) as provider:
        with pytest.raises(ProviderError) as caught:
            await found(made(name, provider.url, http), "metformin", 5)
    assert type(caught.value) is error
    assert len(provider.asked) == tries


async def test_long_queries_and_many_domains_are_cut_and_told(http: httpx.AsyncClient):
    domains = tuple(f"site-number-{n}.example.org" for n in range(40))
    async with stand_in(wire.brave(())) as provider:
        answer = await made("brave", provider.url, http).ask("word " * 80, 5, WebOptions(include_domains=domains))
    assert provider.asked[0].query["q"] == " ".join(["word"] * 50)
    assert [warning.split(":")[0] for warning in answer.remarks] == [
        "Brave Search accepts fewer domains; its results were filtered afterward.",
        "Brave Search accepts shorter queries only; it was asked",
    ]


NOT_IN_PLAN = wire.brave_refusal(400, "OPTION_NOT_IN_PLAN", "The option is not part of the plan.")


async def test_a_plan_without_extra_snippets_is_remembered(http: httpx.AsyncClient):
    async with stand_in(NOT_IN_PLAN, wire.brave()) as provider:
        tool = made("brave", provider.url, http)
        assert len(await found(tool, "metformin", 5)) == 3
        assert len(await found(tool, "aspirin", 5)) == 3
    assert ["extra_snippets" in asked.query for asked in provider.asked] == [True, False, False]


async def test_a_later_page_that_fails_leaves_no_results_outside_the_domains(http: httpx.AsyncClient):
    pages = [wire.Page(f"P{n}", f"https://{'a' if n % 2 else 'b'}.example/{n}", "Text.") for n in range(20)]
    async with stand_in(wire.brave(pages, more=True), Answer(403)) as provider:
        options = WebOptions(include_domains=("a.example",))
        answer = await made("brave", provider.url, http).ask("metformin", 20, options)
    assert {hit.url.split("/")[2] for hit in answer.records.values()} == {"a.example"}
    assert len(answer.remarks) == 1


async def test_later_pages_come_behind_the_first(http: httpx.AsyncClient):
    pages = [wire.Page(f"P{n}", f"https://a.example/{n}", "Text.") for n in range(40)]
    async with stand_in(wire.brave(pages[:20], more=True), wire.brave(pages[20:])) as provider:
        answer = await made("brave", provider.url, http).ask("metformin", 25, WebOptions())
    assert [one.title for one in answer.records.values()] == [f"P{n}" for n in range(25)]


async def test_more_than_tavily_gives_is_told(http: httpx.AsyncClient):
    async with stand_in(wire.tavily()) as provider:
        answer = await make_tavily(provider.url, http).ask("metformin " * 60, 50, WebOptions())
    body = json.loads(provider.asked[0].body)
    assert body["max_results"] == 20
    assert len(body["query"]) <= 400
    assert answer.remarks[0].startswith("Tavily accepts shorter queries only; it was asked: metformin metformin")
    assert answer.remarks[1] == "Tavily returns at most 20 results."


async def test_what_lies_outside_the_domains_is_dropped(http: httpx.AsyncClient):
    async with stand_in(wire.tavily()) as provider:
        tool = make_tavily(provider.url, http)
        inside = await found(tool, "metformin", 5, include_domains=["example.net", "example.org/a"])
        outside = await found(tool, "metformin", 5, exclude_domains=["agency.example"])
    assert [item.title for item in inside] == [wire.PAGES[1].title, wire.PAGES[2].title]
    assert [item.title for item in outside] == [wire.PAGES[1].title, wire.PAGES[2].title]
