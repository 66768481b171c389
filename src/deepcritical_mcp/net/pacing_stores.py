"""Where pyrate-limiter's state is kept for several processes. Imported when the first request is about to start."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from filelock import FileLock
from pyrate_limiter.abstracts.algorithm import Decision, State, StateAlgorithm
from pyrate_limiter.abstracts.rate import Rate
from pyrate_limiter.abstracts.store import StateStore
from pyrate_limiter.buckets.redis_state import RedisStateStore

from deepcritical_mcp.errors import ConfigurationError

LOCK_TIMEOUT = 2.0
"""Seconds. The lock is held for microseconds and ends with its process: a longer wait means that it does not work."""

LOCK_POLL = 0.005
REDIS_TIMEOUT = 2.0


class FileStateStore(StateStore):
    """State in a small file, one reader and writer at a time on this machine.

    pyrate-limiter's own SQLite bucket keeps a log, needs a journal that network folders do not have, and waits for
    its lock without end; this keeps one number. Every method may raise OSError.
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
        """The state as it is written."""
        try:
            written = self._state.read_text().split()
        except FileNotFoundError:
            return algorithm.initial(rates)
        try:
            state = algorithm.decode(written)
        except ValueError:
            return algorithm.initial(rates)
        return state if len(state) == len(rates) else algorithm.initial(rates)

    def reset(self) -> None:
        """Forget everything."""
        with self._lock:
            self._state.unlink(missing_ok=True)

    def _believable(self, algorithm: StateAlgorithm, rates: list[Rate], now: int) -> State:
        """The state, unless it lies further ahead than it can: then the clock was set back since."""
        state = self.read(algorithm, rates)
        return state if _is_believable(state, rates, now) else algorithm.initial(rates)


def _is_believable(state: State, rates: Sequence[Rate], now: int) -> bool:
    return all(moment <= (now + 2 * rate.interval) * 1000 for moment, rate in zip(state, rates, strict=True))


class SharedRedisStateStore(RedisStateStore):
    """State in Redis, timed by its clock, since those of several machines differ. Using it may raise OSError.

    Raises:
        ConfigurationError: the package `redis` is not installed, or the address is none.
    """

    def __init__(self, url: str, key: str) -> None:
        try:
            from redis import Redis
        except ImportError:
            raise ConfigurationError(
                "DEEPCRITICAL_REDIS_URL needs the package redis: install deepcritical-mcp[redis], or unset it."
            ) from None
        try:
            self._client = Redis.from_url(  # pyright: ignore[reportUnknownMemberType]  # it leaves its options untyped
                url, socket_timeout=REDIS_TIMEOUT, socket_connect_timeout=REDIS_TIMEOUT
            )
        except ValueError:
            raise ConfigurationError(
                "DEEPCRITICAL_REDIS_URL is no address of a Redis, e.g. redis://host:6379."
            ) from None
        super().__init__(self._client, key)

    def check(self, algorithm: StateAlgorithm, rates: list[Rate], now: int, weight: int) -> Decision:
        """Apply `algorithm.step` in Redis, at its own time."""
        from redis.exceptions import RedisError

        try:
            seconds, microseconds = self._client.time()  # pyright: ignore[reportUnknownMemberType]  # untyped options
            return cast("Decision", super().check(algorithm, rates, seconds * 1000 + microseconds // 1000, weight))
        except RedisError as error:
            raise ConnectionError(type(error).__name__) from error
