"""The tool `clear_session`."""

from __future__ import annotations

from mcp_types import ToolAnnotations

from deepcritical_mcp.models import ClearResult
from deepcritical_mcp.tools.call_session import ToolContext, application, caller, session_for
from deepcritical_mcp.tools.params import SessionId
from deepcritical_mcp.tools.spec import ToolSpec


async def clear_session(ctx: ToolContext, session_id: SessionId = "") -> ClearResult:
    """Delete a session and all its evidence permanently. Export first what is worth keeping."""
    session = await session_for(ctx, session_id, may_open=False)
    removed = await session.store.count()
    services = await application(ctx).services()
    await services.sessions.drop(session.store.session_id, owner=caller())
    return ClearResult(
        session_id=session.store.session_id,
        removed=removed,
        next_step="The next search or add_evidence opens a new session.",
    )


TOOL = ToolSpec(
    clear_session,
    "Clear the session",
    ClearResult,
    ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False),
    changes_session=True,
)
