"""A report, from what was found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from deepcritical_mcp.checking.correction import corrected
from deepcritical_mcp.checking.draft import Draft
from deepcritical_mcp.checking.reference_checker import ReferenceOutcome
from deepcritical_mcp.checking.report_order import by_gravity, counts_of
from deepcritical_mcp.models import (
    CheckedRecord,
    CheckedReference,
    CitationReport,
    Finding,
    Publication,
    findings_of,
    vancouver,
    with_findings,
)
from deepcritical_mcp.text import clean_line, clipped

MAX_WRITTEN = 1_500
"""Characters of a reference in a report; a consortium's list of authors can be longer."""
MAX_NAME = 160
"""Characters by which the report names a work that nobody here can check."""


def checked_references(outcomes: Iterable[ReferenceOutcome], kept: Mapping[str, Publication]) -> list[CheckedReference]:
    """What clients see of the outcomes; `kept` are the records as the session has them, by the ids that they were found
    under. Takes about a millisecond a reference."""
    return [_checked(one, kept) for one in outcomes]


def _checked(outcome: ReferenceOutcome, kept: Mapping[str, Publication]) -> CheckedReference:
    record, reference = outcome.publication, outcome.reference
    return CheckedReference(
        index=reference.index,
        label=reference.label,
        written=clipped(clean_line(reference.text), MAX_WRITTEN),
        verdict=outcome.verdict,
        record=_record(record, kept[record.id].id) if record else None,
        problems=outcome.problems,
        reason=outcome.reason,
        # A row of a table has other cells that a corrected line would lose.
        corrected=corrected(reference.text, record, outcome.problems) if record else "",
        candidates=tuple(_record(one, one.id) for one in outcome.candidates),
    )


def _record(publication: Publication, id: str) -> CheckedRecord:
    return CheckedRecord(
        id=id,
        reference=vancouver(publication),
        pmid=publication.pmid,
        doi=publication.doi,
        status=publication.status,
        status_notices=publication.status_notices,
        status_checked=publication.status_checked,
    )


def with_part(report: CitationReport, draft: Draft, findings: Iterable[Finding]) -> CitationReport:
    """The report with the findings of another part after those that it has."""
    whole = with_findings(report, (*findings_of(report), *by_gravity(findings)))
    unchecked = [one for one in whole.references if one.verdict == "unchecked"]
    return whole.model_copy(
        update={
            "counts": counts_of(len(draft.references), findings_of(whole)),
            "unchecked": tuple(clipped(one.written, MAX_NAME) for one in unchecked),
        }
    )
