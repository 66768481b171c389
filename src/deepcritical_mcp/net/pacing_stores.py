"""Where pyrate-limiter's state is kept: in memory, in a file that processes share, in a Redis that machines share."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from filelock import FileLock
from pyrate_limiter.abstracts.algorithm import Decision, State, StateAlgorithm
from pyrate_limiter.abstracts.rate import Rate
from pyrate_limiter.abstracts.store import StateStore
from pyrate_limiter.buckets.redis_state import RedisStateStore
from pyrate_limiter.buckets.state_bucket import InMemoryStateStore

from deepcritical_mcp.errors import ConfigurationError

LOCK_TIMEOUT = 2.0
"""Seconds. The lock is held for microseconds and ends with its process: a longer wait means that it does not work."""

LOCK_POLL = 0.005
REDIS_TIMEOUT = 2.0
MAX_STATE_BYTES = 1_000


class MemoryStateStore(InMemoryStateStore):
    """State in this process, timed by the monotonic clock: it works when the system's clock is set back, too."""

    def check(self, algorithm: StateAlgorithm, rates: list[Rate], now: int, weight: int) -> Decision:
        """Apply `algorithm.step` at this moment, whatever `now` is."""
        return super().check(algorithm, rates, time.monotonic_ns() // 1_000_000, weight)


class FileStateStore(StateStore):
    """State in a small file, one reader and writer at a time on this machine.

    pyrate-limiter's own SQLite bucket keeps a log, needs a journal that network folders do not have, and waits for
    its lock forever; this keeps one number. Every method may raise OSError; a file that is not a regular one or not
    text cannot be used.
    """

    def __init__(self, path: Path, *, lock_timeout: float = LOCK_TIMEOUT) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._state = path.with_suffix(".state")
        self._lock = FileLock(path.with_suffix(".lock"), timeout=lock_timeout, thread_local=False)

    def check(self, algorithm: StateAlgorithm, rates: list[Rate], now: int, weight: int) -> Decision:
        """Apply `algorithm.step` at the moment the lock is held; `now` may be long past by then."""
        with self._lock.acquire(poll_interval=LOCK_POLL):
            moment = time.time_ns() // 1_000_000
            state, decision = algorithm.step(rates, self._believable(algorithm, rates, moment), moment, weight)
            if decision.allowed:
                self._state.write_text(" ".join(map(str, state)))
            return decision

    def read(self, algorithm: StateAlgorithm, rates: list[Rate]) -> State:
        """The state in the file; the initial one if there is none or it makes no sense."""
        try:
            state = algorithm.decode(self._written())
        except (FileNotFoundError, ValueError):
            return algorithm.initial(rates)
        return state if len(state) == len(rates) else algorithm.initial(rates)

    def reset(self) -> None:
        """Forget the state."""
        with self._lock:
            self._state.unlink(missing_ok=True)

    def _written(self) -> list[str]:
        if not stat.S_ISREG(self._state.stat().st_mode):  # reading a pipe would never end
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        with self._state.open("rb") as file:
            try:
                return file.read(MAX_STATE_BYTES).decode("ascii").split()
            except UnicodeDecodeError:
                raise OSError(errno.EILSEQ, os.strerror(errno.EILSEQ)) from None

    def _believable(self, algorithm: StateAlgorithm, rates: list[Rate], now: int) -> State:
        """The state, unless it is further ahead than possible because the clock was set back."""
        state = self.read(algorithm, rates)
        return state if _is_believable(state, rates, now) else algorithm.initial(rates)


def _is_believable(state: State, rates: Sequence[Rate], now: int) -> bool:
    return all(moment <= (now + 2 * rate.interval) * 1000 for moment, rate in zip(state, rates, strict=True))


class SharedRedisStateStore(RedisStateStore):
    """State in Redis, timed by its clock, since the machines' clocks differ. Using it may raise OSError.

    Raises:
        ConfigurationError: the package `redis` is not installed, or `url` is not the address of a Redis.
    """

    def __init__(self, url: str, key: str) -> None:
        try:
            from redis import Redis
        except ImportError:
            raise ConfigurationError(
                "DEEPCRITICAL_REDIS_URL needs the redis package: install deepcritical-mcp[redis], or unset it."
            ) from None
        try:
            self._client = Redis.from_url(  # pyright: ignore[reportUnknownMemberType]  # it leaves its options untyped
                url, socket_timeout=REDIS_TIMEOUT, socket_connect_timeout=REDIS_TIMEOUT
            )
        except ValueError:
            raise ConfigurationError(
                "DEEPCRITICAL_REDIS_URL is not the address of a Redis, such as redis://host:6379."
            ) from None
        super().__init__(self._client, key)

    def check(self, algorithm: StateAlgorithm, rates: list[Rate], now: int, weight: int) -> Decision:
        """Apply `algorithm.step` in Redis, at its own time, whatever `now` is."""
        from redis.exceptions import RedisError

        try:
            seconds, microseconds = self._client.time()  # pyright: ignore[reportUnknownMemberType]  # untyped options
            return cast("Decision", super().check(algorithm, rates, seconds * 1000 + microseconds // 1000, weight))
        except RedisError as error:
            raise ConnectionError(type(error).__name__) from error
