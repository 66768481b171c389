"""What the board draws, in headless Chromium inside the official AppBridge of MCP Apps."""

from itertools import combinations

import pytest
from playwright.async_api import expect

from deepcritical_mcp.board import board_report
from tests.board.conftest import OpenBoard
from tests.board.samples import SESSION, piece, pieces, places, publications, result

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_the_page_shakes_hands_and_draws_the_result_it_is_given(open_board: OpenBoard) -> None:
    board = await open_board(result(pieces(4), others=pieces(7)[4:], warnings=("DuckDuckGo could not be reached.",)))
    await expect(board.app.locator("#list .card")).to_have_count(4)
    assert board.handshake["app"]["name"] == "deepcritical-board"
    assert await board.text("h1") == "Evidence for “healthy ageing”"
    summary = await board.text("#summary")
    assert summary == "4 from PubMed, of these 1 retracted and 1 with an expression of concern · 7 in the session"
    assert "DuckDuckGo could not be reached." in await board.text("#notices")
    assert await board.text("#footer") == f"Session {SESSION}"
    assert not board.complaints
    assert not board.strangers


async def test_a_card_says_its_status_first(open_board: OpenBoard) -> None:
    board = await open_board(result(pieces(4)))
    cards = board.app.locator("#list .card")
    assert (await cards.nth(0).inner_text()).startswith("PubMed")
    assert (await cards.nth(1).inner_text()).startswith("RETRACTED")
    assert (await cards.nth(2).inner_text()).startswith("EXPRESSION OF CONCERN")
    assert (await cards.nth(3).inner_text()).startswith("CORRECTED")
    notice = cards.nth(1).get_by_text("Retraction: J Invented Trials. 2020;1(2):3, PMID 39000001")
    await expect(notice).to_be_visible()
    assert "relevance 0.87" in await cards.nth(1).inner_text()


async def test_points_of_the_map_have_their_titles(open_report: OpenBoard) -> None:
    evidence = publications(14)
    board = await open_report(board_report(evidence, places=places(evidence)))
    tips = await board.app.locator("#map .point title").all_text_contents()
    assert all(any(one.title in tip for tip in tips) for one in evidence)
    boxes = await board.app.locator("#map text").evaluate_all(
        "all => all.map((one) => one.getBoundingClientRect().toJSON())"
    )
    frame = await board.app.locator("#map").bounding_box()
    assert frame is not None
    assert len(boxes) >= 5
    assert all(frame["x"] <= box["left"] and box["right"] <= frame["x"] + frame["width"] for box in boxes)
    for one, other in combinations(boxes, 2):
        apart = one["right"] < other["left"] or other["right"] < one["left"]
        assert apart or abs(one["y"] - other["y"]) >= 0.6 * one["height"]


@pytest.mark.parametrize(
    ("count", "shown", "heading"), [(0, 0, "0 items"), (1, 1, "1 item"), (2, 2, "2 items"), (300, 6, "300 items")]
)
async def test_any_number_of_pieces_can_be_shown(open_board: OpenBoard, count: int, shown: int, heading: str) -> None:
    board = await open_board(result(pieces(count)))
    await expect(board.app.locator("#count")).to_have_text(heading)
    await expect(board.app.locator("#list .card")).to_have_count(shown)
    await expect(board.app.locator("#map-panel")).to_be_visible(visible=count > 1)
    await expect(board.app.locator("#empty")).to_be_visible(visible=count == 0)
    if count == 300:
        await board.app.get_by_role("button", name="Show 6 more").click()
        await expect(board.app.locator("#list .card")).to_have_count(12)
        assert await board.focused() == await board.app.locator("#list .card").nth(6).get_attribute("id")
    assert not board.complaints


async def test_filters_narrow_the_list_and_say_how_much_is_left(open_board: OpenBoard) -> None:
    board = await open_board(result(pieces(8)))
    app, count = board.app, board.app.locator("#count")
    await app.get_by_label("Web (2)").check()
    await expect(count).to_have_text("2 of 8 items")
    await app.get_by_label("Web (2)").uncheck()
    await app.get_by_label("Retracted (1)").check()
    await expect(count).to_have_text("1 of 8 items")
    await app.get_by_role("button", name="Reset filters").click()
    await expect(count).to_have_text("8 items")
    await app.get_by_label("Words in title, text or authors").fill("SLEEP 157")
    await expect(count).to_have_text("1 of 8 items")
    await app.get_by_label("Words in title, text or authors").fill("no such words")
    await expect(app.locator("#empty")).to_have_text("No evidence matches these filters.")
    assert await app.locator("#map .point.away").count() == 8


async def test_years_are_filtered_by_numbers_or_by_the_timeline(open_board: OpenBoard) -> None:
    evidence = [piece(n, date=date) for n, date in enumerate(["2001", "2003-05", "2003", "2010-01-02", "Unknown"])]
    board = await open_board(result(evidence))
    app, count = board.app, board.app.locator("#count")
    await app.locator("#filter-from").fill("2002")
    await expect(count).to_have_text("3 of 5 items")
    await app.get_by_role("button", name="Reset filters").click()
    assert "1 without a date" in await board.text("#timeline-axis")
    await app.get_by_role("button", name="2001: 1 item").focus()
    await app.locator('#timeline [tabindex="0"]').press("ArrowRight")
    await app.locator('#timeline [tabindex="0"]').press("Enter")
    await expect(count).to_have_text("2 of 5 items")
    pressed = app.get_by_role("button", name="2003: 2 items", pressed=True)
    await expect(pressed).to_have_attribute("tabindex", "0")
    await board.focus_on("#timeline button")
    await pressed.press("Enter")
    await expect(count).to_have_text("5 items")


async def test_the_list_can_be_put_in_order(open_board: OpenBoard) -> None:
    dates = ("2001", "2010-01-02", "Unknown", "2010-01")
    evidence = [
        piece(n, title=date, date=date, relevance=r)
        for n, (date, r) in enumerate(zip(dates, (0.2, 0.4, 0.9, 0.1), strict=True))
    ]
    board = await open_board(result(evidence))
    expected = {
        "relevance": ["Unknown", "2010-01-02", "2001", "2010-01"],
        "newest": ["2010-01-02", "2010-01", "2001", "Unknown"],
        "oldest": ["2001", "2010-01", "2010-01-02", "Unknown"],
        "given": list(dates),
    }
    for order, wanted in expected.items():
        await board.app.locator("#sort").select_option(order)
        assert await board.titles() == wanted


async def test_the_map_is_walked_with_the_arrow_keys(open_board: OpenBoard) -> None:
    board = await open_board(result(pieces(30)))
    app = board.app
    await app.locator('#map .point[tabindex="0"]').focus()
    assert await app.locator('#map .point[tabindex="0"]').count() == 1
    seen = {await board.focused()}
    for key in ("Home", "ArrowRight", "ArrowRight", "ArrowDown", "ArrowUp", "ArrowLeft", "End"):
        await app.locator('#map .point[tabindex="0"]').press(key)
        seen.add(await board.focused())
    here = await board.focused()
    assert len(seen) > 3
    assert await board.text("#map-caption") == here
    await app.locator('#map .point[tabindex="0"]').press("Enter")
    card = await board.focus_on(".card")
    assert await card.locator("h3").inner_text() in here
