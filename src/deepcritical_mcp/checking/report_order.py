"""The order of a report's findings, the gravest first, and their counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, get_args

from deepcritical_mcp.models import (
    CheckedClaim,
    CheckedQuotation,
    CheckedReference,
    Finding,
    PublicationStatus,
    QuotationVerdict,
    ReferenceVerdict,
)

_Rank = (
    PublicationStatus
    | ReferenceVerdict
    | Literal["published"]
    | Literal["quotation_misattributed", "quotation_altered", "quotation_not_found", "quotation_verbatim"]
    | Literal["claim_numbers_missing", "claim"]
)
_RANKS: tuple[_Rank, ...] = (
    *("retracted", "concern", "superseded", "wrong_id", "differs", "not_found", "ambiguous"),
    *("published", "outage", "minor", "unchecked"),
    *("quotation_misattributed", "quotation_altered", "quotation_not_found"),
    *("verified", "quotation_verbatim", "claim_numbers_missing", "claim"),
)
_STATUSES: tuple[PublicationStatus, ...] = ("retracted", "concern", "superseded")
"""Those that put a reference first, whatever its verdict; the draft may know them, then they are minor problems."""


def by_gravity(findings: Iterable[Finding]) -> list[Finding]:
    """The gravest first; sentences by what they lack, then by the least relevance of the passages that they cite, which
    stay together. Otherwise as they were."""
    listed = list(findings)
    least: dict[str, tuple[int, float]] = {}
    for one in listed:
        if isinstance(one, CheckedClaim):
            least[one.sentence] = min(_gravity(one), least.get(one.sentence, _gravity(one)))
    places = {sentence: place for place, sentence in enumerate(least)}

    def key(one: Finding) -> tuple[int, float, int]:
        return (*least[one.sentence], places[one.sentence]) if isinstance(one, CheckedClaim) else (*_gravity(one), 0)

    return sorted(listed, key=key)


def counts_of(references: int, findings: Sequence[Finding]) -> dict[str, int]:
    """See `CitationReport.counts`; `references` is how many the draft has."""
    checked = [one for one in findings if isinstance(one, CheckedReference)]
    quotations = [one.verdict for one in findings if isinstance(one, CheckedQuotation)]
    claims = [one for one in findings if isinstance(one, CheckedClaim)]
    verdicts = [one.verdict for one in checked]
    return {
        "references": references,
        "checked": len(checked),
        **{verdict: verdicts.count(verdict) for verdict in get_args(ReferenceVerdict)},
        **{status: sum(one.status == status for one in checked) for status in _STATUSES},
        "published": sum(map(_is_published, checked)),
        "quotations": len(quotations),
        **{f"quotations_{verdict}": quotations.count(verdict) for verdict in get_args(QuotationVerdict)},
        "claims": len(claims),
        "claims_with_numbers_missing": sum(bool(one.numbers_missing) for one in claims),
    }


def _gravity(finding: Finding) -> tuple[int, float]:
    if isinstance(finding, CheckedClaim):
        return _RANKS.index("claim_numbers_missing" if finding.numbers_missing else "claim"), finding.relevance
    if isinstance(finding, CheckedQuotation):
        return _RANKS.index(f"quotation_{finding.verdict}"), 0.0
    ranks: list[_Rank] = [finding.verdict]
    if any(one.field == "status" and not one.minor for one in finding.problems):
        ranks.append(finding.status if finding.status in _STATUSES else "published")
    return min(map(_RANKS.index, ranks)), 0.0


def _is_published(reference: CheckedReference) -> bool:
    """Whether its record is a preprint that was published meanwhile."""
    return reference.record is not None and any(one.kind == "published" for one in reference.record.status_notices)
