"""How much one caller may ask for: tool calls a minute and at once.

A refused tool call is a tool result, not an HTTP status, since it is a model that must wait: it reads how long.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from starlette.types import ASGIApp, Receive, Scope, Send

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import LimitExceededError
from deepcritical_mcp.transports.http.callers import current_caller
from deepcritical_mcp.transports.http.security import refusal

SOON = 2.0
REQUESTS_PER_CALL = 10
_ROUNDING = 1e-6


class RateLimit:
    """At most `per_minute` events a minute of each key, in bursts up to that many.

    The generic cell rate algorithm: one number a key, the moment at which its credit would be whole again.
    """

    def __init__(self, per_minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._spacing = 60.0 / per_minute
        self._burst = 60.0
        self._clock = clock
        self._whole_again: dict[str, float] = {}
        self._next_sweep = 0.0

    def wait(self, key: str) -> float:
        """Seconds until an event of `key` is welcome, 0.0 if it is now; does not count one."""
        now = self._clock()
        wait = self._whole_again.get(key, now) + self._spacing - self._burst - now
        return wait if wait > _ROUNDING else 0.0

    def count(self, key: str) -> None:
        """Count one event of `key`."""
        now = self._clock()
        self._sweep(now)
        self._whole_again[key] = max(self._whole_again.get(key, now), now) + self._spacing

    def _sweep(self, now: float) -> None:
        if now < self._next_sweep:
            return
        self._next_sweep = now + self._burst
        self._whole_again = {key: moment for key, moment in self._whole_again.items() if moment > now}


class CallLimits:
    """Admits tool calls of the current caller, or says when to come back."""

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._rate = RateLimit(settings.calls_per_minute, clock=clock)
        self._running: Counter[str] = Counter()

    @asynccontextmanager
    async def admit(self) -> AsyncGenerator[None]:
        """Surround a tool call.

        Raises:
            LimitExceededError: the caller has too many calls running, or made too many of late.
        """
        caller = current_caller()
        if caller is None or (caller.is_local and not self._settings.limit_local):
            yield
            return
        self._check(caller.key)
        self._rate.count(caller.key)
        self._running[caller.key] += 1
        try:
            yield
        finally:
            self._running[caller.key] -= 1
            if not self._running[caller.key]:
                del self._running[caller.key]

    def _check(self, key: str) -> None:
        if self._running[key] >= self._settings.concurrent_calls:
            raise LimitExceededError(
                f"{self._settings.concurrent_calls} of your calls are running, and more at once are not allowed. "
                "Wait for one to end, then call again.",
                retry_after=SOON,
            )
        wait = self._rate.wait(key)
        if wait:
            raise LimitExceededError(
                f"You have made the {self._settings.calls_per_minute} calls that a minute allows. Call again in "
                f"{math.ceil(wait)} seconds, with fewer calls: several wordings fit into one search as `variants`.",
                retry_after=wait,
            )


class RequestLimits:
    """ASGI middleware against floods of whatever kind: ten requests for each tool call allowed, beyond it 429."""

    def __init__(self, app: ASGIApp, settings: Settings, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._limit_local = settings.limit_local
        self._rate = RateLimit(REQUESTS_PER_CALL * settings.calls_per_minute, clock=clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = current_caller()
        if caller is not None and (self._limit_local or not caller.is_local):
            wait = self._rate.wait(caller.key)
            if wait:
                await refusal(429, "too_many_requests", "Too many requests.", retry_after=wait)(scope, receive, send)
                return
            self._rate.count(caller.key)
        await self._app(scope, receive, send)
