"""Parts of a report that fit into an answer: its findings in order, of sound ones only the record."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar, cast, get_args

from pydantic import BaseModel

from deepcritical_mcp.checking.correction import corrected
from deepcritical_mcp.checking.draft import Draft
from deepcritical_mcp.checking.reference_checker import ReferenceOutcome
from deepcritical_mcp.checking.reference_problems import with_status_problem
from deepcritical_mcp.checking.report_text import MAX_WRITTEN, RANKS, STATUSES, asked, is_sound, rank_of
from deepcritical_mcp.models import (
    CheckedClaim,
    CheckedQuotation,
    CheckedRecord,
    CheckedReference,
    CitationReport,
    Finding,
    Publication,
    QuotationVerdict,
    ReferenceVerdict,
    findings_of,
    vancouver,
    with_findings,
)
from deepcritical_mcp.text import clean_line, clipped, counted

MAX_LISTED = 1_500
"""Characters of a reference in a report; a consortium's list of authors can be longer."""
_LONGEST_UNREAD = 300
_COUNTED = (
    *(*get_args(ReferenceVerdict), *STATUSES, "published", "claims_with_numbers_missing"),
    *(f"quotations_{verdict}" for verdict in get_args(QuotationVerdict)),
)


def by_gravity(findings: Iterable[Finding]) -> list[Finding]:
    """The gravest first; sentences by what they lack, then by the least relevance of the passages that they cite, which
    stay together. Otherwise as they were."""
    listed, least = list(findings), dict[str, tuple[int, float]]()
    for one in listed:
        if isinstance(one, CheckedClaim):
            key = RANKS.index(rank_of(one)), one.relevance
            least[one.sentence] = min(key, least.get(one.sentence, key))

    def gravity(one: Finding) -> tuple[int, float, str]:
        if isinstance(one, CheckedClaim):
            return *least[one.sentence], one.sentence
        return RANKS.index(rank_of(one)), 0.0, ""

    return sorted(listed, key=gravity)


def counts_of(report: CitationReport) -> dict[str, int]:
    """See `CitationReport.counts`."""
    checked, quotations, claims = report.references, report.quotations, report.claims
    references, unread = (report.counts.get(name, 0) for name in ("references", "unread"))
    known = {"entries": references + unread, "unread": unread, "references": references, "checked": len(checked)}
    known |= {"quotations": len(quotations), "claims": len(claims)}
    in_order = [one for one in checked if rank_of(one) == "verified" and one.status not in STATUSES]
    notices = ({each.kind for each in one.record.status_notices} for one in checked if one.record)
    counts = {
        **Counter[str](one.verdict for one in checked),
        **Counter[str](one.status for one in checked if one.status in STATUSES),
    }
    counts |= Counter(f"quotations_{one.verdict}" for one in quotations)
    counts |= {"verified": len(in_order), "published": sum("published" in kinds for kinds in notices)}
    counts |= {"claims_with_numbers_missing": sum(bool(one.numbers_missing) for one in claims)}
    return known | {name: counts.get(name, 0) for name in _COUNTED}


def checked_references(outcomes: Iterable[ReferenceOutcome], kept: Mapping[str, Publication]) -> list[CheckedReference]:
    """What clients see of the outcomes; `kept` are the records as they are kept, by the ids that they were found under.
    Takes about a millisecond a reference."""
    return [
        CheckedReference(
            index=one.reference.index,
            label=one.reference.label,
            written=clipped(clean_line(one.reference.text), MAX_LISTED),
            verdict=one.verdict,
            record=_record(one.publication, kept[one.publication.id].id) if one.publication else None,
            problems=one.problems,
            reason=one.reason,
            corrected=corrected(one.reference.text, one.publication, one.problems) if one.publication else "",
            candidates=tuple(_record(each, each.id) for each in one.candidates),
        )
        for one in outcomes
    ]


def _record(publication: Publication, id: str) -> CheckedRecord:
    same = ("pmid", "doi", "status", "status_notices", "status_checked")
    return CheckedRecord(id=id, reference=vancouver(publication), **{name: getattr(publication, name) for name in same})


