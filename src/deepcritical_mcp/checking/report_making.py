"""A report, from what was found: its findings in order, the gravest first, and their counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from deepcritical_mcp.checking.correction import corrected
from deepcritical_mcp.checking.draft import Draft
from deepcritical_mcp.checking.reference_checker import ReferenceOutcome
from deepcritical_mcp.checking.reference_meaning import with_status
from deepcritical_mcp.checking.report_text import RANKS, STATUSES, rank_of, status_ranks
from deepcritical_mcp.models import (
    CheckedClaim,
    CheckedQuotation,
    CheckedRecord,
    CheckedReference,
    CitationReport,
    Finding,
    Publication,
    findings_of,
    vancouver,
    with_findings,
)
from deepcritical_mcp.search.witness import OutageRemark
from deepcritical_mcp.text import clean_line, clipped

MAX_WRITTEN, MAX_UNREAD = 1_500, 300
"""Characters of a reference in a report, and of what is not read; a consortium's list of authors can be longer."""


def by_gravity(findings: Iterable[Finding]) -> list[Finding]:
    """The gravest first, otherwise as they were."""
    return sorted(findings, key=lambda one: RANKS.index(rank_of(one)))


def counts_of(report: CitationReport) -> dict[str, int]:
    """See `CitationReport.counts`."""
    checked, references = report.references, report.counts.get("references", 0)
    unread, quotations = report.counts.get("unread", 0), len(report.quotations)
    known = {"entries": references + unread, "unread": unread, "references": references, "checked": len(checked)}
    counts = Counter[str](f"quotations_{one.verdict}" for one in report.quotations)
    for one in checked:
        told = {*status_ranks(one), *({one.status} & {*STATUSES})}
        counts.update(told if one.verdict == "verified" and told else {one.verdict, *told})
    counts.update(claims_with_numbers_missing=sum(bool(one.numbers_missing) for one in report.claims))
    return known | {"quotations": quotations, "claims": len(report.claims)} | {**counts}


def checked_references(outcomes: Iterable[ReferenceOutcome], kept: Mapping[str, Publication]) -> list[CheckedReference]:
    """What clients see of the outcomes; `kept` are the records as they are kept, by the ids that they were found under.
    Takes about a millisecond a reference."""
    return [
        CheckedReference(
            index=one.reference.index,
            label=one.reference.label,
            written=clipped(clean_line(one.reference.text), MAX_WRITTEN),
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


def with_part(report: CitationReport, draft: Draft, findings: Sequence[Finding]) -> CitationReport:
    """The report with the findings of another part after those that it has."""
    told = {"references": len(draft.references), "unread": len(draft.unread)}
    unread = [f"“{clipped(clean_line(one.text), MAX_UNREAD)}” ({one.reason})" for one in draft.unread]
    quoted = [one for one in (*report.quotations, *findings) if isinstance(one, CheckedQuotation) and one.passage]
    new = [one for one in findings if not any(_is_told_with(one, each) for each in quoted)]
    whole = with_findings(report, (*findings_of(report), *by_gravity(new)))
    whole = whole.model_copy(update={"counts": told, "unread": tuple(unread)})
    return whole.model_copy(update={"counts": counts_of(whole)})


def _is_told_with(one: Finding, quoted: CheckedQuotation) -> bool:
    """Whether the passage of a sentence is told with what the sentence quotes, and nothing else is to be said of it."""
    if not isinstance(one, CheckedClaim) or (one.where, rank_of(one)) != (quoted.where, "claim"):
        return False
    return quoted.passage in one.passage and quoted.quote in one.sentence


def with_remarks(report: CitationReport, warnings: Iterable[str], errors: Iterable[str]) -> CitationReport:
    """The report with these remarks, each once, instead of its own; remarks on outages are errors."""
    told = [*filter(None, warnings)]
    outages = (one for one in told if isinstance(one, OutageRemark))
    others = (one for one in told if not isinstance(one, OutageRemark))
    update = {"warnings": tuple(dict.fromkeys(others)), "errors": tuple(dict.fromkeys((*errors, *outages)))}
    return report.model_copy(update=update)


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
    known = [each for each in one.problems if each.field != "status"]
    problems = with_status(known, publication, one.written)
    return one.model_copy(update={"record": one.record.model_copy(update=now), "problems": problems})
