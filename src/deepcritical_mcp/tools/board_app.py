"""The evidence board as an MCP App."""

from __future__ import annotations

from typing import Any

from mcp.server.apps import APP_MIME_TYPE, Apps, client_supports_apps
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resources import FunctionResource
from pydantic import BaseModel

from deepcritical_mcp.board import board_page, session_meta
from deepcritical_mcp.context import AppContext
from deepcritical_mcp.errors import SessionError
from deepcritical_mcp.models import EvidenceList, SearchResult
from deepcritical_mcp.tools.arguments.call_session import read_session
from deepcritical_mcp.tools.spec import BOARD_URI


def board_extension() -> Apps:
    """The evidence board, for hosts that support MCP Apps."""
    apps = Apps()
    page = FunctionResource.from_function(
        board_page, BOARD_URI, name="board", title="Evidence board", mime_type=APP_MIME_TYPE
    )
    apps.add_resource(page)
    return apps


async def result_meta(context: Context[AppContext, Any], result: BaseModel) -> dict[str, Any] | None:
    """The session's map to send with a result, for a client that shows the board."""
    if not isinstance(result, SearchResult | EvidenceList) or not client_supports_apps(context):
        return None
    if not result.session_id:  # of several sessions
        return None
    try:
        store = await read_session(context, result.session_id)
    except SessionError:  # the session has ended in the meantime; send the result without a map
        return None
    return dict(await session_meta(store, result.evidence))
