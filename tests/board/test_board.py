"""The board in headless Chromium, inside the official AppBridge of MCP Apps, with nothing but a sandboxed frame."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest
from playwright.async_api import Frame, Page, expect

from tests.board.conftest import HOST, Board, OpenBoard
from tests.board.samples import SESSION, piece, pieces, result

pytestmark = pytest.mark.asyncio(loop_scope="session")

ALIKE = "pubmed:31000003"
AXE = HOST / "node_modules" / "axe-core" / "axe.min.js"


async def titles(board: Board) -> list[str]:
    return await board.app.locator("#list h3").all_inner_texts()


async def text_of(board: Board, selector: str) -> str:
    return await board.app.locator(selector).inner_text()


async def focused(board: Board) -> str:
    """What has the focus: its id, else its label or text."""
    return await board.app.evaluate(
        "() => { const e = document.activeElement; return e.id || e.getAttribute('aria-label') || e.textContent; }"
    )


async def shortcomings(board: Board) -> list[str]:
    """What axe-core finds wrong for people with disabilities, contrast included."""
    await board.app.evaluate(AXE.read_text("utf-8"))
    found: list[Mapping[str, Any]] = await board.app.evaluate(
        "async () => (await axe.run(document, {resultTypes: ['violations']})).violations"
    )
    return [f"{one['id']}: {node['html'][:120]}" for one in found for node in one["nodes"]]


async def widest(app: Frame | Page) -> int:
    return await app.evaluate("() => document.documentElement.scrollWidth")


async def test_the_page_shakes_hands_and_draws_the_result_it_is_given(open_board: OpenBoard) -> None:
    board = await open_board(result(pieces(4), others=pieces(7)[4:], warnings=("DuckDuckGo could not be reached.",)))

    await expect(board.app.locator("#list .card")).to_have_count(4)
    assert board.handshake["app"]["name"] == "deepcritical-board"
    assert await text_of(board, "h1") == "Evidence for “healthy ageing”"
    summary = await text_of(board, "#summary")
    assert summary == "1 retracted · 1 with an expression of concern · 4 from PubMed · 7 in the session"
    assert "DuckDuckGo could not be reached." in await text_of(board, "#notices")
    assert await text_of(board, "#footer") == f"Session {SESSION}"
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


@pytest.mark.parametrize(
    ("count", "shown", "heading"), [(0, 0, "0 pieces"), (1, 1, "1 piece"), (2, 2, "2 pieces"), (300, 6, "300 pieces")]
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
        assert await focused(board) == await board.app.locator("#list .card").nth(6).get_attribute("id")
    assert not board.complaints


async def test_filters_narrow_the_list_and_say_how_much_is_left(open_board: OpenBoard) -> None:
    board = await open_board(result(pieces(8)))
    app, count = board.app, board.app.locator("#count")

    await app.get_by_label("Web (2)").check()
    await expect(count).to_have_text("2 of 8 pieces")
    await app.get_by_label("Web (2)").uncheck()
    await app.get_by_label("Retracted (1)").check()
    await expect(count).to_have_text("1 of 8 pieces")
    await app.get_by_role("button", name="Reset filters").click()
    await expect(count).to_have_text("8 pieces")
    await app.get_by_label("Words in title, text or authors").fill("SLEEP 157")
    await expect(count).to_have_text("1 of 8 pieces")
    await app.get_by_label("Words in title, text or authors").fill("no such words")
    await expect(app.locator("#empty")).to_have_text("Nothing passes these filters.")
    assert await app.locator("#map .point.away").count() == 8


async def test_years_are_filtered_by_numbers_or_by_the_timeline(open_board: OpenBoard) -> None:
    evidence = [piece(n, date=date) for n, date in enumerate(["2001", "2003-05", "2003", "2010-01-02", "Unknown"])]
    board = await open_board(result(evidence))
    app, count = board.app, board.app.locator("#count")

    await app.locator("#filter-from").fill("2002")
    await expect(count).to_have_text("3 of 5 pieces")
    await app.get_by_role("button", name="Reset filters").click()
    assert "1 without a date" in await text_of(board, "#timeline-axis")
    await app.get_by_role("button", name="2001: 1 piece of evidence").focus()
    await app.locator("#timeline").press("ArrowRight")
    await app.locator("#timeline").press("Enter")
    await expect(count).to_have_text("2 of 5 pieces")
    pressed = app.get_by_role("button", name="2003: 2 pieces of evidence", pressed=True)
    await expect(pressed).to_be_focused()
    await pressed.press("Enter")
    await expect(count).to_have_text("5 pieces")


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
        assert await titles(board) == wanted


async def test_long_texts_open_and_close(open_board: OpenBoard) -> None:
    board = await open_board(result([piece(0, content="word " * 400 + "END")]))
    card = board.app.locator("#list .card")

    assert "END" not in await card.inner_text()
    await card.get_by_role("button", name="Show the whole text", expanded=False).click()
    assert "END" in await card.inner_text()
    await card.get_by_role("button", name="Show less", expanded=True).click()
    assert "END" not in await card.inner_text()


async def test_a_cut_text_is_fetched_whole_through_the_host(open_board: OpenBoard) -> None:
    whole = piece(0, content="A start. And the END.")

    async def get_evidence(call: dict[str, Any]) -> dict[str, Any]:
        return result([whole], query="")

    board = await open_board(
        result([whole.model_copy(update={"content": "A start.", "content_truncated": True})]), tool=get_evidence
    )
    await board.app.get_by_role("button", name="Show the whole text").click()

    await expect(board.app.get_by_text("And the END.")).to_be_visible()
    assert board.calls == [{"name": "get_evidence", "arguments": {"ids": [whole.id], "session_id": SESSION}}]


async def test_pieces_that_say_nearly_the_same_lead_to_one_another(open_board: OpenBoard) -> None:
    board = await open_board(result(pieces(12)))
    await board.app.locator("#list .card").first.get_by_role("button", name="Metformin use and mortality").click()

    await expect(board.app.locator(f'[id="card-{ALIKE.replace(":", "%3A")}"]')).to_be_focused()
    assert await board.app.locator("#map line.same").count() == 1
    assert await board.app.locator("#map .point.lit").count() == 1


async def test_the_map_is_walked_with_the_arrow_keys(open_board: OpenBoard) -> None:
    board = await open_board(result(pieces(30)))
    app = board.app
    await app.locator('#map .point[tabindex="0"]').focus()
    assert await app.locator('#map .point[tabindex="0"]').count() == 1
    seen = {await focused(board)}
    for key in ("Home", "ArrowRight", "ArrowRight", "ArrowDown", "ArrowUp", "ArrowLeft", "End"):
        await app.locator("#map .point:focus").press(key)
        seen.add(await focused(board))
    here = await focused(board)
    assert len(seen) > 3
    assert await text_of(board, "#map-caption") == here
    await app.locator("#map .point:focus").press("Enter")

    card = app.locator(".card:focus")
    await expect(card).to_have_count(1)
    assert await card.locator("h3").inner_text() in here


async def test_a_point_of_the_session_without_a_card_is_fetched(open_board: OpenBoard) -> None:
    other = piece(9)

    async def get_evidence(call: dict[str, Any]) -> dict[str, Any]:
        return result([other], query="")

    board = await open_board(result(pieces(3), others=[other]), tool=get_evidence)
    assert "pale: elsewhere in the session" in await text_of(board, "#map-legend")
    await board.app.locator("#map .point.absent").click()

    await expect(board.app.locator("#list .card")).to_have_count(4)
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

    assert await titles(board) == ["New to the page", known[2].citation.title]
    assert board.calls == [
        {"name": "semantic_search", "arguments": {"query": "falls", "max_results": 10, "session_id": SESSION}}
    ]
    assert await focused(board) == "list"
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

    await expect(board.app.locator("#notices")).to_be_empty()
    assert board.told("link") == ["https://pubmed.ncbi.nlm.nih.gov/31000000/", "https://doi.org/10.5555/demo.0"]


async def test_a_link_that_the_host_refuses_can_still_be_read(open_board: OpenBoard) -> None:
    board = await open_board(result([piece(5)]), refuses=True)
    await board.app.get_by_role("link", name="Page").click()

    await expect(board.app.locator("#notices")).to_contain_text("The address is https://example.org/web/5")


HOSTILE = (
    "</script><script>alert(1)</script>",
    '<img src=x onerror="alert(1)">',
    '" onmouseover="alert(1)" x=\'',
    "{{constructor.constructor('alert(1)')()}} ${alert(1)}",
    "javascript:alert(1)",
    "\u202egnp.exe\u202c \u2066x\u2069 שלום عربى",
    "W" * 20_000,
)


def hostile_result() -> dict[str, Any]:
    """A result in which every text of a piece, and every text around them, is hostile."""
    wire = result([piece(n) for n in range(len(HOSTILE) + 1)], warnings=HOSTILE, errors=HOSTILE)
    found = wire["structuredContent"]
    found["query"] = HOSTILE[0]
    found["related"] = [
        {"id": text, "title": text, "url": text, "snippet": text, "relevance": text} for text in HOSTILE
    ]
    for text, evidence, point in zip(
        HOSTILE, found["evidence"], wire["_meta"]["deepcritical/board"]["map"], strict=False
    ):
        evidence |= {"id": text, "content": text, "similar": [text], "found_by": [text], "provider": text}
        fields = ("title", "journal", "date", "source", "status", "url", "pmid", "pmcid", "doi")
        evidence["citation"] |= dict.fromkeys(fields, text) | {"authors": [text]}
        evidence["citation"]["status_notices"] = [{"kind": text, "pmid": text, "reference": text}]
        point |= {"id": text, "title": text, "source": text, "status": text, "date": text}
    found["evidence"][-1]["citation"] |= {"url": "javascript:alert(1)", "pmid": "", "doi": ""}
    return wire


async def test_hostile_evidence_stays_text(open_board: OpenBoard) -> None:
    board = await open_board(hostile_result())
    await board.app.get_by_role("button", name="Show 2 more").click()
    await expect(board.app.locator("#list .card")).to_have_count(len(HOSTILE) + 1)
    addresses: list[str] = await board.app.evaluate("() => [...document.links].map((link) => link.href)")
    markup: list[str] = await board.app.evaluate(
        "() => [...document.querySelectorAll('*')].map((e) => e.localName).concat("
        "[...document.querySelectorAll('*')].flatMap((e) => [...e.attributes].map((a) => a.name)))"
    )

    assert not board.complaints
    assert not board.strangers
    assert not {"img", "iframe", "onerror", "onmouseover", "base"} & set(markup)
    assert markup.count("script") == 2
    links = [address for address in addresses if not address.endswith("#list")]
    assert len(links) > len(HOSTILE)
    assert all(address.startswith("https://") for address in links)
    assert await widest(board.app) <= 1000
    shown = await board.app.locator("body").inner_text()
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", shown)
    for text, title in zip(HOSTILE, await titles(board), strict=False):
        visible = re.sub("[\u202a-\u202e\u2066-\u2069]", "", text)
        assert title.rstrip("…").split() == visible[:500].split()


ODD: tuple[dict[str, Any], ...] = (
    {"content": []},
    {"content": [], "structuredContent": {"evidence": "x", "errors": 5, "warnings": [None, 1], "related": {}}},
    {"content": [], "structuredContent": {"evidence": [None, 1, [], {}, {"id": "a"}, {"id": "b", "citation": 3}]}},
    {"content": [], "structuredContent": {}, "_meta": {"deepcritical/board": {"map": [None, {"id": "x", "x": "y"}]}}},
)


@pytest.mark.parametrize("wire", ODD)
async def test_a_result_of_another_shape_breaks_nothing(open_board: OpenBoard, wire: dict[str, Any]) -> None:
    board = await open_board(wire)
    await board.send(result(pieces(2)))

    await expect(board.app.locator("h1")).to_have_text("Evidence for “healthy ageing”")
    assert not board.complaints


async def test_a_failed_or_cancelled_call_is_told(open_board: OpenBoard) -> None:
    board = await open_board()
    await board.page.evaluate("() => window.sendCancelled()")
    await expect(board.app.locator("#summary")).to_contain_text("was cancelled")
    await board.send({"content": [{"type": "text", "text": "pubmed_search failed (rate_limited)."}], "isError": True})
    await expect(board.app.locator("#notices .bad")).to_contain_text("pubmed_search failed (rate_limited).")


async def test_lines_of_a_listing_become_cards_whose_text_can_be_fetched(open_board: OpenBoard) -> None:
    whole = piece(1)

    async def get_evidence(call: dict[str, Any]) -> dict[str, Any]:
        return result([whole], query="")

    line = {"id": whole.id, "title": whole.citation.title, "source": "pubmed", "date": "2003", "status": "retracted"}
    page = {"session_id": SESSION, "total": 40, "items": [line], "next_offset": -1}
    board = await open_board({"content": [], "structuredContent": page}, tool=get_evidence)
    assert "40 in the session" in await text_of(board, "#summary")
    await board.app.get_by_role("button", name="Show its text").click()

    await expect(board.app.locator("#list .card")).to_contain_text("BACKGROUND")


async def test_a_host_that_calls_no_tools_sees_no_controls_for_them(open_board: OpenBoard) -> None:
    board = await open_board(result(pieces(3)), capabilities={})
    await expect(board.app.locator("#list .card")).to_have_count(3)

    for selector in ("#ask", "#export"):
        await expect(board.app.locator(selector)).to_be_hidden()
    await expect(board.app.get_by_role("button", name="More like this")).to_have_count(0)


async def test_the_page_follows_the_hosts_theme_and_colours(open_board: OpenBoard) -> None:
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


async def test_the_page_goes_full_screen_where_the_host_can(open_board: OpenBoard) -> None:
    context = {"displayMode": "inline", "availableDisplayModes": ["inline", "fullscreen"]}
    board = await open_board(result(pieces(10)), context=context)
    await board.app.get_by_role("button", name="Full screen").click()

    await expect(board.app.get_by_role("button", name="Leave full screen")).to_be_visible()


async def test_the_host_learns_how_high_the_page_is(open_board: OpenBoard) -> None:
    board = await open_board(result(pieces(3)))
    await expect(board.app.locator("#list .card")).to_have_count(3)
    tall = await board.app.evaluate("() => Math.ceil(document.body.getBoundingClientRect().height)")
    await board.page.wait_for_function("tall => document.querySelector('iframe').clientHeight === tall", arg=tall)

    assert board.told("height")[-1] == tall


async def test_the_page_lets_itself_be_closed(open_board: OpenBoard) -> None:
    board = await open_board(result(pieces(1)))

    assert await board.page.evaluate("() => window.closeBoard()") == {}


@pytest.mark.parametrize("width", [300, 1000])
async def test_people_with_disabilities_can_use_it(open_board: OpenBoard, width: int) -> None:
    notices: dict[str, Any] = {"warnings": ("A warning.",), "errors": ("An error.",)}
    board = await open_board(result(pieces(12), others=pieces(20)[12:], **notices))
    await board.page.set_viewport_size({"width": width, "height": 800})
    await expect(board.app.locator("#list .card")).to_have_count(6)
    for panel in await board.app.locator(".panel:not([open]) summary").all():
        await panel.click()

    for theme in ("light", "dark"):
        await board.page.evaluate("theme => window.setContext({theme})", theme)
        await expect(board.app.locator("html")).to_have_attribute("data-theme", theme)
        assert await shortcomings(board) == []
    assert await widest(board.app) <= width


async def test_everything_is_reached_with_the_tab_key_in_reading_order(open_board: OpenBoard) -> None:
    board = await open_board(result(pieces(2)))
    await expect(board.app.locator("#list .card")).to_have_count(2)
    await board.app.locator(".skip").first.focus()
    reached: list[str] = []
    for _ in range(60):
        await board.page.keyboard.press("Tab")
        label: str = await board.app.evaluate(
            "() => { const e = document.activeElement;"
            " return e.id || e.getAttribute('aria-label') || e.innerText || e.value; }"
        )
        if label in reached or not label:
            break
        reached.append(label)

    assert reached[:2] == ["question", "ask-button"]
    for stop in ("filter-text", "filter-from", "reset", "sort", "format", "export-button", "PubMed", "More like this"):
        assert any(one.startswith(stop) for one in reached), (stop, reached)
    assert reached.index("filter-text") < reached.index("sort") < reached.index("export-button")


async def test_the_skip_link_leads_to_the_evidence(open_board: OpenBoard) -> None:
    board = await open_board(result(pieces(1)))
    await board.app.get_by_role("link", name="Skip to the evidence").focus()
    await board.page.keyboard.press("Enter")

    assert await focused(board) == "list"
