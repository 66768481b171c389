"""What only DuckDuckGo does."""

from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import anyio
import httpx
import pytest

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import ProviderResponseError
from deepcritical_mcp.sources.base import Net
from deepcritical_mcp.sources.settings import WebSettings
from deepcritical_mcp.sources.web.duckduckgo import DuckDuckGoTool
from deepcritical_mcp.sources.web.request import WebOptions
from tests.net.stand_in import Answer, stand_in
from tests.sources import wire
from tests.sources.contestants import make_duckduckgo
from tests.sources.contract import found


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
