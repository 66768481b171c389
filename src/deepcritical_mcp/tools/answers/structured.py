"""The structured form of results: what is empty or usual is absent, and nothing stands twice.

It says what the readable form says. Of a citation it has the title, the reference without it, and what this does not
say; exports have every field of a record.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from deepcritical_mcp.checking.report_text import MAX_WRITTEN, is_sound, ranges
from deepcritical_mcp.models import (
    SAME,
    SESSION,
    USER,
    CheckedRecord,
    CheckedReference,
    Citation,
    CitationReport,
    Document,
    Evidence,
    EvidenceList,
    EvidencePage,
    EvidenceSummary,
    SearchResult,
    StatusNotice,
    is_marked,
)
from deepcritical_mcp.text import clipped
from deepcritical_mcp.tools.answers.citation_lines import (
    numbers_shown,
    provider_shown,
    publication_key,
    reference_shown,
    types_shown,
    url_shown,
)

_ALWAYS = ("total_found", "total")
"""Sent even if it is 0, so that an empty answer says so."""


def structured(result: BaseModel) -> dict[str, Any]:
    """The wire form of a result."""
    lean = _LEAN.get(type(result))
    wire = (lean(result) if lean else result).model_dump(mode="json", exclude_defaults=True)
    return {**wire, **{name: getattr(result, name) for name in _ALWAYS if name in type(result).model_fields}}


def wire_length(result: BaseModel) -> int:
    """Characters of the structured form as it is sent: compact JSON."""
    return len(json.dumps(structured(result), ensure_ascii=False, separators=(",", ":")))


def lean_citation(citation: Citation, *, whole: bool = False) -> Citation:
    """A citation without what its reference says; with `whole`, its notices with all that is known of them."""
    return Citation.model_construct(
        source=citation.source,
        title=citation.title,
        reference=reference_shown(citation),
        url=url_shown(citation),
        publication_types=types_shown(citation),
        registrations=numbers_shown(citation),
        claims=citation.claims,
        status="ok" if citation.source == USER and not is_marked(citation.status) else citation.status,
        status_checked=citation.status_checked,
        status_notices=citation.status_notices if whole else tuple(map(_brief, citation.status_notices)),
    )


def _brief(notice: StatusNotice) -> StatusNotice:
    """A notice by its number, if it has one."""
    if not (notice.pmid or notice.doi):
        return notice
    return StatusNotice.model_construct(kind=notice.kind, pmid=notice.pmid, doi="" if notice.pmid else notice.doi)


def _items(evidence: Sequence[Evidence], queries: int, *, whole: bool = False) -> tuple[Evidence, ...]:
    """The items; what belongs to a publication stands with the first of its texts."""
    first = {publication_key(item): item for item in reversed(evidence)}
    items: list[Evidence] = []
    for item in evidence:
        update: dict[str, object] = {
            "citation": lean_citation(item.citation, whole=whole),
            "provider": provider_shown(item.provider, item.citation, item.kind),
            "content_truncated": item.content_truncated and not item.anchor,
            "found_by": item.found_by if queries > 1 else (),
        }
        if item is not first[publication_key(item)]:
            update |= {"citation": SAME, "similar": (), "notes": (), "decision": ""}
        items.append(item.model_copy(update=update))
    return tuple(items)


def _search(result: SearchResult) -> SearchResult:
    queries = () if [one.query for one in result.queries] == [result.query] else result.queries
    return result.model_copy(update={"evidence": _items(result.evidence, len(queries)), "queries": queries})


def _page(result: EvidencePage) -> EvidencePage:
    update: dict[str, object] = {
        "items": tuple(map(_summary, result.items)),
        "statuses": {one: count for one, count in result.statuses.items() if one != "ok"},
        "sources": {} if {*result.sources} == {"pubmed"} else result.sources,
        "matching": result.matching if result.matching < result.total else -1,
    }
    return result.model_copy(update=update)


def _summary(item: EvidenceSummary) -> EvidenceSummary:
    """A line with what happened to it; when its status was asked is told once for all."""
    if is_marked(item.status):
        return item.model_copy(update={"status_notices": tuple(map(_brief, item.status_notices))})
    published = tuple(_brief(one) for one in item.status_notices if one.kind == "published")
    status = "ok" if item.source == USER and not item.about else item.status
    return item.model_copy(update={"status": status, "status_checked": "", "status_notices": published})


def _document(result: Document) -> Document:
    provider = provider_shown(result.provider, result.citation)
    attempts = tuple(one for one in result.attempts if one.provider != SESSION)
    update = {"citation": lean_citation(result.citation), "provider": provider, "attempts": attempts}
    return result.model_copy(update=update)


def _report(result: CitationReport) -> CitationReport:
    """Without what a sound reference says, counts of nothing, and those of entries that were all read and checked."""
    named = [one.index for one in result.references if is_sound(one) and not one.written]
    total = result.counts.get("references", 0)
    usual = {name for name in ("entries", "checked") if result.counts.get(name) == total}
    update: dict[str, object] = {
        "references": tuple(_reference(one) for one in result.references if one.index not in named),
        "verified": ranges(named),
        "quotations": tuple(
            one.model_copy(update={"quote": clipped(one.quote, MAX_WRITTEN), "passage": ""})
            if one.verdict == "verbatim"
            else one
            for one in result.quotations
        ),
        "counts": {name: count for name, count in result.counts.items() if count and name not in usual},
    }
    return result.model_copy(update=update)


def _reference(one: CheckedReference) -> CheckedReference:
    """The beginning of what is written, which the draft has, and its record by the id."""
    records = [_record(record, one) for record in (one.record, *one.candidates) if record]
    label = "" if one.label == str(one.index) else one.label
    update: dict[str, object] = {"label": label, "written": clipped(one.written, MAX_WRITTEN)}
    if one.record:
        return one.model_copy(update={**update, "record": records[0], "candidates": tuple(records[1:])})
    return one.model_copy(update={**update, "candidates": tuple(records)})


def _record(record: CheckedRecord, of: CheckedReference) -> CheckedRecord:
    is_said = record.reference in of.reason or (record is of.record and bool(of.written))
    reference = "" if is_said else record.reference
    status = record.status if is_marked(record.status) else "unchecked"
    return CheckedRecord.model_construct(id=record.id, reference=reference, status=status)


_LEAN: Mapping[type[BaseModel], Callable[[Any], BaseModel]] = {
    SearchResult: _search,
    EvidenceList: lambda one: one.model_copy(update={"evidence": _items(one.evidence, len(one.queries), whole=True)}),
    EvidencePage: _page,
    Document: _document,
    CitationReport: _report,
}
