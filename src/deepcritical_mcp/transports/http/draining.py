"""Ending without cutting anybody off: running calls may finish, the rest get a clear error, then streams close."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deepcritical_mcp.errors import ShuttingDownError
from deepcritical_mcp.transports.http.security import refusal

GRACE = 10.0
PATIENCE = 1.0
_TICK = 0.05


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
            ShuttingDownError: the server is closing, before the call or while it ran.
        """
        if self.closing:
            raise ShuttingDownError()
        with anyio.CancelScope() as scope:
            self._scopes.add(scope)
            try:
                yield
            finally:
                self._scopes.discard(scope)
        if scope.cancelled_caught:
            raise ShuttingDownError()

    async def drain(self, grace: float = GRACE, *, hurry: Callable[[], bool] = lambda: False) -> None:
        """Refuse new calls, wait `grace` seconds for the running ones (less when `hurry()`), then cancel the rest."""
        self.closing = True
        with anyio.move_on_after(grace):
            while self._scopes and not hurry():  # noqa: ASYNC110  # a signal handler cannot set an event
                await anyio.sleep(_TICK)
        for scope in list(self._scopes):
            scope.cancel()
        await anyio.sleep(_TICK)  # lets the answers reach their streams


class OpenStreams:
    """ASGI middleware that can end the responses still under way, event streams above all.

    To the application it looks as if the client had left, so that it tidies up as it always does.
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
        begun = ended = False

        async def watched(message: Message) -> None:
            nonlocal begun, ended
            if begun and self._ended.is_set():
                return  # as to a client that has left
            begun = begun or message["type"] == "http.response.start"
            ended = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)

        with anyio.CancelScope() as cancel:
            self._open[cancel] = scope["method"]
            try:
                await self._app(scope, lambda: self._receive(receive), watched)
            finally:
                del self._open[cancel]
        if self._ended.is_set() and begun and not ended:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def end(self, patience: float = PATIENCE) -> None:
        """Take no more requests, let answers out for `patience` seconds, then end every response."""
        self._closing = True
        await self._wait_while(lambda: "POST" in self._open.values(), patience)
        self._ended.set()
        await self._wait_while(lambda: bool(self._open), patience)
        for scope in list(self._open):
            scope.cancel()

    async def _wait_while(self, condition: Callable[[], bool], patience: float) -> None:
        with anyio.move_on_after(patience):
            while condition():  # noqa: ASYNC110  # twice in a process, for a second at most
                await anyio.sleep(_TICK)

    async def _receive(self, receive: Receive) -> Message:
        message: Message = {"type": "http.disconnect"}

        async def leave_when_ended() -> None:
            await self._ended.wait()
            tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(leave_when_ended)
            message = await receive()
            tasks.cancel_scope.cancel()
        return message
