"""The session that a call belongs to, on every transport and in both protocol eras."""

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
class CallSession:
    """The session of a call: its store, and whether the client must pass the id to continue it (`announce`)."""

    store: EvidenceStore
    announce: bool

    @property
    def hint(self) -> str:
        """How the model continues this session; "" if later calls find it by default."""
        return f'Pass session_id="{self.store.session_id}" to continue in this session.' if self.announce else ""


async def session_for(ctx: ToolContext, session_id: str, *, may_open: bool = True) -> CallSession:
    """The session with that id, or a new one for "new", else the connection's default session, else a new one.

    Raises:
        SessionNotFoundError: `session_id` is unknown, expired or someone else's.
        SessionRequiredError: no id was given, there is no default session, and `may_open` is False.
    """
    registry = (await application(ctx).services()).sessions
    owner = caller()
    if session_id == NEW:
        return CallSession(await registry.open(owner=owner), announce=True)
    if session_id:
        return CallSession(await registry.get(session_id, owner=owner), announce=False)
    key = _default_key(ctx)
    if key:
        # The caller's next call may reach another replica, which has a default session of its own.
        elsewhere = key.startswith(CALLER_KEY) and bool(application(ctx).settings.chroma_url)
        return CallSession(await registry.default(key, owner=owner), announce=elsewhere)
    if not may_open:
        raise SessionRequiredError()
    return CallSession(await registry.open(owner=owner), announce=True)


async def existing_session(ctx: ToolContext) -> EvidenceStore | None:
    """The connection's default session if it has been opened already, else None."""
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
    """The name of the authenticated caller; "" without authentication."""
    token = get_access_token()
    return caller_of(token) if token else ""


def caller_of(token: AccessToken) -> str:
    """The name of the caller that `token` belongs to; with OAuth made of client, issuer and user."""
    return "|".join(part for part in principal_components(token) if part)


def _default_key(ctx: ToolContext) -> str:
    """The key of the default session; "" if nothing about the connection is safe from forgery."""
    request: Request | None = ctx.request_context.request
    if request is None:
        return "process"
    if request.url.path.startswith(SSE_MESSAGES_PATH):
        # The SSE transport has already checked that this connection belongs to the caller.
        return f"sse:{request.query_params.get('session_id', '')}"
    if ctx.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
        header = request.headers.get("mcp-session-id", "")
        return f"http:{header}" if header else ""
    return f"{CALLER_KEY}{caller()}" if caller() else ""
