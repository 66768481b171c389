"""The MCP tools, one a file. To add one: a file with a `TOOL`, and its line here."""

from __future__ import annotations

from deepcritical_mcp.tools import (
    add_evidence,
    clear_session,
    expand_queries,
    export_evidence,
    get_evidence,
    list_evidence,
    pubmed_search,
    semantic_search,
    web_search,
)
from deepcritical_mcp.tools.base import ToolSpec

TOOLS: tuple[ToolSpec, ...] = (
    pubmed_search.TOOL,
    web_search.TOOL,
    expand_queries.TOOL,
    semantic_search.TOOL,
    add_evidence.TOOL,
    get_evidence.TOOL,
    list_evidence.TOOL,
    export_evidence.TOOL,
    clear_session.TOOL,
)
