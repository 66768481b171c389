"""Decisions and tags: shown everywhere, set where the host lets the page call tools."""

from typing import Any

import pytest
from playwright.async_api import expect

from deepcritical_mcp.board import board_report
from tests.board.conftest import Board, OpenBoard
from tests.board.samples import SESSION, pieces, publications, result
from tests.board.test_accessibility import shortcomings

pytestmark = pytest.mark.asyncio(loop_scope="session")

REASON = 'no controls: only "before; after"'


def decided_report() -> str:
    evidence = publications(6)
    changes: dict[int, dict[str, Any]] = {
        0: {"screening": "included", "tags": ("RCT", "older adults")},
        1: {"screening": "excluded", "screening_reason": REASON, "tags": ("RCT",)},
        2: {"screening": "cited"},
    }
    return board_report([one.model_copy(update=changes.get(number, {})) for number, one in enumerate(evidence)])


async def answer(call: dict[str, Any]) -> dict[str, Any]:
    """What add_evidence answers, for one item."""
    (item,) = call["arguments"]["items"]
    tags = [tag for tag in item.get("tags", ()) if tag != "none"]
    decision = {"undecided": ""}.get(item.get("decision", ""), item.get("decision", ""))
    head = ": ".join(filter(None, (decision, item.get("reason", ""))))
    line = "; ".join(filter(None, (head, f"tags: {', '.join(tags)}" if tags else "")))
    decided = [{"index": 0, "id": item["id"], "decision": line}]
    return {"content": [], "structuredContent": {"session_id": SESSION, "decided": decided, "rejected": []}}


async def edit(board: Board, number: int) -> None:
    await board.app.locator("#list .card").nth(number).get_by_role("button", name="Decide").click()


async def test_a_report_shows_decisions_with_reasons_and_tags_and_has_no_controls_for_them(
    open_report: OpenBoard,
) -> None:
    board = await open_report(decided_report())
    cards = board.app.locator("#list .card")
    await expect(cards.nth(0).locator(".verdict")).to_have_text("Included")
    await expect(cards.nth(1).locator(".decided")).to_contain_text(f"Excluded: {REASON}")
    await expect(cards.nth(0).locator(".tag")).to_have_count(2)
    await expect(cards.nth(5).locator(".decided")).to_have_count(0)
    assert "1 included, 1 excluded, 1 cited, 3 undecided" in await board.text("#summary")
    assert await board.app.get_by_role("button", name="Decide").count() == 0
    assert await board.app.get_by_role("button", name="Include").count() == 0
    assert await shortcomings(board) == []


async def test_evidence_is_filtered_by_decision_and_tag(open_report: OpenBoard) -> None:
    board = await open_report(decided_report())
    count = board.app.locator("#count")
    await board.app.get_by_label("Excluded (1)").check()
    await expect(count).to_have_text("1 of 6 items")
    await board.app.get_by_role("button", name="Reset filters").click()
    await board.app.get_by_label("RCT (2)").check()
    await expect(count).to_have_text("2 of 6 items")
    await board.app.get_by_label("Included (1)").check()
    await expect(count).to_have_text("1 of 6 items")
    await board.app.get_by_role("button", name="Reset filters").click()
    await board.app.get_by_label("Words in title").fill("before; after")
    await expect(count).to_have_text("1 of 6 items")


async def test_one_click_includes_and_the_server_keeps_it(open_board: OpenBoard) -> None:
    evidence = pieces(3)
    board = await open_board(result(evidence), tool=answer)
    first = board.app.locator("#list .card").first
    await first.get_by_role("button", name="Include").click()
    await expect(first.locator(".verdict")).to_have_text("Included")
    items = [{"id": evidence[0].id, "decision": "included"}]
    assert board.calls == [{"name": "add_evidence", "arguments": {"items": items, "session_id": SESSION}}]
    await expect(first.get_by_role("button", name="Include")).to_have_count(0)
    await expect(board.app.locator("#decided")).to_contain_text("Included: ")


async def test_evidence_is_excluded_with_a_reason_and_tagged(open_board: OpenBoard) -> None:
    evidence = pieces(3)
    board = await open_board(result(evidence), tool=answer)
    await edit(board, 1)
    editor = board.app.get_by_role("group", name="Decision: ")
    assert await shortcomings(board) == []
    await editor.get_by_label("Decision").select_option("excluded")
    await editor.get_by_label("Reason").fill(REASON)
    await editor.get_by_label("Tags").fill("mice, mice ,  short ")
    await editor.get_by_role("button", name="Save").click()
    card = board.app.locator("#list .card").nth(1)
    await expect(card.locator(".decided")).to_contain_text(f"Excluded: {REASON}")
    assert await card.locator(".tag").count() == 2
    (call,) = board.calls
    assert call["arguments"]["items"] == [
        {"id": evidence[1].id, "decision": "excluded", "reason": REASON, "tags": ["mice", "short"]}
    ]
    await edit(board, 1)
    await editor.get_by_label("Tags").fill("")
    await editor.get_by_role("button", name="Save").click()
    assert board.calls[1]["arguments"]["items"] == [{"id": evidence[1].id, "tags": ["none"]}]


@pytest.mark.parametrize("way", ["error", "rejected", "silent"])
async def test_a_decision_that_is_not_kept_changes_nothing_and_says_why(open_board: OpenBoard, way: str) -> None:
    async def failing(call: dict[str, Any]) -> dict[str, Any]:
        error = {"error": {"code": "storage", "message": "The disk is full."}}
        rejected = {"session_id": SESSION, "decided": [], "rejected": [{"index": 0, "reason": "The disk is full."}]}
        content = {"error": error, "rejected": rejected, "silent": {"session_id": SESSION}}[way]
        return {"content": [], "structuredContent": content, "isError": way == "error"}

    board = await open_board(result(pieces(3)), tool=failing)
    await edit(board, 0)
    editor = board.app.locator(".editor")
    await editor.get_by_label("Decision").select_option("excluded")
    await editor.get_by_label("Reason").fill("in mice")
    await editor.get_by_role("button", name="Save").click()
    said = "The server did not keep the decision." if way == "silent" else "The disk is full."
    await expect(editor.get_by_role("alert")).to_have_text(f"Not saved: {said}")
    await expect(editor.get_by_label("Reason")).to_have_value("in mice")
    await expect(editor.get_by_role("button", name="Save")).to_be_enabled()
    await expect(board.app.locator(".verdict")).to_have_count(0)


async def test_the_line_that_results_give_is_read_in_its_parts(open_board: OpenBoard) -> None:
    wire = result(pieces(3))
    lines = ("excluded: no control group; tags: rct, adults", "tags: x", "included")
    for one, line in zip(wire["structuredContent"]["evidence"], lines, strict=True):
        one["decision"] = line
    board = await open_board(wire)
    cards = board.app.locator("#list .card")
    await expect(cards.nth(0).locator(".decided")).to_contain_text("Excluded: no control group")
    await expect(cards.nth(0).locator(".tag")).to_have_count(2)
    await expect(cards.nth(1).locator(".verdict")).to_have_count(0)
    await expect(cards.nth(1).locator(".tag")).to_have_count(1)
    await expect(cards.nth(2).locator(".verdict")).to_have_text("Included")
