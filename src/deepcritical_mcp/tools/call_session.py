"""Which session a call belongs to, on every transport and in both protocol eras."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken, principal_components
from mcp.server.mcpserver import Context
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from deepcritical_mcp.context import AppContext
from deepcritical_mcp.errors import SessionNotFoundError, SessionRequiredError

if TYPE_CHECKING:
    from starlette.requests import Request

    from deepcritical_mcp.evidence.store import EvidenceStore

NEW = "new"
SSE_MESSAGES_PATH = "/messages"
CALLER_KEY = "caller:"

ToolContext = Context[AppContext, Any]


@dataclass(frozen=True)
class Session:
    """The store of a call's session; `announce` when the client must pass the id to continue it."""

    store: EvidenceStore
    announce: bool

    @property
    def hint(self) -> str:
        """What the model must know to come back to this session; "" where it comes back by itself."""
        return f'Pass session_id="{self.store.session_id}" to continue in this session.' if self.announce else ""


async def session_for(ctx: ToolContext, session_id: str, *, may_open: bool = True) -> Session:
    """The session that `session_id` names, else the connection's default one, else a new one.

    Raises:
        SessionNotFoundError: `session_id` is unknown, expired or someone else's.
        SessionRequiredError: none given, none by default, and `may_open` is false.
    """
    registry = (await application(ctx).services()).sessions
    owner = caller()
    if session_id == NEW:
        return Session(await registry.open(owner=owner), announce=True)
    if session_id:
        return Session(await registry.get(session_id, owner=owner), announce=False)
    key = _default_key(ctx)
    if key:
        # Another replica, which may get this caller's next call, has another default session for it.
        elsewhere = key.startswith(CALLER_KEY) and bool(application(ctx).settings.chroma_url)
        return Session(await registry.default(key, owner=owner), announce=elsewhere)
    if not may_open:
        raise SessionRequiredError()
    return Session(await registry.open(owner=owner), announce=True)


async def existing_session(ctx: ToolContext) -> EvidenceStore | None:
    """The connection's default session when it has been opened already; opens none."""
    key = _default_key(ctx)
    if not key:
        return None
    registry = (await application(ctx).services()).sessions
    session_id = registry.default_id(key, owner=caller())
    if not session_id:
        return None
    try:
        return await registry.get(session_id, owner=caller())
    except SessionNotFoundError:
        return None


def application(ctx: ToolContext) -> AppContext:
    """The process's context."""
    return ctx.request_context.lifespan_context


def caller() -> str:
    """The authenticated caller's name; "" without authentication."""
    token = get_access_token()
    return caller_of(token) if token else ""


def caller_of(token: AccessToken) -> str:
    """The name of the caller that `token` was given to: with OAuth the client, the issuer and the user together."""
    return "|".join(part for part in principal_components(token) if part)


def _default_key(ctx: ToolContext) -> str:
    """What the default session hangs on; "" where the connection has nothing that the client cannot forge."""
    request: Request | None = ctx.request_context.request
    if request is None:
        return "process"
    if request.url.path.startswith(SSE_MESSAGES_PATH):
        # The SSE transport has checked that this connection exists and belongs to the caller.
        return f"sse:{request.query_params.get('session_id', '')}"
    if ctx.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
        header = request.headers.get("mcp-session-id", "")
        return f"http:{header}" if header else ""
    return f"{CALLER_KEY}{caller()}" if caller() else ""
