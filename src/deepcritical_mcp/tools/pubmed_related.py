"""The tool `pubmed_related`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from deepcritical_mcp.models import SearchResult
from deepcritical_mcp.tools.call_session import ToolContext, application, progress_of, session_for
from deepcritical_mcp.tools.params import SessionId
from deepcritical_mcp.tools.spec import FIND_AGAIN, ToolSpec, hints

MAX_RESULTS = 100


async def pubmed_related(
    ctx: ToolContext,
    pmid: Annotated[str, Field(min_length=1, max_length=40)],
    kind: Literal["similar", "cited_by", "references"] = "similar",
    max_results: Annotated[int, Field(ge=1, le=MAX_RESULTS)] = 10,
    session_id: SessionId = "",
) -> SearchResult:
    """Find papers that PubMed links to a paper: similar papers, papers that cite it, or its references. Keeps them
    in the session."""
    session = await session_for(ctx, session_id)
    search = (await application(ctx).services()).searches["pubmed"]
    result = await search.related(pmid, kind, max_results, session.store, progress=progress_of(ctx))
    if not result.evidence:
        steps = ["PubMed lists no such papers: try another kind, or pubmed_search with the paper's title."]
    else:
        most = min(MAX_RESULTS, result.total_found)
        steps = [f"Pass max_results={most} for more." if max_results < most else "", FIND_AGAIN]
    return result.model_copy(update={"next_step": session.next_step(*steps)})


TOOL = ToolSpec(pubmed_related, "Papers linked to a paper", SearchResult, hints(open_world=True), changes_session=True)
