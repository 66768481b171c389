"""Serving many clients over HTTP: streamable HTTP on /mcp, HTTP+SSE (for older clients) on /sse and /messages/."""

from __future__ import annotations

import logging
import socket
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from types import FrameType
from typing import TYPE_CHECKING, Literal, NoReturn

import anyio
import anyio.to_thread
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from sse_starlette.sse import AppStatus
from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route, Router
from starlette.types import ASGIApp

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import ConfigurationError, DeepCriticalError
from deepcritical_mcp.tools import PROFILES
from deepcritical_mcp.transports.http.auth import Authentication, weak_tokens
from deepcritical_mcp.transports.http.bodies import BodyLimits
from deepcritical_mcp.transports.http.call_limits import CallLimits, RequestLimits
from deepcritical_mcp.transports.http.callers import CallerContext
from deepcritical_mcp.transports.http.connections import bounded
from deepcritical_mcp.transports.http.draining import OpenStreams, RunningCalls
from deepcritical_mcp.transports.http.health import Health
from deepcritical_mcp.transports.http.leaving import leave
from deepcritical_mcp.transports.http.memory import give_memory_back
from deepcritical_mcp.transports.http.metrics import Metrics
from deepcritical_mcp.transports.http.observation import CallObserver, ResponseCounter
from deepcritical_mcp.transports.http.security import HostAndOriginCheck, listens_on_loopback_only

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

    from deepcritical_mcp.context import AppContext
    from deepcritical_mcp.evidence.sessions import SessionRegistry

logger = logging.getLogger(__name__)

MCP_PATH = "/mcp"
SSE_PATH = "/sse"
MESSAGES_PATH = "/messages/"
_PATHS = (MCP_PATH, SSE_PATH, MESSAGES_PATH, "/health", "/ready", "/metrics")
_LAST_WORDS = 3
# They log each Mcp-Session-Id, which is all that an unauthenticated connection is known by.
_TELLTALES = ("mcp.server.streamable_http", "mcp.server.streamable_http_manager", "mcp.server.sse")
LONGEST_SWEEP = 60.0
MOST_FILES = 65_536


class HttpApplication:
    """Both transports in one ASGI application (`asgi`), with everything that stands in front of them.

    Its lifespan owns `app`: it is closed at the end.

    Args:
        public_url: scheme, host and port under which clients reach it.
    """

    def __init__(self, server: MCPServer[AppContext], app: AppContext, public_url: str) -> None:
        settings = app.settings
        self._server = server
        self._app = app
        self._metrics = Metrics()
        self._calls = RunningCalls()
        self._limits = CallLimits(settings)
        self._auth = Authentication(settings, public_url)
        app.admission = self._admission
        server.middleware.append(
            CallObserver(
                self._metrics,
                [tool.name for tools in PROFILES.values() for tool in tools],
                log_queries=settings.log_queries,
            )
        )
        self._registry: SessionRegistry | None = None
        self._metrics.watch("sessions", "Open sessions.", lambda: self._registry.open_sessions if self._registry else 0)
        self._metrics.watch("calls_running", "Tool calls that run now.", lambda: len(self._calls))
        self._health = Health(app, self._metrics, closing=lambda: self._calls.closing)
        self._streams = OpenStreams(BodyLimits(self._transports(settings), settings))
        guarded = self._auth.require(CallerContext(RequestLimits(self._streams, settings)))
        self.asgi = self._in_front(self._routes(guarded), settings)

    async def drain(self, *, hurry: Callable[[], bool]) -> None:
        """Let running calls end (unless `hurry()`), then answer the rest with an error, then end the open streams."""
        await self._calls.drain(hurry=hurry)
        await self._streams.end()

    def _transports(self, settings: Settings) -> ASGIApp:
        # The SDK's own check of Host and Origin cannot tell one interface from another: ours stands in front of all.
        unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        streamable = self._server.streamable_http_app(
            streamable_http_path=MCP_PATH,
            transport_security=unchecked,
            max_request_body_size=settings.max_body,
            session_idle_timeout=settings.connection_ttl,
        )
        sse = self._server.sse_app(
            sse_path=SSE_PATH,
            message_path=MESSAGES_PATH,
            transport_security=unchecked,
            max_request_body_size=settings.max_body,
        )
        for route in sse.routes:
            if isinstance(route, Route) and route.methods:
                route.methods.discard("HEAD")  # the SDK opens a connection for it, and never closes that
        return Router([Route("/metrics", self._health.metrics), *streamable.routes, *sse.routes])

    def _routes(self, guarded: ASGIApp) -> ASGIApp:
        @asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncGenerator[None]:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._sweep)
                async with self._server.session_manager.run():
                    yield
                tasks.cancel_scope.cancel()
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
        """Drop idle sessions even while nobody calls, and give their memory back."""
        open_before = 0
        while True:
            await anyio.sleep(min(LONGEST_SWEEP, self._app.settings.session_ttl / 4))
            try:
                self._registry = (await self._app.services()).sessions
                await self._registry.sweep()
            except DeepCriticalError as error:
                logger.warning("idle sessions could not be dropped: %s", error.message)
            except Exception:  # a bug here must not end the server
                logger.exception("idle sessions could not be dropped")
            else:
                if self._registry.open_sessions < open_before:
                    await anyio.to_thread.run_sync(give_memory_back)
                open_before = self._registry.open_sessions

    def _in_front(self, routes: ASGIApp, settings: Settings) -> ASGIApp:
        if settings.cors_origins:
            routes = CORSMiddleware(
                routes,
                allow_origins=settings.cors_origins,
                allow_methods=["GET", "POST", "DELETE"],
                allow_headers=["*"],
                expose_headers=["Mcp-Session-Id", "WWW-Authenticate", "Retry-After", "X-Request-Id"],
            )
        return ResponseCounter(HostAndOriginCheck(routes, settings), self._metrics, _PATHS)

    @asynccontextmanager
    async def _admission(self) -> AsyncGenerator[None]:
        async with self._calls.admit(), self._limits.admit():
            yield


