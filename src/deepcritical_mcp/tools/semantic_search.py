"""The tool `semantic_search`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from deepcritical_mcp.models import SearchResult
from deepcritical_mcp.tools.call_session import ToolContext, session_for
from deepcritical_mcp.tools.list_evidence import NOTHING_YET
from deepcritical_mcp.tools.params import Query, SessionId, Variants
from deepcritical_mcp.tools.progress_reports import progress_of
from deepcritical_mcp.tools.spec import ToolSpec, reading


async def semantic_search(
    ctx: ToolContext,
    query: Query,
    variants: Variants = [],  # noqa: B006  # pydantic copies it
    max_results: Annotated[int, Field(ge=1, le=50)] = 5,
    source: Literal["any", "pubmed", "web", "user"] = "any",
    min_relevance: Annotated[float, Field(ge=0, le=1)] = 0,
    session_id: SessionId = "",
) -> SearchResult:
    """Find, by meaning, evidence that this session already holds (from searches and add_evidence). Asks nobody
    outside."""
    session = await session_for(ctx, session_id, may_open=False)
    store = session.store
    progress = progress_of(ctx)
    await progress(0.1, "searching the session by meaning and by words")
    evidence = await store.search_similar(
        query, variants=variants, max_results=max_results, source=source, min_relevance=min_relevance
    )
    total = await store.count()
    await progress(1.0, f"{len(evidence)} of {total} pieces of evidence")
    return SearchResult(
        session_id=store.session_id,
        query=query,
        evidence=tuple(evidence),
        sources_searched=("pubmed", "web", "user") if source == "any" else (source,),
        total_found=total,
        warnings=store.warnings,
        next_step=_next_step(total, found=bool(evidence), session_hint=session.hint),
    )


def _next_step(total: int, *, found: bool, session_hint: str) -> str:
    if not total:
        step = NOTHING_YET
    elif not found:
        step = "Nothing fits: lower min_relevance, drop the source filter, or search PubMed and the web for more."
    else:
        step = "Relevance ranks, it does not judge: read before you cite. For gaps, search PubMed or the web again."
    return f"{session_hint} {step}".strip()


TOOL = ToolSpec(semantic_search, "Search the session by meaning", SearchResult, reading(), on_board=True)
