"""Running the HTTP application: socket, uvicorn, connections, signals, and which addresses are safe to listen on."""

from __future__ import annotations

import asyncio
import ctypes
import logging
import socket
import sys
from types import FrameType
from typing import Any, Literal, NoReturn

import anyio
import uvicorn
from sse_starlette.sse import AppStatus
from uvicorn.protocols.http.h11_impl import H11Protocol

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import ConfigurationError
from deepcritical_mcp.transports import exit_now, exit_within
from deepcritical_mcp.transports.http.application import MCP_PATH, SSE_PATH, HttpApplication
from deepcritical_mcp.transports.http.auth import weak_tokens
from deepcritical_mcp.transports.http.calls import CallControl
from deepcritical_mcp.transports.http.security import listens_on_loopback_only

if sys.platform != "win32":
    import resource
from mcp.server.mcpserver import MCPServer

from deepcritical_mcp.context import AppContext

logger = logging.getLogger(__name__)

Server = MCPServer[AppContext]
Transport = Literal["sse", "http"]

# Seconds that uvicorn waits for connections to close, once calls and streams have ended.
SHUTDOWN_SECONDS = 1
# From the first signal on, even if a thread is blocked.
EXIT_SECONDS = 2.0
# These SDK loggers log each Mcp-Session-Id, the only credential of an unauthenticated connection.
_SESSION_ID_LOGGERS = ("mcp.server.streamable_http", "mcp.server.streamable_http_manager", "mcp.server.sse")
_MAX_OPEN_FILES = 65_536
# What `BoundedProtocol` uses of uvicorn's protocol, whose internals may change with any version.
USED_OF_UVICORN = (
    "client conn connections cycle loop on_response_complete pause_writing resume_writing timeout_keep_alive transport"
).split()
_FULL = b'{"error": {"code": "too_many_connections", "message": "Too many connections.", "retryable": true}}'
_REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 5\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%s" % (len(_FULL), _FULL)
)


