"""What a person might mean to type into a prompt's or a resource's field, from what the session holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from mcp_types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
)

from deepcritical_mcp.errors import DeepCriticalError
from deepcritical_mcp.tools.call_session import ToolContext, existing_session, session_for

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.store import EvidenceStore

MOST = 100
DEPTHS = ("quick", "thorough")
READ = 500
"""Pieces of evidence looked at for suggestions."""


async def complete(
    ctx: ToolContext,
    ref: PromptReference | ResourceTemplateReference,
    argument: CompletionArgument,
    known: CompletionContext | None,
) -> Completion:
    """Suggestions for one field, best first; none where nothing is known."""
    if isinstance(ref, PromptReference):
        if argument.name == "depth":
            return _completion(DEPTHS, argument.value)
        store = await existing_session(ctx)
        return _completion(await _topics(store) if store else (), argument.value)
    return _completion(await _addresses(ctx, argument, known), argument.value)


async def _topics(store: EvidenceStore) -> list[str]:
    """What was searched for, then what the evidence is about."""
    evidence = await store.page(0, READ)
    asked = Counter(query for piece in evidence for query in piece.found_by)
    about = Counter(term for piece in evidence for term in piece.citation.mesh_terms)
    return [text for text, _ in (*asked.most_common(), *about.most_common())]


async def _addresses(ctx: ToolContext, argument: CompletionArgument, known: CompletionContext | None) -> list[str]:
    if argument.name == "session_id":
        store = await existing_session(ctx)
        return [store.session_id] if store else []
    session_id = ((known.arguments if known else None) or {}).get("session_id", "")
    try:
        store = (
            (await session_for(ctx, session_id, may_open=False)).store if session_id else await existing_session(ctx)
        )
        return [piece.id for piece in await store.page(0, READ)] if store else []
    except DeepCriticalError:
        return []


def _completion(candidates: Iterable[str], begun: str) -> Completion:
    begun = begun.casefold()
    fitting = list(dict.fromkeys(one for one in candidates if one.casefold().startswith(begun)))
    return Completion(values=fitting[:MOST], total=len(fitting), has_more=len(fitting) > MOST)
