"""How often a provider is asked: request starts are spaced in a process, over all processes, or over all machines.

A provider counts requests per address or key, and every window of a client starts a server of its own. So the next free
moment can be kept where all of them see it: pyrate-limiter's GCRA with a burst of one, its state in a small locked file
or in Redis. A place that cannot be used is replaced by the next one, down to this process's memory, with a warning.
"""

from __future__ import annotations

import hashlib
import logging
import math
import time
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import anyio
import anyio.to_thread
from pyrate_limiter import GCRA, Rate
from pyrate_limiter.abstracts.algorithm import Decision
from pyrate_limiter.abstracts.store import StateStore

from deepcritical_mcp.net.pacing_stores import FileStateStore, MemoryStateStore, SharedRedisStateStore

logger = logging.getLogger(__name__)

LATE = 0.05
"""Seconds. A request that starts later than this after its moment would come too close to the next one."""

LATE_STARTS = 3
"""After so many late moments in a row the machine is overloaded, and another one would not help."""

RETRY_PLACE = 30.0
"""Seconds until a place that could not be used is tried again."""

_MOMENT: ContextVar[float] = ContextVar("moment", default=0.0)  # monotonic; when this task's last moment was taken


@dataclass
class Place:
    """Where the next free moment is kept.

    Attributes:
        name: for the log.
        open: returns the place; may raise OSError, as may every use of it.
    """

    name: str
    open: Callable[[], StateStore]
    store: StateStore | None = field(default=None, init=False)
    paused_until: float = field(default=0.0, init=False)


class Pacing:
    """A `RequestLimiter`: in the order of the calls within a process, in turns between processes.

    Args:
        spacing: seconds between two starts, rounded up to milliseconds; 0 does not wait at all.
        places: tried in this order, this process's memory last.
    """

    def __init__(self, spacing: float, places: Sequence[Place] = ()) -> None:
        self._milliseconds = math.ceil(round(spacing * 1000, 6))
        self._places = (*places, Place("memory", MemoryStateStore))
        self._turn = anyio.Lock()

    async def acquire(self) -> None:
        """Return when the next request may start. A cancelled call takes no moment from the others."""
        if not self._milliseconds:
            return
        async with self._turn:
            for _ in range(LATE_STARTS):
                moment = await self._moment()
                _MOMENT.set(moment)
                if time.monotonic() - moment <= LATE:
                    return

    async def confirm(self) -> None:
        """Call this when the request is about to be sent: a moment that has passed by then is replaced by another.

        Connecting takes time, above all the first time; requests sent as they happened to connect would come together.
        """
        if time.monotonic() - _MOMENT.get() > LATE:
            await self.acquire()

    async def _moment(self) -> float:
        """Wait for a free moment; returns when it was taken, on the monotonic clock."""
        while True:
            wait, asked = await anyio.to_thread.run_sync(self._take, abandon_on_cancel=True)
            if wait <= 0:
                return asked
            await anyio.sleep(wait)

    def _take(self) -> tuple[float, float]:
        """Take this moment if it is free: (seconds to wait until one may be, the monotonic clock)."""
        rates = [Rate(1, self._milliseconds, burst=1)]
        for place in self._places:
            if place.paused_until > time.monotonic():
                continue
            try:
                place.store = place.store or place.open()
                decision = cast("Decision", place.store.check(GCRA(), rates, time.time_ns() // 1_000_000, 1))
                return (decision.retry_after_ms or 0) / 1000, time.monotonic()
            except (OSError, NotImplementedError) as error:  # the latter: file locks on a file system without them
                place.store, place.paused_until = None, time.monotonic() + RETRY_PLACE
                logger.warning("requests cannot be spaced by %s, falling back: %s", place.name, type(error).__name__)
        raise AssertionError("memory always works")


def shared_pacing(spacing: float, *, name: str, identity: str, folder: Path, redis_url: str = "") -> Pacing:
    """Pacing that all processes of this machine share, and all machines that use the same Redis.

    Args:
        spacing: seconds between two starts.
        name: the provider's.
        identity: what the provider counts by, e.g. its address and the key; stored as a hash only.
        folder: of the file that holds the state; created when first used.
        redis_url: empty = no Redis.

    Raises:
        ConfigurationError: by `acquire`, if `redis_url` cannot be used at all.
    """
    line = f"{name}-{hashlib.sha256(identity.encode()).hexdigest()[:16]}"
    places = [Place("file", lambda: FileStateStore(folder / line))]
    if redis_url:
        key = f"deepcritical:{line.replace('-', ':')}"
        places.insert(0, Place("redis", lambda: SharedRedisStateStore(redis_url, key)))
    return Pacing(spacing, places)