class HttpServer(uvicorn.Server):
    """Uvicorn that drains the application before it stops, faster after a second signal."""

    end_process = False

    def __init__(self, application: HttpApplication, settings: Settings) -> None:
        AppStatus.disable_automatic_graceful_drain()  # it would end the streams before the running calls
        proxies, most = list(settings.trusted_proxies), settings.max_connections
        limits: dict[str, float] = {"max_connections": most, "max_per_address": most if proxies else -(-most // 2)}
        limits["request_timeout"] = settings.request_timeout
        super().__init__(
            uvicorn.Config(
                application.asgi,
                http=type("LimitedProtocol", (BoundedProtocol,), limits),
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=bool(proxies),
                forwarded_allow_ips=proxies,
                timeout_keep_alive=int(settings.keep_alive),
                timeout_graceful_shutdown=SHUTDOWN_SECONDS,
            )
        )
        self._hurry, self._application, self._max_connections = False, application, most

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start; if uvicorn's internals have changed, with its own limit of connections instead of ours."""
        protocol = H11Protocol(self.config, self.server_state, {})
        if missing := [name for name in USED_OF_UVICORN if not hasattr(protocol, name)]:
            told = "only the number of connections is limited: uvicorn %s lacks %s"
            logger.warning(told, uvicorn.__version__, missing)
            self.config.http_protocol_class = H11Protocol
            self.config.limit_concurrency = self._max_connections
        await super().startup(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Start to shut down; a second signal stops waiting for calls, a third one stops at once."""
        if self.end_process and not self.should_exit:
            exit_within(EXIT_SECONDS)
        self.force_exit = self._hurry
        self._hurry = self.should_exit
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Drain, then stop."""
        await self._application.drain(hurry=lambda: self._hurry)
        await super().shutdown(sockets)


class BoundedProtocol(H11Protocol):
    """Uvicorn's HTTP/1.1 with limits it lacks: the number of connections, and the seconds in which a request's head
    must arrive and the client must read on.

    Uvicorn's own timeout starts after the first response and stops at the first byte of the next request, so a
    connection that never completes a request's head would stay open forever; so would one whose client does not read.
    """

    max_connections = 1_000
    max_per_address = 500
    request_timeout = 20.0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._timers: dict[Literal["head", "write"], asyncio.TimerHandle] = {}

    @property
    def is_idle(self) -> bool:
        """Whether no request is in progress."""
        return self.cycle is None or self.cycle.response_complete  # pyright: ignore[reportUnnecessaryComparison]

    @property
    def waits_until(self) -> float:
        """When it will be closed unless its client sends or reads; 0 = it does not wait for its client."""
        timer = self._timers.get("write") or (self._timers.get("head") if self.is_idle else None)
        return timer.when() if timer else 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection; if there are too many, close one that waits for its client, or refuse."""
        address = (transport.get_extra_info("peername") or ("",))[0]
        others = [one for one in self.connections if isinstance(one, BoundedProtocol)]
        of_address = [one for one in others if one.client and one.client[0] == address]
        crowd = of_address if len(of_address) >= self.max_per_address else others
        if crowd is of_address or len(others) >= self.max_connections:
            longest = min((one for one in crowd if one.waits_until), key=lambda one: one.waits_until, default=None)
            if longest is None:
                transport.write(_REFUSAL)
                transport.close()
                self.transport = transport
                return
            longest.end()
        super().connection_made(transport)
        transport.set_write_buffer_limits(0)  # so that `pause_writing` is called whenever anything is unsent
        self._expect_head(self.request_timeout)

    def data_received(self, data: bytes) -> None:
        """Read on; a complete head stops the timer."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        if not self.is_idle:
            self._stop("head")

    def on_response_complete(self) -> None:
        """Start the timer for the next request. If it has already arrived, close: no client of ours pipelines, and one
        connection must not keep the server busy with thousands of requests."""
        if self.conn.trailing_data[0]:
            self.transport.close()
        else:
            self._expect_head(self.timeout_keep_alive + self.request_timeout)
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Start the timer for the client to read on."""
        super().pause_writing()
        self._expect_reading(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """Stop that timer: everything has been sent."""
        super().resume_writing()
        self._stop("write")

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        self._stop("head", "write")
        super().connection_lost(exc)

    def end(self) -> None:
        """Close at once: `close` would wait for the client to read what is unsent."""
        self.transport.abort()
        self.connections.discard(self)

    def _expect_head(self, within: float) -> None:
        self._stop("head")
        self._timers["head"] = self.loop.call_later(within, self.end)

    def _expect_reading(self, unsent: int) -> None:
        def check() -> None:
            rest = self.transport.get_write_buffer_size()
            if rest >= unsent:
                self.end()
            else:
                self._expect_reading(rest)

        self._stop("write")
        self._timers["write"] = self.loop.call_later(self.request_timeout, check)

    def _stop(self, *names: Literal["head", "write"]) -> None:
        for name in names:
            if timer := self._timers.pop(name, None):
                timer.cancel()


def run_http(
    server: Server, app: AppContext, calls: CallControl, transport: Transport, *, host: str, port: int, insecure: bool
) -> NoReturn:
    """Serve both transports until SIGTERM or SIGINT, then end the process.

    Args:
        calls: the value whose `admit` and `observe` `app` and `server` were given.
        transport: the one whose address is printed.
        insecure: accept other machines without authentication.

    Raises:
        ConfigurationError: the address is not available, or would be open to anyone.
    """
    settings = app.settings
    _check_exposure(settings, host, insecure=insecure)
    listener = listen(host, port)
    name, number = listener.getsockname()[:2]
    url = f"http://[{name}]:{number}" if ":" in name else f"http://{name}:{number}"
    application = HttpApplication(server, app, calls, url, insecure=insecure)
    for caller in weak_tokens(settings):
        logger.warning("the token of %s is short enough to be guessed; use 32 random characters", caller)
    path = SSE_PATH if transport == "sse" else MCP_PATH
    print(f"deepcritical-mcp listens on {url}{path}", file=sys.stderr, flush=True)  # noqa: T201
    _prepare_process()
    for quiet in _SESSION_ID_LOGGERS:
        logging.getLogger(quiet).setLevel(max(logging.WARNING, logging.getLogger().level))
    http = HttpServer(application, settings)
    http.end_process = True
    anyio.run(http.serve, [listener])
    exit_now(0)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens on that address; port 0 chooses any free one.

    Raises:
        ConfigurationError: the address is not available.
    """
    try:
        listener = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        told = f"cannot listen on {host} port {port} ({reason}). Choose another with --port or --host."
        raise ConfigurationError(told) from error
    # Inherited by each connection. The event loop sets it only on sockets that it creates; without it, a response in
    # two parts waits 40 ms for the other end's acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _check_exposure(settings: Settings, host: str, *, insecure: bool) -> None:
    if listens_on_loopback_only(host):
        return
    if settings.oauth_issuer and not (settings.public_url or settings.oauth_audience):
        raise ConfigurationError(
            "OAuth on a public interface needs DEEPCRITICAL_PUBLIC_URL: the address that clients use, for which tokens "
            "are issued."
        )
    if not (settings.is_authenticated or insecure):
        raise ConfigurationError(
            f'host "{host}" is reachable from other machines, but no authentication is configured. Set '
            "DEEPCRITICAL_AUTH_TOKENS to name:token pairs (or set DEEPCRITICAL_OAUTH_ISSUER), or pass --insecure if a "
            "proxy in front of the server authenticates callers."
        )


def _prepare_process() -> None:
    """Connections and sessions need many open files: raise the soft limit as far as the hard one allows. And let all
    threads share two of glibc's arenas: by default most have their own, and free memory that is scattered over them
    never returns to the system. Three crowds of 200 clients left 90 MB behind, now 20."""
    if sys.platform != "win32":
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = _MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _MAX_OPEN_FILES)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    if sys.platform == "linux" and (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)):
        mallopt(-8, 2)  # M_ARENA_MAX
