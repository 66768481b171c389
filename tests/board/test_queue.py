"""The screening queue: a person decides on a hundred records with keys alone, on the real server."""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp.client import Client, advertise
from playwright.async_api import expect

from tests.board.conftest import Board, OpenBoard
from tests.board.samples import TOPICS
from tests.board.test_accessibility import shortcomings
from tests.fakes import FakeSearch, fake_server
from tests.publications import published

pytestmark = pytest.mark.asyncio(loop_scope="session")

SHOWS_APPS = advertise("io.modelcontextprotocol/ui", {"mimeTypes": ["text/html;profile=mcp-app"]})
RECORDS = [
    published(
        f"{titles[number % 2].format(n=number)}. The cohort was followed for {number % 9 + 1} years in clinics.",
        source="pubmed",
        pmid=str(31_000_000 + number),
        title=f"{titles[number % 2].format(n=number)} ({number})",
        authors=("Berg Jan",),
        date="2019",
    )
    for number in range(120)
    for _, titles in [TOPICS[number % 3]]
]


GATE = asyncio.Event()
"""Closed, it lets no call of the page through."""


@asynccontextmanager
async def screening(open_board: OpenBoard) -> AsyncGenerator[tuple[Board, Any]]:
    """The queue of a session with 120 records, a third of which are about sleep, and what calls its server."""
    GATE.set()
    async with Client(fake_server(literature=FakeSearch(tuple(RECORDS))), extensions=[SHOWS_APPS]) as client:

        async def call(request: dict[str, Any]) -> dict[str, Any]:
            await GATE.wait()
            answer = await client.call_tool(request["name"], request["arguments"], meta=request.get("_meta"))
            return answer.model_dump(mode="json", by_alias=True, exclude_none=True)

        search = {"query": "sleep", "session_id": "new: Does sleep help memory?", "max_results": 100}
        found = await call({"name": "pubmed_search", "arguments": search})
        session = found["structuredContent"]["session_id"]
        await call({"name": "pubmed_search", "arguments": {"query": "sleep", "offset": 100, "session_id": session}})
        note = {"content": "Include: sleep and recall in adults.", "tags": ["criteria"]}
        await call({"name": "add_evidence", "arguments": {"items": [note], "session_id": session}})
        board = await open_board(found, tool=call)
        await board.app.get_by_role("button", name="Screen the undecided").press("Enter")
        await expect(board.app.locator("#queue-record h3")).to_be_visible()

        async def in_session(name: str, **arguments: Any) -> dict[str, Any]:
            return await call({"name": name, "arguments": {**arguments, "session_id": session}})

        yield board, in_session


async def test_a_person_screens_a_hundred_records_without_a_mouse(open_board: OpenBoard) -> None:
    async with screening(open_board) as (board, call):
        record, counts = board.app.locator("#queue-record"), board.app.locator("#queue-counts")
        await expect(board.app.locator("#queue-question")).to_have_text("Does sleep help memory?")
        await expect(board.app.locator("#queue-criteria")).to_contain_text("Include: sleep and recall in adults.")
        found_at = list[int]()
        for number in range(1, 101):
            title = await record.locator("h3").inner_text()
            is_relevant = re.search(r"sleep|recall", title, re.IGNORECASE) is not None
            await board.page.keyboard.press("i" if is_relevant else "e")
            await expect(counts).to_contain_text(f"{number} of 120 records decided")
            await expect(board.app.locator("#queue")).not_to_have_attribute("aria-busy", "true")
            found_at += [number] if is_relevant else []
        assert len(found_at) == 40
        assert found_at[-1] < 80, "the likely ones come first"
        await expect(counts).to_contain_text("40 of them relevant")
        await expect(board.app.locator("#queue-curve")).to_have_attribute(
            "aria-label", "Relevant records found: 40 relevant after 100 decisions"
        )
        assert await shortcomings(board) == []
        kept = (await call("list_evidence", marked="included"))["structuredContent"]
        assert kept["marks"] == {"included": 40, "excluded": 60, "criteria": 1}
        exported = await call("export_evidence", format="jsonl", marked="included")
        assert str(exported).count("a person at the board through") >= 40
        assert not board.complaints


