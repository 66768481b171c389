"""The evidence board: one self-contained page, shown by MCP hosts (MCP Apps) or written as a report.

The page loads nothing from anywhere, builds itself from text nodes only, and its Content-Security-Policy lets no other
script run. Its parts lie beside this module: board.html, board.css and js/, in the order of `SCRIPTS`.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

from deepcritical_mcp._version import __version__
from deepcritical_mcp.export import export_entries
from deepcritical_mcp.models import Evidence
from deepcritical_mcp.text import clean_line

META_KEY = "deepcritical/board"
MOST_POINTS = 300
SCRIPTS = ("dom", "evidence", "host", "board", "cards", "map", "timeline", "files", "main")

Vectors = Mapping[str, Sequence[float]]


@cache
def page() -> str:
    """The page for the resource `ui://deepcritical/board.html`; it draws the tool result that its host hands it."""
    return _assemble("Evidence board", None)


def board_meta(
    session_id: str, evidence: Sequence[Evidence], vectors: Vectors, *, total: int = 0
) -> dict[str, dict[str, object]]:
    """What a tool result carries in `_meta` for the board: the session's map.

    Args:
        evidence: what the map shows, of which the first `MOST_POINTS` with a vector are placed: put the result's own
            pieces first, then others of the session.
        vectors: by evidence id, all of one length.
        total: how much evidence the session holds.
    """
    from deepcritical_mcp.board.projection import project

    placed = list({piece.id: piece for piece in evidence if piece.id in vectors}.values())[:MOST_POINTS]
    points = project([vectors[piece.id] for piece in placed])
    spots = [{**_summary(piece), "x": point.x, "y": point.y} for piece, point in zip(placed, points, strict=True)]
    return {META_KEY: {"session_id": session_id, "total": total, "map": spots}}


def report(
    evidence: Sequence[Evidence],
    *,
    title: str = "Evidence report",
    session_id: str = "",
    created: str = "",
    vectors: Vectors | None = None,
    warnings: Sequence[str] = (),
) -> str:
    """The same page as a document of its own that holds `evidence`, to be opened in any browser, offline.

    Args:
        created: when and how it was made, for the foot of the page.
        vectors: by evidence id; without them the report has no map.
        warnings: shown on top.
    """
    result = {
        "structuredContent": {
            "session_id": session_id,
            "evidence": [piece.model_dump(mode="json", exclude={"keywords", "author_parts"}) for piece in evidence],
            "warnings": list(warnings),
        },
        "_meta": board_meta(session_id, evidence, vectors or {}),
    }
    exports = {"ris": export_entries(evidence, "ris"), "bibtex": export_entries(evidence, "bibtex")}
    title = clean_line(title)
    return _assemble(title, {"title": title, "created": clean_line(created), "result": result, "exports": exports})


def _summary(piece: Evidence) -> dict[str, object]:
    citation = piece.citation
    return {
        "id": piece.id,
        "title": citation.title,
        "source": citation.source,
        "date": citation.date,
        "status": citation.status,
    }


def _assemble(title: str, data: object) -> str:
    style, script = _style(), _script()
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {"CSP": policy, "TITLE": html.escape(title), "STYLE": style, "SCRIPT": script, "DATA": _embedded(data)}
    # In one pass, so that nothing in a title or in the data is taken for a place to fill.
    return re.sub(r"@([A-Z]+)@", lambda place: parts[place[1]], _source("board.html"))


def _embedded(data: object) -> str:
    """JSON that cannot end the element it stands in."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


@cache
def _style() -> str:
    return _source("board.css")


@cache
def _script() -> str:
    parts = "\n".join(_source(f"js/{name}.js") for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'.replace("@VERSION@", __version__)


def _source(name: str) -> str:
    return files(__name__).joinpath(name).read_text("utf-8")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
