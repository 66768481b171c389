"""Web results of earlier searches, on disk: the last resort of a search that nobody answers.

One SQLite file, which any number of processes may use at once; JSON rows. (`diskcache`, the obvious library, unpickles
what it finds in its folder, CVE-2025-69872, and is no longer kept up.)
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
import threading
import time
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

import anyio.to_thread
import structlog
from pydantic import ValidationError

from deepcritical_mcp.errors import EmbeddingError
from deepcritical_mcp.models import Evidence, Value
from deepcritical_mcp.sources.web.provider import WebOptions

T = TypeVar("T")
logger = structlog.stdlib.get_logger(__name__)

FILE = "web-results-1.sqlite3"
MOST_BYTES = 64 * 1024 * 1024
# Measured with all-MiniLM-L6-v2 on queries: those that ask the same lie at 0.72 to 0.94, others of the same field
# without different numbers at 0.46 to 0.76.
CLOSE_IN_MEANING = 0.76
CLOSE_IN_WORDS = 0.6
_MOST_CANDIDATES = 256
_WAIT_FOR_LOCK = 2.0
_PERIODS = ("day", "week", "month", "year", "any")
_WORD = re.compile(r"\w+(?:-\w+)*")
_FILLERS = {
    *("a", "an", "and", "are", "as", "at", "by", "can", "do", "does", "for", "from", "how", "in", "is", "it"),
    *("of", "on", "or", "the", "to", "what", "which", "who", "why", "with"),
}

_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
  key TEXT PRIMARY KEY, query TEXT NOT NULL, options TEXT NOT NULL, asked REAL NOT NULL, bytes INTEGER NOT NULL,
  answer TEXT NOT NULL
)
"""
_TRIM = """
DELETE FROM answers WHERE key IN (
  SELECT key FROM (SELECT key, SUM(bytes) OVER (ORDER BY asked DESC, key) AS total FROM answers) WHERE total > ?
)
"""


