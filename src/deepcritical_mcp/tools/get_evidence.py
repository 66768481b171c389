"""The tool `get_evidence`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator, Field

from deepcritical_mcp.models import QUERY_LIMIT, Evidence, EvidenceList
from deepcritical_mcp.text import clean_line
from deepcritical_mcp.tools.call_session import CallSession, ToolContext, session_for
from deepcritical_mcp.tools.params import Reading, SessionId, readings
from deepcritical_mcp.tools.session_queries import with_queries
from deepcritical_mcp.tools.spec import ToolSpec, reading

ANSWER_LENGTH = 1_000
"""Characters quoted of each text that answers `about`."""


async def get_evidence(
    ctx: ToolContext,
    ids: Annotated[
        list[str],
        Field(min_length=1, max_length=50, description='e.g. "pubmed:12345"; "pubmed:12345@400-900": these characters'),
    ],
    about: Annotated[
        str,
        AfterValidator(clean_line),
        Field(max_length=QUERY_LIMIT, description="quote only the sentences that answer this"),
    ] = "",
    offset: Annotated[int, Field(ge=0, description="characters to skip of a text too long for one answer")] = 0,
    session_id: SessionId = "",
) -> EvidenceList:
    """Whole texts of evidence in the session, by id; or, with `about`, verbatim quotations from them."""
    session = await session_for(ctx, session_id, may_open=False)
    wanted = readings(ids, offset)
    if about:
        return await _quotations(session, about, [one.id for one in wanted])
    found = await session.store.get([one.id for one in wanted])
    held = [one for one in wanted if one.id in found]
    evidence, queries = await with_queries(session.store, [_read(found[one.id], one) for one in held])
    missing = tuple(dict.fromkeys(one.id for one in wanted if one.id not in found))
    return EvidenceList(
        session_id=session.store.session_id,
        evidence=evidence,
        queries=queries,
        missing=missing,
        offset=offset,
        next_step=_next_step(session, missing),
        starts=tuple(one.start for one in held),
    )


def _read(piece: Evidence, part: Reading) -> Evidence:
    if not part.start and part.end is None:
        return piece
    return piece.model_copy(update={"content": piece.content[part.start : part.end] or "[End of the text]"})


async def _quotations(session: CallSession, about: str, ids: Sequence[str]) -> EvidenceList:
    found = await session.store.answers(about, ids, ANSWER_LENGTH)
    silent = [id for id, piece in found.items() if not piece.content]
    evidence, queries = await with_queries(session.store, [piece for piece in found.values() if piece.content])
    missing = tuple(dict.fromkeys(id for id in ids if id not in found))
    nothing = f"Nothing in the text answers this: {', '.join(silent)}." if silent else ""
    return EvidenceList(
        session_id=session.store.session_id,
        evidence=evidence,
        queries=queries,
        missing=missing,
        next_step=f"{nothing} {_next_step(session, missing)}".strip(),
    )


def _next_step(session: CallSession, missing: Sequence[str]) -> str:
    step = (
        "What is missing is not in this session: search for it again, or look for its id with list_evidence."
        if missing
        else ""
    )
    return f"{session.hint} {step}".strip()


TOOL = ToolSpec(get_evidence, "Get evidence", EvidenceList, reading())
