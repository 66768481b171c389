"""What the page is made of, without a browser."""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any, get_args

import pytest

from deepcritical_mcp.board import META_KEY, board_meta, board_page, board_report, flow_chart
from deepcritical_mcp.export.flow_numbers import FlowNumbers
from deepcritical_mcp.models import (
    NOTICE_LABELS,
    SOURCE_LABELS,
    STATUSES,
    CitationSource,
    Evidence,
    LoggedQuery,
    LoggedSearch,
    Publication,
)
from tests.board.samples import SESSION, pieces, places, publication, publications

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


@pytest.mark.parametrize("document", [board_page(), board_report(publications(3))], ids=["page", "report"])
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
    document = board_page()
    assert not re.search(r"<(?:link|img|iframe|object|embed|base)\b|\ssrc=|@import|url\(|href=\"(?!#)", document)
    forbidden = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|fetch\(|XMLHttpRequest|import\("
    )
    assert not re.search(forbidden, script_of(document))
    assert not re.search(r"@[A-Z]+@", document)
    assert len(document) < 110_000


def labels_of(name: str) -> dict[str, str]:
    """What the script has under a name: JSON in a string, which may contain any character."""
    literal = part(script_of(board_page()), rf'const {name} = .*?JSON\.parse\(("(?:[^"\\]|\\.)*")\)')
    return json.loads(json.loads(literal))


def test_the_page_labels_every_notice_status_and_source_as_results_do() -> None:
    statuses, sources = labels_of("STATUSES"), labels_of("SOURCES")
    assert labels_of("NOTICES") == NOTICE_LABELS
    assert statuses == {status: label or "No notice" for status, label in STATUSES.items()}
    assert next(iter(statuses)) == "retracted"
    assert sources == SOURCE_LABELS
    assert list(sources) == list(get_args(CitationSource))


def test_hostile_evidence_cannot_leave_the_data_it_stands_in() -> None:
    document = board_report(
        [publication(0, title=HOSTILE, content=HOSTILE, authors=(HOSTILE,))], title=HOSTILE, created=HOSTILE
    )
    data = data_of(document)
    assert document.count("<script") == 2
    assert script_of(document) == script_of(board_page())
    assert data["result"]["structuredContent"]["evidence"][0]["citation"]["title"].startswith(
        "</script><script>alert(1)"
    )
    assert "<title>&lt;/script&gt;" in document


def test_a_report_of_a_session_shows_its_links_and_notes() -> None:
    kept = publications(2)
    shown = [Evidence.of(kept[0], similar=[kept[1].id], notes=["I doubt it."]), Evidence.of(kept[1])]
    evidence = data_of(board_report(kept, evidence=shown))["result"]["structuredContent"]["evidence"]
    assert [(one["id"], one["similar"], one["notes"]) for one in evidence] == [
        (kept[0].id, [kept[1].id], ["I doubt it."]),
        (kept[1].id, [], []),
    ]


def test_the_map_places_what_has_a_vector_in_the_order_given() -> None:
    evidence = pieces(4)
    spots_of = places(evidence)
    del spots_of[evidence[1].id]
    meta = wire(board_meta(SESSION, [*evidence, evidence[0]], spots_of, total=9))[META_KEY]
    spots = meta["map"]
    assert [spot["id"] for spot in spots] == [evidence[0].id, evidence[2].id, evidence[3].id]
    assert set(spots[0]) == {"id", "title", "source", "date", "status", "status_checked", "x", "y"}
    assert (meta["session_id"], meta["total"]) == (SESSION, 9)


QUERY = LoggedQuery(query="ageing", sent="ageing[tiab]", results=120)


def marked(*screenings: str, reasons: Sequence[str] = ()) -> list[Publication]:
    """One publication from PubMed for each decision, with its reason."""
    from_pubmed = [one for one in publications(4 * len(screenings)) if one.source == "pubmed"]
    given = [*reasons, *[""] * len(screenings)]
    return [
        one.model_copy(update={"screening": screening, "screening_reason": reason})
        for one, screening, reason in zip(from_pubmed, screenings, given, strict=False)
    ]


def logged(evidence: Sequence[Publication], **changes: object) -> LoggedSearch:
    fields = {"at": "2026-11-23T04:45:10Z", "tool": "pubmed_search", "source": "pubmed", "title": "PubMed"}
    ids = tuple(one.id for one in evidence)
    return LoggedSearch.model_validate({**fields, "queries": (QUERY,), "ids": ids, "new": len(ids), **changes})


def test_records_flow_from_their_sources_to_those_included() -> None:
    evidence = marked("included", "cited", "excluded", "excluded", "", reasons=("", "", "no controls", "in mice"))
    chart = flow_chart(FlowNumbers([logged(evidence, duplicates=2)], evidence))
    assert [list(step["lines"]) for step in chart["steps"]] == [
        ["Records identified (n = 7)", "From databases and registers:", "– PubMed: 7"],
        ["Records in the session (n = 5)"],
        ["Records decided on (n = 4)"],
        ["Records included (n = 1)", "Records marked as cited (n = 1)", "– retracted of these: 1"],
    ]
    assert [list(step["aside"]) for step in chart["steps"]] == [
        ["Removed before screening (n = 2)", "– Duplicates: 2"],
        ["Not decided on (n = 1)"],
        ["Excluded without a full text (n = 2)", "– no controls: 1", "– in mice: 1"],
        [],
    ]


def test_without_decisions_the_diagram_ends_and_says_why() -> None:
    evidence = marked("", "")
    chart = flow_chart(FlowNumbers([logged(evidence)], evidence))
    assert [step["phase"] for step in chart["steps"]] == ["Identification", "Screening"]
    assert "Nothing has been included or excluded yet, so the diagram ends here." in chart["notes"]
