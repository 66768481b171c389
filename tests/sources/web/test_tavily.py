"""What only Tavily does."""

from __future__ import annotations

import json

import httpx
import pytest
from pydantic import SecretStr

from deepcritical_mcp.errors import AuthenticationError, ProviderError, ProviderRequestError, QuotaExceededError
from deepcritical_mcp.net.client import ApiClient
from deepcritical_mcp.sources.base import Net
from deepcritical_mcp.sources.settings import WebSettings
from deepcritical_mcp.sources.web.request import WebOptions
from deepcritical_mcp.sources.web.tavily import TavilyTool
from tests.net.stand_in import Answer, stand_in
from tests.sources import wire
from tests.sources.contract import PATIENT, found


def tavily(url: str, http: httpx.AsyncClient, *, key: str = "tvly-key") -> TavilyTool:
    client = ApiClient(http, provider="tavily", title="Tavily", retry=PATIENT, follow_redirects=False)
    return TavilyTool(client, base_url=url, api_key=SecretStr(key))


async def test_options_are_tavilys_own_and_the_key_is_a_header(http: httpx.AsyncClient):
    async with stand_in(wire.tavily()) as provider:
        await found(
            tavily(provider.url, http),
            "  metformin\ncancer ",
            7,
            search_depth="basic",
            topic="news",
            recency="week",
            include_domains=["https://www.NIH.gov/", "who.int/news", "gov"],
            exclude_domains=["*.example.com", "example.org/blog"],
        )
    (asked,) = provider.asked
    assert (asked.method, asked.path) == ("POST", "/search")
    assert asked.headers["authorization"] == "Bearer tvly-key"
    assert json.loads(asked.body) == {
        "query": "metformin cancer",
        "search_depth": "basic",
        "topic": "news",
        "time_range": "week",
        "max_results": 7,
        "include_domains": ["nih.gov", "who.int", "*.gov"],
        "exclude_domains": ["example.com"],
    }


async def test_any_time_and_any_domain_are_not_sent(http: httpx.AsyncClient):
    async with stand_in(wire.tavily()) as provider:
        await found(tavily(provider.url, http), "metformin", 5)
    assert json.loads(provider.asked[0].body) == {
        "query": "metformin",
        "search_depth": "advanced",
        "topic": "general",
        "max_results": 5,
    }


async def test_scores_are_tavilys_within_their_bounds(http: httpx.AsyncClient):
    scores = (1.7, 0.5, -0.2, float("nan"))
    pages = [wire.Page(f"Page {score}", f"https://a.example/{score}", "Text.", score) for score in scores]
    async with stand_in(wire.tavily(pages)) as provider:
        evidence = await found(tavily(provider.url, http), "metformin", 5)
    assert [item.score for item in evidence] == [1.0, 0.5, 0.0, 0.5]  # the last by its rank


async def test_markup_goes_and_dates_come(http: httpx.AsyncClient):
    page = wire.Page(
        "Insulin &amp; <b>glucose</b>",
        "https://a.example/1",
        "## Results. **Fasting** glucose fell (p<0.05), see [the table](https://a.example/t). &lt;LOD &#x27;low&#x27;",
        date="Tue, 20 May 2025 10:00:00 GMT",
    )
    async with stand_in(wire.tavily([page])) as provider:
        (item,) = await found(tavily(provider.url, http), "metformin", 5)
    assert item.publication.title == "Insulin & glucose"
    assert item.publication.text.content == "Results. Fasting glucose fell (p<0.05), see the table. <LOD 'low'"
    assert item.publication.date == "2025-05-20"


async def test_more_than_tavily_gives_is_told(http: httpx.AsyncClient):
    async with stand_in(wire.tavily()) as provider:
        answer = await tavily(provider.url, http).ask("metformin " * 60, 50, WebOptions())
    body = json.loads(provider.asked[0].body)
    assert body["max_results"] == 20
    assert len(body["query"]) <= 400
    assert answer.remarks[0].startswith("Tavily accepts shorter queries only; it was asked: metformin metformin")
    assert answer.remarks[1] == "Tavily returns at most 20 results."


async def test_what_lies_outside_the_domains_is_dropped(http: httpx.AsyncClient):
    async with stand_in(wire.tavily()) as provider:
        tool = tavily(provider.url, http)
        inside = await found(tool, "metformin", 5, include_domains=["example.net", "example.org/a"])
        outside = await found(tool, "metformin", 5, exclude_domains=["agency.example"])
    assert [item.publication.title for item in inside] == [wire.PAGES[1].title, wire.PAGES[2].title]
    assert [item.publication.title for item in outside] == [wire.PAGES[1].title, wire.PAGES[2].title]


@pytest.mark.parametrize(
    ("status", "message", "error"),
    [
        (400, "Query is too long.", ProviderRequestError),
        (401, "Unauthorized: missing or invalid API key.", AuthenticationError),
        (403, "URL is not supported.", AuthenticationError),
        (432, "This request exceeds your plan's set usage limit.", QuotaExceededError),
        (433, "This request exceeds the pay-as-you-go limit.", QuotaExceededError),
    ],
)
async def test_refusals_are_told_apart(http: httpx.AsyncClient, status: int, message: str, error: type[ProviderError]):
    async with stand_in(wire.tavily_refusal(status, message)) as provider:
        with pytest.raises(ProviderError) as caught:
            await found(tavily(provider.url, http), "metformin", 5)
    assert type(caught.value) is error
    assert len(provider.asked) == 1


async def test_an_answer_with_another_success_status_is_read(http: httpx.AsyncClient):
    async with stand_in(Answer(203, wire.tavily().body)) as provider:
        assert len(await found(tavily(provider.url, http), "metformin", 5)) == 3


async def test_rows_that_are_no_results_are_passed_over(http: httpx.AsyncClient):
    rows = [
        None,
        "x",
        {"title": "No address"},
        {"url": "javascript:alert(1)"},
        {"url": "https://a.example/x", "score": "0.7"},
    ]
    async with stand_in(wire.as_json({"results": rows})) as provider:
        (item,) = await found(tavily(provider.url, http), "metformin", 5)
    assert (item.publication.title, item.publication.text.content, item.score) == ("a.example", "a.example", 0.7)


def test_without_a_key_it_names_the_variable_that_sets_it(http: httpx.AsyncClient):
    assert (
        TavilyTool.create(WebSettings.model_validate({"TAVILY_API_KEY": ""}), Net(http)).key_variable
        == "TAVILY_API_KEY"
    )
    assert tavily("http://x", http).key_variable == ""
