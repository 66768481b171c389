"""The board for people who use a keyboard or a screen reader, on small screens and in both themes."""

from collections.abc import Mapping
from typing import Any

import pytest
from playwright.async_api import expect

from tests.board.conftest import HOST, Board, OpenBoard
from tests.board.samples import pieces, result

pytestmark = pytest.mark.asyncio(loop_scope="session")

AXE = HOST / "node_modules" / "axe-core" / "axe.min.js"


async def shortcomings(board: Board) -> list[str]:
    """What axe-core finds wrong for people with disabilities, contrast included."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed (npm install --no-package-lock in tests/board/host)")
    await board.app.evaluate(AXE.read_text("utf-8"))
    found: list[Mapping[str, Any]] = await board.app.evaluate(
        "async () => (await axe.run(document, {resultTypes: ['violations']})).violations"
    )
    return [f"{one['id']}: {node['html'][:120]}" for one in found for node in one["nodes"]]


@pytest.mark.parametrize("width", [300, 1000])
async def test_people_with_disabilities_can_use_it(open_board: OpenBoard, width: int) -> None:
    notices: dict[str, Any] = {"warnings": ("A warning.",), "errors": ("An error.",)}
    board = await open_board(result(pieces(12), others=pieces(20)[12:], **notices))
    await board.page.set_viewport_size({"width": width, "height": 800})
    await expect(board.app.locator("#list .card")).to_have_count(6)
    # On a small screen the evidence comes first and the rest on demand.
    await expect(board.app.locator(".panel[open]")).to_have_count(3 if width > 759 else 0)
    for panel in await board.app.locator(".panel summary").all() if width <= 759 else []:
        await panel.click()
    await expect(board.app.locator(".panel[open]")).to_have_count(3)
    for theme in ("light", "dark"):
        await board.page.evaluate("theme => window.setContext({theme})", theme)
        await expect(board.app.locator("html")).to_have_attribute("data-theme", theme)
        assert await shortcomings(board) == []
    assert await board.width() <= width


async def test_everything_is_reached_with_the_tab_key_in_reading_order(open_board: OpenBoard) -> None:
    board = await open_board(result(pieces(2)))
    await expect(board.app.locator("#list .card")).to_have_count(2)
    await board.app.locator(".skip").first.focus()
    reached: list[str] = []
    for _ in range(60):
        await board.page.keyboard.press("Tab")
        label = await board.focused()
        if label in reached or not label:
            break
        reached.append(label)
    assert reached[:3] == ["screen", "question", "ask-button"]
    for stop in ("filter-text", "filter-from", "reset", "sort", "format", "export-button", "PubMed", "More like this"):
        assert any(one.startswith(stop) for one in reached), (stop, reached)
    assert reached.index("filter-text") < reached.index("sort") < reached.index("export-button")
