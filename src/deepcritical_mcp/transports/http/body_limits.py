"""Limits for request bodies: time to arrive, size, number of values and depth."""

from __future__ import annotations

import re

import anyio
import pydantic_core
from mcp_types import INVALID_REQUEST, jsonrpc_message_adapter
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deepcritical_mcp.config import Settings
from deepcritical_mcp.transports.http.security import refusal

# A JSON value of two bytes takes tens of bytes in memory. No tool needs nearly as many values as this.
MAX_VALUES = 250_000
NOT_A_MESSAGE = (
    'The body is not a JSON-RPC 2.0 message. Send one object with "jsonrpc": "2.0", "method" and, for a request, "id" '
    "(a number or a text); several messages in a list are not supported."
)
_STRING = re.compile(rb'"[^"\\]*+(?:\\.?[^"\\]*+)*"?', re.DOTALL)  # matches an unterminated string too, to stay linear
_DEPTH_ERROR = "recursion limit exceeded"  # raised by pydantic_core at 200 levels


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
            await (self._problem(body) or self._app)(scope, _replay(body, receive), send)

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

    def _problem(self, body: bytes) -> Response | None:
        if len(body) > self._max_body:
            return self._too_large()
        if _separators(body) > MAX_VALUES and _separators(_STRING.sub(b"", body)) > MAX_VALUES:
            return refusal(
                413, "too_many_values", f"The request has more than {MAX_VALUES:,} values. Send fewer items per call."
            )
        try:
            jsonrpc_message_adapter.validate_python(pydantic_core.from_json(body), by_name=False)
        except pydantic_core.ValidationError:
            error = {"code": INVALID_REQUEST, "message": NOT_A_MESSAGE}
            return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, status_code=400)
        except ValueError as error:
            if _DEPTH_ERROR in str(error):
                return refusal(400, "too_deep", "The request's JSON is nested too deeply.")
        return None  # for anything that is not JSON the protocol has an error of its own

    def _too_large(self) -> Response:
        text = f"The request is larger than {self._max_body:,} bytes. Send fewer or shorter items per call."
        return refusal(413, "too_large", text)


def _separators(text: bytes) -> int:
    return text.count(b",") + text.count(b"[") + text.count(b"{")


def _replay(body: bytes, receive: Receive) -> Receive:
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay
