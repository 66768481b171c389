"""The tool `list_evidence`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from deepcritical_mcp.models import (
    Evidence,
    EvidencePage,
    EvidenceSummary,
    PublicationStatus,
    Source,
    SourceCount,
    StatusCount,
)
from deepcritical_mcp.tools.call_session import ToolContext, session_for
from deepcritical_mcp.tools.params import SessionId, StatusFilter
from deepcritical_mcp.tools.spec import ToolSpec, reading

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.store import EvidenceStore


WHAT_TO_DO = "Whole texts: get_evidence. A file for a reference manager: export_evidence."
NOTHING_YET = "This session holds no evidence yet: use pubmed_search, web_search or add_evidence first."


async def list_evidence(
    ctx: ToolContext,
    max_results: Annotated[int, Field(ge=1, le=100)] = 20,
    offset: Annotated[int, Field(ge=0)] = 0,
    status: StatusFilter = "any",
    session_id: SessionId = "",
) -> EvidencePage:
    """Page through what the session holds, in order of arrival: ids, titles, how many of each source and status.
    status="retracted" lists what is retracted, with its notices."""
    session = await session_for(ctx, session_id, may_open=False)
    return await page_of(session.store, offset, max_results, status=status)


async def page_of(store: EvidenceStore, offset: int, limit: int, *, status: StatusFilter = "any") -> EvidencePage:
    """At most `limit` lines of a session's evidence of one status from `offset` on, with the session's numbers."""
    everything = await store.page(0, await store.count())
    counts: Counter[Source] = Counter(piece.citation.source for piece in everything)
    statuses: Counter[PublicationStatus] = Counter(piece.citation.status for piece in everything)
    matching = [piece for piece in everything if status in ("any", piece.citation.status)]
    items = matching[offset : offset + limit]
    following = offset + len(items)
    beyond = offset >= len(matching) > 0
    return EvidencePage(
        session_id=store.session_id,
        total=len(everything),
        sources=tuple(SourceCount(source=source, count=count) for source, count in counts.most_common()),
        matching=len(matching),
        statuses=tuple(StatusCount(status=one, count=count) for one, count in statuses.most_common()),
        items=tuple(map(_summary, items)),
        next_offset=following if following < len(matching) else -1,
        warnings=(*store.warnings, *([f"offset {offset} is beyond the last piece of evidence."] if beyond else [])),
        next_step=(WHAT_TO_DO if matching else f"No evidence here is {status}.") if everything else NOTHING_YET,
    )


def _summary(piece: Evidence) -> EvidenceSummary:
    citation = piece.citation
    return EvidenceSummary(
        id=piece.id,
        title=citation.title,
        source=citation.source,
        date=citation.date,
        status=citation.status,
        status_notices=citation.status_notices,
    )


TOOL = ToolSpec(list_evidence, "List the session's evidence", EvidencePage, reading())
