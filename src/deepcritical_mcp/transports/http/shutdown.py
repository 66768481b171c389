"""Orderly shutdown: running calls may finish, those that take too long get a clear error, then streams close."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deepcritical_mcp.errors import DeepCriticalError, ShuttingDownError
from deepcritical_mcp.transports.http.caller_context import current_caller
from deepcritical_mcp.transports.http.security import refusal

# Together with uvicorn's, less than the two seconds after which many process managers kill a process.
CALL_GRACE_SECONDS = 1.0
STREAM_GRACE_SECONDS = 0.2
CLOSE_SECONDS = 1.0
_POLL_INTERVAL = 0.05  # seconds


class RunningCalls:
    """The tool calls that run now."""

    def __init__(self) -> None:
        self.closing = False
        self._scopes: set[anyio.CancelScope] = set()

    def __len__(self) -> int:
        return len(self._scopes)

    @asynccontextmanager
    async def admit(self) -> AsyncGenerator[None]:
        """Surround a tool call.

        Raises:
            ShuttingDownError: the server is shutting down, or began to while the call ran.
            DeepCriticalError: the client has closed the connection, so that nobody will read this.
        """
        if self.closing:
            raise ShuttingDownError()
        caller = current_caller()
        with anyio.CancelScope() as scope:
            places = [self._scopes, caller.calls] if caller else [self._scopes]
            for place in places:
                place.add(scope)
            try:
                yield
            finally:
                for place in places:
                    place.discard(scope)
        if scope.cancelled_caught and self.closing:
            raise ShuttingDownError()
        if scope.cancelled_caught:
            error = DeepCriticalError("The client has closed the connection.")
            error.code = "cancelled"
            raise error

    async def drain(self, grace: float = CALL_GRACE_SECONDS, *, hurry: Callable[[], bool] = lambda: False) -> None:
        """Refuse new calls, wait up to `grace` seconds for running ones (not if `hurry()`), then cancel the rest."""
        self.closing = True
        await _wait_while(lambda: bool(self._scopes) and not hurry(), grace)
        for scope in list(self._scopes):
            scope.cancel()
        await _wait_while(lambda: bool(self._scopes), STREAM_GRACE_SECONDS)
        await anyio.sleep(_POLL_INTERVAL)  # lets the results reach their streams


class OpenStreams:
    """ASGI middleware that can end open responses, event streams above all.

    To the application it looks as if the client had disconnected, so it cleans up as usual.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._closing = False
        self._ended = anyio.Event()
        self._open: dict[anyio.CancelScope, str] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._closing:
            await refusal(503, "shutting_down", "This server is shutting down.", retry_after=10)(scope, receive, send)
            return
        started = ended = False

        async def watched(message: Message) -> None:
            nonlocal started, ended
            if started and self._ended.is_set():
                return  # as for a client that has disconnected
            started = started or message["type"] == "http.response.start"
            ended = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)

        with anyio.CancelScope() as cancel:
            self._open[cancel] = scope["method"]
            try:
                await self._app(scope, lambda: self._receive(receive), watched)
            finally:
                del self._open[cancel]
        if self._ended.is_set() and started and not ended:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def end(self, grace: float = STREAM_GRACE_SECONDS) -> None:
        """Refuse new requests, wait up to `grace` seconds for POST responses, then end every response."""
        self._closing = True
        await _wait_while(lambda: "POST" in self._open.values(), grace)
        self._ended.set()
        await _wait_while(lambda: bool(self._open), grace)
        for scope in list(self._open):
            scope.cancel()

    async def _receive(self, receive: Receive) -> Message:
        message: Message = {"type": "http.disconnect"}

        async def stop_when_ended() -> None:
            await self._ended.wait()
            tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stop_when_ended)
            message = await receive()
            tasks.cancel_scope.cancel()
        return message


async def _wait_while(condition: Callable[[], bool], grace: float) -> None:
    with anyio.move_on_after(grace):
        while condition():  # noqa: ASYNC110  # runs at shutdown only; a signal handler cannot set an event
            await anyio.sleep(_POLL_INTERVAL)
