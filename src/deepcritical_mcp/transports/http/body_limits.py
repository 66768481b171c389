"""Limits for request bodies: time to arrive, size, number of values and depth."""

from __future__ import annotations

import anyio
import anyio.to_thread
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deepcritical_mcp.config import Settings
from deepcritical_mcp.transports.http.security import refusal
from deepcritical_mcp.transports.messages import MAX_VALUES, UnusableMessageError, has_too_many_values, read_message

READ_AT_ONCE = 100_000
"""Bytes of a body that are read on the event loop; more are read in a thread."""


class BodyLimits:
    """ASGI middleware that reads the whole body first and passes it on only if it is within the limits."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._max_body = settings.max_body
        self._timeout = settings.request_timeout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        declared = Headers(scope=scope).get("content-length", "")
        if declared.isdecimal() and int(declared) > self._max_body:
            await self._too_large()(scope, receive, send)
            return
        body: bytes | None = b""
        with anyio.move_on_after(self._timeout) as slow:
            body = await self._read(receive)
        if slow.cancelled_caught:
            text = f"The request body did not arrive within {self._timeout:g} seconds. Send it again."
            await refusal(408, "slow_request", text, retry_after=1)(scope, receive, send)
        elif body is not None:  # else the client has disconnected
            is_long = len(body) > READ_AT_ONCE
            found = await anyio.to_thread.run_sync(self._read_body, body) if is_long else self._read_body(body)
            if isinstance(found, bytes):
                await self._app(scope, _replay(found, receive), send)
            else:
                await found(scope, receive, send)

    async def _read(self, receive: Receive) -> bytes | None:
        """The body, cut off above the limit; None if the client disconnects before its end."""
        body = bytearray()
        while len(body) <= self._max_body:
            message = await receive()
            if message["type"] != "http.request":
                return None
            body += message.get("body", b"")
            if not message.get("more_body", False):
                break
        return bytes(body)

    def _read_body(self, body: bytes) -> bytes | Response:
        """The message as plain JSON, or the response to what cannot be used."""
        if len(body) > self._max_body:
            return self._too_large()
        if has_too_many_values(body):
            return refusal(
                413, "too_many_values", f"The request has more than {MAX_VALUES:,} values. Send fewer items per call."
            )
        try:
            return read_message(body)[1]
        except UnusableMessageError as error:
            answers = [one.model_dump(mode="json", by_alias=True, exclude_unset=True) for one in error.answers]
            return JSONResponse(answers[0] if len(answers) == 1 else answers, status_code=400)

    def _too_large(self) -> Response:
        text = f"The request is larger than {self._max_body:,} bytes. Send fewer or shorter items per call."
        return refusal(413, "too_large", text)


def _replay(body: bytes, receive: Receive) -> Receive:
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay
