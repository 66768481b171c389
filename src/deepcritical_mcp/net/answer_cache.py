"""Answers kept on disk between calls and processes. A cache that cannot be used is as good as an empty one."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import anyio.to_thread
import structlog

logger = structlog.stdlib.get_logger(__name__)

_MOST_ROWS = 50_000
_KEYS_AT_ONCE = 500


class AnswerCache:
    """Texts by key in one SQLite file, which several processes may use at once.

    Nothing here raises: a folder that cannot be written, a file that is no database or a lock that is not released in
    time count as "not cached".

    Args:
        path: the file; it and its folder are made when first written.
        ttl: seconds that an answer stays good.
        now: the clock, seconds since the epoch.
        wait: seconds to wait for another process that writes.
    """

    def __init__(self, path: Path, *, ttl: float, now: Callable[[], float] = time.time, wait: float = 1.0) -> None:
        self._path = path
        self._ttl = ttl
        self._now = now
        self._wait = wait

    async def get(self, keys: Sequence[str]) -> dict[str, str]:
        """The answers kept for `keys`, without the expired ones."""
        return await anyio.to_thread.run_sync(self._get, tuple(keys), abandon_on_cancel=True)

    async def put(self, answers: Mapping[str, str]) -> None:
        """Keep `answers`; older ones under the same keys go."""
        await anyio.to_thread.run_sync(self._put, dict(answers), abandon_on_cancel=True)

    def _get(self, keys: Sequence[str]) -> dict[str, str]:
        if not keys or not self._path.exists():
            return {}
        found: dict[str, str] = {}
        try:
            with closing(sqlite3.connect(self._path, timeout=self._wait)) as database:
                for start in range(0, len(keys), _KEYS_AT_ONCE):
                    part = keys[start : start + _KEYS_AT_ONCE]
                    marks = ",".join("?" * len(part))
                    rows = database.execute(
                        f"SELECT key, answer FROM answers WHERE stored > ? AND key IN ({marks})",
                        (self._now() - self._ttl, *part),
                    )
                    found.update((str(key), str(answer)) for key, answer in rows)
        except (sqlite3.Error, OSError) as error:
            logger.info("cache not read", kind=type(error).__name__)
        return found

    def _put(self, answers: Mapping[str, str]) -> None:
        if not answers:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._path, timeout=self._wait)) as database, database:
                database.execute(
                    "CREATE TABLE IF NOT EXISTS answers"
                    " (key TEXT PRIMARY KEY, answer TEXT NOT NULL, stored REAL NOT NULL)"
                )
                database.executemany(
                    "INSERT OR REPLACE INTO answers (key, answer, stored) VALUES (?, ?, ?)",
                    [(key, answer, self._now()) for key, answer in answers.items()],
                )
                database.execute("DELETE FROM answers WHERE stored <= ?", (self._now() - self._ttl,))
                database.execute(
                    "DELETE FROM answers WHERE key IN (SELECT key FROM answers ORDER BY stored DESC LIMIT -1 OFFSET ?)",
                    (_MOST_ROWS,),
                )
        except (sqlite3.Error, OSError) as error:
            logger.info("cache not written", kind=type(error).__name__)
