"""Evidence that means harm, and results that are not what they should be."""

import re
from typing import Any

import pytest
from playwright.async_api import expect

from tests.board.conftest import OpenBoard
from tests.board.samples import piece, pieces, result

pytestmark = pytest.mark.asyncio(loop_scope="session")


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
    assert await board.width() <= 1000
    shown = await board.app.locator("body").inner_text()
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", shown)
    for text, title in zip(HOSTILE, await board.titles(), strict=False):
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


@pytest.mark.parametrize("method", ["constructor", "__proto__"])
async def test_a_message_named_like_a_part_of_every_object_is_ignored(open_board: OpenBoard, method: str) -> None:
    board = await open_board(result(pieces(1)))
    await board.page.evaluate(
        "method => document.querySelector('iframe').contentWindow.postMessage({jsonrpc: '2.0', method}, '*')", method
    )
    await expect(board.app.locator("#list .card")).to_have_count(1)
    assert board.complaints == []
