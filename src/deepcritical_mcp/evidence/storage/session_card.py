"""`session.json` in a session's folder: what a list of sessions shows, so that listing them opens no database."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from deepcritical_mcp.evidence.storage.rows import SessionInfo
from deepcritical_mcp.text import clean_line

CARD = "session.json"
MAX_CARD = 65_536  # bytes; ours have some 200


def card_of(folder: Path, info: SessionInfo) -> SessionInfo:
    """`info` with what the session's card says; unchanged if it has none that can be read, as of earlier versions."""
    card = folder / CARD
    try:
        if not card.is_file() or card.stat().st_size > MAX_CARD:
            return info
        read: object = json.loads(card.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return info
    row = cast("dict[str, Any]", read) if isinstance(read, dict) else {}
    title, created = row.get("title"), row.get("created")
    return replace(
        info,
        title=clean_line(title) if isinstance(title, str) else "",
        created=float(created) if isinstance(created, int | float) else 0.0,
        items=_count(row.get("items")),
        searches=_count(row.get("searches")),
    )


def write_card(folder: Path, info: SessionInfo) -> None:
    """Write the session's card, whole or not at all.

    Raises:
        OSError: it cannot be written; the earlier one stays.
    """
    row = {name: getattr(info, name) for name in ("title", "created", "items", "searches")}
    new = folder / f"{CARD}-{secrets.token_hex(4)}"
    try:
        new.write_text(json.dumps(row, ensure_ascii=False), "utf-8")
        os.replace(new, folder / CARD)
    except OSError:
        with contextlib.suppress(OSError):
            new.unlink()
        raise


def _count(value: object) -> int:
    return value if isinstance(value, int) and value >= 0 else -1
