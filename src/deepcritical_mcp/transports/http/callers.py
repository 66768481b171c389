"""Who is calling, as far as limits and logs are concerned."""

from __future__ import annotations

import re
import uuid
from contextvars import ContextVar
from dataclasses import dataclass

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deepcritical_mcp.tools.call_session import caller_of
from deepcritical_mcp.transports.http.security import is_loopback

BUSY = "30"
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True)
class Caller:
    """The sender of one HTTP request.

    Attributes:
        name: the authenticated name; "" without authentication.
        address: the other end's address; behind a trusted proxy the one it forwards for.
        request_id: the client's X-Request-Id if it is a plain word, else one of ours.
        path: path of the request.
    """

    name: str
    address: str
    request_id: str
    path: str

    @property
    def key(self) -> str:
        """What the limits count by."""
        return self.name or f"address:{self.address}"

    @property
    def is_local(self) -> bool:
        """Whether it is an unauthenticated program of this machine."""
        return not self.name and is_loopback(self.address)


_current: ContextVar[Caller | None] = ContextVar("caller", default=None)


def current_caller() -> Caller | None:
    """The caller on whose behalf this code runs; None outside HTTP."""
    return _current.get()


class CallerContext:
    """ASGI middleware behind authentication: names the caller to everything that runs for the request, and the request
    to the caller."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = _caller(scope)

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["x-request-id"] = caller.request_id
                if message["status"] == 503:  # the SDK's, when it has too many connections, names no time
                    headers.setdefault("retry-after", BUSY)
            await send(message)

        token = _current.set(caller)
        try:
            await self._app(scope, receive, send_with_id)
        finally:
            _current.reset(token)


def address_of(scope: Scope) -> str:
    """The address at the other end of the connection; "" when unknown."""
    client = scope.get("client")
    return str(client[0]) if client else ""


def _caller(scope: Scope) -> Caller:
    user = scope.get("user")
    given = Headers(scope=scope).get("x-request-id", "")
    return Caller(
        name=caller_of(user.access_token) if isinstance(user, AuthenticatedUser) else "",
        address=address_of(scope),
        request_id=given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex,
        path=str(scope["path"]),
    )
