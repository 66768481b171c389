"""The tool `clear_session`."""

from __future__ import annotations

from deepcritical_mcp.models import ClearResult
from deepcritical_mcp.tools.call_session import ToolContext, application, caller, session_for
from deepcritical_mcp.tools.params import SessionId
from deepcritical_mcp.tools.spec import ToolSpec, hints


async def clear_session(ctx: ToolContext, session_id: SessionId = "") -> ClearResult:
    """Delete a session and all its evidence permanently. Export anything worth keeping first."""
    session = await session_for(ctx, session_id, may_open=False)
    removed, id = await session.store.count(), session.store.session_id
    await (await application(ctx).services()).sessions.drop(id, owner=caller())
    step = "The next search or add_evidence opens a new session."
    return ClearResult(session_id=id, removed=removed, next_step=step)


TOOL = ToolSpec(clear_session, "Clear the session", ClearResult, hints(destructive=True), changes_session=True)
