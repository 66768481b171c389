"""Full texts of pages through Tavily."""

import json

import httpx
import pytest

from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.net.guard import Guard
from deepcritical_mcp.net.public_addresses import ANY_ADDRESS, AddressPolicy
from deepcritical_mcp.sources.lookup import Copy, Wanted
from deepcritical_mcp.sources.web.tavily import TavilyExtract, TavilyTool
from tests.net.stand_in import Answer, StandIn, stand_in
from tests.sources import wire
from tests.sources.contestants import KEY, make_tavily

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
