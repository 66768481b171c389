"""MCP resources: a session and each piece of its evidence, for clients that attach resources rather than call tools."""

from __future__ import annotations

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp_types import Resource

from deepcritical_mcp.context import AppContext
from deepcritical_mcp.errors import DeepCriticalError, SessionError
from deepcritical_mcp.models import EvidenceList, EvidencePage
from deepcritical_mcp.tools.call_session import ToolContext, existing_session, session_for
from deepcritical_mcp.tools.list_evidence import page_of
from deepcritical_mcp.tools.render import to_markdown

SESSION_URI = "evidence://{session_id}"
PIECE_URI = "evidence://{session_id}/{+id}"
MARKDOWN = "text/markdown"
LONGEST_PAGE = 1_000
NEWEST = 50


async def session_overview(session_id: str, ctx: ToolContext) -> str:
    """A session's evidence: how much of each source, and a line for each piece."""
    return to_markdown(await _page(ctx, session_id))


async def piece_of_evidence(session_id: str, id: str, ctx: ToolContext) -> str:
    """One piece of evidence, whole, with its citation."""
    try:
        store = (await session_for(ctx, session_id, may_open=False)).store
        found = await store.get([id])
    except SessionError as error:
        raise ResourceNotFoundError(error.message) from error
    except DeepCriticalError as error:
        raise ResourceError(error.message) from error
    if id not in found:
        raise ResourceNotFoundError("This session holds no evidence under this id; list_evidence shows what it holds.")
    return to_markdown(EvidenceList(session_id=store.session_id, evidence=(found[id],)))


async def list_session(ctx: ToolContext) -> list[Resource]:
    """The connection's session and its newest evidence; nothing where no session has been opened yet."""
    try:
        store = await existing_session(ctx)
        if store is None:
            return []
        total = await store.count()
        newest = await store.page(max(0, total - NEWEST), NEWEST)
    except DeepCriticalError:
        return []  # the templates still lead there, and reading says what is wrong
    session = Resource(
        uri=session_uri(store.session_id),
        name="session",
        title=f"This session: {total:,} pieces of evidence",
        mime_type=MARKDOWN,
    )
    pieces = [
        Resource(uri=f"{session.uri}/{piece.id}", name=piece.id, title=piece.citation.title, mime_type=MARKDOWN)
        for piece in reversed(newest)
    ]
    return [session, *pieces]


def session_uri(session_id: str) -> str:
    """The address of a session's overview."""
    return SESSION_URI.replace("{session_id}", session_id)


async def _page(ctx: ToolContext, session_id: str) -> EvidencePage:
    try:
        return await page_of((await session_for(ctx, session_id, may_open=False)).store, 0, LONGEST_PAGE)
    except SessionError as error:
        raise ResourceNotFoundError(error.message) from error
    except DeepCriticalError as error:
        raise ResourceError(error.message) from error


def register_resources(server: MCPServer[AppContext]) -> None:
    """Offer both templates on `server`."""
    server.resource(SESSION_URI, name="session", title="A session's evidence", mime_type=MARKDOWN)(session_overview)
    server.resource(PIECE_URI, name="evidence", title="A piece of evidence", mime_type=MARKDOWN)(piece_of_evidence)
