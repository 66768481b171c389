"""The tool `semantic_search`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, get_args

from pydantic import Field

from deepcritical_mcp.evidence.scope import Scope
from deepcritical_mcp.models import CitationSource, Evidence, SearchResult, TextKind, split_paragraph_anchor
from deepcritical_mcp.text import counted
from deepcritical_mcp.tools.call_session import ToolContext, progress_of, session_for
from deepcritical_mcp.tools.list_evidence import no_such_mark
from deepcritical_mcp.tools.params import Characters, Marked, MoreVariants, Query, SessionId, StatusFilter
from deepcritical_mcp.tools.spec import ToolSpec, hints

MIN_PASSAGE, MAX_PASSAGE, WITH_CITATION = 300, 550, 870
"""Characters: of a passage, and of one together with its citation."""
NEAREST_SHOWN = 3
NOTHING_CLOSE = (
    "Nothing in this session is close to the question. What is shown is only the nearest evidence, not an answer."
)


async def semantic_search(
    ctx: ToolContext,
    query: Query,
    variants: MoreVariants = [],  # noqa: B006  # pydantic copies it
    max_results: Annotated[int, Field(ge=1, le=50)] = 20,
    characters: Characters = 3_000,
    offset: Annotated[int, Field(ge=0, le=1_000)] = 0,
    detail: Literal["passages", "full"] = "passages",
    source: Literal["any", CitationSource] = "any",
    kind: Literal["any", TextKind] = "any",
    status: StatusFilter = "any",
    marked: Marked = "",
    min_relevance: Annotated[float, Field(ge=0, le=1)] = 0,
    session_id: SessionId = "",
) -> SearchResult:
    """Find by meaning, among the papers and notes collected in this session (your saved evidence), the passages that
    answer a question, quoted verbatim."""
    session = await session_for(ctx, session_id, may_open=False)
    store, progress = session.store, progress_of(ctx)
    await progress(0.1, "searching the session by meaning and by words")
    found = await store.search(
        query,
        variants=variants,
        max_results=max_results,
        scope=Scope(
            None if source == "any" else source,
            None if kind == "any" else kind,
            None if status == "any" else status,
            marked,
        ),
        min_relevance=min_relevance,
        characters=characters,
        offset=offset,
    )
    filters = {"source": source, "kind": kind, "status": status, "marked": marked}
    used = ", ".join(f'{name}="{value}"' for name, value in filters.items() if value not in ("any", ""))
    far = f"What is shown has {used}; none of it is close to the words of the question." if used else NOTHING_CLOSE
    if not (found.close or used):
        found = found.first(NEAREST_SHOWN)
    lengths = [*map(_room, found.evidence)]
    shown = await store.passages(query, found, lengths) if detail == "passages" else await store.sections(found)
    evidence, queries = await session.with_queries(shown)
    relevances = [item.relevance for item in evidence]
    total = await store.count()
    everything = (await store.publications(await store.ids())).values() if marked and not evidence else ()
    distant = () if found.close or session.is_empty else (far if evidence else NOTHING_CLOSE,)
    problems = no_such_mark(marked, everything) or distant
    await progress(1.0, f"{len(evidence)} of {counted(total, 'item')} of evidence")
    return SearchResult(
        session_id=store.session_id,
        query=query,
        evidence=evidence,
        queries=queries,
        sources_searched=get_args(CitationSource) if source == "any" else (source,),
        total_found=total,
        ordered_by="" if relevances == sorted(relevances, reverse=True) else "meaning and words together",
        warnings=(*problems, *store.warnings),
        next_offset=found.next_offset if evidence else -1,
        next_step=session.next_step(*_next_steps(total, evidence, found.close)),
    )


def _room(item: Evidence) -> int:
    """Characters for its passage, the fewer the longer its citation is."""
    citation = (item.citation.title, item.citation.reference, *item.citation.publication_types)
    return max(MIN_PASSAGE, min(MAX_PASSAGE, WITH_CITATION - sum(map(len, citation))))


def _next_steps(total: int, evidence: Sequence[Evidence], close: bool) -> tuple[str, ...]:
    if not total:
        return ()
    if not evidence:
        return ("Nothing fits: lower min_relevance, drop the filters, or search PubMed and the web for more.",)
    if not close:
        return ("Search PubMed or the web for this question, or ask the session in other words.",)
    return (
        'For whole texts call get_evidence; detail="full" shows them too.'
        if any(item.content_truncated and not item.anchor for item in evidence)
        else "",
        _whole_section(evidence),
        "Relevance only orders results: read a source before you cite it. For more, search outside this session.",
    )


def _whole_section(evidence: Sequence[Evidence]) -> str:
    """How to read on from the first passage of a long text."""
    for item in evidence:
        if item.anchor:
            part = split_paragraph_anchor(item.anchor)[0]
            calls = f'get_evidence ids=["{item.id}@{part}"] or get_full_text id="{item.id}" sections=["{part}"]'
            return f"A whole section of a paper: {calls}."
    return ""


TOOL = ToolSpec(
    semantic_search,
    "Search the session by meaning",
    "🔎",
    SearchResult,
    hints(read_only=True),
    on_board=True,
    is_basic=True,
)
