"""The board and its host, and on the real server: tools, links, files, theme, size, session."""

import json
from typing import Any

import pytest
from mcp.client import Client
from mcp.client.extension import advertise
from mcp_types import TextResourceContents
from playwright.async_api import expect

from deepcritical_mcp.models import RelatedEvidence
from tests.board.conftest import Board, OpenBoard
from tests.board.samples import SESSION, piece, pieces, publications, result
from tests.fakes import FakeSearch, fake_server

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_cut_text_is_fetched_whole_through_the_host(open_board: OpenBoard) -> None:
    whole = piece(0, content="A start. And the END.")

    async def get_evidence(call: dict[str, Any]) -> dict[str, Any]:
        return result([whole], query="")

    board = await open_board(
        result([whole.model_copy(update={"content": "A start.", "content_truncated": True})]), tool=get_evidence
    )
    await board.app.get_by_role("button", name="Read more").click()
    await expect(board.app.get_by_text("And the END.")).to_be_visible()
    assert board.calls == [{"name": "get_evidence", "arguments": {"ids": [whole.id], "session_id": SESSION}}]


async def test_related_evidence_of_the_session_can_be_brought_in(open_board: OpenBoard) -> None:
    other = piece(9)
    related = RelatedEvidence(id=other.id, title=other.citation.title, url="", snippet="A snippet.", relevance=0.61)

    async def get_evidence(call: dict[str, Any]) -> dict[str, Any]:
        return result([other], query="")

    board = await open_board(result(pieces(2), related=(related,)), tool=get_evidence)
    item = board.app.get_by_role("list", name="Already in the session").get_by_role("listitem")
    await expect(item).to_contain_text("A snippet.")
    await item.get_by_role("button", name="Show here").click()
    await expect(board.app.locator("#list .card")).to_have_count(3)
    await expect(item).to_have_count(0)
    assert board.calls[0]["arguments"]["ids"] == [other.id]


async def test_the_session_is_searched_by_meaning_through_the_host(open_board: OpenBoard) -> None:
    known, fresh = pieces(4), piece(9, title="New to the page")

    async def semantic_search(call: dict[str, Any]) -> dict[str, Any]:
        return result([fresh, known[2]], query=call["arguments"]["query"])

    board = await open_board(result(known), tool=semantic_search)
    app = board.app
    await app.get_by_role("searchbox", name="Search the session by meaning").fill("falls")
    await app.get_by_role("searchbox", name="Search the session by meaning").press("Enter")
    await expect(app.locator("h1")).to_have_text("Evidence for “falls”")
    assert await board.titles() == ["New to the page", known[2].citation.title]
    assert board.calls == [
        {"name": "semantic_search", "arguments": {"query": "falls", "max_results": 10, "session_id": SESSION}}
    ]
    assert await board.focused() == "list"
    await app.get_by_role("button", name="Back to all evidence").click()
    await expect(app.locator("#list .card")).to_have_count(5)
    await app.get_by_role("button", name="More like this").first.click()
    await expect(app.locator("h1")).to_have_text(f"Evidence for “{known[0].citation.title}”")


async def test_a_failing_tool_is_told_in_its_own_words(open_board: OpenBoard) -> None:
    async def failing(call: dict[str, Any]) -> dict[str, Any]:
        error = {"code": "session_not_found", "message": "This session_id is unknown or has expired."}
        return {"content": [], "structuredContent": {"error": error}, "isError": True}

    board = await open_board(result(pieces(2)), tool=failing)
    await board.app.get_by_role("searchbox").first.fill("falls")
    await board.app.get_by_role("button", name="Search", exact=True).click()
    await expect(board.app.locator("#notices .bad")).to_contain_text("This session_id is unknown or has expired.")
    await board.app.get_by_role("button", name="Export the session").click()
    await expect(board.app.locator("#notices .bad")).to_have_count(2)
    await board.app.get_by_role("button", name="Dismiss").first.click()
    await expect(board.app.locator("#notices .bad")).to_have_count(1)
    await expect(board.app.get_by_role("button", name="Search", exact=True)).to_be_enabled()


