"""The tool `export_evidence`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Annotated, NamedTuple

from anyio import to_thread
from pydantic import Field

from deepcritical_mcp.checking.report_parts import report_part, written_report
from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.excerpts import GAP
from deepcritical_mcp.export import ExportFormat, export_part, listed, with_notes
from deepcritical_mcp.export.reference import ET_AL
from deepcritical_mcp.models import NO_ABSTRACT, AuthorName, CitationReport, ExportResult, Publication, findings_of
from deepcritical_mcp.text import counted, cut_at_sentence
from deepcritical_mcp.tools.budget import MIN_CONTENT_LENGTH
from deepcritical_mcp.tools.call_session import MAX_FOUND_BY, ToolContext, application, session_for
from deepcritical_mcp.tools.document_budget import largest
from deepcritical_mcp.tools.list_evidence import NOTHING_YET
from deepcritical_mcp.tools.params import OtherSession, evidence_id, split_place
from deepcritical_mcp.tools.spec import ToolSpec, hints

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.store import EvidenceStore

SHARE_OF_BUDGET, SHARE_OF_MISSING = 0.8, 0.1
"""Shares of a result's characters: for the exported text (as a JSON string), and for the list of missing ids."""
MAX_RECHECKED = 200
"""Records of one part, whose status is checked again before they are exported."""


async def export_evidence(
    ctx: ToolContext,
    format: ExportFormat,
    ids: Annotated[list[str], Field(max_length=10_000, description="[] = all")] = [],  # noqa: B006
    offset: Annotated[int, Field(ge=0)] = 0,
    session_id: OtherSession = "",
) -> ExportResult:
    """Export the session's evidence as text for Zotero, EndNote, pandoc or a program. A long export comes in parts:
    continue with offset=next_offset."""
    session = await session_for(ctx, session_id, may_open=False)
    wanted = list(dict.fromkeys(evidence_id(split_place(one)[0]) for one in ids))
    store, witness = session.store, (await application(ctx).services()).witness
    part = (await _chosen(store, wanted, format)).publications[offset : offset + MAX_RECHECKED]
    remarks = await witness.refresh(store, [one.id for one in part])
    publications, missing, notes, is_empty = await _chosen(store, wanted, format)
    report = await _report(ctx, store) if format == "markdown" and not wanted else None
    limit = int(application(ctx).settings.max_result_chars * SHARE_OF_BUDGET)
    if report and 0 <= (start := offset - len(publications)) < len(findings_of(report)):
        text, shown = await to_thread.run_sync(report_part, report, start, limit)
        following = offset + shown if start + shown < len(findings_of(report)) else -1
        step = session.next_step(f"More of the report: offset={following}." if following > 0 else "")
        id = session.store.session_id
        return ExportResult(
            session_id=id, format=format, text=text, count=0, missing=(), next_offset=following, next_step=step
        )
    kept_out = (
        f"Left out, because notes are not references: {counted(notes, 'note')}. format=markdown and jsonl have them."
        if notes
        else ""
    )
    if not publications:
        raise InvalidInputError(
            f"There is nothing to export. {kept_out or NOTHING_YET}"
            if notes or is_empty
            else "There is nothing to export: none of these ids is in the session. list_evidence shows what it has."
        )
    if offset >= len(publications):
        raise InvalidInputError(f"offset: the last record is at {len(publications) - 1:,}. Use a smaller offset.")
    checked = publications[: offset + MAX_RECHECKED]
    text, count, loss = await to_thread.run_sync(partial(_part, checked, format, start=offset, limit=limit))
    following = offset + count
    more = len(publications) - following
    ends = f"\n{written_report(report)}" if report and not more else ""
    has_room = len(json.dumps(text + ends)) <= limit
    text += ends if has_room else ""
    is_last = not more and (has_room or not ends)
    named = _first(missing, int(limit / SHARE_OF_BUDGET * SHARE_OF_MISSING))
    unnamed = len(missing) - len(named)
    steps = (
        f"{more} more: offset={following}." if more else "",
        f"The report on the draft follows: offset={following}." if not (more or is_last) else "",
        kept_out,
        "Each part is a JSON array of its own." if format == "csl-json" and (more or offset) else "",
        f"{publications[offset].id} was too long and is shortened here: {loss}. get_evidence returns its whole text; a "
        "larger DEEPCRITICAL_MAX_RESULT_CHARS exports it whole."
        if loss
        else "",
        "Full texts are not exported, only their licence and the beginning; get_full_text reads them."
        if format in ("jsonl", "markdown") and any(text.parts for one in publications for text in one.texts)
        else "",
        f"{counted(unnamed, 'more id is', 'more ids are')} not in this session." if unnamed else "",
    )
    return ExportResult(
        session_id=session.store.session_id,
        format=format,
        text=text,
        count=count,
        missing=named,
        next_offset=-1 if is_last else following,
        warnings=remarks,
        next_step=session.next_step(*steps),
    )


