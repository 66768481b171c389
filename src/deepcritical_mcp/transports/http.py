"""Serving many clients over HTTP: streamable HTTP on /mcp, HTTP+SSE (for older clients) on /sse and /messages/."""

from __future__ import annotations

import logging
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Literal

import anyio
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette

from deepcritical_mcp.errors import ConfigurationError

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

    from deepcritical_mcp.context import AppContext

logger = logging.getLogger(__name__)

MCP_PATH = "/mcp"
SSE_PATH = "/sse"
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def create_app(server: MCPServer[AppContext], app: AppContext) -> Starlette:
    """Both transports in one ASGI application, over one session manager; closing it closes `app`."""
    security = TransportSecuritySettings(
        allowed_hosts=[f"{host}:*" for host in _LOOPBACK],
        allowed_origins=[f"http://{host}:*" for host in _LOOPBACK],
    )
    streamable = server.streamable_http_app(streamable_http_path=MCP_PATH, transport_security=security)
    sse = server.sse_app(sse_path=SSE_PATH, transport_security=security)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        async with server.session_manager.run():
            yield
        await app.aclose()

    return Starlette(routes=[*streamable.routes, *sse.routes], lifespan=lifespan)


def run_http(
    server: MCPServer[AppContext], app: AppContext, transport: Literal["sse", "http"], *, host: str, port: int
) -> None:
    """Serve until SIGTERM or SIGINT.

    Raises:
        ConfigurationError: the address cannot be listened on.
    """
    listener = _listen(host, port)
    config = uvicorn.Config(
        create_app(server, app), log_config=None, access_log=False, server_header=False, timeout_graceful_shutdown=10
    )
    path = SSE_PATH if transport == "sse" else MCP_PATH
    print(f"deepcritical-mcp listens on {_url(listener)}{path}", file=sys.stderr, flush=True)  # noqa: T201
    anyio.run(uvicorn.Server(config).serve, [listener])


def _listen(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise ConfigurationError(
            f"cannot listen on {host} port {port} ({error.strerror}). Choose another with --port or --host."
        ) from error


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
