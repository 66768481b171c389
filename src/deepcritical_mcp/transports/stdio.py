"""Serving one client over standard input and output."""

from __future__ import annotations

import contextvars
import json
import logging
import signal
import sys
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, Self

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCResponse, jsonrpc_message_adapter
from pydantic import ValidationError

from deepcritical_mcp.transports import exit_now, exit_within

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer
    from mcp.shared._context_streams import ContextReceiveStream, ContextSendStream

    from deepcritical_mcp.context import AppContext

logger = logging.getLogger(__name__)

SHUTDOWN_SECONDS = 2.0


class RepairedMessages:
    """The SDK's stream of stdin messages, with messages repaired that the SDK rejects for broken surrogate pairs.

    JavaScript and Python clients escape half a character that a model broke off ("\\ud83e"). The SDK rejects and drops
    such a message, so the client would never get a response.
    """

    end_process = False
    """Whether the process ends soon after the stream, even if a call's thread is blocked."""

    def __init__(self, messages: ContextReceiveStream[SessionMessage | Exception]) -> None:
        self._messages = messages

    @property
    def last_context(self) -> contextvars.Context | None:
        """The sender's context of the last message."""
        return self._messages.last_context

    async def receive(self) -> SessionMessage | Exception:
        """The next message, or the reason why a line is not one."""
        return _repaired(await self._messages.receive())

    async def aclose(self) -> None:
        await self._messages.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return _repaired(await anext(self._messages))
        except StopAsyncIteration:
            if self.end_process:
                exit_within(SHUTDOWN_SECONDS)
            raise

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        return await self._messages.__aexit__(exc_type, exc_val, exc_tb)


class RemainingAnswers:
    """The SDK's stream of messages to the client, without the responses that were given before it was imported."""

    def __init__(self, answers: ContextSendStream[SessionMessage], given: Mapping[int | str, str]) -> None:
        self._answers = answers
        self._given = dict(given)

    async def send(self, item: SessionMessage) -> None:
        """Send a message, unless it answers what has been answered."""
        message = item.message
        if not isinstance(message, JSONRPCResponse | JSONRPCError) or message.id not in self._given:
            await self._answers.send(item)
        elif self._given.pop(message.id) != message.model_dump_json(by_alias=True, exclude_unset=True):
            logger.warning("the first answers to the client differ from the SDK's: please report it")

    async def aclose(self) -> None:
        await self._answers.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        return await self._answers.__aexit__(exc_type, exc_val, exc_tb)


def run_stdio(server: MCPServer[AppContext], app: AppContext) -> NoReturn:
    """Serve until the client closes stdin, or until SIGTERM or SIGINT; then end the process.

    The process ends with `os._exit`, because a thread blocked in a read of stdin cannot be woken and would prevent a
    normal exit. Nothing is lost: evidence is written before it is acknowledged.
    """
    RepairedMessages.end_process = True
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


def _repaired(item: SessionMessage | Exception) -> SessionMessage | Exception:
    """The message without lone surrogates if they are what made it invalid; anything else unchanged."""
    if not isinstance(item, ValidationError):
        return item
    line: object = item.errors(include_url=False)[0]["input"]
    if not isinstance(line, str):
        return item
    try:
        repaired = json.dumps(json.loads(line), ensure_ascii=False).encode(errors="ignore")
        return SessionMessage(jsonrpc_message_adapter.validate_json(repaired, by_name=False))
    except (ValueError, RecursionError):
        return item
