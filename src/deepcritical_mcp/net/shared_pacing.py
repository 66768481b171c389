"""Spaces the starts of requests over all processes of a machine, or over all machines that share a Redis.

NCBI counts requests per address or key, and every window of a client starts a server of its own. So the next free
moment is kept where all of them see it: pyrate-limiter's GCRA with a burst of one, its state in a small locked file or
in Redis. A place that cannot be used is replaced by the next one, down to this process's memory, with a warning.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

import anyio
import anyio.to_thread
import structlog

from deepcritical_mcp.config import Settings

if TYPE_CHECKING:
    from pyrate_limiter.abstracts.algorithm import Decision
    from pyrate_limiter.abstracts.store import StateStore

logger = structlog.stdlib.get_logger(__name__)

SPACING_WITHOUT_KEY = 0.37
SPACING_WITH_KEY = 0.11
"""Seconds between two starts. NCBI allows 3 requests a second, 10 with a key; this leaves a tenth to the network."""

LATE = 0.05
"""A start delayed by more seconds than this after its moment would come too close to the next one."""

LATE_STARTS = 3
"""After so many delayed moments in a row the machine is overloaded, and another one would not help."""

_MOMENT: ContextVar[float] = ContextVar("moment", default=0.0)  # when this task's last moment was taken

PAUSE = 30.0
"""Seconds until a place that could not be used is tried again."""


@dataclass
class Place:
    """Where the next free moment is kept.

    Attributes:
        name: for the log.
        open: gives the place; may raise OSError, as may every use of it.
    """

    name: str
    open: Callable[[], StateStore]
    store: StateStore | None = field(default=None, init=False)
    paused_until: float = field(default=0.0, init=False)


class SpacedRequests:
    """A `RequestLimiter`: in the order of asking within a process, by turns between processes.

    Args:
        spacing: seconds between two starts.
        places: tried in this order; the last one must always work.
    """

    def __init__(self, spacing: float, places: Sequence[Place]) -> None:
        self._milliseconds = round(spacing * 1000)
        self._places = places
        self._turn = anyio.Lock()

    async def acquire(self) -> None:
        """Return when the next request may start. Cancelling gives up the place in line."""
        async with self._turn:
            for _ in range(LATE_STARTS):
                moment = await self._moment()
                _MOMENT.set(moment)
                if time.monotonic() - moment <= LATE:
                    return

    async def confirm(self) -> None:
        """To be awaited when the request is about to leave: a moment that has passed meanwhile is replaced by another.

        Connecting takes time, above all the first time; requests that left as they happened to connect would meet.
        """
        if time.monotonic() - _MOMENT.get() > LATE:
            await self.acquire()

    async def _moment(self) -> float:
        """Wait for a free moment; gives when it was taken, on the monotonic clock."""
        while True:
            wait, asked = await anyio.to_thread.run_sync(self._take, abandon_on_cancel=True)
            if wait <= 0:
                return asked
            await anyio.sleep(wait)

    def _take(self) -> tuple[float, float]:
        """Take the moment now, if it is free: (seconds to wait until it may be, the monotonic clock)."""
        from pyrate_limiter import GCRA, Rate

        rates = [Rate(1, self._milliseconds, burst=1)]
        for place in self._places:
            if place.paused_until > time.monotonic():
                continue
            try:
                place.store = place.store or place.open()
                decision = cast("Decision", place.store.check(GCRA(), rates, time.time_ns() // 1_000_000, 1))
                return (decision.retry_after_ms or 0) / 1000, time.monotonic()
            except OSError as error:
                place.store, place.paused_until = None, time.monotonic() + PAUSE
                logger.warning(
                    "requests cannot be spaced there; falling back", place=place.name, error=type(error).__name__
                )
        raise AssertionError("the last place always works")


def ncbi_limiter(settings: Settings) -> SpacedRequests:
    """The limiter of E-utilities: one line for each key, or for each address asked without one."""
    key = settings.ncbi_api_key.get_secret_value()
    identity = hashlib.sha256(f"{settings.ncbi_base_url}\n{key}".encode()).hexdigest()[:16]
    places = [Place("file", lambda: _in_file(settings.cache_dir / f"ncbi-{identity}")), Place("memory", _in_memory)]
    if settings.redis_url:
        places.insert(0, Place("redis", lambda: _in_redis(settings.redis_url, f"deepcritical:ncbi:{identity}")))
    return SpacedRequests(SPACING_WITH_KEY if key else SPACING_WITHOUT_KEY, places)


def _in_file(path: Path) -> StateStore:
    from deepcritical_mcp.net.pacing_stores import FileStateStore

    return FileStateStore(path)


def _in_redis(url: str, key: str) -> StateStore:
    from deepcritical_mcp.net.pacing_stores import SharedRedisStateStore

    return SharedRedisStateStore(url, key)


def _in_memory() -> StateStore:
    from pyrate_limiter.buckets.state_bucket import InMemoryStateStore

    return InMemoryStateStore()
