"""Parts of a report that fit into an answer: its findings in order, of sound ones only the record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar, cast

from pydantic import BaseModel

from deepcritical_mcp.checking.report_text import MAX_WRITTEN, asked, is_sound
from deepcritical_mcp.models import (
    CheckedClaim,
    CheckedQuotation,
    CheckedRecord,
    CheckedReference,
    CitationReport,
    Finding,
    findings_of,
    with_findings,
)
from deepcritical_mcp.text import clipped, counted

MAX_REMARKS, MAX_UNREAD = 10, 30
_WHOLE = frozenset({"id", "order", "session_id", "next_step", "report_uri"})
"""What is never shortened: what is called by it is not found by half of it."""
MIN_ROOM = 20
SHORTENED = "Shortened here: a finding that is too long for one answer."
_ALWAYS_COUNTED = ("entries", "unread", "references", "checked")


def report_from(report: CitationReport, start: int, count: int) -> CitationReport:
    """`report` with only `count` of its findings, from the one at `start` on; says where the next part starts."""
    findings = findings_of(report)
    shown = findings[start : start + count]
    left = findings[start + len(shown) :]
    part = with_findings(report, shown).model_copy(update={"offset": report.offset + start})
    if not left:
        return part
    following = part.offset + len(shown)
    step = _following(report, left, following)
    return part.model_copy(update={"next_offset": following, "next_step": step})


def _following(report: CitationReport, left: Sequence[Finding], offset: int) -> str:
    """What to do next, when the findings `left`, the first of which is at `offset`, do not fit."""
    counts = Counter(map(type, left))
    named = [counted(counts[kind], name) for kind, name in _NAMES.items() if counts[kind]]
    step = report.next_step.replace(f"offset={report.next_offset}", f"offset={offset}")
    call = "" if f"offset={offset}" in step else f": {report.call} offset={offset}"
    return f"Not shown here: {', '.join(named)}{call}. {step}".strip()


_NAMES: Mapping[type[Finding], str] = {
    CheckedReference: "reference",
    CheckedQuotation: "quotation",
    CheckedClaim: "nearest passage",
}


def fitting(report: CitationReport, limit: int, length: Callable[[CitationReport], int]) -> CitationReport:
    """`report`, cut until `length(report) <= limit`.

    Remarks are cut; the findings that do not fit then are left for the next part. A single one that does not fit is
    shortened.
    """
    if length(report) <= limit:
        return report
    short = _with_few_remarks(report, limit)
    total = len(findings_of(short))
    count = _most(total, lambda count: length(report_from(short, 0, count)) <= limit)
    if count or not total:
        return report_from(short, 0, count)
    first, room = report_from(short, 0, 1), limit // 4
    first = first.model_copy(update={"warnings": (SHORTENED, *first.warnings)})
    while length(short := _shortened(first, room)) > limit and room > MIN_ROOM:
        room //= 2
    return short


def _most(high: int, fits: Callable[[int], bool]) -> int:
    """The largest number up to `high` that fits; 0 if none does."""
    low = 0
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def brief(report: CitationReport) -> CitationReport:
    """The report for an answer: of sound references only the record, of those that were not checked the beginning, of
    claims their own reference, each sentence once, and no counts of nothing. `report://` has all of it."""
    counts = {name: count for name, count in report.counts.items() if count or name in _ALWAYS_COUNTED}
    sentences = ["", *(one.sentence for one in report.claims)]
    claims = [
        one.model_copy(update={"references": one.references[:1], "sentence": one.sentence * (one.sentence != before)})
        for before, one in zip(sentences, report.claims, strict=False)
    ]
    changed = {"references": tuple(_brief(one, report.errors) for one in report.references), "claims": tuple(claims)}
    return report.model_copy(update={**changed, "counts": counts, "records": asked(report)})


def _brief(one: CheckedReference, errors: Sequence[str]) -> CheckedReference:
    if is_sound(one) and one.record:
        record = CheckedRecord(id=one.record.id)
        return CheckedReference(index=one.index, verdict=one.verdict, record=record)
    if one.verdict in ("unchecked", "outage"):
        reason = "" if errors and one.verdict == "outage" else one.reason
        return one.model_copy(update={"written": clipped(one.written, MAX_WRITTEN), "reason": reason})
    if one.record and one.corrected:
        return one.model_copy(update={"record": one.record.model_copy(update={"reference": ""})})
    return one


def _with_few_remarks(report: CitationReport, limit: int) -> CitationReport:
    return report.model_copy(
        update={
            "unread": report.unread[:MAX_UNREAD],
            "warnings": _few(report.warnings, limit),
            "errors": _few(report.errors, limit),
        }
    )


def _few(remarks: Sequence[str], limit: int) -> tuple[str, ...]:
    more = (f"And {len(remarks) - MAX_REMARKS} more remarks.",) if len(remarks) > MAX_REMARKS else ()
    return (*(clipped(one, limit // 60) for one in remarks[:MAX_REMARKS]), *more)


ValueT = TypeVar("ValueT", bound=BaseModel)


def _shortened(value: ValueT, room: int) -> ValueT:
    """`value` with texts of at most `room` characters and lists of at most a few items, in all that it holds."""
    update: dict[str, object] = {}
    for name in type(value).model_fields:
        held: object = getattr(value, name)
        if name not in _WHOLE:
            update[name] = _shortened_field(held, room)
    return value.model_copy(update=update)


def _shortened_field(held: object, room: int) -> object:
    if isinstance(held, str):
        return clipped(held, room)
    if isinstance(held, tuple):
        return tuple(_shortened_field(one, room) for one in cast("tuple[object, ...]", held)[:MAX_REMARKS])
    return _shortened(held, room) if isinstance(held, BaseModel) else held
