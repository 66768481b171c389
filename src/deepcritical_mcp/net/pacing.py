"""How often a provider is asked: request starts are spaced in a process, over all processes, or over all machines.

A provider counts requests per address or key, and every client starts a server of its own. So the next free moment is
kept where all of them see it: in a small locked file or in Redis. A place that cannot be used is replaced by the next
one, with a warning: Redis by the file, the file by this process's memory at a slower pace.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import math
import os
import stat
import threading
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol
from weakref import WeakValueDictionary

import anyio
import anyio.lowlevel
import anyio.to_thread
from filelock import FileLock, Timeout

from deepcritical_mcp.errors import ConfigurationError
from deepcritical_mcp.net.cache import make_private_folder

if TYPE_CHECKING:
    from redis import Redis

    from deepcritical_mcp.config import Settings

logger = logging.getLogger(__name__)

# All in seconds.
MAX_LATENESS = 0.05  # a request that would be sent later than this after its moment waits for another moment
MIN_LATENESS = 0.01  # a request sent later than this after its moment moves the next one by its delay
LATE_START = 0.025  # a moment taken no later than this after it came free does not delay those that follow
CONNECTING = 0.5  # as many requests as start in this time may open connections: then the first one is free again
MAX_AHEAD = 5.0  # a state further ahead than this and two requests was written before the clock was set back
ALONE = 4  # how many times slower a process asks that cannot know how many others do
RETRY_PLACE = 30.0  # until a place that could not be used is tried again
LOCK_TIMEOUT = 2.0  # the lock is held for microseconds and ends with its process; if it is not free, it does not work
LOCK_POLL = 0.005
REDIS_TIMEOUT = 2.0

MAX_STATE_BYTES = 100
NO_STATE = -1

Turn = Literal["first", "next"]
"""Whether a request is the first of its call or a next one, which goes before the first ones of others."""
Step = Callable[[int, int], int]
"""From the present and the next free moment to the new next free moment, all in microseconds."""

SpacedStep = Callable[[int, int, int], int]
"""The same, given the spacing, too."""


class Place(Protocol):
    """Where the next free moment is kept."""

    name: str

    def change(self, step: Step) -> None:
        """Apply `step` to the state, 0 at first, while nobody else does. May raise OSError or NotImplementedError."""
        ...


class _Moment(NamedTuple):
    """Seconds to wait for a moment, or, if it was taken, when (monotonic), the state that it left and the spacing."""

    wait: float
    at: float = 0.0
    state: int = NO_STATE
    spacing: int = 0


_NO_MOMENT = _Moment(0)
_moment: ContextVar[_Moment] = ContextVar("moment", default=_NO_MOMENT)  # taken by this task for its next request
_connecting: ContextVar[bool] = ContextVar("connecting", default=False)  # whether this task opens a connection


class Pacing:
    """Spaces the starts of requests: a caller's in the order of its calls, callers and processes in turns.

    Args:
        spacing: seconds between two starts, rounded up to milliseconds; 0 does not wait at all.
        places: tried in this order, this process's memory last.
        steps: how many requests a call sends, one after the other.
    """

    def __init__(self, spacing: float, places: Sequence[Place] = (), *, steps: int = 1) -> None:
        self._spacing = math.ceil(round(spacing * 1_000, 6)) * 1_000  # microseconds
        self._places = (*places, MemoryPlace())
        self._shared = bool(places)
        self._steps = steps
        self._paused: dict[str, float] = {}
        self._turn, self._front = anyio.Lock(), anyio.Lock()
        # Only one of each line waits for the turn, so the requests of calls under way do not wait for those to come.
        self._lines = {"first": TurnLine(), "next": TurnLine()}
        self._room = anyio.Semaphore(max(1, math.ceil(CONNECTING / spacing)) if spacing else 1)
        self._thread = anyio.CapacityLimiter(1)  # of its own: calls at work in all others would hold up the line

    def expected_wait(self, step: Turn = "first") -> float:
        """Seconds until a request that starts to wait now may be sent, as far as is known here."""
        return self._lines[step].expected_wait(self._spacing * self._steps / 1e6)

    async def acquire(self, step: Turn = "first") -> None:
        """Return when the next request may start, a call's first or a next one. A cancelled call takes no moment from
        the others.

        Raises:
            ConfigurationError: the address of Redis is not one.
        """
        if self._spacing:
            async with self._lines[step].turn(), self._turn:
                async with self._room:
                    pass
                while True:
                    async with self._front:
                        wait = await self._take_for_request()
                    if wait <= 0:
                        return
                    await anyio.sleep(wait)

    async def _take_for_request(self, unused: int = NO_STATE) -> float:
        """Take this moment for the task's next request, or return the seconds to wait."""
        moment = await anyio.to_thread.run_sync(self._take, unused, limiter=self._thread)
        if moment.wait > 0:
            return moment.wait
        _moment.set(moment)
        try:
            await anyio.lowlevel.checkpoint_if_cancelled()
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._move, -moment.spacing, moment.state, limiter=self._thread)
            raise
        return 0

    async def connect(self) -> None:
        """Call this before the request opens a connection, which takes longer than the spacing: others have the moment
        meanwhile, and `confirm` takes another one. Call `release` in any case when the request is over."""
        if self._spacing and (moment := _moment.get()) != _NO_MOMENT:
            _moment.set(_NO_MOMENT)
            # If another one was taken since, it is lost.
            await anyio.to_thread.run_sync(self._move, -moment.spacing, moment.state, limiter=self._thread)
            await self._room.acquire()
            _connecting.set(True)

    def release(self) -> None:
        """Let another request open a connection. Call it again as often as you like."""
        if _connecting.get():
            _connecting.set(False)
            self._room.release()

    async def confirm(self) -> None:
        """Call this right before the request is sent: a moment that has passed by then is replaced by this one, if
        nobody took one since, or by the next.

        Connecting takes time, especially at first; without this, requests that waited for it would be sent together.
        It does not queue again: on a busy machine, requests would lose their turn over and over. It goes before those
        who still have to connect: otherwise they would let one moment after the other pass.
        """
        lost = _moment.get()
        if self._spacing and time.monotonic() - lost.at > MAX_LATENESS:
            async with self._front:
                wait = await self._take_for_request(lost.state)
                while wait > 0:
                    await anyio.sleep(wait)
                    wait = await self._take_for_request(lost.state)
        self.release()

    async def sent(self) -> None:
        """Call this right after the request was sent: if that took long, the next one waits as much longer.

        A busy machine can stop this process between `confirm` and sending.
        """
        late = time.monotonic() - _moment.get().at
        _moment.set(_NO_MOMENT)  # a redirect is another request
        if self._spacing and late > MIN_LATENESS:
            await anyio.to_thread.run_sync(self._move, round(late * 1e6), limiter=self._thread)

    def _take(self, unused: int = NO_STATE) -> _Moment:
        """Take this moment if it is free, or if none was taken after the one that left the state `unused`."""
        moment = _Moment(0)

        def step(now: int, free: int, spacing: int) -> int:
            nonlocal moment
            if free != unused and now < free <= now + 2 * spacing + MAX_AHEAD * 1e6:
                moment = _Moment((free - now) / 1e6)
                return free
            start = free if free <= now < free + LATE_START * 1e6 else now
            moment = _Moment(0, time.monotonic(), start + spacing, spacing)
            return moment.state

        self._change(step)
        return moment

    def _move(self, by: int, expected: int | None = None) -> None:
        """Move the next free moment, if it is still the `expected` one."""
        ahead = round(MAX_AHEAD * 1e6)

        def step(now: int, free: int, spacing: int) -> int:
            return min(free + by, now + spacing + ahead) if expected in (None, free) else free

        self._change(step)

    def _change(self, step: SpacedStep) -> None:
        for place, following in pairwise(self._places):
            if self._paused.get(place.name, -math.inf) > time.monotonic():
                continue
            try:
                return place.change(lambda now, free: step(now, free, self._spacing))
            except (OSError, NotImplementedError) as error:  # the latter: a file system without locks
                self._paused[place.name] = time.monotonic() + RETRY_PLACE
                slower = "" if following is not self._places[-1] else f", {ALONE} times slower"
                text = "requests cannot be spaced by %s (%s); using %s instead%s"
                logger.warning(text, place.name, error, following.name, slower)
        spacing = self._spacing * (ALONE if self._shared else 1)
        return self._places[-1].change(lambda now, free: step(now, free, spacing))


