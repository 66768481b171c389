"""Suggestions for the arguments of prompts and resource templates, taken from the session's evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from mcp_types import Completion, CompletionArgument, CompletionContext, PromptReference, ResourceTemplateReference

from deepcritical_mcp.errors import DeepCriticalError
from deepcritical_mcp.tools.arguments.call_session import (
    ToolContext,
    existing_session,
    finds_titles,
    own_sessions,
    read_session,
)

MAX_SUGGESTIONS = 100
DEPTHS = ("quick", "thorough")
MAX_EVIDENCE_READ = 500


async def complete(
    ctx: ToolContext,
    ref: PromptReference | ResourceTemplateReference,
    argument: CompletionArgument,
    known: CompletionContext | None,
) -> Completion:
    """Suggestions for one argument, best first; empty if there are none."""
    if isinstance(ref, PromptReference):
        if argument.name == "depth":
            return _completion(DEPTHS, argument.value)
        if argument.name == "session":
            return _completion(await _session_names(ctx), argument.value)
        return _completion(await _topics(ctx), argument.value)
    if not ref.uri.startswith(("evidence://", "report://")):
        return _completion((), argument.value)
    return _completion(await _session_or_evidence_ids(ctx, argument, known), argument.value)


async def _topics(ctx: ToolContext) -> list[str]:
    """The session's queries, then the MeSH terms of its evidence, each by frequency."""
    if (store := await existing_session(ctx)) is None:
        return []
    kept = (await store.publications((await store.ids())[:MAX_EVIDENCE_READ])).values()
    queries = Counter(query for publication in kept for query in publication.found_by)
    mesh_terms = Counter(term for publication in kept for term in publication.mesh_terms)
    return [text for text, _ in (*queries.most_common(), *mesh_terms.most_common())]


async def _session_or_evidence_ids(
    ctx: ToolContext, argument: CompletionArgument, known: CompletionContext | None
) -> list[str]:
    if argument.name == "session_id":
        return await _session_names(ctx)
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


def _completion(candidates: Iterable[str], prefix: str) -> Completion:
    prefix = prefix.casefold()
    matches = list(dict.fromkeys(text for text in candidates if text.casefold().startswith(prefix)))
    return Completion(values=matches[:MAX_SUGGESTIONS], total=len(matches), has_more=len(matches) > MAX_SUGGESTIONS)
