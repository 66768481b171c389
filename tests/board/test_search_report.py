"""How the evidence was found: flow diagram and searches, in a report."""

from xml.etree import ElementTree

import pytest
from playwright.async_api import expect

from deepcritical_mcp.board import board_report
from deepcritical_mcp.models import LoggedQuery
from tests.board.conftest import OpenBoard
from tests.board.test_accessibility import shortcomings
from tests.board.test_hostile import HOSTILE
from tests.board.test_page import logged, marked

pytestmark = pytest.mark.asyncio(loop_scope="session")


def report() -> str:
    evidence = marked("included", "cited", "excluded", "", reasons=("", "", "no controls"))
    failed = LoggedQuery(query="falls", status="failed", detail="ClinicalTrials.gov timed out")
    trials = {"source": "trials", "title": "ClinicalTrials.gov", "queries": (failed,), "errors": ("It timed out.",)}
    filters = ("from 2020-01-01", "humans only")
    log = [logged(evidence, total=120, examined=4, filters=filters), logged([], **trials)]
    return board_report(evidence, log=log)


async def test_every_search_is_listed_as_it_was_sent_and_failures_are_named(open_report: OpenBoard) -> None:
    board = await open_report(report())
    rows = board.app.locator("#log tbody tr")
    cells = await rows.nth(0).locator("th, td").all_inner_texts()
    assert [cell.strip() for cell in cells] == [
        "1",
        "2026-11-23 04:45:10 UTC",
        "PubMed",
        "ageing[tiab]",
        "from 2020-01-01; humans only",
        "120",
        "4",
        "4",
        "0",
    ]
    await expect(rows.nth(1)).to_contain_text("failed (ClinicalTrials.gov timed out): falls")
    await expect(rows.nth(1)).to_contain_text("It timed out.")
    assert await shortcomings(board) == []
    assert not board.complaints


@pytest.mark.parametrize("width", [300, 1000])
async def test_the_flow_diagram_is_drawn_and_told_to_screen_readers(open_report: OpenBoard, width: int) -> None:
    board = await open_report(report())
    await board.page.set_viewport_size({"width": width, "height": 800})
    lines = await board.app.locator("#flow g text").all_text_contents()
    assert "Records identified (n = 4)" in lines
    assert "Excluded without a full text (n = 1)" in lines
    assert "– no controls: 1" in lines
    assert {"Records included (n = 1)", "Records marked as cited (n = 1)"} <= set(lines)
    told = await board.app.locator("#flow-text li").all_text_contents()
    assert told[-1].startswith("Included. Records included (n = 1)")
    inside = "node => [...node.querySelectorAll('g')].every((box) => box.querySelector('rect').getBBox().width + 1"
    inside += " >= Math.max(...[...box.querySelectorAll('text')].map((text) => text.getBBox().width)))"
    assert await board.app.locator("#flow").evaluate(inside)
    assert await board.width() <= width


async def test_the_diagram_is_saved_as_a_picture_of_its_own(open_report: OpenBoard) -> None:
    board = await open_report(report())
    async with board.page.expect_download() as saved:
        await board.app.get_by_role("button", name="Save the diagram as SVG").click()
    download = await saved.value
    root = ElementTree.fromstring((await download.path()).read_text("utf-8"))
    assert download.suggested_filename == "flow.svg"
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "Records identified (n = 4)" in list(root.itertext())


async def test_hostile_reasons_and_queries_stay_text_in_their_boxes(open_report: OpenBoard) -> None:
    evidence = [
        one.model_copy(update={"tags": (text[:60],)})
        for one, text in zip(marked(*["excluded"] * len(HOSTILE), reasons=HOSTILE), HOSTILE, strict=True)
    ]
    queries = tuple(LoggedQuery(query=text, sent=text) for text in HOSTILE)
    log = [logged(evidence, queries=queries, filters=HOSTILE, errors=HOSTILE, title=HOSTILE[0])]
    board = await open_report(board_report(evidence, log=log))
    await board.app.get_by_role("button", name="Table", exact=True).click()
    await board.page.set_viewport_size({"width": 320, "height": 800})
    await expect(board.app.locator("#log tbody tr")).to_have_count(1)
    assert await board.width() <= 320
    assert await board.app.locator("#searches img, #columns img").count() == 0
    assert not board.complaints
    assert not board.strangers


async def test_the_searches_and_the_diagram_are_printed_on_a_page_of_their_own(open_report: OpenBoard) -> None:
    board = await open_report(report())
    await board.page.emulate_media(media="print")
    await expect(board.app.locator("#searches")).to_have_css("break-before", "page")
    await expect(board.app.locator("#flow-save")).to_be_hidden()
    await expect(board.app.locator("#flow")).to_be_visible()
    content = await board.app.locator("#list .links a").first.evaluate(
        "node => getComputedStyle(node, '::after').content"
    )
    assert "http" in content
