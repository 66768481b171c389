"""Vectors found before: the latest in memory, more of them in a file when sessions are kept on disk."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping
from pathlib import Path

from deepcritical_mcp.evidence.embedding.model_source import Kind

logger = logging.getLogger(__name__)

MEMORY_LIMIT = 32 * 1024 * 1024  # bytes: about 20,000 vectors of the shipped model
FILE_LIMIT = 100_000  # vectors: about 180 MB of the shipped model's
PATIENCE = 0.25  # seconds to wait for another process that writes
VARIABLES = 500  # of one SQL statement


def cache_key(model: str, kind: Kind, text: str) -> bytes:
    """What a vector depends on, as a hash of 20 bytes."""
    content = f"{model}\0{kind}\0{text}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(content, digest_size=20).digest()


class MemoryCache:
    """The vectors used last, up to a number of bytes. Safe between threads."""

    def __init__(self, limit: int = MEMORY_LIMIT) -> None:
        self._limit = limit
        self._size = 0
        self._vectors: OrderedDict[bytes, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, keys: Collection[bytes]) -> dict[bytes, bytes]:
        """Those of `keys` that are here, with their vectors."""
        with self._lock:
            found = {key: self._vectors[key] for key in keys if key in self._vectors}
            for key in found:
                self._vectors.move_to_end(key)
        return found

    def put(self, vectors: Mapping[bytes, bytes]) -> None:
        """Keep `vectors`, and drop the least recently used ones that are too many."""
        with self._lock:
            for key, vector in vectors.items():
                self._size += len(vector) - len(self._vectors.pop(key, b""))
                self._vectors[key] = vector
            while self._size > self._limit:
                self._size -= len(self._vectors.popitem(last=False)[1])


class FileCache:
    """Vectors in a SQLite file that several processes may share: the oldest go when there are too many.

    It blocks, and it never fails: a file that cannot be read or written is reported once in the log and then does not
    help; nothing but time is lost by that. Its connection opens with the first use, and `close` closes it.
    """

    def __init__(self, path: Path, limit: int = FILE_LIMIT) -> None:
        self._path = path
        self._limit = limit
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._reported = False

    def get(self, keys: Collection[bytes]) -> dict[bytes, bytes]:
        """Those of `keys` that are here, with their vectors."""
        found: dict[bytes, bytes] = {}
        wanted = list(keys)
        try:
            with self._lock:
                for start in range(0, len(wanted), VARIABLES):
                    found.update(self._select(wanted[start : start + VARIABLES]))
        except (sqlite3.Error, OSError) as error:
            self._report(error)
        return found

    def put(self, vectors: Mapping[bytes, bytes]) -> None:
        """Keep `vectors`, if that is possible."""
        try:
            with self._lock, self._open() as connection:
                connection.executemany("INSERT OR IGNORE INTO vectors (key, vector) VALUES (?, ?)", vectors.items())
                connection.execute(
                    "DELETE FROM vectors WHERE number <= (SELECT max(number) FROM vectors) - ?", (self._limit,)
                )
        except (sqlite3.Error, OSError) as error:
            self._report(error)

    def close(self) -> None:
        """Close the file. A later use opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _select(self, keys: list[bytes]) -> list[tuple[bytes, bytes]]:
        marks = ",".join("?" * len(keys))
        query = f"SELECT key, vector FROM vectors WHERE key IN ({marks})"  # marks only
        return self._open().execute(query, keys).fetchall()

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self._path, timeout=PATIENCE, check_same_thread=False)
            try:
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("PRAGMA synchronous=NORMAL")
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS vectors"
                    " (number INTEGER PRIMARY KEY AUTOINCREMENT, key BLOB NOT NULL UNIQUE, vector BLOB NOT NULL)"
                )
            except sqlite3.Error:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _report(self, error: Exception) -> None:
        if not self._reported:
            self._reported = True
            logger.warning("vectors are not kept in %s: %s", self._path.name, error)
