"""The tool `export_evidence`."""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from anyio import to_thread
from mcp_types import Resource, ResourceLink
from pydantic import Field

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.excerpts import GAP
from deepcritical_mcp.export import EXPORT_FILES, ExportFormat, written_entries
from deepcritical_mcp.export.tables import TextPieces, text_in_pieces
from deepcritical_mcp.models import NO_ABSTRACT, ExportResult, News, Publication
from deepcritical_mcp.session_export import AnyFormat, ExportRequest, WholeExport, checked_request, exported
from deepcritical_mcp.session_export.saved_exports import (
    export_name,
    keep_export,
    last_news,
    listed_exports,
    save_export,
    told_news,
)
from deepcritical_mcp.session_export.whole_export import (
    RECORD_FORMATS,
    chosen_records,
    media_type_of,
    notes_left_out,
    nothing_to_export,
    recheck,
)
from deepcritical_mcp.text import cut_at_sentence, inert, largest
from deepcritical_mcp.tools.arguments.call_session import (
    MAX_FOUND_BY,
    CallSession,
    ToolContext,
    application,
    is_local,
    progress_of,
    session_for,
)
from deepcritical_mcp.tools.arguments.params import (
    GivenId,
    Marked,
    Offset,
    OtherSession,
    Word,
    evidence_id,
    split_place,
)
from deepcritical_mcp.tools.spec import ToolSpec

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.store import EvidenceStore

EXPORT_URI = "export://{session_id}/{name}"
_SCHEME = "export://"


def export_uri(session_id: str, name: str) -> str:
    """The address of an export that a session keeps."""
    return f"{_SCHEME}{session_id}/{quote(name, safe='')}"


def export_link(result: ExportResult) -> ResourceLink | None:
    """The link to what a result names, if that is a resource and no file."""
    if not result.file.startswith(_SCHEME):
        return None
    name = f"{result.format} of {result.count}"
    return ResourceLink(uri=result.file, name=name, size=result.bytes, mime_type=media_type_of(result.file))


