"""The page as a report of its own: a file in an ordinary browser, without a host and without a network."""

import pytest
from playwright.async_api import expect

from deepcritical_mcp.board import board_report
from tests.board.conftest import OpenBoard
from tests.board.samples import SESSION, places, publication, publications
from tests.publications import published

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_report_shows_its_evidence_by_itself(open_report: OpenBoard) -> None:
    evidence = publications(300)
    board = await open_report(
        board_report(
            evidence, title="Ageing <b>& more", session_id=SESSION, created="Written by hand", places=places(evidence)
        )
    )
    app = board.app
    await expect(app.locator("h1")).to_have_text("Ageing <b>& more")
    await expect(app.locator("#list .card")).to_have_count(30)
    await expect(app.locator("#count")).to_have_text("300 items")
    await expect(app.locator("#map .point")).to_have_count(300)
    await expect(app.locator("#footer")).to_have_text(f"Session {SESSION} · Written by hand")
    for selector in ("#ask", "#fullscreen"):
        await expect(app.locator(selector)).to_be_hidden()
    assert await board.page.title() == "Ageing <b>& more"
    assert not board.complaints
    assert not board.strangers


async def test_a_report_gives_what_is_shown_to_a_reference_manager(open_report: OpenBoard) -> None:
    board = await open_report(board_report(publications(8)))
    await board.app.get_by_label("Web (2)").check()
    await board.app.get_by_label("Format").select_option("bibtex")
    async with board.page.expect_download() as saved:
        await board.app.get_by_role("button", name="Export 2 shown").click()
    download = await saved.value
    assert download.suggested_filename == "evidence.bib"
    text = (await download.path()).read_text("utf-8")
    assert text.count("@online{") == 2
    assert text.count("@") == 2
    assert not board.complaints


async def test_a_note_on_a_retracted_paper_warns_and_is_no_retracted_or_undecided_record(
    open_report: OpenBoard,
) -> None:
    note = published("I doubt it.", provider="user", source="user", title="A doubt", pmid="7", status="retracted")
    records = [publication(0, status="retracted"), publication(1, screening="included"), note]
    board = await open_report(board_report(records))
    await expect(board.app.locator("#summary")).to_contain_text("of these 1 retracted")
    await expect(board.app.locator("#summary")).to_contain_text("1 included, 1 undecided")
    await expect(board.app.locator("#filter-decision")).to_contain_text("Undecided (1)")
    await expect(board.app.locator(".card", has_text="A doubt")).to_contain_text("note on a paper marked RETRACTED")
    await expect(board.app.locator(".card.retracted")).to_have_count(1)


async def test_links_of_a_report_open_a_window_that_knows_nothing_of_it(open_report: OpenBoard) -> None:
    board = await open_report(
        board_report([publication(0), publication(1, url="javascript:alert(1)", pmid="", doi="", journal="")])
    )
    links = board.app.locator("#list a")
    assert await links.count() == 3
    for link in await links.all():
        assert (await link.get_attribute("href") or "").startswith("https://")
        assert await link.get_attribute("target") == "_blank"
        assert "noopener" in (await link.get_attribute("rel") or "")
    await expect(board.app.locator("#list .card").nth(1)).to_contain_text("javascript:alert(1)")


async def test_a_report_is_printed_whole(open_report: OpenBoard) -> None:
    board = await open_report(board_report(publications(40)))
    await board.app.evaluate("() => window.dispatchEvent(new Event('beforeprint'))")
    await board.page.emulate_media(media="print")
    await expect(board.app.locator("#list .card")).to_have_count(40)
    await expect(board.app.locator("aside")).to_be_hidden()