def with_part(report: CitationReport, draft: Draft, findings: Iterable[Finding]) -> CitationReport:
    """The report with the findings of another part after those that it has."""
    told = {"references": len(draft.references), "unread": len(draft.unread)}
    unread = [f"“{clipped(clean_line(one.text), _LONGEST_UNREAD)}” ({one.reason})" for one in draft.unread]
    new, quotations = [*findings], [one for one in (*report.quotations, *findings) if isinstance(one, CheckedQuotation)]
    new = [one for one in new if not (isinstance(one, CheckedClaim) and _is_said(one, quotations))]
    whole = with_findings(report, (*findings_of(report), *by_gravity(new)))
    whole = whole.model_copy(update={"counts": told, "unread": tuple(unread)})
    return whole.model_copy(update={"counts": counts_of(whole)})


def _is_said(claim: CheckedClaim, quotations: Iterable[CheckedQuotation]) -> bool:
    """Whether the passage of a sentence is told with what the sentence quotes, and nothing else is to be said of it."""
    return not (claim.numbers_missing or claim.numbers_elsewhere) and any(
        one.where == claim.where and one.passage in claim.passage and one.quote in claim.sentence
        for one in quotations
        if one.passage
    )


def with_remarks(report: CitationReport, warnings: Iterable[str], errors: Iterable[str]) -> CitationReport:
    """The report with these remarks instead of its own; of what is told of one service only the first is an error."""
    services = dict[str, str]()
    for error in dict.fromkeys(errors):
        services.setdefault(error.split()[0].strip(","), error)
    more = (one for one in errors if one not in services.values())
    told = {"warnings": tuple(dict.fromkeys(filter(None, (*warnings, *more)))), "errors": tuple(services.values())}
    return report.model_copy(update=told)


def with_current_status(report: CitationReport, held: Mapping[str, Publication]) -> CitationReport:
    """The report, its findings where they were, with the status that its records have now; `held` has these by id."""
    references = tuple(_with_status(one, held) for one in report.references)
    current = report.model_copy(update={"references": references})
    return current.model_copy(update={"counts": counts_of(current)})


def _with_status(one: CheckedReference, held: Mapping[str, Publication]) -> CheckedReference:
    publication = one.record and held.get(one.record.id)
    if one.record is None or publication is None:
        return one
    now = {name: getattr(publication, name) for name in ("status", "status_notices", "status_checked")}
    is_changed = one.record.model_copy(update={**now, "status_checked": one.record.status_checked}) != one.record
    fields: dict[str, object] = {"record": one.record.model_copy(update=now)}
    if is_changed:
        known = [each for each in one.problems if each.field != "status"]
        fields["problems"] = problems = with_status_problem(known, publication, one.written)
        fields["corrected"] = corrected(one.written, publication, problems) if one.corrected else ""
    return one.model_copy(update=fields)


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
    step = report.next_step.replace(f"offset={report.next_offset}", f"offset={offset}")
    call = "" if f"offset={offset}" in step else f": {report.call} offset={offset}"
    return f"Not shown here: {counted(len(left), 'finding')}{call}. {step}".strip()


def fitting(report: CitationReport, limit: int, length: Callable[[CitationReport], int]) -> CitationReport:
    """`report`, cut until `length(report) <= limit`.

    Remarks are cut; the findings that do not fit then are left for the next part. A single one that does not fit is
    shortened.
    """
    if length(report) <= limit:
        return report
    short = _with_few_remarks(report, limit)
    total = len(findings_of(short))
    count = bisect_left(range(1, total + 1), True, key=lambda count: length(report_from(short, 0, count)) > limit)
    if count or not total:
        return report_from(short, 0, count)
    first, room = report_from(short, 0, 1), limit // 4
    first = first.model_copy(update={"warnings": (SHORTENED, *first.warnings)})
    while length(short := _shortened(first, room)) > limit and room > MIN_ROOM:
        room //= 2
    return short


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
