"""Request bodies: whole within a time, of a bounded size, and of a shape that costs little to read."""

from __future__ import annotations

import re

import anyio
import pydantic_core
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deepcritical_mcp.config import Settings
from deepcritical_mcp.transports.http.security import refusal

# Each value of a JSON text costs tens of bytes of memory and may be written in two: far more than any tool takes.
MOST_VALUES = 250_000
_STRING = re.compile(rb'"(?:[^"\\]|\\.?)*+"?', re.DOTALL)  # takes an unfinished one too, so that it runs in linear time
_DEPTH_ERROR = "recursion limit exceeded"  # pydantic_core's, at 200 levels


class BodyLimits:
    """ASGI middleware that reads the body first, and passes on only what is fit to be parsed."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._max_body = settings.max_body
        self._timeout = settings.request_timeout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
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
            text = f"The request was not whole within {self._timeout:g} seconds. Send it again."
            await refusal(408, "slow_request", text, retry_after=1)(scope, receive, send)
        elif body is None:
            return  # the client has gone
        elif (problem := self._problem(body)) is not None:
            await problem(scope, receive, send)
        else:
            await self._app(scope, _replay(body, receive), send)

    async def _read(self, receive: Receive) -> bytes | None:
        """The body, cut once it is over the limit; None if the client leaves before its end."""
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
        if _separators(body) > MOST_VALUES and _separators(_STRING.sub(b"", body)) > MOST_VALUES:
            return refusal(413, "too_many_values", "The request holds more values than any tool takes.")
        try:
            pydantic_core.from_json(body)
        except ValueError as error:
            if _DEPTH_ERROR in str(error):
                return refusal(400, "too_deep", "The request's JSON is nested too deeply.")
        return None  # what is no JSON at all gets the protocol's own error

    def _too_large(self) -> Response:
        text = f"A request may have {self._max_body:,} bytes. Send fewer or shorter items, in several calls."
        return refusal(413, "too_large", text)


def _separators(text: bytes) -> int:
    return text.count(b",") + text.count(b"[") + text.count(b"{")


def _replay(body: bytes, receive: Receive) -> Receive:
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
