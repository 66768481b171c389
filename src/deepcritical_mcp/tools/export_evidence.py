"""The tool `export_evidence`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Literal

from anyio import to_thread
from pydantic import Field

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.models import Evidence, ExportResult
from deepcritical_mcp.text import clean_line
from deepcritical_mcp.tools.base import ToolSpec, reading
from deepcritical_mcp.tools.params import SessionId
from deepcritical_mcp.tools.sessions import ToolContext, application, session_for

ExportFormat = Literal["bibtex", "ris", "csl-json", "markdown", "jsonl"]
# Quotes and line breaks grow when the text becomes a JSON string; this much of the budget is left for them.
SHARE_OF_BUDGET = 0.8


async def export_evidence(
    ctx: ToolContext,
    format: ExportFormat,
    ids: Annotated[list[str], Field(max_length=10_000, description="[] = all")] = [],  # noqa: B006
    offset: Annotated[int, Field(ge=0)] = 0,
    session_id: SessionId = "",
) -> ExportResult:
    """Write the session's evidence as a file's text, for Zotero, EndNote, pandoc or a program. Long ones come in parts:
    go on with offset=next_offset."""
    session = await session_for(ctx, session_id, may_open=False)
    wanted = list(dict.fromkeys(map(clean_line, ids)))
    if wanted:
        found = await session.store.get(wanted)
        pieces = [found[one] for one in wanted if one in found]
        missing = tuple(one for one in wanted if one not in found)
    else:
        pieces, missing = await session.store.page(0, await session.store.count()), ()
    if not pieces:
        raise InvalidInputError(
            "There is nothing to export: none of this is in the session. list_evidence shows what is."
        )
    limit = int(application(ctx).settings.max_result_chars * SHARE_OF_BUDGET)
    text, count = await to_thread.run_sync(partial(_part, pieces, format, start=offset, limit=limit))
    following = offset + count
    more = following < len(pieces)
    return ExportResult(
        session_id=session.store.session_id,
        format=format,
        text=text,
        count=count,
        missing=missing,
        next_offset=following if more else -1,
        next_step=f"{len(pieces) - following} more: offset={following}." if more else "",
    )


def _part(pieces: Sequence[Evidence], format: ExportFormat, *, start: int, limit: int) -> tuple[str, int]:
    from deepcritical_mcp.evidence.export import export_part

    return export_part(pieces, format, start=start, limit=limit)


TOOL = ToolSpec(export_evidence, "Export evidence", ExportResult, reading())
