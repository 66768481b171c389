"""`deepcritical-mcp report`: the evidence board as a page of its own."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import anyio

from deepcritical_mcp.board import Vectors, report
from deepcritical_mcp.board.session_map import embedded
from deepcritical_mcp.config import Settings, load_settings
from deepcritical_mcp.context import AppContext
from deepcritical_mcp.errors import InvalidInputError, SessionNotFoundError
from deepcritical_mcp.export import read_jsonl
from deepcritical_mcp.models import Evidence

SESSION_PREFIX = "rs_"


def write_report(source: str, output: Path, *, title: str) -> int:
    """Write the evidence of a kept session or of a JSON Lines export ("-" = stdin) to `output`; gives how much it was.

    Raises:
        InvalidInputError: `source` is neither, or holds no evidence.
        EvidenceStoreError, SessionBusyError: the session cannot be read.
        OSError: a file cannot be read or written.
    """
    evidence, vectors, session_id = anyio.run(_read, source, load_settings())
    if not evidence:
        raise InvalidInputError("There is no evidence in it, so there is nothing to report.")
    created = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    page = report(evidence, title=title, session_id=session_id, created=created, vectors=vectors)
    output.write_text(page, encoding="utf-8")
    return len(evidence)


async def _read(source: str, settings: Settings) -> tuple[Sequence[Evidence], Vectors, str]:
    app = AppContext(settings)
    try:
        services = await app.services()
        if source.startswith(SESSION_PREFIX) and not await anyio.Path(source).exists():
            if settings.data_dir is None and not settings.chroma_url:
                raise InvalidInputError(
                    "Sessions are kept in memory unless DEEPCRITICAL_DATA_DIR or DEEPCRITICAL_CHROMA_URL is set, so "
                    "another process cannot read one. Export it with export_evidence (jsonl) and give that file."
                )
            try:
                store = await services.sessions.get(source)
            except SessionNotFoundError:
                raise InvalidInputError(f"There is no session {source} where sessions are kept.") from None
            evidence = await store.page(0, await store.count())
            return evidence, await store.vectors([piece.id for piece in evidence]), source
        text = sys.stdin.read() if source == "-" else await anyio.Path(source).read_text(encoding="utf-8")
        evidence = read_jsonl(text)
        return evidence, await embedded(evidence, services.embedder), ""
    finally:
        await app.aclose()
