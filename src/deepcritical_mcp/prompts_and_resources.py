"""MCP prompts: research workflows that a person can start by name; suggestions for their arguments and those of
resource templates, taken from the session's evidence; and MCP resources: a session and its evidence, for clients that
attach them instead of calling tools.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp.server.mcpserver.prompts import Prompt
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    Resource,
    ResourceTemplateReference,
)
from pydantic import Field

from deepcritical_mcp.checking.report_text import report_text, summary
from deepcritical_mcp.context import AppContext
from deepcritical_mcp.errors import DeepCriticalError, SessionError
from deepcritical_mcp.models import EvidenceList, status_label
from deepcritical_mcp.session_export.saved_exports import kept_export
from deepcritical_mcp.text import clean_line, clean_text, counted, inert
from deepcritical_mcp.tools.answers.render import to_markdown
from deepcritical_mcp.tools.arguments.call_session import (
    ToolContext,
    application,
    day,
    existing_session,
    finds_titles,
    own_sessions,
    read_session,
)
from deepcritical_mcp.tools.check_citations import REPORT_URI
from deepcritical_mcp.tools.export_evidence import EXPORT_URI, export_resources
from deepcritical_mcp.tools.kept_evidence import page_of
from deepcritical_mcp.tools.offered import as_offered, hidden_in, without_tools

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.store import EvidenceStore

_GRAVE = f"{status_label('retracted')} or {status_label('concern')}"
Question = Annotated[str, Field(description="the question to answer")]
Depth = Annotated[str, Field(description="quick | thorough")]
Draft = Annotated[str, Field(description="the text with its reference list, or the name of its file")]
Topic = Annotated[str, Field(description="the topic to search for")]
Aside = Annotated[str, Field(description="context that the topic does not mention")]
SessionName = Annotated[str, Field(description="its title or id; empty = choose from a list")]


def _written(name: str, /, **said: str) -> str:
    text = Path(__file__).with_name("prompt_texts").joinpath(f"{name}.md").read_text("utf-8")
    return text.removesuffix("\n").format(**said, grave=_GRAVE)


def research_question(question: Question, depth: Depth = "thorough") -> str:
    """Answer a biomedical question from literature, trials and the web, with citations."""
    is_quick = depth.strip().lower() == "quick"
    rounds = "one more round" if is_quick else "two or three more rounds, until a round finds nothing new"
    return _written("research_question", question=clean_line(question), rounds=rounds)


def verify_claim(claim: Annotated[str, Field(description="the claim to check")]) -> str:
    """Check a claim against the literature: what supports it, what contradicts it, and how strong the evidence is."""
    return _written("verify_claim", claim=clean_line(claim))


def check_my_draft(draft: Draft) -> str:
    """Check a draft before others read it: its references, quotations and what it says that papers say."""
    return _written("check_my_draft", draft=clean_text(draft))


def expand_queries(topic: Topic, description: Aside = "") -> str:
    """Write good search queries yourself, from the concepts that the server finds."""
    context = f"\nContext, also as data: «{clean_line(description)}»" if clean_line(description) else ""
    return _written("expand_queries", topic=clean_line(topic), context=context)


def continue_research(session: SessionName = "") -> str:
    """Pick up earlier research where it stopped: what was asked, found, read, noted, decided and left open."""
    name = clean_line(session).replace('"', "'")
    first = _written("session_named" if name else "session_chosen", name=name)
    return _written("continue_research", first=first)


PROMPTS = (
    Prompt.from_function(research_question, title="Research a question"),
    Prompt.from_function(verify_claim, title="Verify a claim"),
    Prompt.from_function(expand_queries, title="Write search queries"),
    Prompt.from_function(check_my_draft, title="Check my draft"),
    Prompt.from_function(continue_research, title="Continue earlier research"),
)


def offered_prompts(hidden: Collection[str]) -> tuple[Prompt, ...]:
    """The prompts that name none of the `hidden` tools."""
    bare = (str(prompt.fn(**{one.name: "" for one in prompt.arguments or []})) for prompt in PROMPTS)
    return tuple(prompt for prompt, text in zip(PROMPTS, bare, strict=True) if not hidden_in(text, hidden))


def prompt_arguments(prompts: Iterable[Prompt], name: str, given: Iterable[str]) -> dict[str, bool]:
    """The names of the arguments of one of the `prompts`, and whether each is required.

    MCPError -32602 if there is no such prompt, or if it has no argument of a `given` name.
    """
    arguments = {one.name: {each.name: bool(each.required) for each in one.arguments or []} for one in prompts}
    if name not in arguments:
        known = f"The prompts are {', '.join(arguments)}." if arguments else "This server offers none."
        raise MCPError(INVALID_PARAMS, f'Unknown prompt "{name[:80]}". {known}')
    if unknown := [one for one in given if one not in arguments[name]]:
        known = ", ".join(arguments[name])
        raise MCPError(INVALID_PARAMS, f'Unknown argument "{unknown[0][:80]}": the prompt {name} accepts {known}.')
    return arguments[name]


Completable = PromptReference | ResourceTemplateReference
Known = CompletionContext | None
MAX_SUGGESTIONS = 100
DEPTHS = ("quick", "thorough")
MAX_EVIDENCE_READ = 500


async def complete(ctx: ToolContext, ref: Completable, argument: CompletionArgument, known: Known) -> Completion:
    """Suggestions for one argument, best first; empty if there are none."""
    candidates: Iterable[str] = ()
    if isinstance(ref, ResourceTemplateReference):
        if ref.uri.startswith(("evidence://", "report://")):
            is_session = argument.name == "session_id"
            candidates = await (_session_names(ctx) if is_session else _evidence_ids(ctx, known))
    elif argument.name == "depth":
        candidates = DEPTHS
    else:
        candidates = await (_session_names(ctx) if argument.name == "session" else _topics(ctx))
    prefix = argument.value.casefold()
    matches = list(dict.fromkeys(text for text in candidates if text.casefold().startswith(prefix)))
    return Completion(values=matches[:MAX_SUGGESTIONS], total=len(matches), has_more=len(matches) > MAX_SUGGESTIONS)


async def _topics(ctx: ToolContext) -> list[str]:
    """The session's queries, then the MeSH terms of its evidence, each by frequency."""
    if (store := await existing_session(ctx)) is None:
        return []
    kept = (await store.publications((await store.ids())[:MAX_EVIDENCE_READ])).values()
    queries = Counter(query for publication in kept for query in publication.found_by)
    mesh_terms = Counter(term for publication in kept for term in publication.mesh_terms)
    return [text for text, _ in (*queries.most_common(), *mesh_terms.most_common())]


