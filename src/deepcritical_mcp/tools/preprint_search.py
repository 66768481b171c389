"""The tool `preprint_search`."""

from __future__ import annotations

import json
from typing import Annotated

from pydantic import Field

from deepcritical_mcp.models import SearchResult
from deepcritical_mcp.sources.europepmc.preprint_request import PreprintRequest
from deepcritical_mcp.tools.arguments.call_session import ToolContext
from deepcritical_mcp.tools.arguments.params import MoreVariants, OtherSession, Query, Word
from deepcritical_mcp.tools.spec import FIND_AGAIN, search_spec


async def preprint_search(
    ctx: ToolContext,
    query: Query,
    variants: MoreVariants = [],  # noqa: B006  # pydantic copies it
    max_results: Annotated[int, Field(ge=1, le=PreprintRequest.MAX_RESULTS)] = 10,
    offset: Annotated[int, Field(ge=0)] = 0,
    min_date: Word = "",
    max_date: Word = "",
    servers: Annotated[list[Word], Field(max_length=20)] = [],  # noqa: B006
    unpublished_only: bool = False,
    only_new: bool = False,
    session_id: OtherSession = "",
) -> None:
    """Search preprints (bioRxiv, medRxiv, Research Square …): manuscripts not yet peer reviewed or published, in plain
    words or Europe PMC syntax; names the article that each became."""


def _next_steps(result: SearchResult, request: PreprintRequest, more: str) -> tuple[str, ...]:
    notices = [notice for item in result.evidence for notice in item.citation.status_notices]
    published = [one for one in notices if one.kind == "published" and (one.pmid or one.doi)]
    if published:
        first = {"pmid": published[0].pmid} if published[0].pmid else {"doi": published[0].doi}
        items = f"[{json.dumps(first)}{', …' if len(published) > 1 else ''}]"
        return more, f"Where an article was published, cite that: add_evidence items={items}.", FIND_AGAIN
    if result.evidence or result.duplicates_removed:
        return more, FIND_AGAIN
    if not result.total_found:
        return ("Nothing found: a preprint must have all words of the query, so try fewer, or join synonyms with OR.",)
    if request.unpublished_only and result.left_out:
        return "All results were omitted (see the warnings): search with unpublished_only=false to see them.", more
    return (more or "Europe PMC sent no results from this offset on: try again in a minute, or use a smaller offset.",)


TOOL = search_spec(preprint_search, PreprintRequest, _next_steps, "Search preprints", "📰", "preprints")
