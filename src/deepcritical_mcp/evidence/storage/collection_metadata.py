"""What the metadata of a session's Chroma collections says about the session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deepcritical_mcp.evidence.storage.rows import SessionInfo

if TYPE_CHECKING:
    from chromadb import Collection

FORMAT = 2
"""Written next to each session; version 0.1 wrote none."""


def session_info(metadata: Mapping[str, Any] | None) -> SessionInfo:
    """What a collection's metadata says about its session."""
    row = metadata or {}
    return SessionInfo(
        owner=str(row.get("owner", "")),
        model=str(row.get("model", "")),
        used=float(row.get("used", 0.0)),
        created=float(row.get("created", 0.0)),
        title=str(row.get("title", "")),
        items=int(row.get("items", -1)),
        searches=int(row.get("searches", -1)),
    )


def collection_metadata(info: SessionInfo) -> dict[str, Any]:
    """The metadata from which `session_info` reads the same, except for the title."""
    written = {name: getattr(info, name) for name in ("owner", "model", "used", "created", "items", "searches")}
    return {**written, "format": FORMAT}


def collection_title(words: Collection | None) -> str:
    """The session's title, which only the metadata of its second collection has."""
    return session_info(words.metadata).title if words is not None else ""
