"""Limits per caller: tool calls per minute, concurrent tool calls, and HTTP requests per minute.

A refused tool call is a tool result rather than an HTTP status, so that the model can read how long to wait.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel
from starlette.types import ASGIApp, Receive, Scope, Send

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import LimitExceededError
from deepcritical_mcp.net.pacing import turn_of
from deepcritical_mcp.transports.http.caller_context import Caller, current_caller
from deepcritical_mcp.transports.http.security import refusal

CONCURRENCY_RETRY_AFTER = 2.0  # seconds
REQUESTS_PER_CALL = 10
_MINUTE = 60.0
_ROUNDING_ERROR = 1e-6


class RateLimit:
    """At most `per_minute` events per minute and key, in bursts of up to that many.

    The generic cell rate algorithm; the one number per key is when its full burst is available again.
    """

    def __init__(self, per_minute: int) -> None:
        self._spacing = _MINUTE / per_minute
        self._full_at: dict[str, float] = {}
        self._next_sweep = 0.0

    def wait(self, key: str) -> float:
        """Seconds until the next event of `key` is allowed, 0.0 if it is allowed now. Counts nothing."""
        now = time.monotonic()
        wait = self._full_at.get(key, now) + self._spacing - _MINUTE - now
        return wait if wait > _ROUNDING_ERROR else 0.0

    def count(self, key: str) -> None:
        """Count one event of `key`."""
        now = time.monotonic()
        if now >= self._next_sweep:
            self._next_sweep = now + _MINUTE
            self._full_at = {known: moment for known, moment in self._full_at.items() if moment > now}
        self._full_at[key] = max(self._full_at.get(key, now), now) + self._spacing


class CallLimits:
    """Admits tool calls and requests of the current caller, or refuses them with the time to wait."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._rate = RateLimit(settings.calls_per_minute)
        self._running: Counter[str] = Counter()

    @asynccontextmanager
    async def admit(self) -> AsyncGenerator[None]:
        """Surround a tool call.

        Raises:
            LimitExceededError: the caller has too many calls running, or made too many in the last minute.
        """
        caller = current_caller()
        if caller is None:
            yield
            return
        counted = self._counts(caller)
        if counted:
            self._check(caller.key)
            self._rate.count(caller.key)
            self._running[caller.key] += 1
        turn = turn_of.set(caller.turn)
        try:
            yield
        finally:
            turn_of.reset(turn)
            if counted:
                self._running -= Counter([caller.key])  # drops what reaches zero

    def bounding(self, app: ASGIApp) -> ASGIApp:
        """`app` behind a limit against floods: 429 above `REQUESTS_PER_CALL` requests per allowed tool call."""
        rate = RateLimit(REQUESTS_PER_CALL * self._settings.calls_per_minute)

        async def bounded(scope: Scope, receive: Receive, send: Send) -> None:
            caller = current_caller()
            if caller is not None and self._counts(caller):
                if wait := rate.wait(caller.key):
                    refused = refusal(429, "too_many_requests", "Too many requests.", retry_after=wait)
                    await refused(scope, receive, send)
                    return
                rate.count(caller.key)
            await app(scope, receive, send)

        return bounded

    def _counts(self, caller: Caller) -> bool:
        return not caller.is_local or self._settings.limit_local

    def _check(self, key: str) -> None:
        if self._running[key] >= self._settings.concurrent_calls:
            raise LimitExceededError(
                f"At most {self._settings.concurrent_calls} of your calls may run at the same time. Wait for one to "
                "finish, then call again.",
                retry_after=CONCURRENCY_RETRY_AFTER,
            )
        if wait := self._rate.wait(key):
            raise LimitExceededError(
                f"You have reached the limit of {self._settings.calls_per_minute} calls per minute. Call again in "
                f"{math.ceil(wait)} seconds. To save calls, pass several `variants` of a query in one search.",
                retry_after=wait,
            )


class Turnstile:
    """ASGI middleware that lets requests in one after the other, each when the event loop has had its turn.

    A crowd that comes in at once would otherwise be served in step: each turn of the loop does a part of every request,
    and whoever asks for `/health` waits for as many such turns as the answer takes.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._one = anyio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._one:
            await anyio.lowlevel.checkpoint()
        await self._app(scope, receive, send)
