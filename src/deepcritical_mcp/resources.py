"""MCP resources: a session and its evidence, for clients that attach resources instead of calling tools."""

from __future__ import annotations

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp_types import Resource

from deepcritical_mcp.checking.report_text import report_text, summary
from deepcritical_mcp.context import AppContext
from deepcritical_mcp.errors import DeepCriticalError, SessionError
from deepcritical_mcp.models import CitationReport, EvidenceList
from deepcritical_mcp.text import counted
from deepcritical_mcp.tools.call_session import ToolContext, application, existing_session, session_for
from deepcritical_mcp.tools.check_citations import REPORT_URI
from deepcritical_mcp.tools.list_evidence import page_of
from deepcritical_mcp.tools.render import to_markdown

SESSION_URI = "evidence://{session_id}"
EVIDENCE_URI = "evidence://{session_id}/{+id}"
MARKDOWN = "text/markdown"
MAX_OVERVIEW_LINES = 1_000
MAX_LISTED = 50


def register_resources(server: MCPServer[AppContext]) -> None:
    """Add the templates for sessions, evidence and reports to `server`."""
    server.resource(SESSION_URI, name="session", title="A session's evidence", mime_type=MARKDOWN)(session_overview)
    server.resource(EVIDENCE_URI, name="evidence", title="An item of evidence", mime_type=MARKDOWN)(evidence_text)
    server.resource(REPORT_URI, name="report", title="The check of a draft", mime_type=MARKDOWN)(citation_report)


async def session_overview(session_id: str, ctx: ToolContext) -> str:
    """A session's evidence: the number of items per source, and one line per item."""
    try:
        store = (await session_for(ctx, session_id, may_open=False)).store
        return to_markdown(await page_of(store, 0, MAX_OVERVIEW_LINES))
    except DeepCriticalError as error:
        raise _resource_error(error) from error


async def evidence_text(session_id: str, id: str, ctx: ToolContext) -> str:
    """One item of evidence with its complete text and its citation."""
    try:
        store = (await session_for(ctx, session_id, may_open=False)).store
        found = await store.get([id])
    except DeepCriticalError as error:
        raise _resource_error(error) from error
    if id not in found:
        raise ResourceNotFoundError("This session has no evidence with this id; list_evidence lists all ids.")
    return to_markdown(EvidenceList(session_id=store.session_id, evidence=(found[id],)))


async def citation_report(session_id: str, ctx: ToolContext) -> str:
    """The whole report of the last check of a draft in a session."""
    try:
        store = (await session_for(ctx, session_id, may_open=False)).store
        report = await (await application(ctx).services()).checker.kept_report(store)
    except DeepCriticalError as error:
        raise _resource_error(error) from error
    if report is None:
        raise ResourceNotFoundError("No draft was checked in this session: check_citations checks one.")
    return report_text(report)


async def session_resources(ctx: ToolContext) -> list[Resource]:
    """The connection's default session, the report on its draft, and its newest evidence; [] if no session has been
    opened yet."""
    try:
        store = await existing_session(ctx)
        if store is None:
            return []
        total = await store.count()
        newest = await store.page(max(0, total - MAX_LISTED), MAX_LISTED)
        report = await (await application(ctx).services()).checker.kept_report(store)
    except DeepCriticalError:
        return []  # the templates still work, and reading one reports the error
    session = Resource(
        uri=SESSION_URI.replace("{session_id}", store.session_id),
        name="session",
        title=f"This session: {counted(total, 'item')} of evidence",
        mime_type=MARKDOWN,
    )
    evidence = [
        Resource(uri=f"{session.uri}/{item.id}", name=item.id, title=item.citation.title, mime_type=MARKDOWN)
        for item in reversed(newest)
    ]
    return [session, *([_listed_report(report, store.session_id)] if report else []), *evidence]


def _listed_report(report: CitationReport, session_id: str) -> Resource:
    uri = REPORT_URI.replace("{session_id}", session_id)
    return Resource(uri=uri, name="report", title=f"Check of the draft: {summary(report)}", mime_type=MARKDOWN)


def _resource_error(error: DeepCriticalError) -> ResourceError:
    return (ResourceNotFoundError if isinstance(error, SessionError) else ResourceError)(error.message)
