"""The board on the real server: its tools, its results, its session."""

from typing import Any

import pytest
from mcp.client import Client
from mcp.client.extension import advertise
from mcp_types import TextResourceContents
from playwright.async_api import expect

from tests.board.conftest import OpenBoard
from tests.board.samples import publications
from tests.fakes import FakeSearch, fake_server

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_the_board_searches_reads_and_exports_on_the_real_server(open_board: OpenBoard) -> None:
    shows_apps = advertise("io.modelcontextprotocol/ui", {"mimeTypes": ["text/html;profile=mcp-app"]})
    server = fake_server(literature=FakeSearch(tuple(publications(5))))
    async with Client(server, extensions=[shows_apps]) as client:

        async def call(request: dict[str, Any]) -> dict[str, Any]:
            """The server's tools as the host hands them to the page."""
            answer = await client.call_tool(request["name"], request.get("arguments", {}))
            return answer.model_dump(mode="json", by_alias=True, exclude_none=True)

        tools = {tool.name: tool.meta or {} for tool in (await client.list_tools()).tools}
        page = (await client.read_resource(tools["pubmed_search"]["ui"]["resourceUri"])).contents[0]
        assert isinstance(page, TextResourceContents)
        found = await call({"name": "pubmed_search", "arguments": {"query": "ageing"}})
        board = await open_board(found, tool=call, html=page.text)
        app = board.app
        await expect(app.locator("#list .card")).to_have_count(5)
        await expect(app.locator("#map .point")).to_have_count(5)

        await app.get_by_role("searchbox", name="Search the session by meaning").fill("sleep and memory")
        await app.get_by_role("button", name="Search", exact=True).click()
        await expect(app.locator("h1")).to_have_text("Evidence for “sleep and memory”")
        assert "memory" in await app.locator("#list h3").first.inner_text()

        await app.get_by_role("button", name="Back to all evidence").click()
        await app.get_by_label("Format").select_option("bibtex")
        await app.get_by_role("button", name="Export the session").click()
        await expect(app.locator("#notices")).to_contain_text("Saved as evidence.bib.")
        ((download,),) = board.told("download")
        assert download["resource"]["text"].count("@article{") == 5
        assert "RETRACTED:" in download["resource"]["text"]

        assert not board.complaints

        board = await open_board(await call({"name": "list_evidence"}), tool=call, html=page.text)
        await board.app.get_by_role("button", name="Show text").first.click()
        await expect(board.app.get_by_text("BACKGROUND").first).to_be_visible()
        assert not board.complaints
