"""Running the HTTP application: the listening socket, uvicorn, signals, and which addresses are safe to listen on."""

from __future__ import annotations

import logging
import socket
import sys
from types import FrameType
from typing import TYPE_CHECKING, Literal, NoReturn

import anyio
import uvicorn
from sse_starlette.sse import AppStatus

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import ConfigurationError
from deepcritical_mcp.transports import exit_now
from deepcritical_mcp.transports.http.application import MCP_PATH, SSE_PATH, CallControl, HttpApplication
from deepcritical_mcp.transports.http.auth import weak_tokens
from deepcritical_mcp.transports.http.connection_limits import bounded_protocol
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


class HttpServer(uvicorn.Server):
    """Uvicorn that drains the application before it stops, faster after a second signal."""

    def __init__(self, application: HttpApplication, settings: Settings) -> None:
        AppStatus.disable_automatic_graceful_drain()  # it would end the streams before the running calls
        proxies = list(settings.trusted_proxies)
        super().__init__(
            uvicorn.Config(
                application.asgi,
                http=bounded_protocol(settings.max_connections, settings.request_timeout),
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
    url = _url(listener)
    application = HttpApplication(server, app, calls, settings.public_url or url)
    for name in weak_tokens(settings):
        logger.warning("the token of %s is short enough to be guessed; use 32 random characters", name)
    path = SSE_PATH if transport == "sse" else MCP_PATH
    print(f"deepcritical-mcp listens on {url}{path}", file=sys.stderr, flush=True)  # noqa: T201
    _raise_open_files_limit()
    for name in _SESSION_ID_LOGGERS:
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLogger().level))
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


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
