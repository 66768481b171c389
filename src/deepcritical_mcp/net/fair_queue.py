"""Callers that wait for the same resource get it in turn, however many calls each of them makes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from weakref import WeakValueDictionary

import anyio

turn_of: ContextVar[str] = ContextVar("turn_of", default="")
"""Whose calls the current task makes; where several callers wait for a moment, each gets one in turn."""


class Slots:
    """At most so many at the same time, callers in turn: a caller has at most one call in the queue for a slot."""

    def __init__(self, count: int) -> None:
        self._free = anyio.Semaphore(count)
        self._callers: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()

    async def acquire(self) -> None:
        async with self._callers.setdefault(turn_of.get(), anyio.Lock()):
            await self._free.acquire()

    def release(self) -> None:
        self._free.release()

    @asynccontextmanager
    async def slot(self) -> AsyncGenerator[None]:
        """Hold a slot."""
        await self.acquire()
        try:
            yield
        finally:
            self.release()


class TurnLine:
    """A queue: one caller's calls in their order, callers in turn."""

    def __init__(self) -> None:
        self._first = anyio.Lock()
        self._callers: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()
        self._waiting = Counter[str]()
        self._turn_takes = 0.0  # seconds, of late: longer if other processes ask, too

    def expected_wait(self, least: float) -> float:
        """Seconds until the turn of a call of this caller that starts to wait now; a turn takes at least `least`."""
        own = self._waiting[turn_of.get()] + 1
        return sum(min(own, waiting) for waiting in self._waiting.values()) * max(least, self._turn_takes)

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[None]:
        """Surround a turn. A cancelled call leaves the queue."""
        caller = turn_of.get()
        self._waiting[caller] += 1
        try:
            async with self._callers.setdefault(caller, anyio.Lock()), self._first:
                began = time.monotonic()
                try:
                    yield
                finally:
                    self._turn_takes += (time.monotonic() - began - self._turn_takes) / 8
        finally:
            self._waiting -= Counter([caller])  # drops what reaches zero
