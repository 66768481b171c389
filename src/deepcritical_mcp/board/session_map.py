"""The board of a session: what the store knows, in the form that the page draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from anyio.to_thread import run_sync

from deepcritical_mcp.board import MOST_POINTS, Vectors, board_meta
from deepcritical_mcp.errors import EmbeddingError, EvidenceStoreError, SessionError
from deepcritical_mcp.evidence.chunking import passages
from deepcritical_mcp.evidence.store import Embedder, EvidenceStore
from deepcritical_mcp.models import Evidence


async def session_meta(store: EvidenceStore, shown: Sequence[Evidence]) -> Mapping[str, object]:
    """The `_meta` of a tool result that shows `shown`: the map of these and of the session's latest other pieces.

    The map is an extra: where the session cannot be read, the result goes without one ({}).
    """
    try:
        total = await store.count()
        latest = await store.page(max(0, total - MOST_POINTS), MOST_POINTS)
        pieces = [*shown, *reversed(latest)]
        vectors = await store.vectors([piece.id for piece in pieces])
    except (EvidenceStoreError, SessionError):
        return {}
    return await run_sync(partial(board_meta, store.session_id, pieces, vectors, total=total))


async def embedded(evidence: Sequence[Evidence], embedder: Embedder) -> Vectors:
    """A vector for each piece by its id, for evidence of no session; {} when the model cannot be loaded."""
    try:
        rows = await embedder.vectors([passages(piece)[0] for piece in evidence])
    except EmbeddingError:
        return {}
    return {piece.id: [float(number) for number in row] for piece, row in zip(evidence, rows, strict=True)}
