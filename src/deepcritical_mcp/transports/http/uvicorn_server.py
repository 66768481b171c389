"""Running the HTTP application: socket, uvicorn, connections, signals, and which addresses are safe to listen on."""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import anyio
import uvicorn
from sse_starlette.sse import AppStatus
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import ConfigurationError
from deepcritical_mcp.transports import exit_now
from deepcritical_mcp.transports.http.application import MCP_PATH, SSE_PATH, CallControl, HttpApplication
from deepcritical_mcp.transports.http.auth import weak_tokens
from deepcritical_mcp.transports.http.security import listens_on_loopback_only

if sys.platform != "win32":
    import resource

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

    from deepcritical_mcp.context import AppContext

logger = logging.getLogger(__name__)

# Seconds that uvicorn waits for connections to close, once calls and streams have ended.
SHUTDOWN_SECONDS = 3
# These SDK loggers log each Mcp-Session-Id, the only credential of an unauthenticated connection.
_SESSION_ID_LOGGERS = ("mcp.server.streamable_http", "mcp.server.streamable_http_manager", "mcp.server.sse")
_MAX_OPEN_FILES = 65_536
_FULL = b'{"error": {"code": "too_many_connections", "message": "Too many connections.", "retryable": true}}'
_REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 5\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%s" % (len(_FULL), _FULL)
)


class HttpServer(uvicorn.Server):
    """Uvicorn that drains the application before it stops, faster after a second signal."""

    def __init__(self, application: HttpApplication, settings: Settings) -> None:
        AppStatus.disable_automatic_graceful_drain()  # it would end the streams before the running calls
        proxies = list(settings.trusted_proxies)
        limits = {"max_connections": settings.max_connections, "head_timeout": settings.request_timeout}
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
        self._hurry = False
        self._application = application

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Start to shut down; a second signal stops waiting for calls, a third one stops at once."""
        self.force_exit = self._hurry
        self._hurry = self.should_exit
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Drain, then stop."""
        await self._application.drain(hurry=lambda: self._hurry)
        await super().shutdown(sockets)


class BoundedProtocol(H11Protocol):
    """Uvicorn's HTTP/1.1 with two limits it lacks: the seconds for a request's head, and the number of connections.

    Uvicorn's own timeout starts after the first response and stops at the first byte of the next request, so a
    connection that never completes a request's head would stay open forever.
    """

    max_connections = 1_000
    head_timeout = 20.0

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._head_timer: asyncio.TimerHandle | None = None

    @property
    def is_idle(self) -> bool:
        """Whether no request is in progress."""
        return self.cycle is None or self.cycle.response_complete  # pyright: ignore[reportUnnecessaryComparison]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection; if there are too many, close the one that has been idle longest, or refuse."""
        if len(self.connections) >= self.max_connections and not self._close_longest_idle():
            transport.write(_REFUSAL)
            transport.close()
            self.transport = transport
            return
        super().connection_made(transport)
        self._expect_head(self.head_timeout)

    def data_received(self, data: bytes) -> None:
        """Read on; a complete head stops the timer."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        if not self.is_idle:
            self._stop_timer()

    def on_response_complete(self) -> None:
        """Start the timer for the next request."""
        self._expect_head(self.timeout_keep_alive + self.head_timeout)
        super().on_response_complete()
        if not self.is_idle:  # the next request had already arrived
            self._stop_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop_timer()
        super().connection_lost(exc)

    def _expect_head(self, within: float) -> None:
        self._stop_timer()
        self._head_timer = self.loop.call_later(within, self.transport.close)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _close_longest_idle(self) -> bool:
        idle = [one for one in self.connections if isinstance(one, BoundedProtocol) and one.is_idle]
        if not idle:
            return False
        oldest = min(idle, key=lambda one: one._head_timer.when() if one._head_timer else 0.0)
        oldest.transport.close()
        self.connections.discard(oldest)
        return True


def run_http(
    server: MCPServer[AppContext],
    app: AppContext,
    calls: CallControl,
    transport: Literal["sse", "http"],
    *,
    host: str,
    port: int,
    insecure: bool = False,
) -> NoReturn:
    """Serve both transports until SIGTERM or SIGINT, then end the process.

    Args:
        calls: the value whose `admit` and `observer` `app` and `server` were given.
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
    application = HttpApplication(server, app, calls, settings.public_url or url)
    for caller in weak_tokens(settings):
        logger.warning("the token of %s is short enough to be guessed; use 32 random characters", caller)
    path = SSE_PATH if transport == "sse" else MCP_PATH
    print(f"deepcritical-mcp listens on {url}{path}", file=sys.stderr, flush=True)  # noqa: T201
    _raise_open_files_limit()
    for quiet in _SESSION_ID_LOGGERS:
        logging.getLogger(quiet).setLevel(max(logging.WARNING, logging.getLogger().level))
    anyio.run(HttpServer(application, settings).serve, [listener])
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
        raise ConfigurationError(
            f"cannot listen on {host} port {port} ({reason}). Choose another with --port or --host."
        ) from error
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
    if not (settings.token_pairs or settings.oauth_issuer or insecure):
        raise ConfigurationError(
            f'host "{host}" is reachable from other machines, but no authentication is configured. Set '
            "DEEPCRITICAL_AUTH_TOKENS to name:token pairs (or set DEEPCRITICAL_OAUTH_ISSUER), or pass --insecure if a "
            "proxy in front of the server authenticates callers."
        )


def _raise_open_files_limit() -> None:
    """Connections and sessions need many open files: raise the soft limit as far as the hard one allows."""
    if sys.platform == "win32":
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _MAX_OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
