"""Lines from a client on stdin that the SDK's reader cannot take, though they are clear enough.

JavaScript and Python write half of a character that a model broke off ("\\ud83e") as an escape. The SDK's reader
refuses such a line and drops it, and the client would wait in vain for an answer to its call.
"""

from __future__ import annotations

import contextvars
import json
from types import TracebackType
from typing import Self

from mcp.shared._context_streams import ContextReceiveStream
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError


class MendedLines:
    """A stream of messages as the SDK's `stdio_server` gives it, those in need mended; the others pass as they are."""

    def __init__(self, lines: ContextReceiveStream[SessionMessage | Exception]) -> None:
        self._lines = lines

    @property
    def last_context(self) -> contextvars.Context | None:
        """The sender's context of the last message."""
        return self._lines.last_context

    async def receive(self) -> SessionMessage | Exception:
        """The next message, or why there is none in a line."""
        return mended(await self._lines.receive())

    async def aclose(self) -> None:
        await self._lines.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return mended(await anext(self._lines))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        return await self._lines.__aexit__(exc_type, exc_val, exc_tb)


def mended(item: SessionMessage | Exception) -> SessionMessage | Exception:
    """The message of a line that was refused for halves of characters, without these; any other item unchanged."""
    if not isinstance(item, ValidationError):
        return item
    line: object = item.errors(include_url=False)[0]["input"]
    if not isinstance(line, str):
        return item
    try:
        whole = json.dumps(json.loads(line), ensure_ascii=False).encode(errors="ignore")
        return SessionMessage(jsonrpc_message_adapter.validate_json(whole, by_name=False))
    except (ValueError, RecursionError):
        return item
