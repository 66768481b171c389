"""The session that a call belongs to, on every transport and in both protocol eras."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken, principal_components
from mcp.server.mcpserver import Context
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from deepcritical_mcp.context import AppContext
from deepcritical_mcp.errors import ConfigurationError, SessionNotFoundError, SessionRequiredError
from deepcritical_mcp.models import Evidence, QueryReport, split_text_id, with_numbers_shown
from deepcritical_mcp.progress import Progress

if TYPE_CHECKING:
    from starlette.requests import Request

    from deepcritical_mcp.evidence.store import EvidenceStore
    from deepcritical_mcp.search.pipeline import SourceSearch

NEW = "new"
SSE_MESSAGES_PATH = "/messages"
CALLER_KEY = "caller:"
MAX_FOUND_BY = 3
"""An item of evidence names the latest queries that found it, at most this many."""

ToolContext = Context[AppContext, Any]


@dataclass(frozen=True)
class CallSession:
    """The session of a call: its store, and whether the client must pass the id to continue it (`announce`)."""

    store: EvidenceStore
    announce: bool

    def next_step(self, *steps: str) -> str:
        """What the model can do next: how to continue this session, if it must be told, then `steps`."""
        hint = f'Pass session_id="{self.store.session_id}" to continue in this session.' if self.announce else ""
        return " ".join(filter(None, (hint, *steps)))

    async def with_queries(self, evidence: Iterable[Evidence]) -> tuple[tuple[Evidence, ...], tuple[QueryReport, ...]]:
        """`evidence` with the numbers of the latest queries that found it, and these queries."""
        items = list(evidence)
        kept = await self.store.publications(await self.store.ids())
        totals = Counter(query for one in kept.values() for query in one.found_by)
        owners = [item.id if item.id in kept else split_text_id(item.id)[0] for item in items]
        latest = [kept[id].found_by[-MAX_FOUND_BY:] if id in kept else () for id in owners]
        numbers: dict[str, int] = {}
        for query in (query for queries in latest for query in queries):
            numbers.setdefault(query, len(numbers) + 1)
        numbered = tuple(
            item.model_copy(update={"found_by": tuple(sorted(numbers[query] for query in queries))})
            for item, queries in zip(items, latest, strict=True)
        )
        reports = [QueryReport(index=at, query=one, status="ok", results=totals[one]) for one, at in numbers.items()]
        return numbered, with_numbers_shown(reports, numbered)


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
        elsewhere = key.startswith(CALLER_KEY) and registry.shared
        return CallSession(await registry.default(key, owner=owner), announce=elsewhere)
    if not may_open:
        raise SessionRequiredError()
    return CallSession(await registry.open(owner=owner), announce=True)


async def existing_session(ctx: ToolContext) -> EvidenceStore | None:
    """The connection's default session if it has been opened already, else None."""
    if key := _default_key(ctx):
        registry = (await application(ctx).services()).sessions
        if session_id := registry.default_id(key, owner=caller()):
            with suppress(SessionNotFoundError):
                return await registry.get(session_id, owner=caller())
    return None


async def search_of(ctx: ToolContext, source: str) -> SourceSearch:
    """The search of the source with that name.

    Raises:
        ConfigurationError: this server was built without it.
    """
    searches = (await application(ctx).services()).searches
    if source not in searches:
        raise ConfigurationError(f"This server does not search {source}; it has {', '.join(searches) or 'no source'}.")
    return searches[source]


def application(ctx: ToolContext) -> AppContext:
    """The process's context."""
    return ctx.request_context.lifespan_context


def progress_of(ctx: ToolContext) -> Progress:
    """Reports progress to the client; does nothing for clients that did not ask for it."""

    async def report(fraction: float, message: str) -> None:
        await ctx.report_progress(fraction, 1.0, message)

    return report


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
