"""Sessions as version 0.2 kept them: `sessions/<session_id>` is a folder with a Chroma in `chroma`, and the files
`used` (with the owner), `session.json` and `lock`. They are read once, without Chroma: a damaged folder can crash it.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Generator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

from filelock import FileLock, Timeout

from deepcritical_mcp.errors import EvidenceStoreError, SessionBusyError
from deepcritical_mcp.evidence.storage.session_file import DamagedFileError, failures
from deepcritical_mcp.evidence.storage.stored_items import KeptItem, KeptSession, restored, sharing
from deepcritical_mcp.text import clean_line, clipped

FORMAT = 2
"""What the metadata of its collections has as `format`; version 0.1 had none."""
_DOCUMENT = "document\n"
_LATEST = 4_102_444_800.0
"""Unix seconds, in the year 2100: later times are wrong."""
_DELETED = 3
"""A deletion, in Chroma's log."""

_COLLECTIONS = """
SELECT segments.id, 'persistent://default/default/' || collections.id FROM collections
JOIN segments ON segments.collection = collections.id WHERE scope = 'METADATA'
"""
_FORMATS = "SELECT int_value FROM collection_metadata WHERE key = 'format'"
_METADATA = """
SELECT embedding_id, key, coalesce(string_value, int_value, float_value) FROM embedding_metadata
JOIN embeddings USING (id) WHERE segment_id = ?
"""
_LOGGED = """
SELECT id, operation, metadata FROM embeddings_queue
WHERE topic = ? AND seq_id > coalesce((SELECT max(seq_id) FROM max_seq_id WHERE segment_id = ?), 0) ORDER BY seq_id
"""


def is_old_session(folder: Path) -> bool:
    """Whether version 0.2 or 0.1 has kept a session there."""
    return folder.is_dir() and not folder.is_symlink() and (folder / "chroma" / "chroma.sqlite3").is_file()


def old_info(folder: Path) -> KeptSession:
    """The session's metadata, as far as it is known without opening its database: not the time of its last use."""
    row: dict[str, Any] = {}
    with contextlib.suppress(OSError, ValueError, RecursionError):
        read: object = json.loads(_beginning(folder / "session.json", 65_536))
        row = cast("dict[str, Any]", read) if isinstance(read, dict) else {}
    title, created = row.get("title"), row.get("created")
    counts = [value if isinstance(value := row.get(name), int) and value >= 0 else -1 for name in ("items", "searches")]
    owner = _beginning(folder / "used", 256).decode("utf-8", "replace").strip()  # "" if a backup has dropped the file
    return KeptSession(
        owner=owner,
        created=float(created) if isinstance(created, int | float) and 0 <= created <= _LATEST else 0.0,
        title=clipped(clean_line(title), 120) if isinstance(title, str) else "",
        items=counts[0],
        searches=counts[1],
    )


@contextlib.contextmanager
def old_session(folder: Path) -> Generator[tuple[Sequence[KeptItem], Mapping[str, str]]]:
    """The items of a session of version 0.2, without their vectors, and its documents by name. No server of that
    version opens it meanwhile. Its folder stays as it is.

    Raises:
        SessionBusyError: a server of version 0.2 has it open.
        EvidenceStoreError: it is damaged, or version 0.1 has kept it.
    """
    lock = FileLock(folder / "lock", mode=0o600, thread_local=False)
    try:
        with failures("open the session"):
            if (folder / "lock").exists():  # without it, no server has it open, and none is left there
                lock.acquire(timeout=0.1, poll_interval=0.01)
    except Timeout:
        raise SessionBusyError(
            "This session is open in another window, with an earlier version of deepcritical-mcp. Close that one first."
        ) from None
    try:
        with failures("open the session"):
            old = _read(folder)
        yield old
    except (DamagedFileError, ValueError, TypeError, KeyError) as error:
        raise EvidenceStoreError(
            "This session, which version 0.2 of deepcritical-mcp has kept, is damaged: nothing of it can be read. Its "
            'folder stays as it is. Pass session_id="new" to continue in a fresh session.'
        ) from error
    finally:
        lock.release()


def _read(folder: Path) -> tuple[Sequence[KeptItem], Mapping[str, str]]:
    database = folder / "chroma" / "chroma.sqlite3"
    with contextlib.closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=rw", uri=True)) as connection:
        connection.execute("PRAGMA query_only = ON")
        if [*connection.execute("PRAGMA integrity_check(1)")] != [("ok",)]:
            raise DamagedFileError()
        formats = {version for (version,) in connection.execute(_FORMATS)}
        rows: dict[str, dict[str, Any]] = {}
        for segment, topic in connection.execute(_COLLECTIONS).fetchall():
            rows |= _records(connection, segment, topic)
    if formats != {FORMAT} or any(row.get("evidence") for row in rows.values()):
        raise EvidenceStoreError(
            "Version 0.1 of deepcritical-mcp kept this session. This version cannot read it, and leaves it as it is."
        )
    items = [item_of(row) for row in rows.values() if "publication" in row]
    documents = {id.removeprefix(_DOCUMENT): str(row["document"]) for id, row in rows.items() if "document" in row}
    return items, documents


def _records(connection: sqlite3.Connection, segment: str, topic: str) -> dict[str, dict[str, Any]]:
    """The metadata of a collection's records by id, with what the log has beyond it."""
    rows: dict[str, dict[str, Any]] = {}
    for id, key, value in connection.execute(_METADATA, (segment,)):
        rows.setdefault(id, {})[key] = value
    for id, operation, metadata in connection.execute(_LOGGED, (topic, segment)):
        if operation == _DELETED:
            rows.pop(id, None)
        else:
            rows[id] = rows.get(id, {}) | json.loads(metadata or "{}")
    return rows


def item_of(row: Mapping[str, Any]) -> KeptItem:
    """An item from the metadata of its first record, without its vectors. Raises ValueError."""
    publication = restored(row["publication"])
    return KeptItem(
        publication=publication,
        order=int(row["order"]),
        similar=tuple(filter(None, str(row.get("similar", "")).split("\n"))),
        given=tuple(map(partial(sharing, publication), map(restored, json.loads(row.get("given", "[]"))))),
    )


def _beginning(path: Path, size: int) -> bytes:
    """The beginning of a file; b"" if it is not a file, e.g. a pipe, or in another place, or cannot be read."""
    with contextlib.suppress(OSError):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                return file.read(size)
    return b""
