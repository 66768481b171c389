"""The tool `pubmed_related`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from deepcritical_mcp.models import SearchResult
from deepcritical_mcp.tools.call_session import ToolContext, application, session_for
from deepcritical_mcp.tools.params import SessionId
from deepcritical_mcp.tools.progress_reports import progress_of
from deepcritical_mcp.tools.spec import ToolSpec, searching

MOST_RESULTS = 100


async def pubmed_related(
    ctx: ToolContext,
    pmid: Annotated[str, Field(min_length=1, max_length=40)],
    kind: Literal["similar", "cited_by", "references"] = "similar",
    max_results: Annotated[int, Field(ge=1, le=MOST_RESULTS)] = 10,
    session_id: SessionId = "",
) -> SearchResult:
    """Papers that PubMed links to one paper: similar papers, papers that cite it, or its references. Keeps them in
    the session."""
    session = await session_for(ctx, session_id)
    services = await application(ctx).services()
    result = await services.searches["pubmed"].related(
        pmid, kind, max_results, session.store, progress=progress_of(ctx)
    )
    return result.model_copy(update={"next_step": f"{session.hint} {_next_step(result, max_results)}".strip()})


def _next_step(result: SearchResult, max_results: int) -> str:
    if not result.evidence:
        return "PubMed lists no such papers: try another kind, or pubmed_search with the paper's title."
    more = min(MOST_RESULTS, result.total_found)
    further = f"More: max_results={more}. " if max_results < more else ""
    return f"{further}Find it again by meaning with semantic_search."


TOOL = ToolSpec(pubmed_related, "Papers linked to a paper", SearchResult, searching(), changes_session=True)
