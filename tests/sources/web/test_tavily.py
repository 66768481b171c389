"""What only Tavily does."""

from __future__ import annotations

import json

import httpx
import pytest

from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.net.guard import Guard
from deepcritical_mcp.net.public_addresses import ANY_ADDRESS, AddressPolicy
from deepcritical_mcp.sources.full_text import Copy, Wanted
from deepcritical_mcp.sources.web.request import WebOptions
from deepcritical_mcp.sources.web.tavily import TavilyExtract, TavilyTool
from tests.net.stand_in import Answer, StandIn, stand_in
from tests.sources import wire
from tests.sources.contestants import KEY, make_tavily
from tests.sources.contract import found


async def test_options_are_tavilys_own_and_the_key_is_a_header(http: httpx.AsyncClient):
    async with stand_in(wire.tavily()) as provider:
        await found(
            make_tavily(provider.url, http),
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
    assert asked.headers["authorization"] == f"Bearer {KEY.get_secret_value()}"
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
    assert [item.publication.title for item in inside] == [wire.PAGES[1].title, wire.PAGES[2].title]
    assert [item.publication.title for item in outside] == [wire.PAGES[1].title, wire.PAGES[2].title]


TEXT = "Metformin lowered glucose in this trial of ten thousand adults, who were followed for five years."
MARKDOWN = f"""# A trial of metformin

{TEXT} It was *large*.

## Results

[Link](https://a.example) to **all** results. {TEXT}
It goes on here.

- First item
- Second item

| Arm | Value |
| --- | --- |
| Metformin | 12 |

### Harms

{TEXT}
"""


def extracted(text: str) -> Answer:
    rows = [{"url": "https://a.example/1", "raw_content": text, "favicon": ""}]
    return wire.as_json({"results": rows, "failed_results": [], "response_time": 0.4, "request_id": "1"})


def extract(provider: StandIn, http: httpx.AsyncClient, policy: AddressPolicy = ANY_ADDRESS) -> TavilyExtract:
    tool = make_tavily(provider.url, http)
    assert isinstance(tool, TavilyTool)
    return TavilyExtract(tool, Guard("tavily", policy, proxies={}))


async def read(answer: Answer, http: httpx.AsyncClient, *, robots: Answer | None = None) -> tuple[Copy, StandIn]:
    async with stand_in(robots or Answer(404)) as site, stand_in(answer) as provider:
        copy = await extract(provider, http).read(Wanted(RecordIds(), (f"{site.url}/paper",)))
    return copy, provider


async def test_markdown_becomes_sections(http: httpx.AsyncClient):
    copy, provider = await read(extracted(MARKDOWN), http)
    (asked,) = provider.asked
    assert (asked.method, asked.path, asked.headers["authorization"]) == (
        "POST",
        "/extract",
        f"Bearer {KEY.get_secret_value()}",
    )
    assert json.loads(asked.body) == {"urls": [copy.url], "extract_depth": "basic", "format": "markdown"}
    assert (copy.status, copy.detail) == ("full_text", "")
    assert copy.reading is not None
    assert copy.reading.fields == {"title": "A trial of metformin", "url": copy.url}
    assert [(part.anchor, part.path, part.parent) for part in copy.reading.parts] == [
        ("s1", (), ""),
        ("s1.1", ("Results",), "s1"),
        ("t1", ("Results", "Table 1"), "s1.1"),
        ("s1.1.1", ("Results", "Harms"), "s1.1"),
    ]
    assert copy.reading.content.split("\n\n") == [
        f"{TEXT} It was *large*.",
        f"Link to all results. {TEXT} It goes on here.",
        "- First item\n- Second item",
        "| Arm | Value |\n| --- | --- |\n| Metformin | 12 |",
        TEXT,
    ]


async def test_what_robots_txt_forbids_is_not_asked_for(http: httpx.AsyncClient):
    robots = Answer(200, b"User-agent: *\nDisallow: /paper", "text/plain")
    copy, provider = await read(extracted(MARKDOWN), http, robots=robots)
    assert copy.status == "not_allowed"
    assert "robots.txt forbids it" in copy.detail
    assert provider.asked == []


async def test_private_addresses_are_not_sent_to_tavily(http: httpx.AsyncClient):
    async with stand_in(extracted(MARKDOWN)) as provider:
        reader = extract(provider, http, AddressPolicy())
        copy = await reader.read(Wanted(RecordIds(), ("http://wiki.internal/secret",)))
    assert copy.status == "not_allowed"
    assert provider.asked == []


FAILED = wire.as_json(
    {"results": [], "failed_results": [{"url": "https://a.example/1", "error": "could not be fetched"}]}
)


@pytest.mark.parametrize("answer", [FAILED, extracted(""), extracted("  ")])
async def test_a_page_that_tavily_cannot_read_either_has_no_text(answer: Answer, http: httpx.AsyncClient):
    copy, _ = await read(answer, http)
    assert (copy.status, copy.detail) == ("no_text", "Tavily could not read this page either.")
