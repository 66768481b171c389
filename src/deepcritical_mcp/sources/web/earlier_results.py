"""Web results of earlier searches, on disk: used if no provider answers a search."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import anyio.to_thread
from pydantic import ValidationError

from deepcritical_mcp.models import Value
from deepcritical_mcp.net.cache import Cache, cache_key
from deepcritical_mcp.sources.base import Hit
from deepcritical_mcp.sources.web.request import WebOptions
from deepcritical_mcp.text import REQUEST_WORDS, normalized

CACHE_FILE = "web-results-2.sqlite3"
CACHE_BYTES = 64 * 1024 * 1024

_PERIODS = ("day", "week", "month", "year", "any")


class CachedAnswer(Value):
    """What a provider found for a query, and when: seconds since the epoch."""

    query: str
    provider: str
    asked: float
    hits: tuple[Hit, ...]


class _Question(Value):
    """The label of a cached answer: what it answers."""

    query: str
    options: WebOptions


class WebCache:
    """Answers by query and options, kept for `ttl` seconds; the oldest are dropped beyond `max_bytes`.

    Never raises: a cache that cannot be used counts as empty. The first `put` creates `folder`. `now` gives
    seconds since the epoch.
    """

    def __init__(
        self,
        folder: Path,
        *,
        ttl: float,
        max_bytes: int = CACHE_BYTES,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._cache = Cache(folder / CACHE_FILE, max_bytes=max_bytes, ttl=ttl, now=now)
        self._now = now

    async def put(self, query: str, options: WebOptions, *, provider: str, hits: Sequence[Hit]) -> None:
        """Keep what `provider` just found."""
        answer = CachedAnswer(query=query, provider=provider, asked=self._now(), hits=tuple(hits))
        await anyio.to_thread.run_sync(self._put, answer, options, abandon_on_cancel=True)

    async def find(self, query: str, options: WebOptions) -> CachedAnswer | None:
        """The last answer to this query, also to one that differs in words such as "what is the", or in the plural;
        None if there is none. A query in other words may ask the opposite.

        An answer with other options is suitable if it was for the same topic, the same or a shorter period, and no
        other domains; results outside the requested domains are omitted.
        """
        return await anyio.to_thread.run_sync(self._find, query, options, abandon_on_cancel=True)

    def _find(self, query: str, options: WebOptions) -> CachedAnswer | None:
        return self._get([_key(query, options)], options) or self._get(self._suitable(query, options), options)

    def _put(self, answer: CachedAnswer, options: WebOptions) -> None:
        label = _Question(query=answer.query, options=options).model_dump_json().encode()
        self._cache.put({_key(answer.query, options): answer.model_dump_json().encode()}, label=label)

    def _get(self, keys: Sequence[bytes], options: WebOptions) -> CachedAnswer | None:
        """The first answer under one of `keys` that has results in the requested domains, limited to these."""
        for key in keys:
            with suppress(KeyError, ValidationError):
                answer = CachedAnswer.model_validate_json(self._cache.get([key])[key])
                if hits := tuple(hit for hit in answer.hits if options.allows(hit.publication.url)):
                    return answer.model_copy(update={"hits": hits})
        return None

    def _suitable(self, query: str, options: WebOptions) -> list[bytes]:
        """The keys of this query's answers with other options that are suitable, the latest first."""
        keys: list[bytes] = []
        for label in self._cache.labels():
            with suppress(ValidationError):
                earlier = _Question.model_validate_json(label)
                if _subject(earlier.query) == _subject(query) and _is_suitable(earlier.options, options):
                    keys.append(_key(earlier.query, earlier.options))
        return keys


def clear_web_cache(folder: Path) -> int | None:
    """Delete all cached web results in `folder` (`settings.cache_dir`); returns their number, None if that failed."""
    return Cache(folder / CACHE_FILE, max_bytes=CACHE_BYTES).clear()


def _key(query: str, options: WebOptions) -> bytes:
    return cache_key(
        _words(query),
        options.topic,
        options.recency,
        " ".join(sorted(options.include_domains)),
        " ".join(sorted(options.exclude_domains)),
    )


def _is_suitable(earlier: WebOptions, options: WebOptions) -> bool:
    return (
        earlier.topic == options.topic
        and _PERIODS.index(earlier.recency) <= _PERIODS.index(options.recency)
        and (not earlier.include_domains or set(earlier.include_domains) == set(options.include_domains))
    )


def _subject(query: str) -> list[str]:
    return [word.removesuffix("s") for word in _words(query).split() if word not in REQUEST_WORDS]


def _words(query: str) -> str:
    return " ".join(normalized("NFKC", query).casefold().split()).rstrip(" ?.!")
