"""What surrounds every tool call over HTTP: the limits of its caller, orderly shutdown, the log and the metrics.

A refused tool call is a tool result rather than an HTTP status, so that the model can read how long to wait.
"""

from __future__ import annotations

import collections
import logging
import math
import time
from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import DeepCriticalError, LimitExceededError, ShuttingDownError
from deepcritical_mcp.net.pacing import turn_of
from deepcritical_mcp.tools import PROFILES
from deepcritical_mcp.transports.http.caller_context import Caller, current_caller
from deepcritical_mcp.transports.http.security import refusal

logger = logging.getLogger("deepcritical_mcp.calls")

Request = ServerRequestContext[Any, Any]
CONCURRENCY_RETRY_AFTER = 2.0  # seconds
REQUESTS_PER_CALL = 10
_MINUTE, _ROUNDING_ERROR = 60.0, 1e-6
_LATENCY_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 45, 60)
_TOOLS = frozenset(tool.name for tools in PROFILES.values() for tool in tools)


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


class CallControl:
    """Admits, limits, logs and counts the tool calls of one server; its metrics are in a registry of its own.

    Pass `admit` to the `AppContext` and `observe` to the server as middleware; the application needs the whole. Queries
    are logged only with the setting `log_queries`: they may be about a patient.
    """

    def __init__(self, settings: Settings) -> None:
        self.closing = False
        self.running: set[anyio.CancelScope] = set()
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._settings = settings
        self._rate = RateLimit(settings.calls_per_minute)
        self._of_caller: collections.Counter[str] = collections.Counter()
        self._calls = self._counter("calls", "Tool calls by outcome: ok, or the error's code.", "tool", "outcome")
        told = "Outcome of each provider in a search: ok, failed or skipped."
        self._providers = self._counter("provider_outcomes", told, "provider", "outcome")
        self._responses = self._counter("http_responses", "HTTP responses by status.", "path", "status")
        self._seconds = Histogram(
            "deepcritical_call_seconds",
            "How long tool calls took.",
            ["tool"],
            buckets=_LATENCY_BUCKETS,
            registry=self.registry,
        )
        self.watch("calls_running", "Tool calls that run now.", lambda: len(self.running))

    def watch(self, name: str, description: str, value: Callable[[], float]) -> None:
        """Add the gauge `deepcritical_<name>`, which shows the current `value()`."""
        Gauge(f"deepcritical_{name}", description, registry=self.registry).set_function(value)

    def _counter(self, name: str, description: str, *labels: str) -> Counter:
        return Counter(f"deepcritical_{name}", description, labels, registry=self.registry)

    @asynccontextmanager
    async def admit(self) -> AsyncGenerator[None]:
        """Surround a tool call.

        Raises:
            LimitExceededError: the caller has too many calls running, or made too many in the last minute.
            ShuttingDownError: the server is shutting down, or began to while the call ran.
            DeepCriticalError: the client has closed the connection, so that nobody will read this.
        """
        if self.closing:
            raise ShuttingDownError()
        caller = current_caller()
        key = self._limited_key()
        if key:
            self._check(key)
            self._rate.count(key)
        places, turn = [self.running], None
        if caller:
            places.append(caller.calls)
            # Programs on this machine have nothing but their connections to tell them apart. Elsewhere, opening more of
            # them must not gain more turns.
            turn = turn_of.set(f"{caller.key} {caller.connection}" if caller.is_local else caller.key)
        with anyio.CancelScope() as scope:
            for place in places:
                place.add(scope)
            self._of_caller[key] += 1
            try:
                yield
            finally:
                self._of_caller -= collections.Counter([key])  # drops what reaches zero
                for place in places:
                    place.discard(scope)
                if turn:
                    turn_of.reset(turn)
        if scope.cancelled_caught and self.closing:
            raise ShuttingDownError()
        if scope.cancelled_caught:
            error = DeepCriticalError("The client has closed the connection.")
            error.code = "cancelled"
            raise error

    def _limited_key(self) -> str:
        """The key by which the current caller is limited; "" if it is not."""
        caller = current_caller()
        return caller.key if caller and (self._settings.limit_local or not caller.is_local) else ""

    def _check(self, key: str) -> None:
        most = self._settings.concurrent_calls
        if self._of_caller[key] >= most:
            told = f"At most {most} of your calls may run at the same time. Wait for one to finish, then call again."
            raise LimitExceededError(told, retry_after=CONCURRENCY_RETRY_AFTER)
        if wait := self._rate.wait(key):
            told = (
                f"You have reached the limit of {self._settings.calls_per_minute} calls per minute. Call again in "
                f"{math.ceil(wait)} seconds. To save calls, pass several `variants` of a query in one search."
            )
            raise LimitExceededError(told, retry_after=wait)

    def bounding(self, app: ASGIApp) -> ASGIApp:
        """`app` behind a limit against floods: 429 above `REQUESTS_PER_CALL` requests per allowed tool call."""
        rate = RateLimit(REQUESTS_PER_CALL * self._settings.calls_per_minute)

        async def bounded(scope: Scope, receive: Receive, send: Send) -> None:
            key, respond = self._limited_key(), app
            if key and (wait := rate.wait(key)):
                respond = refusal(429, "too_many_requests", "Too many requests.", retry_after=wait)
            elif key:
                rate.count(key)
            await respond(scope, receive, send)

        return bounded

    def counting(self, app: ASGIApp, paths: Collection[str]) -> ASGIApp:
        """`app`, whose responses are counted by path and status; unknown paths count as "other"."""

        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            async def count(message: Message) -> None:
                if message["type"] == "http.response.start":
                    path = scope["path"] if scope["path"] in paths else "other"
                    self._responses.labels(path, str(message["status"])).inc()
                await send(message)

            await app(scope, receive, count)

        return counted

    async def observe(self, ctx: Request, call_next: CallNext) -> HandlerResult:
        """SDK middleware, inside OpenTelemetry's, that logs and counts tool calls."""
        if ctx.method != "tools/call":
            return await call_next(ctx)
        outcome, result, started = "cancelled", None, time.perf_counter()
        try:
            result = await call_next(ctx)
            outcome = str(_structured(result).get("error", {}).get("code", "ok"))
        except MCPError as error:
            outcome = f"rpc_{error.error.code}"
            raise
        except Exception:  # not a cancellation
            outcome = "rpc_error"
            raise
        finally:
            self._report(ctx, outcome, _structured(result), time.perf_counter() - started)
        return result

    def _report(self, ctx: Request, outcome: str, result: Mapping[str, Any], seconds: float) -> None:
        params = ctx.params or {}
        name = str(params.get("name"))
        tool = name if name in _TOOLS else "unknown"
        self._calls.labels(tool, outcome).inc()
        self._seconds.labels(tool).observe(seconds)
        for report in result.get("providers", []):
            self._providers.labels(report["name"], report["status"]).inc()
        details: Mapping[str, Any] = result.get("error", {}).get("details", {})
        for cause in [details, *details.get("causes", [])]:
            if cause.get("provider"):
                self._providers.labels(cause["provider"], "failed").inc()
        caller = current_caller() or Caller(name="", address="", request_id="", path="")
        fields = {"tool": tool, "outcome": outcome, "ms": round(seconds * 1_000), "request_id": caller.request_id}
        fields |= {"caller": caller.name, "path": caller.path, "protocol": ctx.protocol_version}
        if self._settings.log_queries:
            arguments: Mapping[str, object] = params.get("arguments") or {}
            fields["query"] = next((str(arguments[name])[:500] for name in ("query", "topic") if name in arguments), "")
        logger.info("call", extra=fields)


def _structured(result: HandlerResult) -> Mapping[str, Any]:
    content = result.get("structuredContent") if isinstance(result, dict) else None
    return cast("Mapping[str, Any]", content) if isinstance(content, dict) else {}
