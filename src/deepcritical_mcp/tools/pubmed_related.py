"""The tool `pubmed_related`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.identifiers import normalize_pmid
from deepcritical_mcp.models import SearchResult
from deepcritical_mcp.sources.pubmed.request import PubMedRequest
from deepcritical_mcp.text import clean_line
from deepcritical_mcp.tools.arguments.call_session import ToolContext, progress_of, search_of, session_for
from deepcritical_mcp.tools.arguments.params import OtherSession, evidence_id
from deepcritical_mcp.tools.spec import FIND_AGAIN, ToolSpec, hints


async def pubmed_related(
    ctx: ToolContext,
    pmid: Annotated[
        str, Field(min_length=1, max_length=200, description="or the id or DOI of a record in the session")
    ],
    kind: Literal["similar", "cited_by", "references"] = "similar",
    max_results: Annotated[int, Field(ge=1, le=PubMedRequest.MAX_RESULTS)] = 10,
    session_id: OtherSession = "",
) -> SearchResult:
    """Find papers (articles) similar or related to a paper, more like it; who cites it (cited by); or the references
    it cites (citation chasing, snowballing)."""
    session = await session_for(ctx, session_id)
    search = await search_of(ctx, "pubmed")
    held = {} if normalize_pmid(pmid) else await session.store.get([evidence_id(pmid)])
    known = next((one.citation.pmid for one in held.values()), "")
    if not (known or normalize_pmid(pmid)):
        finder = f'pubmed_search with the DOI or title as query finds it, e.g. query="{clean_line(pmid)[:60]}".'
        raise InvalidInputError(f'"{clean_line(pmid)[:40]}" is not a PMID. {finder}')
    notes = [f"Read pmid={clean_line(pmid)} as its PMID {known}."] if known else []
    result = await search.related(known or pmid, kind, max_results, session.store, progress=progress_of(ctx))
    failed = [one.status == "failed" for one in result.queries]
    who = "PubMed" if any(failed[:1]) else "One of the services"
    again = f"{who} could not be asked who cites it: try again in a minute." if any(failed) else ""
    if result.evidence:
        most = min(PubMedRequest.MAX_RESULTS, result.total_found)
        steps = [again, f"Pass max_results={most} for more." if max_results < most else "", FIND_AGAIN]
    else:
        steps = [again or "PubMed lists no such papers: try another kind, or pubmed_search with the paper's title."]
    update = {"next_step": session.next_step(*steps), "warnings": (*notes, *result.warnings)}
    return result.model_copy(update=update)


TOOL = ToolSpec(
    pubmed_related,
    "Papers linked to a paper",
    "🔗",
    SearchResult,
    hints(read_only=True, open_world=True),
    changes_session=True,
    source="pubmed",
)
