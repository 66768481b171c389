"""Web results of earlier searches, on disk: used if no provider answers a search."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import anyio.to_thread
from pydantic import ValidationError

from deepcritical_mcp.models import Publication, Value
from deepcritical_mcp.net.cache import Cache, cache_key
from deepcritical_mcp.sources.base import Answer
from deepcritical_mcp.sources.web.request import WebOptions
from deepcritical_mcp.text import REQUEST_WORDS, normalized

CACHE_FILE = "web-results-2.sqlite3"
CACHE_BYTES = 64 * 1024 * 1024


class CachedAnswer(Value):
    """What a provider found for a query, and when: seconds since the epoch."""

    query: str
    provider: str
    asked: float
    records: tuple[Publication, ...]
    scores: dict[str, float]


class WebCache:
    """Answers by query and options, kept for `ttl` seconds; the oldest are dropped beyond `max_bytes`.

    Never raises: a cache that cannot be used counts as empty. The first `put` creates `folder`. `now` gives
    seconds since the epoch.
    """

    def __init__(
        self, folder: Path, *, ttl: float, max_bytes: int = CACHE_BYTES, now: Callable[[], float] = time.time
    ) -> None:
        self._cache = Cache(folder / CACHE_FILE, max_bytes=max_bytes, ttl=ttl, now=now)

    async def put(self, query: str, options: WebOptions, *, provider: str, found: Answer) -> None:
        """Keep what `provider` just found."""
        records, scores = tuple(found.records.values()), dict(found.scores)
        answer = CachedAnswer(query=query, provider=provider, asked=self._cache.now(), records=records, scores=scores)
        entry = {_key(query, options): answer.model_dump_json().encode()}
        await anyio.to_thread.run_sync(self._cache.put, entry, abandon_on_cancel=True)

    async def find(self, query: str, options: WebOptions) -> CachedAnswer | None:
        """The last answer to this query with these options, also to one that differs in words such as "what is the", or
        in the plural; None if there is none. A query in other words may ask the opposite."""
        key = _key(query, options)
        kept = await anyio.to_thread.run_sync(self._cache.get, [key], abandon_on_cancel=True)
        with suppress(KeyError, ValidationError):
            return CachedAnswer.model_validate_json(kept[key])
        return None


def clear_web_cache(folder: Path) -> int | None:
    """Delete all cached web results in `folder` (`settings.cache_dir`); returns their number, None if that failed."""
    return Cache(folder / CACHE_FILE, max_bytes=CACHE_BYTES).clear()


def _key(query: str, options: WebOptions) -> bytes:
    words = " ".join(normalized("NFKC", query).casefold().split()).rstrip(" ?.!").split()
    subject = " ".join(word.removesuffix("s") for word in words if word not in REQUEST_WORDS) or " ".join(words)
    domains = (" ".join(sorted(some)) for some in (options.include_domains, options.exclude_domains))
    return cache_key(subject, options.topic, options.recency, *domains)
