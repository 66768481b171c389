"""What the page is made of, without a browser."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import Any

import pytest

from deepcritical_mcp.board import META_KEY, MOST_POINTS, SCRIPTS, board_meta, page, report
from tests.board.samples import SESSION, piece, pieces, vectors

HOSTILE = "</script><script>alert(1)</script><!-- @DATA@ @SCRIPT@ <script> \u2028 & \\u003c"


def part(document: str, pattern: str) -> str:
    match = re.search(pattern, document, re.DOTALL)
    assert match
    return match[1]


def script_of(document: str) -> str:
    return part(document, r"<script>(.*?)</script>")


def data_of(document: str) -> Any:
    return json.loads(part(document, r'<script type="application/json" id="data">(.*?)</script>'))


def wire(value: object) -> Any:
    return json.loads(json.dumps(value))


@pytest.mark.parametrize("document", [page(), report(pieces(3))], ids=["page", "report"])
def test_the_page_allows_its_own_script_and_style_and_nothing_else(document: str) -> None:
    def digest(text: str) -> str:
        return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    style = part(document, r"<style>(.*?)</style>")
    policy = part(document, r'http-equiv="Content-Security-Policy" content="(.*?)"')

    assert policy == (
        f"default-src 'none'; script-src '{digest(script_of(document))}'; style-src '{digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    assert document.index("Content-Security-Policy") < document.index("<style>")


def test_the_page_loads_nothing_and_makes_no_markup_of_text() -> None:
    document = page()

    assert not re.search(r"<(?:link|img|iframe|object|embed|base)\b|\ssrc=|@import|url\(|href=\"(?!#)", document)
    forbidden = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|fetch\(|XMLHttpRequest|import\("
    )
    assert not re.search(forbidden, script_of(document))
    assert not re.search(r"@[A-Z]+@", document)
    assert len(document) < 100_000


def test_the_page_for_a_host_carries_no_data() -> None:
    assert data_of(page()) is None


def test_every_script_of_the_package_is_in_the_page() -> None:
    assert script_of(page()).count("// ") >= len(SCRIPTS)


def test_hostile_evidence_cannot_leave_the_data_it_stands_in() -> None:
    document = report([piece(0, title=HOSTILE, content=HOSTILE, authors=(HOSTILE,))], title=HOSTILE, created=HOSTILE)
    data = data_of(document)

    assert document.count("<script") == 2
    assert script_of(document) == script_of(page())
    assert data["result"]["structuredContent"]["evidence"][0]["citation"]["title"].startswith(
        "</script><script>alert(1)"
    )
    assert "<title>&lt;/script&gt;" in document


def test_a_report_is_the_same_every_time() -> None:
    evidence = pieces(10)

    assert report(evidence, vectors=vectors(evidence)) == report(evidence, vectors=vectors(evidence))


def test_a_report_carries_each_piece_for_reference_managers() -> None:
    evidence = pieces(3)
    exports = data_of(report(evidence))["exports"]

    assert set(exports) == {"ris", "bibtex"}
    assert list(exports["ris"]) == [one.id for one in evidence]


def test_the_map_places_what_has_a_vector_in_the_order_given() -> None:
    evidence = pieces(4)
    places = vectors(evidence)
    del places[evidence[1].id]
    meta = wire(board_meta(SESSION, [*evidence, evidence[0]], places, total=9))[META_KEY]
    spots = meta["map"]

    assert [spot["id"] for spot in spots] == [evidence[0].id, evidence[2].id, evidence[3].id]
    assert set(spots[0]) == {"id", "title", "source", "date", "status", "x", "y"}
    assert (meta["session_id"], meta["total"]) == (SESSION, 9)


def test_the_map_of_a_large_session_stays_small() -> None:
    evidence = pieces(MOST_POINTS + 50)
    meta = wire(board_meta(SESSION, evidence, vectors(evidence)))[META_KEY]

    assert len(meta["map"]) == MOST_POINTS
    assert len(json.dumps(meta)) < 80_000
