"""Fields of any type, texts with markup, and dates as providers write them."""

import contextlib
import datetime
from collections.abc import Callable, Sequence

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import ProviderResponseError
from deepcritical_mcp.models import Citation
from deepcritical_mcp.net.json_fields import MAX_ROWS, json_answer
from deepcritical_mcp.sources.base import Net
from deepcritical_mcp.sources.settings import WebSettings
from deepcritical_mcp.sources.web.brave import BraveTool
from deepcritical_mcp.sources.web.duckduckgo import DuckDuckGoTool
from deepcritical_mcp.sources.web.provider import WebTool, publication_date, web_page
from deepcritical_mcp.sources.web.request import WebOptions
from deepcritical_mcp.sources.web.serpapi import SerpApiTool
from deepcritical_mcp.sources.web.tavily import TavilyTool
from tests.net.stand_in import Answer, stand_in
from tests.sources import wire
from tests.sources.wire import Page

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)


@given(JSON)
def test_no_payload_whatever_raises_anything_but_a_provider_error(payload: object):
    serpapi = tool(SerpApiTool, "http://serpapi.test", httpx.AsyncClient())
    assert isinstance(serpapi, SerpApiTool)
    with contextlib.suppress(ProviderResponseError):
        page = serpapi.results(
            [{"title": payload, "link": payload, "snippet": payload, "score": payload, "date": payload}]
        )
        assert page.records


TODAY = datetime.date(2026, 3, 15)


@given(st.text())
def test_any_text_gives_a_date_that_a_citation_takes(text: str):
    Citation(source="web", title="T", date=publication_date(text, TODAY))


def pages(number: int) -> list[Page]:
    return [Page(f"t{one}", f"https://a.example/{one}", "x") for one in range(number)]


def tool(kind: type[WebTool], url: str, http: httpx.AsyncClient) -> WebTool:
    name = kind.name
    own = (
        {f"{name}_url": f"{url}/html/"}
        if name == "duckduckgo"
        else {f"{name}_base_url": url, f"{name}_api_key": "akey"}
    )
    return kind.create(Settings.model_validate({**own, "web_delay": 0}).of(WebSettings), Net(http))


@pytest.mark.parametrize(
    ("kind", "answer", "count"),
    [
        (TavilyTool, wire.tavily, 10_000),
        (BraveTool, wire.brave, 10_000),
        (SerpApiTool, wire.serpapi, 10_000),
        (DuckDuckGoTool, wire.duckduckgo, 650),
    ],
)
async def test_rows_are_capped_before_they_are_looked_at(
    kind: type[WebTool], answer: Callable[[Sequence[Page]], Answer], count: int, http: httpx.AsyncClient
):
    async with stand_in(answer(pages(count))) as provider:
        page = await tool(kind, provider.url, http).page("zinc", WebOptions(), number=0, wanted=10)
    assert 0 < len(page.records) <= MAX_ROWS


def test_json_of_countless_values_is_not_parsed() -> None:
    with pytest.raises(ProviderResponseError, match="too large"):
        json_answer("x", "X", httpx.Response(200, content=b'{"a": [' + b"[]," * 5_000_000 + b"[]]}"))


def test_a_publications_page_claims_its_number_and_has_its_own_title():
    for title, url, own, claims in (
        ("Metformin - PubMed", "https://pubmed.ncbi.nlm.nih.gov/123/", "Metformin", ("PMID 123",)),
        ("About PubMed - PubMed", "https://blog.example/pubmed", "About PubMed - PubMed", ()),
    ):
        page = web_page("brave", title=title, url=url, content="Text.")
        assert page
        assert (page.id[:4], page.pmid, page.title, page.claims) == ("url:", "", own, claims)
