"""The tool `export_evidence`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Literal

from anyio import to_thread
from pydantic import Field

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.export import export_part
from deepcritical_mcp.models import ExportResult, Publication
from deepcritical_mcp.text import cut_at_sentence
from deepcritical_mcp.tools.budget import LEAST_CONTENT
from deepcritical_mcp.tools.call_session import ToolContext, application, session_for
from deepcritical_mcp.tools.params import SessionId, evidence_ids
from deepcritical_mcp.tools.session_queries import LATEST_QUERIES
from deepcritical_mcp.tools.spec import ToolSpec, reading

ExportFormat = Literal["bibtex", "ris", "csl-json", "markdown", "jsonl"]
FIRST_AUTHORS = 10
SHARE_OF_BUDGET, SHARE_OF_MISSING = 0.8, 0.1
"""Of the characters of a result: for the file's text, as the JSON string that it becomes, and for ids that are not
there."""


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
    wanted = evidence_ids(ids)
    if wanted:
        found = await session.store.publications(wanted)
    else:
        found = await session.store.publications(await session.store.ids())
    pieces = list({one.id: one for one in found.values()}.values())
    missing = tuple(one for one in wanted if one not in found)
    if not pieces:
        raise InvalidInputError(
            "There is nothing to export: none of this is in the session. list_evidence shows what is."
        )
    if offset >= len(pieces):
        raise InvalidInputError(f"offset: there are {len(pieces):,} records, so the last one is at {len(pieces) - 1}.")
    budget = application(ctx).settings.max_result_chars
    limit = int(budget * SHARE_OF_BUDGET)
    text, count, is_cut = await to_thread.run_sync(partial(_part, pieces, format, start=offset, limit=limit))
    following = offset + count
    more = following < len(pieces)
    named = _first(missing, int(budget * SHARE_OF_MISSING))
    steps = (
        f"{len(pieces) - following} more: offset={following}." if more else "",
        f"{pieces[offset].id} was too long and is shortened here: get_evidence has all of it." if is_cut else "",
        f"{len(missing) - len(named):,} more ids are not in this session." if len(named) < len(missing) else "",
    )
    return ExportResult(
        session_id=session.store.session_id,
        format=format,
        text=text,
        count=count,
        missing=named,
        next_offset=following if more else -1,
        next_step=" ".join(filter(None, steps)),
    )


def _part(pieces: Sequence[Publication], format: ExportFormat, *, start: int, limit: int) -> tuple[str, int, bool]:
    """The records from `start` on that fit into `limit`, how many they are, and whether the only one had to be cut."""
    text, count = export_part(pieces, format, start=start, limit=limit)
    while (excess := len(json.dumps(text)) / limit) > 1 and count > 1:
        text, count = export_part(pieces, format, start=start, limit=int(len(text) / excess * 0.95))
    if excess <= 1:
        return text, count, False
    room = len(pieces[start].text.content)
    while True:
        brief = _brief(pieces[start], room)
        text, count = export_part([*pieces[:start], brief], format, start=start, limit=limit)
        excess = len(json.dumps(text)) / limit
        if excess <= 1 or room <= LEAST_CONTENT:
            return text, count, True
        room = max(LEAST_CONTENT, int(room / excess * 0.9))


def _brief(publication: Publication, room: int) -> Publication:
    """`publication` with its first authors, its latest queries and one text of at most `room` characters."""
    content = cut_at_sentence(publication.text.content, room)
    return publication.model_copy(
        update={
            "texts": (publication.text.model_copy(update={"content": content}),),
            "authors": publication.authors[:FIRST_AUTHORS],
            "found_by": publication.found_by[-LATEST_QUERIES:],
        }
    )


def _first(ids: Sequence[str], limit: int) -> tuple[str, ...]:
    """As many of `ids` as `limit` characters hold."""
    named: list[str] = []
    for one in ids:
        limit -= len(json.dumps(one)) + 2
        if limit < 0:
            break
        named.append(one)
    return tuple(named)


TOOL = ToolSpec(export_evidence, "Export evidence", ExportResult, reading())
