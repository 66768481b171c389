"""The MCP tools, one per file. To add one, write a file with a `TOOL` and add a line here."""

from __future__ import annotations

from typing import Literal

from deepcritical_mcp.tools import (
    add_evidence,
    check_citations,
    clear_session,
    expand_queries,
    export_evidence,
    get_evidence,
    get_full_text,
    list_evidence,
    preprint_search,
    pubmed_related,
    pubmed_search,
    search_fetch,
    semantic_search,
    trial_search,
    web_search,
)
from deepcritical_mcp.tools.spec import ToolSpec

Profile = Literal["research", "search-fetch"]

TOOLS: tuple[ToolSpec, ...] = (
    pubmed_search.TOOL,
    trial_search.TOOL,
    web_search.TOOL,
    expand_queries.TOOL,
    semantic_search.TOOL,
    add_evidence.TOOL,
    get_full_text.TOOL,
    preprint_search.TOOL,
    check_citations.TOOL,
    get_evidence.TOOL,
    pubmed_related.TOOL,
    list_evidence.TOOL,
    export_evidence.TOOL,
    clear_session.TOOL,
)

PROFILES: dict[Profile, tuple[ToolSpec, ...]] = {
    "research": TOOLS,
    "search-fetch": (search_fetch.SEARCH, search_fetch.FETCH),
}
"""The tools that each profile offers: all, or the two that some hosts require, under the names they expect."""