class HttpServer(uvicorn.Server):
    """Uvicorn that drains the application before it stops; a second signal makes it hurry."""

    def __init__(self, application: HttpApplication, settings: Settings) -> None:
        AppStatus.disable_automatic_graceful_drain()  # it would end the streams before the running calls
        proxies = list(settings.trusted_proxies)
        super().__init__(
            uvicorn.Config(
                application.asgi,
                http=bounded(settings.max_connections, settings.request_timeout),
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=bool(proxies),
                forwarded_allow_ips=proxies,
                timeout_keep_alive=int(settings.keep_alive),
                timeout_graceful_shutdown=_LAST_WORDS,
            )
        )
        self.hurries = False
        self._application = application

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end; at the second signal, wait for no call; at the third, for nothing."""
        self.force_exit = self.hurries
        self.hurries = self.should_exit
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Drain, then stop."""
        await self._application.drain(hurry=lambda: self.hurries)
        await super().shutdown(sockets)


def run_http(
    server: MCPServer[AppContext],
    app: AppContext,
    transport: Literal["sse", "http"],
    *,
    host: str,
    port: int,
    insecure: bool = False,
) -> NoReturn:
    """Serve until SIGTERM or SIGINT, then end the process. Both transports are there; `transport` is the one announced.

    Args:
        insecure: serve others than this machine without authentication.

    Raises:
        ConfigurationError: the address cannot be listened on, or it would let strangers in.
    """
    settings = app.settings
    _check_exposure(settings, host, insecure=insecure)
    listener = listen(host, port)
    url = _url(listener)
    application = HttpApplication(server, app, settings.public_url or url)
    for name in weak_tokens(settings):
        logger.warning("the token of %s is short enough to be guessed; use 32 random characters", name)
    path = SSE_PATH if transport == "sse" else MCP_PATH
    print(f"deepcritical-mcp listens on {url}{path}", file=sys.stderr, flush=True)  # noqa: T201
    _allow_many_files()
    for name in _TELLTALES:
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLogger().level))
    anyio.run(HttpServer(application, settings).serve, [listener])
    leave(0)


def _allow_many_files() -> None:
    """Raise the process's limit of open files as far as it may: connections and sessions need them."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _check_exposure(settings: Settings, host: str, *, insecure: bool) -> None:
    if listens_on_loopback_only(host):
        return
    if settings.oauth_issuer and not (settings.public_url or settings.oauth_audience):
        raise ConfigurationError(
            "OAuth beyond this machine needs DEEPCRITICAL_PUBLIC_URL, the address that clients use: tokens name it."
        )
    if not (settings.token_pairs or settings.oauth_issuer or insecure):
        raise ConfigurationError(
            f"{host} lets other machines in, and nothing says who may. Set DEEPCRITICAL_AUTH_TOKENS to name:token "
            "pairs (or DEEPCRITICAL_OAUTH_ISSUER), or pass --insecure if something in front of it checks callers."
        )


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens on that address; port 0 for any free one.

    Raises:
        ConfigurationError: it cannot.
    """
    try:
        listener = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigurationError(
            f"cannot listen on {host} port {port} ({reason}). Choose another with --port or --host."
        ) from error
    # Inherited by each connection. The event loop sets it only on sockets of its own making; without it an answer in
    # two parts waits 40 ms for the other end's acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