async def _evidence_ids(ctx: ToolContext, known: Known) -> list[str]:
    session_id = ((known.arguments if known else None) or {}).get("session_id", "")
    try:
        given = await read_session(ctx, session_id) if session_id else None
        store = given or await existing_session(ctx)
        return (await store.ids())[:MAX_EVIDENCE_READ] if store else []
    except DeepCriticalError:
        return []


async def _session_names(ctx: ToolContext) -> list[str]:
    """The titles of the caller's sessions, the last used first, and their ids, that of the current one first."""
    try:
        store, own = await existing_session(ctx), await own_sessions(ctx)
    except DeepCriticalError:
        return []
    titles = [one.title for one in own if one.title] if finds_titles(ctx) else []
    return [*([store.session_id] if store else []), *titles, *(one.session_id for one in own)]


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
        told = "This session has no evidence with this id; list_evidence lists all ids."
        raise ResourceNotFoundError(without_tools(told, hidden))
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
        told = "This session does not keep an export of this name, or no longer"
        raise ResourceNotFoundError(f"{told}: export_evidence with save=true makes one.")
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
    uri, title = SESSION_URI.replace("{session_id}", store.session_id), f"{counted(total, 'item')} of evidence"
    session = _markdown(uri, "session", f"This session: {title}")
    evidence = [_markdown(f"{session.uri}/{item.id}", item.id, item.citation.title) for item in reversed(newest)]
    others = [one for one in others if one.uri != session.uri][:MAX_SESSIONS_LISTED]
    if report:
        uri, title = REPORT_URI.replace("{session_id}", store.session_id), f"Check of the draft: {summary(report)}"
        exports.insert(0, _markdown(uri, "report", title))
    return [session, *exports, *evidence, *others]


async def _session_facts(ctx: ToolContext, store: EvidenceStore) -> Iterator[str]:
    """Its title, how long it is kept and what was searched, as far as there is any of it."""
    kept = (await application(ctx).services()).sessions.kept_until(store.session_id)
    log = [one for one in await store.search_log() if one.is_own]
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
