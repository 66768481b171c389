"""The command `report`: writes the evidence board as a standalone page."""

from __future__ import annotations

import sys
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import anyio

from deepcritical_mcp.board import MAX_POINTS, Places, board_report
from deepcritical_mcp.cli.session_commands import kept_services, opened_session
from deepcritical_mcp.config import Settings, load_settings
from deepcritical_mcp.context import AppContext
from deepcritical_mcp.errors import EmbeddingError, InvalidInputError
from deepcritical_mcp.evidence.chunking import passages
from deepcritical_mcp.evidence.embedding.projection import project
from deepcritical_mcp.evidence.kept_sessions import search_log
from deepcritical_mcp.export import read_jsonl
from deepcritical_mcp.models import Evidence, LoggedSearch, Publication

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.passage_embedder import Embedder


def write_report(source: str, output: Path, *, title: str) -> tuple[int, Sequence[str]]:
    """Write the evidence of a saved session or JSON Lines export ("-" = stdin) to `output`, under `title` or, if that
    is empty, the session's; returns how many items, and remarks on their status, which is checked again before.

    InvalidInputError if `source` is neither, has no evidence or is open elsewhere; EvidenceStoreError if the
    session cannot be read.
    """
    contents = anyio.run(_read, source, load_settings())
    publications = contents.publications
    if not publications:
        raise InvalidInputError("The input contains no evidence, so there is nothing to report.")
    created = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    page = board_report(
        publications,
        contents.evidence,
        contents.places,
        title=title or contents.title or "Evidence report",
        session_id=contents.session_id,
        created=created,
        log=contents.log,
        remarks=contents.remarks,
    )
    output.write_text(page, encoding="utf-8")
    return len(publications), contents.remarks


class _Contents(NamedTuple):
    """What a report shows, and remarks on it. An exported file has no log: None."""

    publications: Sequence[Publication]
    evidence: Sequence[Evidence]
    places: Places
    session_id: str
    remarks: Sequence[str]
    title: str = ""
    log: Sequence[LoggedSearch] | None = None


async def _read(source: str, settings: Settings) -> _Contents:
    if source != "-" and not source.endswith(".jsonl") and not await anyio.Path(source).exists():
        async with kept_services() as services:
            store = await opened_session(services.sessions, source)
            ids = await store.ids()
            remarks = (await services.witness.refresh(store, ids)).remarks
            kept, shown = await store.publications(ids), await store.get(ids)
            places = await store.places(ids, limit=MAX_POINTS)
            log, shown_items = await search_log(store), list(shown.values())
            return _Contents(list(kept.values()), shown_items, places, store.session_id, remarks, store.title, log)
    app = AppContext(settings)
    try:
        services = await app.services()
        data = sys.stdin.buffer.read() if source == "-" else await anyio.Path(source).read_bytes()
        asked = await services.witness.rechecked(read_jsonl(_decoded(data)))
        places = await places_of(asked.publications, services.embedder)
        return _Contents(asked.publications, (), places, "", asked.remarks)
    finally:
        await app.aclose()


def _decoded(data: bytes) -> str:
    """The text of a file in UTF-8, or in UTF-16, as Windows PowerShell writes what is redirected to a file."""
    try:
        return data.decode("utf-16" if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8")
    except UnicodeDecodeError:
        raise InvalidInputError("The input is not UTF-8 text. Export the session again as jsonl.") from None


async def places_of(publications: Sequence[Publication], embedder: Embedder) -> Places:
    """A map of the first publications that the board has room for; {} if the model cannot be loaded."""
    shown = list({one.id: one for one in publications}.values())[:MAX_POINTS]
    try:
        vectors = await embedder.vectors([passages(one)[0].content for one in shown])
    except EmbeddingError:
        return {}
    return {one.id: point for one, point in zip(shown, project(vectors.tolist()), strict=True)}
