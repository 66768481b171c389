"""Web results of earlier searches, on disk: used if no provider answers a search."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

import anyio.to_thread
from pydantic import ValidationError

from deepcritical_mcp.errors import EmbeddingError
from deepcritical_mcp.models import Value
from deepcritical_mcp.net.cache import Cache, cache_key
from deepcritical_mcp.sources.base import Hit, QueryEmbedder
from deepcritical_mcp.sources.web.web_request import WebOptions
from deepcritical_mcp.text import STOP_WORDS, normalized

logger = logging.getLogger(__name__)

CACHE_FILE = "web-results-2.sqlite3"
CACHE_BYTES = 64 * 1024 * 1024
CLOSE_IN_WORDS = 0.6
"""Lowest share of common words (Jaccard index) of two queries that ask for the same thing."""

_MAX_CANDIDATES = 256
_PERIODS = ("day", "week", "month", "year", "any")
_WORD = re.compile(r"\w+(?:-\w+)*")


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

    Never raises: a cache that cannot be used counts as empty. The first `put` creates `folder`. Without `embedder`, or
    without its calibration, queries are compared by their words. `now` gives seconds since the epoch.
    """

    def __init__(
        self,
        folder: Path,
        *,
        ttl: float,
        embedder: QueryEmbedder | None = None,
        max_bytes: int = CACHE_BYTES,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._cache = Cache(folder / CACHE_FILE, max_bytes=max_bytes, ttl=ttl, now=now)
        self._embedder = embedder
        self._now = now

    async def put(self, query: str, options: WebOptions, *, provider: str, hits: Sequence[Hit]) -> None:
        """Keep what `provider` just found."""
        answer = CachedAnswer(query=query, provider=provider, asked=self._now(), hits=tuple(hits))
        await anyio.to_thread.run_sync(self._put, answer, options, abandon_on_cancel=True)

    async def find(self, query: str, options: WebOptions) -> CachedAnswer | None:
        """The last answer to this query, else to the earlier query closest to it; None if none is close enough.

        An earlier answer is suitable if it was for the same topic, the same or a shorter period, and no other
        domains; results outside the requested domains are omitted.
        """
        exact = await anyio.to_thread.run_sync(self._get, [_key(query, options)], options, abandon_on_cancel=True)
        if exact is not None:
            return exact
        earlier = await anyio.to_thread.run_sync(self._candidates, query, options, abandon_on_cancel=True)
        scores, threshold = await self._similarities(query, [candidate.query for candidate in earlier])
        ranked = sorted(zip(scores, earlier, strict=True), key=lambda pair: -pair[0])
        keys = [_key(close.query, close.options) for score, close in ranked if score >= threshold]
        return await anyio.to_thread.run_sync(self._get, keys, options, abandon_on_cancel=True)

    async def _similarities(self, query: str, others: list[str]) -> tuple[list[float], float]:
        """How close each of `others` is to `query`, and how close is close enough."""
        calibration = self._embedder.calibration if self._embedder else None
        if self._embedder and calibration and others:
            try:
                own, *vectors = await self._embedder.embed_batch([query, *others])
            except EmbeddingError as error:
                logger.info("queries are compared by words: %s", error.code)
            else:
                scores = [sum(a * b for a, b in zip(own, other, strict=True)) for other in vectors]
                return scores, calibration.close_query
        words, of_others = _content_words(query), map(_content_words, others)
        return [len(words & one) / len(words | one) if words | one else 0.0 for one in of_others], CLOSE_IN_WORDS

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

    def _candidates(self, query: str, options: WebOptions) -> list[_Question]:
        """The latest suitable questions that contain the same numbers."""
        earlier: list[_Question] = []
        for label in self._cache.labels():
            with suppress(ValidationError):
                earlier.append(_Question.model_validate_json(label))
        numbers = _numbers(query)
        suitable = (one for one in earlier if _is_suitable(one.options, options) and _numbers(one.query) == numbers)
        return list(islice(suitable, _MAX_CANDIDATES))


def clear_web_cache(folder: Path) -> int | None:
    """Delete all cached web results in `folder` (`settings.cache_dir`); returns their number, None if that failed."""
    return Cache(folder / CACHE_FILE, max_bytes=CACHE_BYTES).clear()


def _key(query: str, options: WebOptions) -> bytes:
    return cache_key(
        " ".join(normalized("NFKC", query).casefold().split()).rstrip(" ?.!"),
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


def _content_words(query: str) -> set[str]:
    return {word for word in _WORD.findall(query.casefold()) if word not in STOP_WORDS}


def _numbers(query: str) -> set[str]:
    """The words with a digit: "2023", "BRCA1", "covid-19". Queries with different numbers ask for different things."""
    return {word for word in _WORD.findall(query.casefold()) if any(map(str.isdigit, word))}
