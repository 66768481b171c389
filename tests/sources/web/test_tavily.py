"""What only Tavily does."""

from __future__ import annotations

import json

import httpx
from pydantic import SecretStr

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


async def test_an_answer_with_another_success_status_is_read(http: httpx.AsyncClient):
    async with stand_in(Answer(203, wire.tavily().body)) as provider:
        assert len(await found(tavily(provider.url, http), "metformin", 5)) == 3


def test_without_a_key_it_names_the_variable_that_sets_it(http: httpx.AsyncClient):
    assert (
        TavilyTool.create(WebSettings.model_validate({"TAVILY_API_KEY": ""}), Net(http)).key_variable
        == "TAVILY_API_KEY"
    )
    assert tavily("http://x", http).key_variable == ""
