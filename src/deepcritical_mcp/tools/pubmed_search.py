"""The tool `pubmed_search`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from deepcritical_mcp.models import SearchResult
from deepcritical_mcp.sources.pubmed.request import AgeGroup, PubMedRequest, Sort, StudyFilter
from deepcritical_mcp.tools.arguments.call_session import ToolContext
from deepcritical_mcp.tools.arguments.params import DescribedSession, Query, Variants, Word
from deepcritical_mcp.tools.spec import FIND_AGAIN, search_spec

DateLimit = Annotated[Word, Field(description="YYYY[-MM[-DD]]")]


async def pubmed_search(
    ctx: ToolContext,
    query: Query,
    variants: Variants = [],  # noqa: B006  # pydantic copies it
    max_results: Annotated[int, Field(ge=1, le=PubMedRequest.MAX_RESULTS)] = 10,
    offset: Annotated[int, Field(ge=0)] = 0,
    sort: Sort = "relevance",
    min_date: DateLimit = "",
    max_date: Word = "",
    publication_types: Annotated[
        list[Word], Field(max_length=20, description='e.g. "Randomized Controlled Trial"')
    ] = [],  # noqa: B006
    has_abstract: bool = False,
    study_filter: StudyFilter = "none",
    age_group: AgeGroup = "any",
    humans_only: bool = False,
    author: Annotated[Word, Field(description='"Smith J"')] = "",
    journal: Word = "",
    language: Word = "",
    include_retracted: bool = True,
    only_new: Annotated[bool, Field(description="omit results already in this session")] = False,
    session_id: DescribedSession = "",
) -> None:
    """Search PubMed (MEDLINE), the biomedical literature, for published research: journal articles, papers, studies,
    randomized clinical trials (RCTs), case reports, systematic reviews or a meta-analysis. Find evidence in medical
    journals on a topic, drug, disease or treatment, or by an author, in plain words or PubMed syntax
    ([MeSH Terms], [ti], AND/OR/NOT). Returns abstracts, retractions marked."""


def _next_steps(result: SearchResult, _: PubMedRequest, more: str) -> tuple[str, ...]:
    if result.evidence or result.duplicates_removed:
        return more or "For other queries call expand_queries.", FIND_AGAIN
    if not result.total_found:
        return ("Nothing found: try fewer terms, wider dates, or expand_queries for other queries.",)
    return "All results were omitted (see the warnings): search with include_retracted=true to see them.", more


TOOL = search_spec(pubmed_search, PubMedRequest, _next_steps, "Search PubMed", "🔬", "pubmed", is_basic=True)
