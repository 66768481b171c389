"""The MCP tools. To add one, write it with its `ToolSpec` (`spec`) and add a line here.

`searches` has those that ask a source, and `expand_queries`; `kept_evidence` has `list_evidence` and `get_evidence`,
`sessions` `list_sessions` and `clear_session`; `add_evidence`, `semantic_search`, `get_full_text`, `check_citations`,
`check_strategy` and `export_evidence` are a file each. `offered` tells clients what there is; `arguments` reads calls,
`answers` shortens and renders results.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from deepcritical_mcp.tools import (
    add_evidence,
    check_citations,
    check_strategy,
    export_evidence,
    get_full_text,
    kept_evidence,
    searches,
    semantic_search,
    sessions,
)
from deepcritical_mcp.tools.spec import ToolSpec

Profile = Literal["research", "core", "search-fetch"]

TOOLS: tuple[ToolSpec, ...] = (
    searches.PUBMED_SEARCH,
    searches.TRIAL_SEARCH,
    searches.WEB_SEARCH,
    searches.EXPAND,
    semantic_search.TOOL,
    add_evidence.TOOL,
    get_full_text.TOOL,
    searches.PREPRINT_SEARCH,
    check_citations.TOOL,
    check_strategy.TOOL,
    kept_evidence.GET_EVIDENCE,
    searches.PUBMED_RELATED,
    kept_evidence.LIST_EVIDENCE,
    sessions.LIST_SESSIONS,
    export_evidence.TOOL,
    sessions.CLEAR_SESSION,
)

PROFILES: dict[Profile, tuple[ToolSpec, ...]] = {
    "research": TOOLS,
    "core": (searches.PUBMED_SEARCH, searches.WEB_SEARCH, searches.EXPAND, semantic_search.TOOL, add_evidence.TOOL),
    "search-fetch": (searches.SEARCH, searches.FETCH),
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
