"""Exports in parts that fit into an answer."""

from __future__ import annotations

import json
from collections.abc import Sequence

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.excerpts import GAP
from deepcritical_mcp.export import ExportFormat, export_part
from deepcritical_mcp.export.reference import ET_AL
from deepcritical_mcp.export.tables import text_in_pieces
from deepcritical_mcp.models import NO_ABSTRACT, AuthorName, Publication
from deepcritical_mcp.session_export import ExportRequest
from deepcritical_mcp.text import cut_at_sentence
from deepcritical_mcp.tools.budget import MIN_CONTENT_LENGTH
from deepcritical_mcp.tools.call_session import MAX_FOUND_BY
from deepcritical_mcp.tools.document_budget import largest


def fits(text: str, limit: int) -> bool:
    """Whether a text has at most `limit` characters as a JSON string."""
    return len(text) <= limit and len(json.dumps(text)) <= limit


def text_part(text: str, output: str, *, start: int, limit: int, before: int = 0) -> tuple[str, int, int]:
    """As many lines of a finished text from the one at `start` on as fit (of JSON, entries; of CSV, rows, with the
    header), their number, and that of all, if `before` it there were so many others.

    Raises:
        InvalidInputError: `start` is beyond the end, or an entry of JSON is too long for any part.
    """
    pieces = text_in_pieces(text, output, longest=limit // 8)
    total = before + len(pieces)
    if start >= total:
        raise InvalidInputError(f"offset: the last line is at {total - 1:,}. Use a smaller offset.")
    part, count = pieces.part(start - before, lambda one: fits(one, limit))
    if not fits(part, limit):
        raise InvalidInputError(
            "One entry of this JSON is too long for an answer: pass save=true for the whole file, or another output."
        )
    return part, count, total


def record_part(
    publications: Sequence[Publication], request: ExportRequest, format: ExportFormat, *, start: int, limit: int
) -> tuple[str, int, str]:
    """The records from `start` on that fit into `limit`, their number, and what a single record had to lose."""
    text, count = _written(publications, request, format, start=start, limit=limit)
    while (excess := len(json.dumps(text)) / limit) > 1 and count > 1:
        text, count = _written(publications, request, format, start=start, limit=int(len(text) / excess * 0.95))
    return (text, count, "") if excess <= 1 else _shortened(publications, request, format, start=start, limit=limit)


def _written(
    publications: Sequence[Publication], request: ExportRequest, format: ExportFormat, *, start: int, limit: int
) -> tuple[str, int]:
    return export_part(
        publications, format, start=start, limit=limit, abstracts=request.abstracts, fields=request.fields
    )


def _shortened(
    publications: Sequence[Publication], request: ExportRequest, format: ExportFormat, *, start: int, limit: int
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
        return _written([*publications[:start], brief], request, format, start=start, limit=limit)[0]

    def has_room(room: int, authors: int) -> bool:
        return fits(written(room, authors), limit)

    shortest = MIN_CONTENT_LENGTH if format == "jsonl" else 0
    if has_room(MIN_CONTENT_LENGTH, total):
        room = largest(MIN_CONTENT_LENGTH, len(content), lambda room: has_room(room, total))
        loss = "its text is cut" if room < len(content) else "its further texts and earlier queries are left out"
        return written(room, total), 1, loss
    authors = largest(0, total, lambda authors: has_room(shortest, authors))
    if not request.abstracts and format != "jsonl":
        return written(shortest, authors), 1, f"it has {authors:,} of its {total:,} authors"
    loss = f"it has {authors:,} of its {total:,} authors and {'the beginning' if shortest else 'none'} of its text"
    return written(shortest, authors), 1, loss
