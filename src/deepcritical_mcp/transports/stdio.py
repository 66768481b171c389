"""Serving one client over standard input and output."""

from __future__ import annotations

import contextvars
import io
import logging
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO, NoReturn, cast

import anyio
import anyio.to_thread
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCResponse

from deepcritical_mcp.transports import exit_now, exit_within
from deepcritical_mcp.transports.messages import (
    MAX_VALUES,
    UnusableMessageError,
    has_too_many_values,
    read_message,
    unread,
)
from deepcritical_mcp.transports.opening import ClientInput

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer
    from mcp.shared._context_streams import ContextSendStream

    from deepcritical_mcp.context import AppContext

logger = logging.getLogger(__name__)

SHUTDOWN_SECONDS = 2.0
_PART = 64_000


class ClientMessages(ObjectReceiveStream[SessionMessage | Exception]):
    """The messages on stdin, as the SDK's stream of them; unusable ones get an error under their id.

    The SDK reads lines of any length, parses them on the event loop, and drops what it cannot use without an answer.
    """

    end_process = False
    """Whether the process ends soon after the stream, even if a call's thread is blocked."""

    def __init__(self, answers: ContextSendStream[SessionMessage], *, max_length: int) -> None:
        self._answers, self._max_length = answers, max_length
        self._stdin, self._thread = _own_stdin(), anyio.CapacityLimiter(1)
        self.last_context: contextvars.Context | None = None
        """The context in which the last message is handled."""

    async def receive(self) -> SessionMessage | Exception:
        """The next message."""
        while True:
            try:
                message = await anyio.to_thread.run_sync(self._next, abandon_on_cancel=True, limiter=self._thread)
            except UnusableMessageError as error:
                for answer in error.answers:
                    await self._answers.send(SessionMessage(answer))
                continue
            if message is None:
                if self.end_process:
                    exit_within(SHUTDOWN_SECONDS)
                raise anyio.EndOfStream
            self.last_context = contextvars.copy_context()
            return SessionMessage(message)

    async def aclose(self) -> None:
        """Nothing to close: a thread may be blocked in a read until the process ends."""

    def _next(self) -> JSONRPCMessage | None:
        """The message in the next line that is not blank; None at the end."""
        while line := self._stdin.readline(self._max_length + 1):
            end = line
            while len(line) > self._max_length and not end.endswith(b"\n"):
                if not (more := self._stdin.readline(_PART)):
                    break
                end = end[-_PART:] + more
            if len(line) > self._max_length:
                raise unread(line, end, f"The message is longer than {self._max_length:,} bytes.")
            if has_too_many_values(line):
                raise unread(line, line, f"The message has more than {MAX_VALUES:,} values.")
            if line.strip():
                return read_message(line)[0]
        return None


class RemainingAnswers(ObjectSendStream[SessionMessage]):
    """The SDK's stream of messages to the client, without the responses that were sent before it was imported."""

    def __init__(self, answers: ContextSendStream[SessionMessage], given: Mapping[int | str, str]) -> None:
        self._answers, self._given = answers, dict(given)

    async def send(self, item: SessionMessage) -> None:
        """Send a message, unless it answers what has been answered."""
        message = item.message
        if not isinstance(message, JSONRPCResponse | JSONRPCError) or message.id not in self._given:
            await self._answers.send(item)
        elif self._given.pop(message.id) != message.model_dump_json(by_alias=True, exclude_unset=True):
            logger.warning("the first answers to the client differ from the SDK's: please report it")

    async def aclose(self) -> None:
        await self._answers.aclose()


def run_stdio(server: MCPServer[AppContext], app: AppContext) -> NoReturn:
    """Serve until the client closes stdin, or until SIGTERM or SIGINT; then end the process.

    The process ends with `os._exit`, because a thread blocked in a read of stdin cannot be woken and would prevent a
    normal exit. Nothing is lost: evidence is written before it is acknowledged.
    """
    ClientMessages.end_process = True
    anyio.run(_serve, server, app)
    exit_now(0)


async def _serve(server: MCPServer[AppContext], app: AppContext) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_exit_on_signal, app)
        await server.run_stdio_async()
        await _close(app)
        exit_now(0)


async def _exit_on_signal(app: AppContext) -> None:
    if sys.platform == "win32":
        return  # Ctrl-C and Ctrl-Break end the process by themselves there
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for number in signals:
            logger.info("received %s, shutting down", number.name)
            await _close(app)
            exit_now(0)


async def _close(app: AppContext) -> None:
    exit_within(SHUTDOWN_SECONDS)
    try:
        await app.aclose()
    except Exception:
        logger.exception("shutdown failed")


def _own_stdin() -> BinaryIO:
    """Stdin for this server alone: nothing else in the process can take the client's messages."""
    stdin = cast("BinaryIO", sys.stdin.buffer)
    with suppress(OSError):  # an object that is not a file has no descriptor
        if sys.platform != "win32" and stdin.fileno() == 0:
            return cast("BinaryIO", io.BufferedReader(ClientInput(b"")))
    return stdin
