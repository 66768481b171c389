"""The tool `web_search`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from deepcritical_mcp.models import SearchResult
from deepcritical_mcp.tools.call_session import ToolContext, application, session_for
from deepcritical_mcp.tools.params import Query, SessionId, Variants
from deepcritical_mcp.tools.progress_reports import progress_of
from deepcritical_mcp.tools.spec import ToolSpec, searching

Domains = Annotated[list[str], Field(max_length=50, description='e.g. "nih.gov"')]


async def web_search(
    ctx: ToolContext,
    query: Query,
    variants: Variants = [],  # noqa: B006  # pydantic copies it
    max_results: Annotated[int, Field(ge=1, le=50)] = 10,
    min_score: Annotated[float, Field(ge=0, le=1)] = 0.3,
    search_depth: Literal["basic", "advanced"] = "advanced",
    topic: Literal["general", "news"] = "general",
    recency: Literal["any", "day", "week", "month", "year"] = "any",
    include_domains: Domains = [],  # noqa: B006
    exclude_domains: Domains = [],  # noqa: B006
    only_new: bool = False,
    session_id: SessionId = "",
) -> SearchResult:
    """Search the web (guidelines, news, preprints, agencies) and keep what is found in the session. Asks whichever
    provider is up; `providers` tells who answered."""
    from deepcritical_mcp.search.web import WebRequest  # imports the HTTP client

    session = await session_for(ctx, session_id)
    services = await application(ctx).services()
    request = WebRequest(
        query=query,
        variants=tuple(variants),
        max_results=max_results,
        min_score=min_score,
        search_depth=search_depth,
        topic=topic,
        recency=recency,
        include_domains=tuple(include_domains),
        exclude_domains=tuple(exclude_domains),
        only_new=only_new,
    )
    result = await services.web.search(request, session.store, progress=progress_of(ctx))
    return result.model_copy(update={"next_step": f"{session.hint} {_next_step(result)}".strip()})


def _next_step(result: SearchResult) -> str:
    if result.evidence:
        return "Find it again by meaning with semantic_search."
    if result.errors:
        return "Not everybody could be asked: try again later, or other wordings now."
    if result.total_found:
        return (
            "What was found is left out, as the notes say: lower min_score, set only_new=false, or try other wordings."
        )
    return "Nothing found: try other wordings."


TOOL = ToolSpec(web_search, "Search the web", SearchResult, searching(), changes_session=True, on_board=True)
