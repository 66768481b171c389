"""Serving one client over standard input and output."""

from __future__ import annotations

import logging
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

import anyio

from deepcritical_mcp.transports.http.leaving import leave

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

    from deepcritical_mcp.context import AppContext

logger = logging.getLogger(__name__)
CLOSING_TIME = 2.0


def run_stdio(server: MCPServer[AppContext], app: AppContext) -> NoReturn:
    """Serve until the client closes its end, or SIGTERM or SIGINT comes; then end the process at once.

    The process ends by `os._exit`: a thread that waits in a read of stdin cannot be woken, and would hold up any other
    way out. What the sessions hold is written when it is acknowledged, so nothing is lost.
    """
    anyio.run(_serve, server, app)
    leave(0)


async def _serve(server: MCPServer[AppContext], app: AppContext) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_leave_on_signal, app)
        await server.run_stdio_async()
        await _close(app)
        leave(0)


async def _leave_on_signal(app: AppContext) -> None:
    if sys.platform == "win32":
        return  # there Ctrl-C and Ctrl-Break end the process by themselves
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for number in signals:
            logger.info("ending on %s", number.name)
            await _close(app)
            leave(0)


async def _close(app: AppContext) -> None:
    with anyio.move_on_after(CLOSING_TIME, shield=True):
        try:
            await app.aclose()
        except Exception:
            logger.exception("closing failed")