async def test_an_export_is_put_together_from_its_parts_and_saved_by_the_host(open_board: OpenBoard) -> None:
    async def export_evidence(call: dict[str, Any]) -> dict[str, Any]:
        offset = call["arguments"]["offset"]
        found = {"text": f'[{{"id": "{offset}"}}]', "next_offset": offset + 1 if offset < 2 else -1}
        return {"content": [], "structuredContent": found}

    board = await open_board(result(pieces(4)), tool=export_evidence)
    app = board.app
    await app.get_by_label("Format").select_option("csl-json")
    await app.get_by_role("button", name="Export the session").click()
    await expect(app.locator("#notices")).to_contain_text("Saved as evidence.json.")
    asked: dict[str, Any] = {"format": "csl-json", "ids": [], "session_id": SESSION}
    assert [call["arguments"] for call in board.calls] == [{**asked, "offset": offset} for offset in (0, 1, 2)]
    ((download,),) = board.told("download")
    assert download["resource"]["uri"] == "file:///evidence.json"
    assert json.loads(download["resource"]["text"]) == [{"id": "0"}, {"id": "1"}, {"id": "2"}]


async def test_what_is_selected_or_shown_is_what_is_exported(open_board: OpenBoard) -> None:
    async def export_evidence(call: dict[str, Any]) -> dict[str, Any]:
        return {"content": [], "structuredContent": {"text": "TY  - JOUR\n", "next_offset": -1}}

    evidence = pieces(8)
    board = await open_board(result(evidence), tool=export_evidence)
    app, control = board.app, board.app.locator("#export-button")
    await app.get_by_label("Web (2)").check()
    await expect(control).to_have_text("Export 2 shown")
    await control.click()
    await app.get_by_role("checkbox", name="Select").first.check()
    await expect(control).to_have_text("Export 1 selected")
    await control.click()
    await expect(control).to_be_enabled()
    assert [call["arguments"]["ids"] for call in board.calls] == [[evidence[5].id, evidence[6].id], [evidence[5].id]]


@pytest.mark.parametrize("refuses", [True, False])
async def test_where_the_host_saves_no_files_the_text_can_be_copied(open_board: OpenBoard, refuses: bool) -> None:
    async def export_evidence(call: dict[str, Any]) -> dict[str, Any]:
        return {"content": [], "structuredContent": {"text": "TY  - JOUR\nER  - \n", "next_offset": -1}}

    capabilities: dict[str, Any] = {"serverTools": {}}
    if refuses:
        capabilities["downloadFile"] = {}
    board = await open_board(result(pieces(2)), tool=export_evidence, capabilities=capabilities, refuses=refuses)
    await board.app.get_by_role("button", name="Export the session").click()
    dialog = board.app.get_by_role("dialog", name="Exported evidence")
    await expect(dialog.get_by_role("textbox")).to_have_value("TY  - JOUR\nER  - \n")
    await expect(dialog).to_contain_text("evidence.ris")
    await dialog.get_by_role("button", name="Copy").click()
    await expect(dialog.locator("#file-copied")).not_to_be_empty()
    await dialog.get_by_role("button", name="Close").click()
    await expect(dialog).to_be_hidden()


async def test_links_open_through_the_host(open_board: OpenBoard) -> None:
    board = await open_board(result([piece(0)]))
    for name in ("Metformin delays frailty in 120 older adults", "DOI"):
        await board.app.get_by_role("link", name=name).first.click()
    await board.until(lambda: len(board.told("link")) == 2)
    await expect(board.app.locator("#notices")).to_be_empty()
    assert board.told("link") == ["https://pubmed.ncbi.nlm.nih.gov/31000000/", "https://doi.org/10.5555/demo.0"]


async def test_a_failed_or_cancelled_call_is_told(open_board: OpenBoard) -> None:
    board = await open_board()
    await board.page.evaluate("() => window.sendCancelled()")
    await expect(board.app.locator("#summary")).to_contain_text("was cancelled")
    await board.send({"content": [{"type": "text", "text": "pubmed_search failed (rate_limited)."}], "isError": True})
    await expect(board.app.locator("#notices .bad")).to_contain_text("pubmed_search failed (rate_limited).")


async def test_the_page_follows_the_hosts_theme_and_colors(open_board: OpenBoard) -> None:
    def colour(board: Board) -> Any:
        return board.app.evaluate("() => getComputedStyle(document.body).backgroundColor")

    board = await open_board(result(pieces(2)), context={"theme": "dark"})
    assert await colour(board) == "rgb(19, 22, 26)"
    await board.page.evaluate("() => window.setContext({theme: 'light'})")
    await expect(board.app.locator("html")).to_have_attribute("data-theme", "light")
    assert await colour(board) == "rgb(245, 246, 247)"
    styles = {"variables": {"--color-background-primary": "rgb(1, 2, 3)", "color": "red"}}
    await board.page.evaluate("styles => window.setContext({styles})", styles)
    await expect(board.app.locator("body")).to_have_css("background-color", "rgb(1, 2, 3)")


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
