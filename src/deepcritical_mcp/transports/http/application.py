"""The ASGI application: streamable HTTP on /mcp, HTTP+SSE for older clients on /sse and /messages/, and its guards."""

from __future__ import annotations

import ctypes
import gc
import logging
import math
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import anyio
import anyio.lowlevel
import anyio.to_thread
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deepcritical_mcp._version import __version__
from deepcritical_mcp.config import Settings
from deepcritical_mcp.context import AppContext, Services
from deepcritical_mcp.errors import DeepCriticalError
from deepcritical_mcp.transports.http.auth import Authentication
from deepcritical_mcp.transports.http.caller_context import CallerMiddleware
from deepcritical_mcp.transports.http.calls import CallControl
from deepcritical_mcp.transports.http.security import HostAndOriginCheck, refusal, serves_one_user
from deepcritical_mcp.transports.messages import MAX_VALUES, UnusableMessageError, has_too_many_values, read_message

logger = logging.getLogger(__name__)

READ_AT_ONCE = 100_000
"""Bytes of a body that are read on the event loop; more are read in a thread."""


class BodyLimits:
    """ASGI middleware that reads the whole body first and passes it on only if it is within the limits."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._max_body, self._timeout = app, settings.max_body, settings.request_timeout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        declared = Headers(scope=scope).get("content-length", "")
        if declared.isdecimal() and int(declared) > self._max_body:
            await self._too_large()(scope, receive, send)
            return
        found: bytes | Response | None = None
        with anyio.move_on_after(self._timeout) as slow:
            found = await self._read(receive)
        if slow.cancelled_caught:
            text = f"The request body did not arrive within {self._timeout:g} seconds. Send it again."
            found = refusal(408, "slow_request", text, retry_after=1)
        elif isinstance(found, bytes):
            is_long = len(found) > READ_AT_ONCE
            found = await anyio.to_thread.run_sync(self._read_body, found) if is_long else self._read_body(found)
        if isinstance(found, Response):
            await found(scope, receive, send)
        elif found is not None:  # else the client has disconnected
            messages: list[Message] = [{"type": "http.request", "body": found, "more_body": False}]

            async def replay() -> Message:
                return messages.pop() if messages else await receive()

            await self._app(scope, replay, send)

    async def _read(self, receive: Receive) -> bytes | None:
        """The body, cut off above the limit; None if the client disconnects before its end."""
        body, more = bytearray(), True
        while more and len(body) <= self._max_body:
            message = await receive()
            if message["type"] != "http.request":
                return None
            body += message.get("body", b"")
            more = message.get("more_body", False)
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


MCP_PATH, SSE_PATH, MESSAGES_PATH = "/mcp", "/sse", "/messages/"
_PATHS = (MCP_PATH, SSE_PATH, MESSAGES_PATH, "/health", "/ready", "/metrics")
_SEEN = ("Mcp-Session-Id", "WWW-Authenticate", "Retry-After", "X-Request-Id")
_CORS: dict[str, Any] = {"allow_methods": ("GET", "POST", "DELETE"), "expose_headers": _SEEN}
_MAX_SWEEP_INTERVAL = 60.0  # seconds
READINESS_TIMEOUT = 3.0  # seconds for each check
# Together with uvicorn's, less than the two seconds after which many process managers kill a process.
CALL_GRACE_SECONDS, STREAM_GRACE_SECONDS, CLOSE_SECONDS = 1.0, 0.2, 1.0
_POLL_INTERVAL = 0.05  # seconds


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


class HttpApplication:
    """Both transports in one ASGI application, `asgi`, behind everything that guards them; it closes `app`.

    Args:
        calls: the value whose `admit` and `observe` `app` and `server` were given.
        url: scheme, host and port on which the server listens.
        insecure: whether other machines are accepted without authentication.
    """

    def __init__(
        self, server: MCPServer[AppContext], app: AppContext, calls: CallControl, url: str, *, insecure: bool = False
    ) -> None:
        settings = app.settings
        self._server, self._app, self._calls = server, app, calls
        self._auth = Authentication(settings, settings.public_url or url)
        self._kept: Services | None = None
        calls.watch("sessions", "Open sessions.", lambda: self._kept.sessions.open_sessions if self._kept else 0)
        self._streams = OpenStreams(BodyLimits(self._transports(settings), settings))
        of_one_user = serves_one_user(settings, urlsplit(url).hostname or "", insecure=insecure)
        callers = CallerMiddleware(calls.bounding(self._streams), of_one_user=of_one_user)
        routes = self._routes(Turnstile(self._auth.require(callers)))
        if settings.cors_origins:
            routes = CORSMiddleware(routes, allow_origins=settings.cors_origins, allow_headers=["*"], **_CORS)
        self.asgi = calls.counting(HostAndOriginCheck(routes, settings), _PATHS)

    async def drain(self, *, hurry: Callable[[], bool]) -> None:
        """Refuse new calls, wait for running ones (unless `hurry()`), cancel the rest, then end the open streams."""
        running = self._calls.running
        self._calls.closing = True
        await _wait_while(lambda: bool(running) and not hurry(), CALL_GRACE_SECONDS)
        for scope in list(running):
            scope.cancel()
        await _wait_while(lambda: bool(running), STREAM_GRACE_SECONDS)
        await anyio.sleep(_POLL_INTERVAL)  # lets the results reach their streams
        await self._streams.end()

    async def _health(self, _: Request) -> Response:
        """200 as long as the process responds."""
        return JSONResponse({"status": "ok", "version": __version__})

    async def _ready(self, _: Request) -> Response:
        """200 if the model is loaded and the store can be reached; else 503 with the reason."""
        if self._calls.closing:
            return JSONResponse({"status": "closing"}, status_code=503, headers={"retry-after": "10"})
        checks = {name: await self._check(name) for name in ("model", "store")}
        if {*checks.values()} == {"ok"}:
            return JSONResponse({"status": "ok", **checks})
        return JSONResponse({"status": "not ready", **checks}, status_code=503, headers={"retry-after": "5"})

    async def _check(self, name: str) -> str:
        try:
            with anyio.fail_after(READINESS_TIMEOUT):
                services = await self._app.services()
                await (services.embedder.query_vectors(["ready?"]) if name == "model" else services.sessions.check())
        except TimeoutError:
            return "loading" if name == "model" else "no answer"
        except DeepCriticalError as error:
            return error.code
        return "ok"

    async def _metrics(self, _: Request) -> Response:
        """The metrics in Prometheus' text format."""
        return Response(generate_latest(self._calls.registry), media_type=CONTENT_TYPE_LATEST)

    def _transports(self, settings: Settings) -> ASGIApp:
        # The SDK's own check of Host and Origin is the same for all interfaces; ours guards the whole application.
        unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        both: dict[str, Any] = {"transport_security": unchecked, "max_request_body_size": settings.max_body}
        streamable = self._server.streamable_http_app(
            streamable_http_path=MCP_PATH, session_idle_timeout=settings.connection_ttl, **both
        )
        sse = self._server.sse_app(sse_path=SSE_PATH, message_path=MESSAGES_PATH, **both)
        for route in sse.routes:
            if isinstance(route, Route) and route.methods:
                route.methods.discard("HEAD")  # the SDK opens a connection for it and never closes it
        return Router([Route("/metrics", self._metrics), *streamable.routes, *sse.routes])

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

        own = [Route("/health", self._health), Route("/ready", self._ready), *self._auth.routes()]
        behind_auth = (MCP_PATH, SSE_PATH, MESSAGES_PATH + "{rest:path}", "/metrics")
        return Starlette(routes=[*own, *(Route(path, guarded) for path in behind_auth)], lifespan=lifespan)

    async def _sweep(self) -> None:
        """Drop idle sessions, also while no requests come in, and release memory."""
        while True:
            await anyio.sleep(min(_MAX_SWEEP_INTERVAL, (self._app.settings.session_ttl or math.inf) / 4))
            try:
                await anyio.to_thread.run_sync(_release_memory, not self._calls.running)
                self._kept = await self._app.services()
                await self._kept.sessions.sweep()
            except DeepCriticalError as error:
                logger.warning("could not drop idle sessions: %s", error.message)
            except Exception:  # a bug here must not stop the server
                logger.exception("could not drop idle sessions")


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
        self._app, self._closing, self._ended = app, False, anyio.Event()
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