async def test_what_speaks_is_marked_and_a_decision_is_put_off_taken_back_and_given_a_reason(
    open_board: OpenBoard,
) -> None:
    async with screening(open_board) as (board, call):
        record, keyboard = board.app.locator("#queue-record"), board.page.keyboard
        said = board.app.locator("#queue-said")

        async def shown() -> str:
            await expect(board.app.locator("#queue")).not_to_have_attribute("aria-busy", "true")
            return await record.locator("h3").inner_text()

        first = await shown()
        await keyboard.press("m")
        await expect(said).to_contain_text("Maybe, later")
        assert await shown() != first
        second = await shown()
        await keyboard.press("i")
        await expect(said).to_have_text(f"Included: {second}")
        third = await shown()
        await board.app.get_by_label("Reason to exclude").fill("in mice, i.e. animals")
        await keyboard.press("Enter")
        await expect(said).to_have_text(f"Excluded: {third}")
        page = (await call("list_evidence", marked="excluded"))["structuredContent"]
        assert [one["decision"] for one in page["items"]] == ["excluded: in mice, i.e. animals"]
        await record.focus()
        await keyboard.press("u")
        await expect(said).to_have_text(f"Taken back: {third}")
        assert await shown() == third
        assert await record.locator("mark.for, mark.against").count() > 0
        page = (await call("list_evidence", marked="maybe"))["structuredContent"]
        assert [one["title"] for one in page["items"]] == [first]
        await keyboard.press("Control+i")
        assert await shown() == third
        await board.app.get_by_role("button", name="Back to the evidence").press("Enter")
        await expect(board.app.locator("#list .card").first).to_be_visible()
        assert not board.complaints


async def test_a_key_that_is_held_decides_once_and_what_is_typed_decides_nothing(open_board: OpenBoard) -> None:
    async with screening(open_board) as (board, call):
        record, keyboard, counts = (
            board.app.locator("#queue-record"),
            board.page.keyboard,
            board.app.locator("#queue-counts"),
        )
        for _ in range(4):
            await keyboard.down("e")
        await keyboard.up("e")
        await expect(counts).to_contain_text("1 of 120 records decided")
        reason = board.app.get_by_label("Reason to exclude")
        title = await record.locator("h3").inner_text()
        await keyboard.press("i")
        await reason.press_sequentially("mice, i.e. no people")
        await expect(counts).to_contain_text("2 of 120 records decided")
        await expect(reason).to_have_value("mice, i.e. no people")
        (shown,) = (one["id"] for one in (await call("list_evidence", marked="included"))["structuredContent"]["items"])
        await call("add_evidence", items=[{"id": shown, "tags": ["key paper"]}])
        await keyboard.press("Escape")
        await keyboard.press("u")
        await expect(board.app.locator("#queue-said")).to_contain_text("Taken back")
        listed = (await call("list_evidence", marked="key paper"))["structuredContent"]
        assert [one["title"] for one in listed["items"]] == [title]


async def test_who_leaves_the_queue_while_a_decision_is_kept_is_not_brought_back(open_board: OpenBoard) -> None:
    async with screening(open_board) as (board, call):
        title = await board.app.locator("#queue-record h3").inner_text()
        GATE.clear()
        await board.page.keyboard.press("i")
        await board.app.get_by_role("button", name="Back to the evidence").click()
        field = board.app.locator("#columns input, #ask input").first
        await field.focus()
        GATE.set()
        await expect(board.app.locator("#queue-said")).to_have_text(f"Included: {title}")
        await board.page.keyboard.type("memory in mice")
        await expect(board.app.locator("#queue")).to_be_hidden()
        kept = (await call("list_evidence"))["structuredContent"]["marks"]
        assert kept == {"included": 1, "criteria": 1}
        await board.app.get_by_role("button", name="Screen the undecided").press("Enter")
        await expect(board.app.locator("#queue")).to_be_visible()


async def test_what_is_put_off_hides_nothing_and_the_decision_of_another_is_told(open_board: OpenBoard) -> None:
    async with screening(open_board) as (board, call):
        record, said = board.app.locator("#queue-record h3"), board.app.locator("#queue-said")
        seen = set[str]()
        for _ in range(30):
            seen.add(title := await record.inner_text())
            await board.page.keyboard.press("m")
            await expect(said).to_have_text(f"Maybe, later: {title}")
            await expect(board.app.locator("#queue")).not_to_have_attribute("aria-busy", "true")
        assert len(seen) == 30
        title = await record.inner_text()
        items = (await call("list_evidence", max_results=100))["structuredContent"]["items"]
        items += (await call("list_evidence", max_results=100, offset=100))["structuredContent"]["items"]
        shown = next(one["id"] for one in items if one["title"] == title)
        await call("add_evidence", items=[{"id": shown, "decision": "included", "reason": "key paper"}])
        await board.page.keyboard.press("e")
        await expect(said).to_contain_text("Excluded (before, by somebody else: included: key paper")


async def test_a_decision_that_is_not_kept_stays_on_the_record(open_board: OpenBoard) -> None:
    async with screening(open_board) as (board, call):
        title = await board.app.locator("#queue-record h3").inner_text()
        await call("clear_session", ids=["pubmed:31000000"])
        listed = (await call("list_evidence", sort="likely", marked="undecided"))["structuredContent"]
        await call("clear_session", ids=[one["id"] for one in listed["items"]])
        await board.page.keyboard.press("i")
        await expect(board.app.locator("#notices")).to_contain_text("Perhaps not saved: ")
        await expect(board.app.locator("#queue-record h3")).to_have_text(title)