class Embedder(Protocol):
    """What tells how close two queries are in meaning."""

    async def embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector of length 1 for each text.

        Raises:
            EmbeddingError: there is no model.
        """
        ...


class CachedAnswer(Value):
    """What a provider once found for a query, and when: seconds since the epoch."""

    query: str
    provider: str
    asked: float
    evidence: tuple[Evidence, ...]


class _Candidate(NamedTuple):
    key: str
    query: str


class WebCache:
    """Answers by query and options, for `ttl` seconds, the oldest dropped beyond `most_bytes`.

    Nothing here raises: a folder that cannot be written, a full disk or a broken file count as "not cached".

    Args:
        folder: made when first written.
        embedder: finds the earlier query that is closest in meaning; without one, shared words decide.
        now: seconds since the epoch.
    """

    def __init__(
        self,
        folder: Path,
        *,
        ttl: float,
        embedder: Embedder | None = None,
        most_bytes: int = MOST_BYTES,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._file = folder / FILE
        self._ttl = ttl
        self._embedder = embedder
        self._most_bytes = most_bytes
        self._now = now
        self._one_at_a_time = threading.Lock()

    async def put(self, query: str, options: WebOptions, *, provider: str, evidence: Sequence[Evidence]) -> None:
        """Keep what `provider` just found."""
        answer = CachedAnswer(query=query, provider=provider, asked=self._now(), evidence=tuple(evidence))
        await anyio.to_thread.run_sync(self._put, answer, options, abandon_on_cancel=True)

    async def find(self, query: str, options: WebOptions) -> CachedAnswer | None:
        """The last answer to this query, else to the earlier one closest to it; None when none is close enough.

        An answer serves when it was asked for the same topic, no longer a period and no other domains; what lies
        outside the domains asked for now is left out of it.
        """
        exact = await anyio.to_thread.run_sync(self._get, _key(query, options), options, abandon_on_cancel=True)
        if exact is not None:
            return exact
        candidates = await anyio.to_thread.run_sync(self._candidates, query, options, abandon_on_cancel=True)
        for candidate in await self._close(query, candidates):
            answer = await anyio.to_thread.run_sync(self._get, candidate.key, options, abandon_on_cancel=True)
            if answer is not None:
                return answer
        return None

    def clear(self) -> int:
        """Forget everything; gives the number of answers forgotten. Blocks."""

        def forget(database: sqlite3.Connection) -> int:
            forgotten = database.execute("DELETE FROM answers").rowcount
            database.commit()
            return forgotten

        return self._with_database(forget, otherwise=0) if self._file.exists() else 0

    async def _close(self, query: str, candidates: Sequence[_Candidate]) -> list[_Candidate]:
        """The candidates close enough to `query`, closest first."""
        if not candidates:
            return []
        scores, least = await self._similarities(query, [candidate.query for candidate in candidates])
        ranked = sorted(zip(scores, candidates, strict=True), key=lambda pair: -pair[0])
        return [candidate for score, candidate in ranked if score >= least]

    async def _similarities(self, query: str, others: list[str]) -> tuple[list[float], float]:
        """How close each of `others` is to `query`, and how close is close enough."""
        if self._embedder is not None:
            try:
                own, *vectors = await self._embedder.embed_batch([query, *others])
            except EmbeddingError as error:
                logger.info("queries compared by words", reason=error.code)
            else:
                return [sum(a * b for a, b in zip(own, other, strict=True)) for other in vectors], CLOSE_IN_MEANING
        words = _content_words(query)
        return [_overlap(words, _content_words(other)) for other in others], CLOSE_IN_WORDS

    def _put(self, answer: CachedAnswer, options: WebOptions) -> None:
        text = answer.model_dump_json()
        row = (
            _key(answer.query, options),
            answer.query,
            options.model_dump_json(),
            answer.asked,
            len(text.encode()),
            text,
        )

        def keep(database: sqlite3.Connection) -> None:
            database.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?)", row)
            database.execute("DELETE FROM answers WHERE asked <= ?", (self._now() - self._ttl,))
            database.execute(_TRIM, (self._most_bytes,))
            database.commit()

        self._with_database(keep, otherwise=None)

    def _get(self, key: str, options: WebOptions) -> CachedAnswer | None:
        """The answer under `key`, as far as it lies in the domains asked for; None when nothing does."""
        rows = self._read("SELECT answer FROM answers WHERE key = ? AND asked > ?", key, self._now() - self._ttl)
        for (text,) in rows:
            try:
                answer = CachedAnswer.model_validate_json(str(text))
            except ValidationError:
                return None
            evidence = tuple(item for item in answer.evidence if options.allows(item.citation.url))
            return answer.model_copy(update={"evidence": evidence}) if evidence else None
        return None

    def _candidates(self, query: str, options: WebOptions) -> list[_Candidate]:
        """The latest queries whose answers would serve these options, and that name the same numbers."""
        rows = self._read(
            "SELECT key, query, options FROM answers WHERE asked > ? ORDER BY asked DESC", self._now() - self._ttl
        )
        numbers = _numbers(query)
        candidates = [
            _Candidate(str(key), str(earlier))
            for key, earlier, asked_with in rows
            if _serves(str(asked_with), options) and _numbers(str(earlier)) == numbers
        ]
        return candidates[:_MOST_CANDIDATES]

    def _read(self, statement: str, *values: object) -> list[tuple[object, ...]]:
        if not self._file.exists():
            return []
        return self._with_database(lambda database: database.execute(statement, values).fetchall(), otherwise=[])

    def _with_database(self, work: Callable[[sqlite3.Connection], T], *, otherwise: T) -> T:
        """What `work` gives with a connection of its own; `otherwise` when anything goes wrong, which is logged."""
        try:
            if not self._file.exists():
                self._file.parent.mkdir(parents=True, exist_ok=True)
                self._file.touch(mode=0o600)  # what people asked is nobody else's business
            with self._one_at_a_time, closing(sqlite3.connect(self._file, timeout=_WAIT_FOR_LOCK)) as database:
                with suppress(sqlite3.OperationalError):  # another process is switching to it just now
                    database.execute("PRAGMA journal_mode = WAL")
                database.execute(_SCHEMA)
                return work(database)
        except (sqlite3.Error, OSError) as error:
            logger.warning("web cache not used", reason=type(error).__name__)
            if type(error) is sqlite3.DatabaseError:  # it is no database, or a broken one
                self._remove()
            return otherwise

    def _remove(self) -> None:
        with suppress(OSError):
            for suffix in ("", "-wal", "-shm"):
                self._file.with_name(self._file.name + suffix).unlink(missing_ok=True)


def clear_web_cache(folder: Path) -> int:
    """Forget all cached web results under `folder` (`settings.cache_dir`); gives their number."""
    return WebCache(folder, ttl=0).clear()


def _key(query: str, options: WebOptions) -> str:
    parts = (
        " ".join(unicodedata.normalize("NFKC", query).casefold().split()).rstrip(" ?.!"),
        options.topic,
        options.recency,
        " ".join(sorted(options.include_domains)),
        " ".join(sorted(options.exclude_domains)),
    )
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _serves(asked_with: str, options: WebOptions) -> bool:
    try:
        earlier = WebOptions.model_validate_json(asked_with)
    except ValidationError:
        return False
    return (
        earlier.topic == options.topic
        and _PERIODS.index(earlier.recency) <= _PERIODS.index(options.recency)
        and (not earlier.include_domains or set(earlier.include_domains) == set(options.include_domains))
    )


def _content_words(query: str) -> set[str]:
    return {word for word in _WORD.findall(query.casefold()) if word not in _FILLERS}


def _numbers(query: str) -> set[str]:
    """The words with a digit: "2023", "BRCA1", "covid-19". Queries that differ in them ask something else."""
    return {word for word in _WORD.findall(query.casefold()) if any(map(str.isdigit, word))}


def _overlap(words: set[str], others: set[str]) -> float:
    return len(words & others) / len(words | others) if words | others else 0.0
