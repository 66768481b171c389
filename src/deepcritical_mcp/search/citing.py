"""How often papers are cited."""

from __future__ import annotations

from dataclasses import replace

from deepcritical_mcp.deadline import CITATION_COUNTS, seconds_for
from deepcritical_mcp.errors import ProviderError
from deepcritical_mcp.models import ProviderReport
from deepcritical_mcp.search.search_steps import Kept
from deepcritical_mcp.sources.base import in_time
from deepcritical_mcp.sources.lookup import CitationCounter

COUNTED_AT_ONCE = 200


async def with_counts(service: CitationCounter, kept: Kept, *, seconds: float) -> Kept:
    """Evidence with how often each paper has been cited, as far as the service counts it; one request."""
    pmids = list(dict.fromkeys(one.citation.pmid for one in kept.evidence if one.citation.pmid))[:COUNTED_AT_ONCE]
    if not pmids:
        return kept
    try:
        counts = await in_time(service, seconds_for(CITATION_COUNTS, cap=seconds), lambda: service.counts(pmids))
    except ProviderError as error:
        report = ProviderReport(name=service.name, status="failed", detail=error.message)
        return replace(kept, counters=(report,), problems=(f"Citations could not be counted: {error.message}",))
    items = tuple(
        item.but(cited_by=counts[item.citation.pmid]) if item.citation.pmid in counts else item
        for item in kept.evidence
    )
    report = ProviderReport(name=service.name, status="ok", detail="citation counts", results=len(counts))
    return replace(kept, evidence=items, counters=(report,))
