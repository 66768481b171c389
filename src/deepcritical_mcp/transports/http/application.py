"""The ASGI application: streamable HTTP on /mcp, HTTP+SSE for older clients on /sse and /messages/, and its guards."""

from __future__ import annotations

import ctypes
import gc
import logging
import math
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import DeepCriticalError, ShuttingDownError
from deepcritical_mcp.tools import PROFILES
from deepcritical_mcp.transports.http.auth import Authentication
from deepcritical_mcp.transports.http.call_limits import CallLimits, Turnstile
from deepcritical_mcp.transports.http.caller_context import CallerMiddleware, current_caller
from deepcritical_mcp.transports.http.monitoring import CallObserver, Health, Metrics, ResponseCounter
from deepcritical_mcp.transports.http.security import HostAndOriginCheck, refusal, serves_one_user
from deepcritical_mcp.transports.messages import MAX_VALUES, UnusableMessageError, has_too_many_values, read_message

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

    from deepcritical_mcp.context import AppContext
    from deepcritical_mcp.evidence.sessions import SessionRegistry

logger = logging.getLogger(__name__)

READ_AT_ONCE = 100_000
"""Bytes of a body that are read on the event loop; more are read in a thread."""


class BodyLimits:
    """ASGI middleware that reads the whole body first and passes it on only if it is within the limits."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._max_body = settings.max_body
        self._timeout = settings.request_timeout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        declared = Headers(scope=scope).get("content-length", "")
        if declared.isdecimal() and int(declared) > self._max_body:
            await self._too_large()(scope, receive, send)
            return
        body: bytes | None = b""
        with anyio.move_on_after(self._timeout) as slow:
            body = await self._read(receive)
        if slow.cancelled_caught:
            text = f"The request body did not arrive within {self._timeout:g} seconds. Send it again."
            await refusal(408, "slow_request", text, retry_after=1)(scope, receive, send)
        elif body is not None:  # else the client has disconnected
            is_long = len(body) > READ_AT_ONCE
            found = await anyio.to_thread.run_sync(self._read_body, body) if is_long else self._read_body(body)
            if isinstance(found, bytes):
                messages: list[Message] = [{"type": "http.request", "body": found, "more_body": False}]

                async def replay() -> Message:
                    return messages.pop() if messages else await receive()

                await self._app(scope, replay, send)
            else:
                await found(scope, receive, send)

    async def _read(self, receive: Receive) -> bytes | None:
        """The body, cut off above the limit; None if the client disconnects before its end."""
        body = bytearray()
        while len(body) <= self._max_body:
            message = await receive()
            if message["type"] != "http.request":
                return None
            body += message.get("body", b"")
            if not message.get("more_body", False):
                break
        return bytes(body)

    def _read_body(self, body: bytes) -> bytes | Response:
        """The message as plain JSON, or the response to what cannot be used."""
        if len(body) > self._max_body:
            return self._too_large()
        if has_too_many_values(body):
            text = f"The request has more than {MAX_VALUES:,} values. Send fewer items per call."
            return refusal(413, "too_many_values", text)
        try:
            return read_message(body)[1]
        except UnusableMessageError as error:
            answers = [one.model_dump(mode="json", by_alias=True, exclude_unset=True) for one in error.answers]
            return JSONResponse(answers[0] if len(answers) == 1 else answers, status_code=400)

    def _too_large(self) -> Response:
        text = f"The request is larger than {self._max_body:,} bytes. Send fewer or shorter items per call."
        return refusal(413, "too_large", text)


MCP_PATH = "/mcp"
SSE_PATH = "/sse"
MESSAGES_PATH = "/messages/"
_PATHS = (MCP_PATH, SSE_PATH, MESSAGES_PATH, "/health", "/ready", "/metrics")
_MAX_SWEEP_INTERVAL = 60.0  # seconds
# Together with uvicorn's, less than the two seconds after which many process managers kill a process.
CALL_GRACE_SECONDS = 1.0
STREAM_GRACE_SECONDS = 0.2
CLOSE_SECONDS = 1.0
_POLL_INTERVAL = 0.05  # seconds


class CallControl:
    """What surrounds every tool call over HTTP: the limits of its caller, orderly shutdown, the log and the metrics.

    Pass `admit` to the `AppContext` and `observer` to the server as middleware; the application needs the whole.
    """

    def __init__(self, settings: Settings) -> None:
        self.closing = False
        self.running: set[anyio.CancelScope] = set()
        self.limits = CallLimits(settings)
        self.metrics = Metrics()
        self.metrics.watch("calls_running", "Tool calls that run now.", lambda: len(self.running))
        tools = [tool.name for tools in PROFILES.values() for tool in tools]
        self.observer = CallObserver(self.metrics, tools, log_queries=settings.log_queries)

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
        with anyio.CancelScope() as scope:
            places = [self.running, caller.calls] if caller else [self.running]
            for place in places:
                place.add(scope)
            try:
                async with self.limits.admit():
                    yield
            finally:
                for place in places:
                    place.discard(scope)
        if scope.cancelled_caught and self.closing:
            raise ShuttingDownError()
        if scope.cancelled_caught:
            error = DeepCriticalError("The client has closed the connection.")
            error.code = "cancelled"
            raise error

    async def drain(self, *, hurry: Callable[[], bool]) -> None:
        """Refuse new calls, wait for running ones (not if `hurry()`), then cancel the rest."""
        self.closing = True
        await _wait_while(lambda: bool(self.running) and not hurry(), CALL_GRACE_SECONDS)
        for scope in list(self.running):
            scope.cancel()
        await _wait_while(lambda: bool(self.running), STREAM_GRACE_SECONDS)
        await anyio.sleep(_POLL_INTERVAL)  # lets the results reach their streams


class HttpApplication:
    """Both transports in one ASGI application, `asgi`, behind everything that guards them; it closes `app`.

    Args:
        calls: the value whose `admit` and `observer` `app` and `server` were given.
        address: scheme, host and port on which the server listens.
        insecure: whether other machines are accepted without authentication.
    """

    def __init__(
        self,
        server: MCPServer[AppContext],
        app: AppContext,
        calls: CallControl,
        address: str,
        *,
        insecure: bool = False,
    ) -> None:
        settings = app.settings
        self._server = server
        self._app = app
        self._calls = calls
        self._auth = Authentication(settings, settings.public_url or address)
        self._registry: SessionRegistry | None = None
        calls.metrics.watch("sessions", "Open sessions.", lambda: self._registry.open_sessions if self._registry else 0)
        self._health = Health(app, calls.metrics, closing=lambda: calls.closing)
        self._streams = OpenStreams(BodyLimits(self._transports(settings), settings))
        of_one_user = serves_one_user(settings, urlsplit(address).hostname or "", insecure=insecure)
        callers = CallerMiddleware(calls.limits.bounding(self._streams), of_one_user=of_one_user)
        guarded = Turnstile(self._auth.require(callers))
        checked = HostAndOriginCheck(_cors(self._routes(guarded), settings), settings)
        self.asgi = ResponseCounter(checked, calls.metrics, _PATHS)

    async def drain(self, *, hurry: Callable[[], bool]) -> None:
        """Wait for running calls (unless `hurry()`), fail those still running, then end the open streams."""
        await self._calls.drain(hurry=hurry)
        await self._streams.end()

    def _transports(self, settings: Settings) -> ASGIApp:
        # The SDK's own check of Host and Origin is the same for all interfaces; ours guards the whole application.
        unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        max_body = settings.max_body
        streamable = self._server.streamable_http_app(
            streamable_http_path=MCP_PATH,
            transport_security=unchecked,
            max_request_body_size=max_body,
            session_idle_timeout=settings.connection_ttl,
        )
        sse = self._server.sse_app(
            sse_path=SSE_PATH, message_path=MESSAGES_PATH, transport_security=unchecked, max_request_body_size=max_body
        )
        for route in sse.routes:
            if isinstance(route, Route) and route.methods:
                route.methods.discard("HEAD")  # the SDK opens a connection for it and never closes it
        return Router([Route("/metrics", self._health.metrics), *streamable.routes, *sse.routes])

    def _routes(self, guarded: ASGIApp) -> ASGIApp:
        @asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncGenerator[None]:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._sweep)
                async with self._server.session_manager.run():
                    yield
                tasks.cancel_scope.cancel()
            with anyio.move_on_after(CLOSE_SECONDS):  # a server that keeps the sessions may hang
                await self._auth.aclose()
                await self._app.aclose()

        behind_auth = (MCP_PATH, SSE_PATH, MESSAGES_PATH + "{rest:path}", "/metrics")
        return Starlette(
            routes=[
                Route("/health", self._health.health),
                Route("/ready", self._health.ready),
                *self._auth.routes(),
                *(Route(path, guarded) for path in behind_auth),
            ],
            lifespan=lifespan,
        )

    async def _sweep(self) -> None:
        """Drop idle sessions, also while no requests come in, and release memory."""
        while True:
            await anyio.sleep(min(_MAX_SWEEP_INTERVAL, (self._app.settings.session_ttl or math.inf) / 4))
            try:
                await anyio.to_thread.run_sync(_release_memory, not self._calls.running)
                self._registry = (await self._app.services()).sessions
                await self._registry.sweep()
            except DeepCriticalError as error:
                logger.warning("could not drop idle sessions: %s", error.message)
            except Exception:  # a bug here must not stop the server
                logger.exception("could not drop idle sessions")


def _cors(routes: ASGIApp, settings: Settings) -> ASGIApp:
    if not settings.cors_origins:
        return routes
    return CORSMiddleware(
        routes,
        allow_origins=settings.cors_origins,
        allow_methods=["GET", "POST", "DELETE"],
        allow_headers=["*"],
        expose_headers=["Mcp-Session-Id", "WWW-Authenticate", "Retry-After", "X-Request-Id"],
    )


def _release_memory(is_idle: bool) -> None:
    """Return freed memory to the system, which glibc rarely does by itself: a flood leaves 45 MB behind, and a steady
    stream of calls 2 MB more each minute."""
    if is_idle:  # else it would delay the calls
        gc.collect()
    if sys.platform != "win32" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)


class OpenStreams:
    """ASGI middleware that can end open responses, event streams above all.

    To the application it looks as if the client had disconnected, so it cleans up as usual.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._closing = False
        self._ended = anyio.Event()
        self._open: dict[anyio.CancelScope, str] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._closing:
            await refusal(503, "shutting_down", "This server is shutting down.", retry_after=10)(scope, receive, send)
            return
        started = ended = False

        async def watched(message: Message) -> None:
            nonlocal started, ended
            if started and self._ended.is_set():
                return  # as for a client that has disconnected
            started = started or message["type"] == "http.response.start"
            ended = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)

        with anyio.CancelScope() as cancel:
            self._open[cancel] = scope["method"]
            try:
                await self._app(scope, lambda: self._receive(receive), watched)
            finally:
                del self._open[cancel]
        if self._ended.is_set() and started and not ended:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def end(self) -> None:
        """Refuse new requests, wait a little for POST responses, then end every response."""
        self._closing = True
        await _wait_while(lambda: "POST" in self._open.values(), STREAM_GRACE_SECONDS)
        self._ended.set()
        await _wait_while(lambda: bool(self._open), STREAM_GRACE_SECONDS)
        for scope in list(self._open):
            scope.cancel()

    async def _receive(self, receive: Receive) -> Message:
        message: Message = {"type": "http.disconnect"}

        async def stop_when_ended() -> None:
            await self._ended.wait()
            tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stop_when_ended)
            message = await receive()
            tasks.cancel_scope.cancel()
        return message


async def _wait_while(condition: Callable[[], bool], grace: float) -> None:
    with anyio.move_on_after(grace):
        while condition():  # noqa: ASYNC110  # runs at shutdown only; a signal handler cannot set an event
            await anyio.sleep(_POLL_INTERVAL)
