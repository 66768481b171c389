"""A report on a draft that was made earlier, with the status that its records have now."""

from __future__ import annotations

from collections.abc import Mapping

from deepcritical_mcp.checking.report_order import counts_of
from deepcritical_mcp.checking.status_problems import with_status_problem
from deepcritical_mcp.models import CheckedReference, CitationReport, Publication, findings_of


def with_current_status(report: CitationReport, held: Mapping[str, Publication]) -> CitationReport:
    """The report, its findings where they were, with the status of its records as the session has it; `held` has the
    publications by id."""
    references = tuple(_with_status(one, held) for one in report.references)
    current = report.model_copy(update={"references": references})
    return current.model_copy(update={"counts": counts_of(report.counts["references"], findings_of(current))})


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
        if one.corrected:
            from deepcritical_mcp.checking.correction import corrected

            fields["corrected"] = corrected(one.written, publication, problems)
    return one.model_copy(update=fields)
