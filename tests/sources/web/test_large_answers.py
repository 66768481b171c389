"""Of an answer that is far larger than any page of results, only as many rows are looked at as a search can use."""

from __future__ import annotations

import httpx
import pytest

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import ProviderResponseError
from deepcritical_mcp.net.json_fields import MAX_ROWS, json_answer
from deepcritical_mcp.sources.base import Net
from deepcritical_mcp.sources.settings import WebSettings
from deepcritical_mcp.sources.web.brave import BraveTool
from deepcritical_mcp.sources.web.duckduckgo import DuckDuckGoTool
from deepcritical_mcp.sources.web.provider import WebTool
from deepcritical_mcp.sources.web.request import WebOptions
from deepcritical_mcp.sources.web.serpapi import SerpApiTool
from deepcritical_mcp.sources.web.tavily import TavilyTool
from tests.net.stand_in import Answer, stand_in
from tests.sources import wire
from tests.sources.wire import Page


def pages(number: int) -> list[Page]:
    return [Page(f"t{one}", f"https://a.example/{one}", "x") for one in range(number)]


def lite(number: int, *, nested: bool = False) -> Answer:
    row = '<tr><td><a class="result-link" href="https://a.example/{}">t</a></td></tr>'
    rows = "".join(row.format(one) for one in range(number))
    html = f"<html><body><table>{rows}</table></body></html>" if not nested else f"<html><body>{'<div>' * 200}{rows}"
    return Answer(200, html.encode(), content_type="text/html")


def one_result(number: int) -> Answer:
    links = "".join(f'<h2><a class="result__a" href="https://a.example/{one}">t</a></h2>' for one in range(number))
    return Answer(200, f'<html><div class="result__body">{links}</div></html>'.encode(), content_type="text/html")


def tool(kind: type[WebTool], url: str, http: httpx.AsyncClient) -> WebTool:
    name = kind.name
    own = (
        {f"{name}_url": f"{url}/html/"}
        if name == "duckduckgo"
        else {f"{name}_base_url": url, f"{name}_api_key": "akey"}
    )
    return kind.create(Settings.model_validate({**own, "web_delay": 0}).of(WebSettings), Net(http))


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        (TavilyTool, wire.tavily(pages(10_000))),
        (BraveTool, wire.brave(pages(10_000))),
        (SerpApiTool, wire.serpapi(pages(10_000))),
        (DuckDuckGoTool, wire.duckduckgo(pages(650))),
        (DuckDuckGoTool, lite(6_000)),
    ],
)
async def test_rows_are_capped_before_they_are_looked_at(kind: type[WebTool], answer: Answer, http: httpx.AsyncClient):
    async with stand_in(answer) as provider:
        page = await tool(kind, provider.url, http).page("zinc", WebOptions(), number=0, wanted=10)
    assert 0 < len(page.hits) <= MAX_ROWS


def test_json_of_countless_values_is_not_parsed() -> None:
    with pytest.raises(ProviderResponseError, match="too large"):
        json_answer("x", "X", httpx.Response(200, content=b'{"a": [' + b"[]," * 5_000_000 + b"[]]}"))