class _Chosen(NamedTuple):
    """What to export, the ids that the session does not have, how many notes were left out, and whether there is
    nothing in the session at all."""

    publications: Sequence[Publication]
    missing: Sequence[str]
    notes: int
    is_empty: bool


async def _report(ctx: ToolContext, store: EvidenceStore) -> CitationReport | None:
    return await (await application(ctx).services()).checker.kept_report(store)


async def _chosen(store: EvidenceStore, wanted: Sequence[str], format: ExportFormat) -> _Chosen:
    """The publications with these ids, or all, as `format` lists them."""
    everything = await store.publications(await store.ids())
    found = await store.publications(wanted) if wanted else everything
    cited = everything if format == "jsonl" else await to_thread.run_sync(with_notes, everything.values())
    chosen = {cited[one.id].id: cited[one.id] for one in found.values()}
    publications = listed(chosen.values(), format)
    missing = [one for one in wanted if one not in found]
    return _Chosen(publications, missing, len(chosen) - len(publications), not everything)


def _part(publications: Sequence[Publication], format: ExportFormat, *, start: int, limit: int) -> tuple[str, int, str]:
    """The records from `start` on that fit into `limit`, their number, and what a single record had to lose."""
    text, count = export_part(publications, format, start=start, limit=limit)
    while (excess := len(json.dumps(text)) / limit) > 1 and count > 1:
        text, count = export_part(publications, format, start=start, limit=int(len(text) / excess * 0.95))
    return (text, count, "") if excess <= 1 else _shortened(publications, format, start=start, limit=limit)


def _shortened(
    publications: Sequence[Publication], format: ExportFormat, *, start: int, limit: int
) -> tuple[str, int, str]:
    """One record without its earlier queries and further texts, with as much of its text as fits; if none does, with as
    many authors as fit."""
    whole = publications[start]
    total, content = len(whole.authors), whole.text.content
    more = AuthorName(f"et al. ({total:,} authors)") if format == "jsonl" else ET_AL

    def written(room: int, authors: int) -> str:
        kept = content if room >= len(content) else f"{cut_at_sentence(content, room)} {GAP}" if room else NO_ABSTRACT
        last = whole.authors[-1:] if format == "csl-json" else ()  # a style may print it
        names = whole.authors if authors == total else (*whole.authors[:authors], more, *last)
        texts = (whole.text.model_copy(update={"content": kept}),)
        changed = {"texts": texts, "authors": names, "found_by": whole.found_by[-MAX_FOUND_BY:]}
        brief = whole.model_copy(update=changed)
        return export_part([*publications[:start], brief], format, start=start, limit=limit)[0]

    def fits(room: int, authors: int) -> bool:
        return len(json.dumps(written(room, authors))) <= limit

    shortest = MIN_CONTENT_LENGTH if format == "jsonl" else 0
    if fits(MIN_CONTENT_LENGTH, total):
        room = largest(MIN_CONTENT_LENGTH, len(content), lambda room: fits(room, total))
        loss = "its text is cut" if room < len(content) else "its further texts and earlier queries are left out"
        return written(room, total), 1, loss
    authors = largest(0, total, lambda authors: fits(shortest, authors))
    loss = f"it has {authors:,} of its {total:,} authors and {'the beginning' if shortest else 'none'} of its text"
    return written(shortest, authors), 1, loss


def _first(ids: Sequence[str], limit: int) -> tuple[str, ...]:
    """As many of `ids` as `limit` characters of JSON hold."""
    sizes = accumulate(len(json.dumps(id)) + len(", ") for id in ids)
    return tuple(id for id, size in zip(ids, sizes, strict=True) if size <= limit)


TOOL = ToolSpec(export_evidence, "Export evidence", ExportResult, hints(read_only=True, open_world=True))
