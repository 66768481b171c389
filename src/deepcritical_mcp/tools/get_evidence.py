"""The tool `get_evidence`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from deepcritical_mcp.models import Evidence, EvidenceList
from deepcritical_mcp.tools.call_session import ToolContext, session_for
from deepcritical_mcp.tools.params import SessionId, evidence_ids
from deepcritical_mcp.tools.spec import ToolSpec, reading


async def get_evidence(
    ctx: ToolContext,
    ids: Annotated[list[str], Field(min_length=1, max_length=50, description='e.g. "pubmed:12345"')],
    offset: Annotated[int, Field(ge=0, description="characters to skip of a text too long for one answer")] = 0,
    session_id: SessionId = "",
) -> EvidenceList:
    """Whole texts of evidence in the session, by id: what a search had to cut."""
    session = await session_for(ctx, session_id, may_open=False)
    wanted = evidence_ids(ids)
    found = await session.store.get(wanted)
    missing = tuple(one for one in wanted if one not in found)
    step = (
        "What is missing is not in this session: search for it again, or look for its id with list_evidence."
        if missing
        else ""
    )
    return EvidenceList(
        session_id=session.store.session_id,
        evidence=tuple(_from(found[one], offset) for one in wanted if one in found),
        missing=missing,
        offset=offset,
        next_step=f"{session.hint} {step}".strip(),
    )


def _from(piece: Evidence, offset: int) -> Evidence:
    return piece.model_copy(update={"content": piece.content[offset:] or "[End of the text]"}) if offset else piece


TOOL = ToolSpec(get_evidence, "Get evidence", EvidenceList, reading())
