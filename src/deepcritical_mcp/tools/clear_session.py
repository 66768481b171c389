"""The tool `clear_session`."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

from pydantic import AfterValidator, Field

from deepcritical_mcp.errors import EvidenceStoreError, InvalidInputError, SessionNotFoundError
from deepcritical_mcp.models import ClearResult
from deepcritical_mcp.text import clean_line
from deepcritical_mcp.tools.argument_errors import NO_ID
from deepcritical_mcp.tools.call_session import NEW, CallSession, ToolContext, application, caller
from deepcritical_mcp.tools.list_evidence import page_of
from deepcritical_mcp.tools.spec import ToolSpec, hints


async def clear_session(
    ctx: ToolContext,
    session_id: Annotated[str, AfterValidator(clean_line), Field(max_length=64, description="as a result shows it")],
    undo: Annotated[bool, Field(description="bring back a session that was deleted within a day")] = False,
) -> ClearResult:
    """Delete a session that is no longer wanted, with all its evidence and notes. Not needed for a fresh start."""
    if session_id in ("", NEW) or session_id.isalpha() or not any(map(str.isalnum, session_id)):
        raise InvalidInputError(NO_ID)
    registry = (await application(ctx).services()).sessions
    if undo:
        if not registry.undo_seconds:
            raise InvalidInputError("undo is unavailable: this server does not keep deleted sessions.")
        kept = ""
        with suppress(SessionNotFoundError):
            await registry.get(session_id, owner=caller())
            kept = "It was not deleted: nothing has changed. "
        restored = await registry.restore(session_id, owner=caller())
        held, step = await page_of(restored, 0, 0), kept + CallSession(restored, announce=True).next_step()
        return ClearResult(session_id=session_id, removed=held.total, undone=True, sources=held.sources, next_step=step)
    total, sources, is_damaged = 0, (), False
    try:
        held = await page_of(await registry.get(session_id, owner=caller()), 0, 0)
        total, sources = held.total, held.sources
    except EvidenceStoreError:
        is_damaged = True
    await registry.drop(session_id, owner=caller())
    step = "The next search or add_evidence opens a new session."
    if registry.undo_seconds:
        hours = f"{registry.undo_seconds / 3_600:g}"
        step += f' To undo this within {hours} hours: clear_session session_id="{session_id}" undo=true.'
    return ClearResult(session_id=session_id, removed=total, damaged=is_damaged, sources=sources, next_step=step)


TOOL = ToolSpec(clear_session, "Clear a session", ClearResult, hints(destructive=True), changes_session=True)