def shared_pacing(settings: Settings, spacing: float, *, name: str, identity: str, steps: int = 1) -> Pacing:
    """Pacing that all processes of this machine share, and all machines that use the same Redis.

    Args:
        spacing: seconds between two starts.
        name: the provider's.
        identity: what the provider counts by, e.g. its address and the key; stored as a hash only.
        steps: how many requests a call sends, one after the other.
    """
    digest = hashlib.sha256(identity.encode()).hexdigest()[:16]
    places: list[Place] = [FilePlace(settings.cache_dir / f"{name}-{digest}")]
    if redis_url := settings.redis_url.get_secret_value():
        places.insert(0, RedisPlace(redis_url, f"deepcritical:next:{name}:{digest}"))
    return Pacing(spacing, places, steps=steps)


class MemoryPlace:
    """This process's memory, timed by the monotonic clock: it works when the system's clock is set back, too."""

    name = "memory"

    def __init__(self) -> None:
        self._state = 0
        self._lock = threading.Lock()

    def change(self, step: Step) -> None:
        """Apply `step`."""
        with self._lock:
            self._state = step(time.monotonic_ns() // 1_000, self._state)


class FilePlace:
    """A small file, one reader and writer at a time on this machine; its folder is created."""

    name = "file"

    def __init__(self, path: Path, *, lock_timeout: float = LOCK_TIMEOUT) -> None:
        self._path = path.with_suffix(".state")
        self._lock_timeout = lock_timeout

    def change(self, step: Step) -> None:
        """Apply `step`; OSError if the file is not a text file or its lock does not work."""
        make_private_folder(self._path.parent)
        lock = FileLock(self._path.with_suffix(".lock"), mode=0o600, thread_local=False)
        try:
            held = lock.acquire(timeout=self._lock_timeout, poll_interval=LOCK_POLL)
        except Timeout:  # when a busy machine has stopped this process, the lock may be free by now
            held = lock.acquire(blocking=False)
        with held:
            old = 0  # if there is none, or it makes no sense
            try:
                if not stat.S_ISREG(self._path.stat().st_mode):  # reading a pipe would never end
                    raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
                with self._path.open("rb") as file:
                    old = int(file.read(MAX_STATE_BYTES).decode("ascii"))
            except UnicodeDecodeError:
                raise OSError(errno.EILSEQ, os.strerror(errno.EILSEQ)) from None
            except (FileNotFoundError, ValueError):
                pass
            new = step(time.time_ns() // 1_000, old)
            if new != old:
                self._path.touch(mode=0o600)
                self._path.write_text(str(new))


class RedisPlace:
    """Redis, timed by its clock, since the machines' clocks differ."""

    name = "redis"

    def __init__(self, url: str, key: str) -> None:
        self._url, self._key = url, key

    def change(self, step: Step) -> None:
        """Apply `step`.

        Raises:
            OSError: Redis cannot be reached.
            ConfigurationError: the package `redis` is not installed, or the URL is not the address of a Redis.
        """
        client = self._client
        from redis.exceptions import RedisError

        def attempt(pipe: Any) -> None:  # redis leaves the options of its commands untyped
            seconds, microseconds = pipe.time()
            now = seconds * 1_000_000 + microseconds
            state = step(now, int(pipe.get(self._key) or 0))
            pipe.multi()
            pipe.set(self._key, state, px=round(max(state - now, 0) / 1_000 + MAX_AHEAD * 1_000))

        try:
            client.transaction(attempt, self._key)  # pyright: ignore[reportUnknownMemberType]  # its options are untyped
        except RedisError as error:
            raise ConnectionError(f"{type(error).__name__}: {error}") from error

    @cached_property
    def _client(self) -> Redis:
        try:
            from redis import Redis
        except ImportError:
            told = "DEEPCRITICAL_REDIS_URL needs the redis package: install deepcritical-mcp[redis], or unset it."
            raise ConfigurationError(told) from None
        try:
            return Redis.from_url(  # pyright: ignore[reportUnknownMemberType]  # its options are untyped
                self._url, socket_timeout=REDIS_TIMEOUT, socket_connect_timeout=REDIS_TIMEOUT
            )
        except ValueError:
            told = "DEEPCRITICAL_REDIS_URL is not the address of a Redis, such as redis://host:6379."
            raise ConfigurationError(told) from None


turn_of: ContextVar[str] = ContextVar("turn_of", default="")
"""Whose calls the current task makes; where several callers wait for a moment, each gets one in turn."""


class Slots:
    """At most so many at the same time, callers in turn: a caller has at most one call in the queue for a slot."""

    def __init__(self, count: int) -> None:
        self._free = anyio.Semaphore(count)
        self._callers: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def slot(self) -> AsyncGenerator[None]:
        """Hold a slot."""
        async with self._callers.setdefault(turn_of.get(), anyio.Lock()):
            await self._free.acquire()
        try:
            yield
        finally:
            self._free.release()


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