def typed(contents: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was read of resources, where each export has its own type: the SDK gives all of a template the same."""
    return [
        {**one, "mimeType": media_type_of(one["uri"])} if str(one.get("uri", "")).startswith(_SCHEME) else one
        for one in contents
    ]


async def export_resources(store: EvidenceStore) -> list[Resource]:
    """The exports that a session keeps, the latest first."""
    named = [(one, export_uri(store.session_id, one.name)) for one in reversed(await listed_exports(store))]
    return [
        Resource(uri=uri, name=one.name, title=f"Export: {one.name}", mime_type=one.media_type, size=one.size)
        for one, uri in named
    ]


def fits(text: str, limit: int) -> bool:
    """Whether a text has at most `limit` characters as a JSON string."""
    return len(text) <= limit and len(json.dumps(text)) <= limit


def record_part(
    publications: Sequence[Publication], request: ExportRequest, format: ExportFormat, *, start: int, limit: int
) -> tuple[str, int, str]:
    """The records from `start` on that fit into `limit`, their number, and what a single record had to lose: as much of
    its text as does not fit, its further texts and earlier queries.

    Raises:
        InvalidInputError: a record does not fit even without its text.
    """

    def written(records: Sequence[Publication]) -> TextPieces:
        entries = written_entries(records, format, start=start, abstracts=request.abstracts, fields=request.fields)
        return EXPORT_FILES[format].with_pieces(entries)

    text, count = written(publications).part(0, lambda one: fits(one, limit))
    if fits(text, limit):
        return text, count, ""
    whole = publications[start]
    content = whole.text.content

    def shortened(room: int) -> str:
        kept = content if room >= len(content) else f"{cut_at_sentence(content, room)} {GAP}" if room else NO_ABSTRACT
        texts = (whole.text.but(content=kept),)
        brief = whole.but(texts=texts, found_by=whole.found_by[-MAX_FOUND_BY:])
        return written([*publications[:start], brief]).part(0, lambda _: True)[0]

    room = largest(0, len(content), lambda room: fits(shortened(room), limit))
    if not fits(text := shortened(room), limit):
        raise InvalidInputError(
            f"{whole.id} is too long for an answer: pass save=true for the whole file. offset={start + 1} "
            "goes on after it."
        )
    return text, 1, "its text is cut" if room < len(content) else "its further texts and earlier queries are left out"


SHARE_OF_BUDGET, SHARE_OF_MISSING = 0.8, 0.1
"""Shares of a result's characters: for the exported text (as a JSON string), and for the list of missing ids."""
GATHER_NEWS = "deepcritical_mcp.search.news:gather_news"
"""Imported when it is first needed."""
SEND_TO_ZOTERO = "deepcritical_mcp.session_export.zotero_collection:sent_to_zotero"
MAX_RECHECKED = 200
"""Records of one part, whose status is checked again before they are exported."""

Gather = Callable[..., Awaitable[News]]
Send = Callable[..., Awaitable[WholeExport]]


async def export_evidence(
    ctx: ToolContext,
    format: AnyFormat,
    ids: Annotated[list[GivenId], Field(max_length=10_000)] = [],  # noqa: B006
    offset: Offset = 0,
    session_id: OtherSession = "",
    style: Annotated[str, Field(max_length=400, description="of a bibliography")] = "",
    output: Annotated[str, Field(max_length=40, description="text, markdown, html, csv or json")] = "",
    fields: Annotated[list[Word], Field(max_length=200)] = [],  # noqa: B006
    abstracts: bool = False,
    marked: Marked = "",
    save: bool = False,
) -> ExportResult:
    """Export (download) the session's evidence to a file or text: BibTeX, RIS, CSL (Zotero, EndNote, LaTeX), a
    bibliography or reference list in any style, a table (CSV) of studies, the search log (PRISMA)."""
    wanted = await to_thread.run_sync(lambda: tuple(dict.fromkeys(evidence_id(split_place(one)[0]) for one in ids)))
    styles = application(ctx).settings.styles_folder if is_local(ctx) else None
    asked = ExportRequest(format, wanted, style, output, tuple(fields), abstracts, marked, own_styles=styles)
    request = await to_thread.run_sync(checked_request, asked)
    session = await session_for(ctx, session_id, may_open=False)
    if offset <= 0:
        await (await application(ctx).services()).library.check_soon(session.store)
    try:
        if request.format == "news" and save:
            raise InvalidInputError("format=news is an answer and no file: leave save out.")
        if request.format == "zotero":
            return await _to_zotero(ctx, session, request)
        if request.format == "news":
            return await _news(ctx, session, request, offset)
        if save:
            return await _saved(ctx, session, request)
        if request.format in RECORD_FORMATS:
            return await _records(ctx, session, request, request.format, offset)
        whole = await _whole(ctx, session, request, offset)
        return await to_thread.run_sync(_text_result, ctx, session, whole, offset)
    except InvalidInputError as error:
        if session.is_empty:
            error.add_note(inert(session.others))
        raise


async def _news(ctx: ToolContext, session: CallSession, request: ExportRequest, offset: int) -> ExportResult:
    """What is new; a later part is of what was told last."""
    services, store, step = await application(ctx).services(), session.store, ""
    if offset:
        text = await last_news(store)
    else:
        gather: Gather = await to_thread.run_sync(pkgutil.resolve_name, GATHER_NEWS)
        news = await gather(store, services.searches, services.witness, progress=progress_of(ctx))
        text = await told_news(store, news)
        step = "Not everything was done in time: call again with format=news to go on." if news.left else ""
    whole = WholeExport(request, [text], 1)
    return await to_thread.run_sync(_text_result, ctx, session, whole, offset, step)


async def _to_zotero(ctx: ToolContext, session: CallSession, request: ExportRequest) -> ExportResult:
    """What was put into the user's Zotero."""
    if not is_local(ctx):
        raise InvalidInputError("format=zotero needs a server on stdio: over HTTP, pass format=ris and import that.")
    send: Send = await to_thread.run_sync(pkgutil.resolve_name, SEND_TO_ZOTERO)
    address, witness = application(ctx).settings.zotero_url, (await application(ctx).services()).witness
    sent = await send(session.store, request, address, witness, progress_of(ctx))
    facts: dict[str, Any] = {"text": sent.text, "count": sent.count, "warnings": sent.remarks}
    return _answer(ctx, session, request, sent.missing, notes_left_out(sent.left_out), **facts)


async def _saved(ctx: ToolContext, session: CallSession, request: ExportRequest) -> ExportResult:
    """The whole export in a file: of this machine's user or, for clients elsewhere, one that the session keeps."""
    whole, store = await _whole(ctx, session, request), session.store
    name = export_name(store.title, store.session_id, whole)
    if is_local(ctx):
        folder = application(ctx).settings.exports_folder
        path, size = await to_thread.run_sync(save_export, folder, name, whole)
        file, step = str(path), "The file is complete; no need to read it."
    else:
        kept, dropped = await keep_export(store, name, whole)
        file, size = export_uri(store.session_id, kept.name), kept.size
        step = (
            f"Read the resource {file}: it is the whole file. If this client cannot read resources, call "
            "again without save: the text then comes in parts."
        )
        if dropped:
            step += f" No longer kept, to make room: {', '.join(dropped)}. Its link no longer works; save it again."
    facts: dict[str, Any] = {"text": "", "count": whole.count, "file": file, "bytes": size, "warnings": whole.remarks}
    return _answer(ctx, session, request, whole.missing, step, notes_left_out(whole.left_out), **facts)


async def _whole(ctx: ToolContext, session: CallSession, request: ExportRequest, offset: int = -1) -> WholeExport:
    services = await application(ctx).services()
    report = await _report(ctx, session, request)
    return await exported(session.store, request, witness=services.witness, report=report, offset=offset)


async def _report(ctx: ToolContext, session: CallSession, request: ExportRequest) -> str:
    """The report on the draft that an export ends with; "" if it has none."""
    checker = (await application(ctx).services()).checker
    return await checker.written_report(session.store) if request.ends_with_report else ""


def _text_result(
    ctx: ToolContext, session: CallSession, whole: WholeExport, offset: int, step: str = "", before: int = 0
) -> ExportResult:
    """As many lines of a finished text from `offset` on as fit (of JSON, entries; of CSV, rows, with the header);
    `step` is what to do next besides reading on, and `before` is how many records it follows."""
    output, limit = whole.request.output, _limit(ctx)
    pieces = text_in_pieces(whole.text, output, longest=limit // 8)
    total = before + len(pieces)
    if offset >= total:
        raise InvalidInputError(f"offset: the last line is at {total - 1:,}. Use a smaller offset.")
    text, count = pieces.part(offset - before, lambda one: fits(one, limit))
    if not fits(text, limit):
        raise InvalidInputError(
            "One entry of this JSON is too long for an answer: pass save=true for the whole file, or another output."
        )
    following = offset + count
    is_last = following >= total
    more = f"{total - following:,} more lines: offset={following}, or save=true for the whole file."
    parts = {"csv": "Each part has the header of the table.", "json": "Each part is a JSON array of its own."}
    steps = (
        "" if is_last else more,
        parts.get(output, "") if count < total else "",
        notes_left_out(whole.left_out),
        step,
    )
    facts: dict[str, Any] = {"text": text, "count": count, "warnings": whole.remarks}
    facts["next_offset"] = -1 if is_last else following
    return _answer(ctx, session, whole.request, whole.missing, *steps, **facts)


async def _records(
    ctx: ToolContext, session: CallSession, request: ExportRequest, format: ExportFormat, offset: int
) -> ExportResult:
    """As many records as an answer holds; after the last one in Markdown, the report on the draft."""
    store, witness = session.store, (await application(ctx).services()).witness
    part = (await chosen_records(store, request)).publications[offset : offset + MAX_RECHECKED]
    remarks = await recheck(store, witness, part, is_first_part=not offset)
    chosen = await chosen_records(store, request)
    publications, limit = chosen.publications, _limit(ctx)
    if offset >= len(publications) and (report := await _report(ctx, session, request)):
        following_records = WholeExport(request, [report], 0)
        return await to_thread.run_sync(_text_result, ctx, session, following_records, offset, "", len(publications))
    if not publications:
        raise InvalidInputError(nothing_to_export(request, chosen))
    if offset >= len(publications):
        raise InvalidInputError(f"offset: the last record is at {len(publications) - 1:,}. Use a smaller offset.")
    checked = publications[: offset + MAX_RECHECKED]
    written = partial(record_part, checked, request, format, start=offset, limit=limit)
    text, count, loss = await to_thread.run_sync(written)
    following = offset + count
    more = len(publications) - following
    report = "" if more else await _report(ctx, session, request)
    ends = report if fits(text + report, limit) else ""
    has_texts = format == "jsonl" or (format == "markdown" and request.abstracts)
    steps = (
        f"{more} more: offset={following}, or save=true for the whole file." if more else "",
        f"The report on the draft follows: offset={following}." if report and not ends else "",
        notes_left_out(chosen.notes),
        "Each part is a JSON array of its own." if format == "csl-json" and (more or offset) else "",
        (
            f"{publications[offset].id} was too long and is shortened here: {loss}. get_evidence returns its "
            "whole text; save=true exports it whole."
        )
        if loss
        else "",
        "Full texts are not exported, only their licence and the beginning; get_full_text reads them."
        if has_texts and any(one.parts for each in publications for one in each.texts)
        else "",
    )
    facts: dict[str, Any] = {"text": text + ends, "count": count, "warnings": remarks}
    facts["next_offset"] = following if more or (report and not ends) else -1
    return _answer(ctx, session, request, chosen.missing, *steps, **facts)


def _limit(ctx: ToolContext) -> int:
    """Characters that the exported text may have as a JSON string."""
    return int(application(ctx).settings.max_result_chars * SHARE_OF_BUDGET)


def _answer(
    ctx: ToolContext, session: CallSession, request: ExportRequest, ids: Sequence[str], *steps: str, **facts: Any
) -> ExportResult:
    """The result with these facts, as many of the missing `ids` as their share holds, and a sentence on the others."""
    sizes = accumulate(len(json.dumps(id)) + len(", ") for id in ids)
    room = int(_limit(ctx) / SHARE_OF_BUDGET * SHARE_OF_MISSING)
    named = tuple(id for id, size in zip(ids, sizes, strict=True) if size <= room)
    more = len(ids) - len(named)
    unnamed = f"{more:,} more id{'s are' if more > 1 else ' is'} not in this session." if more else ""
    known = {"session_id": session.store.session_id, "format": request.format, "missing": named}
    return ExportResult(**known, **facts, next_step=session.next_step(*steps, unnamed))


TOOL = ToolSpec(export_evidence, "Export evidence", "💾", open_world=True, link=export_link)
