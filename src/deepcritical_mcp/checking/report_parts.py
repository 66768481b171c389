"""Parts of a report that fit into an answer: its findings in order, the gravest whole, the sound ones short."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar, cast

from pydantic import BaseModel

from deepcritical_mcp.checking.report_text import report_text
from deepcritical_mcp.models import (
    CheckedClaim,
    CheckedQuotation,
    CheckedRecord,
    CheckedReference,
    CitationReport,
    Finding,
    findings_of,
    is_marked,
    with_findings,
)
from deepcritical_mcp.text import clipped, counted

MAX_REMARKS, MAX_UNCHECKED = 10, 30
_WHOLE = frozenset({"id", "order", "session_id", "next_step", "report_uri"})
"""What is never shortened: what is called by it is not found by half of it."""
MIN_ROOM = 20
SHORTENED = "Shortened here: a finding that is too long for one answer."
MAX_BRIEF = 80
"""Characters of a sound reference as it is written, in a report that does not fit."""


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


def written_report(report: CitationReport) -> str:
    """The report for a file, which says nothing of calls."""
    return report_text(report.model_copy(update={"next_step": "", "report_uri": ""}))


def report_part(report: CitationReport, start: int, limit: int) -> tuple[str, int]:
    """As much of the written report from its finding `start` on as `limit` characters of JSON hold, at least one
    finding, and the number of findings."""
    rest = report_from(report, start, len(findings_of(report)))
    shown = fitting(rest, limit, lambda one: len(json.dumps(written_report(one))))
    return written_report(shown), len(findings_of(shown))


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

    Sound references are named by their ids and remarks are cut; the findings that do not fit then are left for the next
    part. A single one that does not fit is shortened.
    """
    if length(report) <= limit:
        return report
    brief = _brief(report, limit)
    total = len(findings_of(brief))
    count = _most(total, lambda count: length(report_from(brief, 0, count)) <= limit)
    if count or not total:
        return report_from(brief, 0, count)
    first, room = report_from(brief, 0, 1), limit // 4
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


def _brief(report: CitationReport, limit: int) -> CitationReport:
    """`report` with sound references by their ids, and with few and short remarks."""
    names = report.unchecked[:MAX_UNCHECKED]
    more = len(report.unchecked) - len(names)
    unchecked = [clipped(one, limit // 200) for one in names] + ([f"and {more} more"] if more else [])
    return report.model_copy(
        update={
            "references": tuple(map(_brief_reference, report.references)),
            "unchecked": tuple(unchecked),
            "warnings": _few(report.warnings, limit),
            "errors": _few(report.errors, limit),
        }
    )


def _brief_reference(one: CheckedReference) -> CheckedReference:
    if one.verdict not in ("verified", "unchecked", "outage") or is_marked(one.status) or one.problems:
        return one
    kept = one.record and one.record.model_dump(include={"id", "status", "status_checked"})
    record = CheckedRecord.model_validate(kept) if kept else None
    return one.model_copy(update={"written": clipped(one.written, MAX_BRIEF), "record": record})


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
