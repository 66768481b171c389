"""The tool `trial_search`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from deepcritical_mcp.models import SearchResult
from deepcritical_mcp.sources.trials.request import StudyType, TrialPhase, TrialRequest, TrialStatus
from deepcritical_mcp.tools.answers.citation_lines import TRIAL_PAPERS
from deepcritical_mcp.tools.arguments.call_session import ToolContext
from deepcritical_mcp.tools.arguments.params import OneLine, OtherSession, Word
from deepcritical_mcp.tools.spec import FIND_AGAIN, search_spec

MAX_WORDS = 20
"""Of a filter that takes several."""


async def trial_search(
    ctx: ToolContext,
    query: OneLine = "",
    condition: OneLine = "",
    intervention: OneLine = "",
    status: Annotated[list[TrialStatus], Field(max_length=MAX_WORDS)] = [],  # noqa: B006  # pydantic copies it
    phase: Annotated[list[TrialPhase], Field(max_length=MAX_WORDS)] = [],  # noqa: B006
    study_type: StudyType = "any",
    has_results: bool = False,
    country: Word = "",
    max_results: Annotated[int, Field(ge=1, le=TrialRequest.MAX_RESULTS)] = 10,
    offset: Annotated[int, Field(ge=0)] = 0,
    only_new: bool = False,
    session_id: OtherSession = "",
) -> None:
    """Find registered clinical trials (ClinicalTrials.gov registry, NCT numbers): ongoing, recruiting, enrolling or
    finished studies, their results, by condition, drug, phase or country."""


def _next_steps(result: SearchResult, _: TrialRequest, more: str) -> tuple[str, ...]:
    if result.evidence:
        kinds = {notice.kind for item in result.evidence for notice in item.citation.status_notices}
        papers = "" if kinds.isdisjoint(TRIAL_PAPERS) else 'Fetch papers with add_evidence(items=[{"pmid": …}]).'
        whole = f'A whole trial with results: get_full_text(id="{result.evidence[0].citation.nct}").'
        return more, whole, papers, FIND_AGAIN
    return (more if result.total_found else "Nothing found: try other words, or fewer filters.",)


TOOL = search_spec(trial_search, TrialRequest, _next_steps, "Search clinical trials", "🧪", "trials")
