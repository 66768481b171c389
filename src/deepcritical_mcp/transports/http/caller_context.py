"""The caller of the current HTTP request, for limits and logs."""

from __future__ import annotations

import re
import uuid
from contextvars import ContextVar
from dataclasses import dataclass, field

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deepcritical_mcp.tools.arguments.call_session import ONE_USER, caller_of, is_stranger
from deepcritical_mcp.transports.http.security import is_forwarded, is_loopback

_OVERLOAD_RETRY_AFTER = "30"  # seconds
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True)
class Caller:
    """The sender of one HTTP request.

    Attributes:
        name: the authenticated name; "" without authentication.
        address: the client's address; behind a trusted proxy, the address that the proxy reports.
        request_id: the client's X-Request-Id if it is a plain word, else a generated one.
        connection: the request's Mcp-Session-Id; "" if it has none.
        calls: the tool calls of this request that run now; cancelled when the client closes the connection.
    """

    name: str
    address: str
    request_id: str
    path: str
    connection: str = ""
    calls: set[anyio.CancelScope] = field(default_factory=set[anyio.CancelScope], compare=False, repr=False)

    @property
    def key(self) -> str:
        """The key that limits are counted by."""
        return self.name or f"address:{self.address}"

    @property
    def is_local(self) -> bool:
        """Whether this is an unauthenticated program on this machine."""
        return not self.name and is_loopback(self.address)


_current: ContextVar[Caller | None] = ContextVar("caller", default=None)

current_caller = _current.get
"""The caller of the request that this code runs for; None outside HTTP."""


class CallerMiddleware:
    """ASGI middleware behind authentication: sets `current_caller()`, returns the request id to the client, and cancels
    the request's calls when the client closes the connection. If the server is `of_one_user`, it marks the requests
    that came from this machine and through no proxy as this user's.

    Cancelling is not in the protocol before 2026-07-28, but without it the sources go on working for nobody: a response
    cannot be fetched later.
    """

    def __init__(self, app: ASGIApp, *, of_one_user: bool = False) -> None:
        self._app = app
        self._of_one_user = of_one_user

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        user, headers = scope.get("user"), Headers(scope=scope)
        given = headers.get("x-request-id", "")
        name = caller_of(user.access_token) if isinstance(user, AuthenticatedUser) else ""
        request_id = given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        caller = Caller(name, client_address(scope), request_id, scope["path"], headers.get("mcp-session-id", ""))
        is_users = self._of_one_user and caller.is_local and not is_forwarded(headers)
        scope.setdefault("state", {})[ONE_USER] = is_users
        complete = False

        async def receive_until_gone() -> Message:
            message = await receive()
            if message["type"] == "http.disconnect" and not complete:
                for call in caller.calls:
                    call.cancel()
            return message

        async def send_with_id(message: Message) -> None:
            nonlocal complete
            complete = message["type"] == "http.response.body" and not message.get("more_body", False)
            if message["type"] == "http.response.start":
                answered = MutableHeaders(scope=message)
                answered["x-request-id"] = caller.request_id
                if message["status"] == 503:  # from the SDK, when it has too many connections
                    answered.setdefault("retry-after", _OVERLOAD_RETRY_AFTER)
            await send(message)

        token, stranger = _current.set(caller), is_stranger.set(self._of_one_user and not is_users)
        try:
            await self._app(scope, receive_until_gone, send_with_id)
        finally:
            _current.reset(token)
            is_stranger.reset(stranger)


def client_address(scope: Scope) -> str:
    """The address of the client; "" if unknown."""
    client = scope.get("client")
    return str(client[0]) if client else ""
