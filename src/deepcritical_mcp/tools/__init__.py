"""The MCP tools, one per file. To add one, write a file with a `TOOL` and add a line here."""

from __future__ import annotations

from collections.abc import Collection
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
    list_sessions,
    preprint_search,
    pubmed_related,
    pubmed_search,
    search_fetch,
    semantic_search,
    trial_search,
    web_search,
)
from deepcritical_mcp.tools.spec import ToolSpec

Profile = Literal["research", "core", "search-fetch"]

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
    list_sessions.TOOL,
    export_evidence.TOOL,
    clear_session.TOOL,
)

PROFILES: dict[Profile, tuple[ToolSpec, ...]] = {
    "research": TOOLS,
    "core": tuple(one.TOOL for one in (pubmed_search, web_search, expand_queries, semantic_search, add_evidence)),
    "search-fetch": (search_fetch.SEARCH, search_fetch.FETCH),
}
"""The tools that each profile offers: all; the five that a client with little room needs; or the two that some hosts
require, under the names they expect."""


def tool_choices() -> tuple[str, ...]:
    """What DEEPCRITICAL_TOOLS may contain: profiles and tools."""
    return (*PROFILES, *(spec.name for spec in (*TOOLS, *PROFILES["search-fetch"])))


def tools_chosen(choices: Collection[str]) -> tuple[ToolSpec, ...]:
    """The tools of the profiles and with the names in `choices`; all of "research" if there is none."""
    names = {spec.name for profile, specs in PROFILES.items() if profile in choices for spec in specs}
    wanted = {*names, *choices}
    return tuple(spec for spec in (*TOOLS, *PROFILES["search-fetch"]) if spec.name in wanted) or PROFILES["research"]
