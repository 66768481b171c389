"""The one cache on disk: bytes by key in SQLite files that several processes may share."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import sqlite3
import threading
import time
import weakref
import zlib
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
logger = logging.getLogger(__name__)

BUSY_TIMEOUT = 1.0
"""Seconds to wait for another process that is writing."""

_KEYS_PER_STATEMENT = 500
SEAL = 4  # bytes
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}
"""Result codes of a file that is broken, is no database, or has other tables than ours."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (number INTEGER PRIMARY KEY AUTOINCREMENT,
  key BLOB NOT NULL UNIQUE, stored REAL NOT NULL, label BLOB NOT NULL, value BLOB NOT NULL)
"""
# Labels are no longer used.
_INSERT = "INSERT OR REPLACE INTO entries (key, stored, label, value) VALUES (?, ?, x'', ?)"
# Rows are in the order of their time, so that only the expired ones have to be read.
_DROP_EXPIRED = """
DELETE FROM entries WHERE number < (SELECT number FROM entries WHERE stored > ? ORDER BY number LIMIT 1)
"""
_ANY = "SELECT 1 FROM entries LIMIT 1"
_DROP_OLDEST = """
WITH ends(first, last) AS (SELECT (SELECT min(number) FROM entries), (SELECT max(number) FROM entries))
DELETE FROM entries WHERE number <= (SELECT first + (last - first) / 1000 FROM ends)
"""


def cache_key(*parts: str) -> bytes:
    """The key for everything a cached value depends on: a hash of 20 bytes."""
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=20).digest()


def _sealed(key: bytes, value: bytes) -> bytes:
    """The value after its checksum, by which it is known again in a damaged file."""
    return zlib.crc32(value, zlib.crc32(key)).to_bytes(SEAL) + value


@dataclass(eq=False)
class Cache:
    """Values by key.

    Every method blocks for a short time, may be called from any thread, and never raises. A damaged file is replaced.
    A file that cannot be read or written, or is locked for too long, counts as "not cached"; the first such failure is
    logged as a warning. Files are readable by their owner only, as are the folders created for them.

    Attributes:
        path: the file; created by the first `put`.
        ttl: seconds that a value is kept; one from before the clock was set back is not used.
        max_bytes: size of the file's used pages; the oldest values are dropped beyond it.
        timeout: seconds to wait for another process that is writing; after a wait that failed, none until it is free.
        now: seconds since the epoch.
    """

    path: Path
    _: KW_ONLY
    max_bytes: int
    ttl: float = math.inf
    timeout: float = BUSY_TIMEOUT
    now: Callable[[], float] = time.time
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _connection: sqlite3.Connection | None = field(default=None, init=False)
    _closing: weakref.finalize[..., Cache] | None = field(default=None, init=False)
    _reported: bool = field(default=False, init=False)
    _is_locked: bool = field(default=False, init=False)

    def get(self, keys: Collection[bytes]) -> dict[bytes, bytes]:
        """The values of those `keys` that are cached."""
        wanted = list(keys)
        query = "SELECT key, CAST(value AS BLOB) FROM entries WHERE stored > ? AND stored <= ? AND key IN (%s)"

        def select(connection: sqlite3.Connection) -> dict[bytes, bytes]:
            found: dict[bytes, bytes | None] = {}
            for start in range(0, len(wanted), _KEYS_PER_STATEMENT):
                part = wanted[start : start + _KEYS_PER_STATEMENT]
                marks = ",".join("?" * len(part))
                found.update(connection.execute(query % marks, (self._oldest(), self.now(), *part)))
            sealed = {key: value for key in wanted if (value := found.get(key))}
            return {key: value[SEAL:] for key, value in sealed.items() if value == _sealed(key, value[SEAL:])}

        return self._attempt(select, otherwise=dict[bytes, bytes]())

    def put(self, values: Mapping[bytes, bytes]) -> None:
        """Cache `values` in place of earlier ones under the same keys."""

        def insert(connection: sqlite3.Connection) -> None:
            rows = [(key, self.now(), _sealed(key, value)) for key, value in values.items()]
            with connection:
                connection.executemany(_INSERT, rows)
                connection.execute(_DROP_EXPIRED, (self._oldest(),))
                while _used_bytes(connection) > self.max_bytes and connection.execute(_ANY).fetchone():
                    connection.execute(_DROP_OLDEST)

        if values:
            self._attempt(insert, otherwise=None, create=True)

    def clear(self) -> int | None:
        """Delete everything, so that it cannot be read from the file either; returns the number of values deleted, None
        if that was not possible."""

        def delete(connection: sqlite3.Connection) -> int:
            connection.execute("PRAGMA secure_delete=ON")
            with connection:
                count = connection.execute("DELETE FROM entries").rowcount
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return count

        return self._attempt(delete, otherwise=None) if self.path.is_file() else 0

    def close(self) -> None:
        """Close the file. A later use opens it again."""
        with self._lock:
            self._disconnect()

    def _oldest(self) -> float:
        return self.now() - self.ttl

    def _attempt(self, work: Callable[[sqlite3.Connection], T], *, otherwise: T, create: bool = False) -> T:
        """What `work` returns, given the open connection; `otherwise` if there is no file or it cannot be used."""
        with self._lock:
            try:
                if not self.path.exists():
                    self._disconnect()  # the file may have been deleted while it was open
                    if not create:
                        return otherwise
                found = work(self._connect())
                if self._is_locked:
                    self._disconnect()  # the next connection waits again
                    self._is_locked = False
                return found
            except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
                self._disconnect()
                code = getattr(error, "sqlite_errorcode", 0) & 0xFF
                self._is_locked = code == sqlite3.SQLITE_BUSY
                if code in _DAMAGED or isinstance(error, UnicodeDecodeError):  # of a message about a damaged file
                    with suppress(OSError):
                        for suffix in ("-wal", "-shm", ""):
                            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
                reason = error.strerror if isinstance(error, OSError) else error
                level = logging.DEBUG if self._reported else logging.WARNING
                logger.log(level, "cache %s cannot be used now: %s", self.path.name, reason)
                self._reported = True
                return otherwise

    def _connect(self) -> sqlite3.Connection:
        if self._connection is None:
            make_private_folder(self.path.parent)
            self.path.touch(mode=0o600)
            self.path.chmod(0o600)  # version 0.1 left that to the umask
            timeout = 0 if self._is_locked else self.timeout
            connection = sqlite3.connect(self.path, timeout=timeout, check_same_thread=False)
            self._connection = connection
            self._closing = weakref.finalize(self, connection.close)
            with suppress(sqlite3.OperationalError):  # no WAL here, or another process is switching to it right now
                connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute(_SCHEMA)
        return self._connection

    def _disconnect(self) -> None:
        if self._closing is not None:
            with suppress(sqlite3.Error):
                self._closing()
        self._connection = self._closing = None


def _used_bytes(connection: sqlite3.Connection) -> int:
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size


def make_private_folder(folder: Path) -> None:
    """Create `folder` and the folders above it that do not exist, readable by their owner only."""
    for missing in reversed([one for one in (folder, *folder.parents) if not one.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)
