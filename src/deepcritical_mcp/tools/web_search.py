"""The tool `web_search`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from deepcritical_mcp.models import SearchResult
from deepcritical_mcp.sources.web.request import Recency, SearchDepth, WebRequest, WebTopic
from deepcritical_mcp.tools.arguments.call_session import ToolContext
from deepcritical_mcp.tools.arguments.params import MoreVariants, OtherSession, Query, Word
from deepcritical_mcp.tools.spec import FIND_AGAIN, search_spec

DomainList = Annotated[list[Word], Field(max_length=50)]


async def web_search(
    ctx: ToolContext,
    query: Query,
    variants: MoreVariants = [],  # noqa: B006  # pydantic copies it
    max_results: Annotated[int, Field(ge=1, le=WebRequest.MAX_RESULTS)] = 10,
    min_score: Annotated[float, Field(ge=0, le=1)] = WebRequest.MIN_SCORE,
    search_depth: SearchDepth = "advanced",
    topic: WebTopic = "general",
    recency: Recency = "any",
    include_domains: Annotated[DomainList, Field(description='e.g. "nih.gov"')] = [],  # noqa: B006
    exclude_domains: DomainList = [],  # noqa: B006
    only_new: bool = False,
    session_id: OtherSession = "",
) -> None:
    """Search the web, the internet, online as Google does: news, websites, a guideline, and what guidelines and health
    agencies advise (WHO, FDA, CDC, NICE)."""


def _next_steps(result: SearchResult, _: WebRequest, __: str) -> tuple[str]:
    if result.evidence:
        return (FIND_AGAIN,)
    if result.errors:
        return ("Not every provider answered: try again later, or try other queries now.",)
    if result.total_found:
        return (
            "All results were omitted (see the warnings): lower min_score, set only_new=false, or try other queries.",
        )
    return ("Nothing found: try other queries.",)


TOOL = search_spec(web_search, WebRequest, _next_steps, "Search the web", "🌐", "web")
