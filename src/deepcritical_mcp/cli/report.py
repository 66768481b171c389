"""The command `report`: writes the evidence board as a standalone page."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from deepcritical_mcp.board import MAX_POINTS, Places, board_report
from deepcritical_mcp.cli.session_commands import kept_services, opened_session
from deepcritical_mcp.config import load_settings
from deepcritical_mcp.context import AppContext
from deepcritical_mcp.errors import EmbeddingError, InvalidInputError
from deepcritical_mcp.evidence.chunking import passages
from deepcritical_mcp.evidence.embedding.projection import project
from deepcritical_mcp.evidence.kept_sessions import search_log
from deepcritical_mcp.export import read_jsonl
from deepcritical_mcp.models import Publication
from deepcritical_mcp.reading import UTF_16

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.passage_embedder import Embedder


def write_report(source: str, output: Path, *, title: str) -> tuple[int, Sequence[str]]:
    """Write the evidence of a saved session or JSON Lines export ("-" = stdin) to `output`, under `title` or, if that
    is empty, the session's; returns how many items, and remarks on their status, which is checked again before.

    InvalidInputError if `source` is neither, has no evidence or is open elsewhere; EvidenceStoreError if the
    session cannot be read.
    """
    count, remarks, written = anyio.run(_read, source)
    if not count:
        raise InvalidInputError("The input contains no evidence, so there is nothing to report.")
    created = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    page = written(created=created, title=title) if title else written(created=created)
    output.write_text(page, encoding="utf-8")
    return count, remarks


async def _read(source: str) -> tuple[int, Sequence[str], Callable[..., str]]:
    """How many publications there are, remarks on their status, and `board_report` for them."""
    if source != "-" and not source.endswith(".jsonl") and not await anyio.Path(source).exists():
        async with kept_services() as services:
            store = await opened_session(services.sessions, source)
            ids = await store.ids()
            remarks = (await services.witness.refresh(store, ids)).remarks
            kept, shown = await store.publications(ids), await store.get(ids)
            places, log = await store.places(ids, limit=MAX_POINTS), await search_log(store)
            report = partial(board_report, [*kept.values()], [*shown.values()], places, log=log, remarks=remarks)
            title = store.title or "Evidence report"
            return len(kept), remarks, partial(report, session_id=store.session_id, title=title)
    app = AppContext(load_settings())
    try:
        services = await app.services()
        data = sys.stdin.buffer.read() if source == "-" else await anyio.Path(source).read_bytes()
        try:  # Windows PowerShell writes UTF-16 when output is redirected
            text = data.decode("utf-16" if data.startswith(UTF_16) else "utf-8")
        except UnicodeDecodeError:
            raise InvalidInputError("The input is not UTF-8 text. Export the session again as jsonl.") from None
        asked = await services.witness.rechecked(read_jsonl(text))
        places = await places_of(asked.publications, services.embedder)
        report = partial(board_report, asked.publications, (), places, remarks=asked.remarks)
        return len(asked.publications), asked.remarks, report
    finally:
        await app.aclose()


async def places_of(publications: Sequence[Publication], embedder: Embedder) -> Places:
    """A map of the first publications that the board has room for; {} if the model cannot be loaded."""
    shown = list({one.id: one for one in publications}.values())[:MAX_POINTS]
    try:
        vectors = await embedder.vectors([passages(one)[0].content for one in shown])
    except EmbeddingError:
        return {}
    return {one.id: point for one, point in zip(shown, project(vectors.tolist()), strict=True)}
