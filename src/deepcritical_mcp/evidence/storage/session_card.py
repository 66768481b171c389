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
from deepcritical_mcp.text import clean_line, clipped

CARD = "session.json"
MAX_CARD = 65_536  # bytes; ours have some 200
MAX_LENGTH = 120  # characters of a title, as in `kept_sessions`
MAX_COUNT = 10**9
LATEST = 4_102_444_800.0
"""Unix seconds, in the year 2100: later times are mistaken."""


def card_of(folder: Path, info: SessionInfo) -> SessionInfo:
    """`info` with what the session's card says; unchanged if it has none that can be read, as of earlier versions."""
    card = folder / CARD
    try:
        if card.is_symlink() or not card.is_file() or card.stat().st_size > MAX_CARD:
            return info
        read: object = json.loads(card.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return info
    row = cast("dict[str, Any]", read) if isinstance(read, dict) else {}
    title, created = row.get("title"), row.get("created")
    return replace(
        info,
        title=clipped(clean_line(title), MAX_LENGTH) if isinstance(title, str) else "",
        created=_time(created),
        items=_count(row.get("items")),
        searches=_count(row.get("searches")),
    )


def write_card(folder: Path, info: SessionInfo) -> None:
    """Write the session's card, whole or not at all.

    Raises:
        OSError: it cannot be written; the earlier one stays.
    """
    row = {name: getattr(info, name) for name in ("title", "created", "items", "searches")}
    write_private(folder / CARD, json.dumps(row, ensure_ascii=False))


def write_private(path: Path, text: str) -> None:
    """Write a small file that only its owner can read, whole or not at all.

    Raises:
        OSError: it cannot be written; the earlier one stays.
    """
    new = path.with_name(f"{path.name}-{secrets.token_hex(4)}")
    try:
        new.touch(0o600)
        new.write_text(text, "utf-8")
        os.replace(new, path)
    except OSError:
        with contextlib.suppress(OSError):
            new.unlink()
        raise


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_COUNT else -1


def _time(value: object) -> float:
    return float(value) if isinstance(value, int | float) and 0 <= value <= LATEST else 0.0
