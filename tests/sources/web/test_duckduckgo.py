"""What only DuckDuckGo does, and what all make of the rows that a search returns."""

import contextlib
import datetime
from collections.abc import Callable, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import anyio
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import ProviderResponseError
from deepcritical_mcp.models import Citation
from deepcritical_mcp.net.client import Net
from deepcritical_mcp.net.fields import MAX_ROWS, json_answer
from deepcritical_mcp.sources.settings import WebSettings
from deepcritical_mcp.sources.web.duckduckgo import DuckDuckGoTool
from deepcritical_mcp.sources.web.keyed import BraveTool, SerpApiTool
from deepcritical_mcp.sources.web.provider import WebTool, publication_date, web_page
from deepcritical_mcp.sources.web.request import WebOptions
from deepcritical_mcp.sources.web.tavily import TavilyTool
from tests.net.stand_in import Answer, stand_in
from tests.sources import wire
from tests.sources.contestants import make_duckduckgo
from tests.sources.contract import found
from tests.sources.wire import Page


async def test_120_cancelled_searches_do_not_delay_the_next_one(http: httpx.AsyncClient):
    async with stand_in(wire.duckduckgo()) as provider:
        settings = Settings.model_validate({"duckduckgo_url": f"{provider.url}/html/", "web_delay": 1})
        tool = DuckDuckGoTool.create(settings.of(WebSettings), Net(http))
        async with anyio.create_task_group() as tasks:
            for number in range(120):
                tasks.start_soon(found, tool, f"cancelled {number}", 1)
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
        with anyio.fail_after(20):  # 120 slots would take two minutes
            await found(tool, "metformin", 1)
    assert provider.asked[-1].form["q"] == "metformin"
    assert len(provider.asked) < 10


async def test_an_advanced_search_reads_up_to_three_pages(http: httpx.AsyncClient):
    def pages(start: int) -> Answer:
        rows = [wire.Page(f"Page {n}", f"https://a.example/{n}", "Text.") for n in range(start, start + 10)]
        return wire.duckduckgo(rows)

    async with stand_in(pages(0), pages(10), pages(20), pages(30)) as provider:
        tool = make_duckduckgo(provider.url, http)
        assert len(await found(tool, "metformin", 50)) == 30
        assert [asked.form.get("s") for asked in provider.asked] == [None, "10", "25"]
        provider.will(pages(0))
        assert len(await found(tool, "metformin", 50, search_depth="basic")) == 10


async def test_no_more_is_read_than_a_page_can_have(http: httpx.AsyncClient):
    """A body without an end."""
    sent, is_endless = 0, True

    class Endless(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            nonlocal sent
            self.send_response(200)
            self.end_headers()
            with suppress(ConnectionError):
                while is_endless and sent < 1_000_000_000:
                    self.wfile.write(b" " * 1_000_000)
                    sent += 1_000_000
            self.close_connection = True

    with ThreadingHTTPServer(("127.0.0.1", 0), Endless) as server:
        server.daemon_threads = False  # the end waits for them
        Thread(target=server.serve_forever).start()
        for again in (True, False):  # primp closes the first connection when it opens the next
            is_endless = again
            with pytest.raises(ProviderResponseError):
                await make_duckduckgo(f"http://127.0.0.1:{server.server_port}/", http).ask("zinc", 10, WebOptions())
        server.shutdown()
    assert sent < 200_000_000


async def test_news_alone_cannot_be_searched_and_that_is_told(http: httpx.AsyncClient):
    async with stand_in(wire.duckduckgo()) as provider:
        answer = await make_duckduckgo(provider.url, http).ask("metformin", 3, WebOptions(topic="news"))
    assert answer.remarks == ("DuckDuckGo has no news search: these are general results.",)


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
