"""The evidence as a sortable table."""

import pytest
from playwright.async_api import expect

from deepcritical_mcp.board import board_report
from tests.board.conftest import Board, OpenBoard
from tests.board.samples import pieces, publications, result
from tests.board.test_accessibility import shortcomings

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def column(board: Board, name: str) -> list[str]:
    """The texts of a column, from top to bottom."""
    return await board.app.locator(f"#table tbody .c-{name}").all_inner_texts()


async def show_table(board: Board) -> None:
    await board.app.get_by_role("button", name="Table", exact=True).click()
    await expect(board.app.locator("#table")).to_be_visible()


async def test_the_same_evidence_is_shown_as_a_table(open_board: OpenBoard) -> None:
    board = await open_board(result(pieces(8)))
    await show_table(board)
    await expect(board.app.locator("#table tbody tr")).to_have_count(8)
    await expect(board.app.locator("#list")).to_be_hidden()
    heads = [head.strip() for head in await board.app.locator("#table thead th").all_inner_texts()]
    assert heads == ["Title", "First author", "Date", "Source", "Status", "Relevance"]
    assert (await column(board, "status"))[:4] == ["", "Retracted", "Expression of concern", "Corrected"]
    assert await shortcomings(board) == []
    await board.app.get_by_role("button", name="Cards", exact=True).click()
    await expect(board.app.locator("#list .card")).to_have_count(6)


async def test_a_column_sorts_with_a_click_or_a_key_both_ways(open_board: OpenBoard) -> None:
    board = await open_board(result(pieces(8)))
    await show_table(board)
    await board.app.locator("#sort-year").click()
    dates = await column(board, "year")
    assert dates == sorted(dates)
    await expect(board.app.locator("th.c-year")).to_have_attribute("aria-sort", "ascending")
    assert await board.focused() == "sort-year"
    await board.page.keyboard.press("Enter")
    await expect(board.app.locator("th.c-year")).to_have_attribute("aria-sort", "descending")
    assert await column(board, "year") == sorted(dates, reverse=True)
    assert await board.app.locator("[aria-sort]").count() == 1
    await board.app.locator("#sort-relevance").click()
    relevances = [float(text) for text in await column(board, "relevance")]
    assert relevances == sorted(relevances, reverse=True)


async def test_the_table_obeys_the_filters_and_leads_to_the_card(open_report: OpenBoard) -> None:
    evidence = publications(8)
    board = await open_report(board_report(evidence))
    await show_table(board)
    await board.app.get_by_label("Web (2)").check()
    await expect(board.app.locator("#table tbody tr")).to_have_count(2)
    await board.app.get_by_role("button", name="Details").nth(1).click()
    card = await board.focus_on(".card")
    await expect(card.locator("h3")).to_have_text(evidence[6].title)


async def test_a_large_table_is_shown_in_steps_and_printed_whole(open_report: OpenBoard) -> None:
    board = await open_report(board_report(publications(250)))
    await show_table(board)
    rows = board.app.locator("#table tbody tr")
    await expect(rows).to_have_count(100)
    await board.app.get_by_role("button", name="Show 100 more").click()
    await expect(rows).to_have_count(200)
    await board.app.evaluate("() => window.dispatchEvent(new Event('beforeprint'))")
    await expect(rows).to_have_count(250)
    await board.page.emulate_media(media="print")
    for control in ("#tools", "#table .choice", ".details", "aside"):
        await expect(board.app.locator(control).first).to_be_hidden()
