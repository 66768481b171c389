"""MCP resources: a session and its evidence, for clients that attach resources instead of calling tools."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp_types import Resource

from deepcritical_mcp.checking.report_text import report_text, summary
from deepcritical_mcp.context import AppContext
from deepcritical_mcp.errors import DeepCriticalError, SessionError
from deepcritical_mcp.evidence.storage.stored_items import search_log
from deepcritical_mcp.models import EvidenceList
from deepcritical_mcp.session_export.saved_exports import kept_export
from deepcritical_mcp.text import counted, inert
from deepcritical_mcp.tools.answers.render import to_markdown
from deepcritical_mcp.tools.arguments.call_session import (
    ToolContext,
    application,
    day,
    existing_session,
    own_sessions,
    read_session,
)
from deepcritical_mcp.tools.check_citations import REPORT_URI
from deepcritical_mcp.tools.export_evidence import EXPORT_URI, export_resources
from deepcritical_mcp.tools.kept_evidence import page_of
from deepcritical_mcp.tools.offered import as_offered, without_tools

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.store import EvidenceStore

SESSION_URI = "evidence://{session_id}"
EVIDENCE_URI = "evidence://{session_id}/{+id}"
MARKDOWN = "text/markdown"
MAX_OVERVIEW_LINES = 1_000
MAX_LISTED = 50
MAX_SESSIONS_LISTED = 20


def register_resources(server: MCPServer[AppContext]) -> None:
    """Add the templates for sessions, evidence and reports to `server`."""
    server.resource(SESSION_URI, name="session", title="A session's evidence", mime_type=MARKDOWN)(session_overview)
    server.resource(EVIDENCE_URI, name="evidence", title="An item of evidence", mime_type=MARKDOWN)(evidence_text)
    server.resource(EXPORT_URI, name="export", title="A file of evidence", mime_type="text/plain")(saved_export)
    server.resource(REPORT_URI, name="report", title="The check of a draft", mime_type=MARKDOWN)(citation_report)


async def session_overview(session_id: str, ctx: ToolContext) -> str:
    """A session: its title, how long it is kept, its searches and decisions, and one line per item of evidence."""
    with _errors_of_resources(ctx):
        store = await read_session(ctx, session_id)
        page = as_offered(await page_of(store, 0, MAX_OVERVIEW_LINES), application(ctx).hidden_tools)
        heading, session, *lines = to_markdown(page).split("\n")
        return "\n".join([heading, session, *await _session_facts(ctx, store), *lines])


async def evidence_text(session_id: str, id: str, ctx: ToolContext) -> str:
    """One item of evidence with its complete text and its citation."""
    with _errors_of_resources(ctx):
        store = await read_session(ctx, session_id)
        found = await store.get([id])
    hidden = application(ctx).hidden_tools
    if id not in found:
        raise ResourceNotFoundError(
            without_tools("This session has no evidence with this id; list_evidence lists all ids.", hidden)
        )
    return to_markdown(as_offered(EvidenceList(session_id=store.session_id, evidence=(found[id],)), hidden))


async def citation_report(session_id: str, ctx: ToolContext) -> str:
    """The whole report of the last check of a draft in a session."""
    with _errors_of_resources(ctx):
        store = await read_session(ctx, session_id)
        report = await (await application(ctx).services()).checker.kept_report(store)
    if report is None:
        raise ResourceNotFoundError("No draft was checked in this session.")
    return report_text(report)


async def saved_export(session_id: str, name: str, ctx: ToolContext) -> str:
    """The whole text of an export that was kept with save=true."""
    with _errors_of_resources(ctx):
        text = await kept_export(await read_session(ctx, session_id), name)
    if text is None:
        raise ResourceNotFoundError(
            "This session does not keep an export of this name, or no longer: export_evidence with save=true makes one."
        )
    return text


async def session_resources(ctx: ToolContext) -> list[Resource]:
    """The connection's default session, the report on its draft, its exports, its newest evidence, and the caller's
    other sessions, the last used first."""
    try:
        store = await existing_session(ctx)
        others: list[Resource] = []
        for one in (await own_sessions(ctx))[: MAX_SESSIONS_LISTED + 1]:
            size = f": {counted(one.items, 'item')} of evidence" if one.items >= 0 else ""
            title = f"{one.title or 'A session without a title'}{size}"
            others.append(_markdown(SESSION_URI.replace("{session_id}", one.session_id), "session", title))
        if store is None:
            return others[:MAX_SESSIONS_LISTED]
        total = await store.count()
        newest = await store.page(max(0, total - MAX_LISTED), MAX_LISTED)
        report = await (await application(ctx).services()).checker.kept_report(store)
        exports = await export_resources(store)
    except DeepCriticalError:
        return []  # the templates still work, and reading one reports the error
    session = _markdown(
        SESSION_URI.replace("{session_id}", store.session_id),
        "session",
        f"This session: {counted(total, 'item')} of evidence",
    )
    evidence = [_markdown(f"{session.uri}/{item.id}", item.id, item.citation.title) for item in reversed(newest)]
    others = [one for one in others if one.uri != session.uri][:MAX_SESSIONS_LISTED]
    if report:
        uri, title = REPORT_URI.replace("{session_id}", store.session_id), f"Check of the draft: {summary(report)}"
        exports.insert(0, _markdown(uri, "report", title))
    return [session, *exports, *evidence, *others]


async def _session_facts(ctx: ToolContext, store: EvidenceStore) -> Iterator[str]:
    """Its title, how long it is kept and what was searched, as far as there is any of it."""
    kept = (await application(ctx).services()).sessions.kept_until(store.session_id)
    log = [one for one in await search_log(store) if one.is_own]
    failed = sum(one.failed for one in log)
    facts = {
        "Title": inert(store.title),
        "Kept until": day(kept),
        "Searches": f"{len(log)}{f', {failed} failed' if failed else ''}" if log else "",
    }
    return (f"{name}: {value}" for name, value in facts.items() if value)


def _markdown(uri: str, name: str, title: str) -> Resource:
    return Resource(uri=uri, name=name, title=title, mime_type=MARKDOWN)


@contextmanager
def _errors_of_resources(ctx: ToolContext) -> Generator[None]:
    """What the SDK raises for a resource that cannot be read, in place of our errors."""
    try:
        yield
    except DeepCriticalError as error:
        message = without_tools(error.message, application(ctx).hidden_tools) or error.message
        raise (ResourceNotFoundError if isinstance(error, SessionError) else ResourceError)(message) from error
