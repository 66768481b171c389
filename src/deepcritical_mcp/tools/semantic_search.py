"""The tool `semantic_search`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import Field

from deepcritical_mcp.errors import DeepCriticalError
from deepcritical_mcp.evidence.chunking import Scope
from deepcritical_mcp.evidence.passage_quotes import NEAREST_SHOWN, PassagePage, nothing_close, page_of
from deepcritical_mcp.models import CitationSource, Evidence, SearchResult, TextKind, split_paragraph_anchor
from deepcritical_mcp.text import counted
from deepcritical_mcp.tools.answers.render import to_markdown
from deepcritical_mcp.tools.arguments.call_session import (
    CallSession,
    Numbered,
    ToolContext,
    application,
    caller,
    own_sessions,
    progress_of,
    session_for,
)
from deepcritical_mcp.tools.arguments.params import (
    Characters,
    Marked,
    MoreVariants,
    OtherSession,
    Query,
    StatusFilter,
)
from deepcritical_mcp.tools.kept_evidence import no_such_mark
from deepcritical_mcp.tools.sessions import NO_SESSIONS
from deepcritical_mcp.tools.spec import ToolSpec

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.searching import Found
    from deepcritical_mcp.evidence.store import EvidenceStore

MIN_PASSAGE, MAX_PASSAGE, WITH_CITATION = 300, 550, 870
"""Characters: of a passage, and of one together with its citation."""
FILLED = 0.85
"""Share of its room that the best sentences of a short text take on average."""
MOST_SESSIONS, MOST_RESULTS, MOST_CHARACTERS = 20, 50, 20_000
"""That one search in all sessions asks, and of each."""


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
    status: Annotated[StatusFilter, Field(description='"ok" = asked, no mark')] = "any",
    marked: Marked = "",
    min_relevance: Annotated[float, Field(ge=0, le=1)] = 0,
    session_id: Annotated[OtherSession, Field(description='"all" = all kept sessions')] = "",
) -> SearchResult:
    """Find by meaning (vector search), in the papers, documents and notes saved or collected in this session, your
    library, the passages that answer a question, verbatim, with their source."""
    progress = progress_of(ctx)
    filters = {"source": source, "kind": kind, "status": status, "marked": marked}
    limits: dict[str, Any] = {name: None if value == "any" else value for name, value in filters.items()}
    question = _Question(query, variants, Scope(**limits), min_relevance, is_in_full=detail == "full")
    page = PassagePage(characters, max_results, offset)
    await progress(0.1, "searching by meaning and by words")
    if session_id == "all":
        return await _in_all(ctx, question, page)
    session = await session_for(ctx, session_id, may_open=False)
    numbered, total = await session.query_numbers(), await session.store.count()
    answer = _SessionAnswer(question, session, numbered, total)
    found = await answer.found(page)
    evidence = await question.quoted_from(session.store, found)
    problems = await answer.problems(evidence, found.close, marked)
    steps = _next_steps(total, evidence, found.close, offset, found.next_offset)
    await progress(1.0, f"{len(evidence)} of {counted(total, 'item')} of evidence")
    following = found.next_offset if evidence else -1
    return answer.result(evidence, *problems, next_offset=following, next_step=session.next_step(*steps))


class _Question(NamedTuple):
    """What a call asks of each session that it searches."""

    query: str
    variants: Sequence[str]
    scope: Scope
    min_relevance: float
    is_in_full: bool

    @property
    def limits(self) -> str:
        """The scope as a caller writes it, e.g. 'source="web", kind="page"'; "" for everything."""
        return ", ".join(f'{name}="{value}"' for name, value in vars(self.scope).items() if value)

    async def found_in(self, store: EvidenceStore, page: PassagePage) -> Found:
        """What a session has on that page."""
        return await store.search(
            self.query, variants=self.variants, scope=self.scope, min_relevance=self.min_relevance, page=page
        )

    async def quoted_from(self, store: EvidenceStore, found: Found) -> Sequence[Evidence]:
        """What was found, as whole sections, or as the sentences that answer best."""
        if self.is_in_full:
            return await store.sections(found)
        return await store.passages(self.query, found, [*map(_room, found.evidence)])


class _SessionAnswer(NamedTuple):
    """The answer of one session, which has `total` items."""

    question: _Question
    session: CallSession
    numbered: Callable[[Iterable[Evidence]], Numbered]
    total: int

    async def found(self, page: PassagePage) -> Found:
        """What is on the page; if nothing is close to the question, only the nearest of all."""
        found = await self.question.found_in(self.session.store, page._replace(length=self._length))
        is_nearest_of_all = not found.close and not self.question.limits
        return found.first(NEAREST_SHOWN) if is_nearest_of_all else found

    def _length(self, items: Sequence[Evidence]) -> int:
        """The length of the answer with these items, each cut to about the length at which it is quoted."""
        brief = [one if one.anchor else one.but(content=one.content[: int(FILLED * _room(one))]) for one in items]
        return len(to_markdown(self.result(brief)))

    async def problems(self, evidence: Sequence[Evidence], is_close: bool, marked: str) -> tuple[str, ...]:
        """Why nothing is shown, or nothing that is close to the question."""
        store, limits = self.session.store, self.question.limits
        everything = (await store.publications(await store.ids())).values() if marked and not evidence else ()
        problems = no_such_mark(marked, everything)
        if problems or is_close or self.session.is_empty:
            return problems
        if evidence and limits:
            return (f"What is shown has {limits}; none of it is close to the words of the question.",)
        return (nothing_close("session", "evidence"),)

    def result(self, evidence: Sequence[Evidence], *problems: str, **more: Any) -> SearchResult:
        """The result with this evidence; `more` are further fields of it."""
        items, queries = self.numbered(evidence)
        relevances = [item.relevance for item in items]
        return SearchResult(
            session_id=self.session.store.session_id,
            query=self.question.query,
            evidence=items,
            queries=queries,
            total_found=self.total,
            ordered_by="" if relevances == sorted(relevances, reverse=True) else "meaning and words together",
            warnings=(*problems, *self.session.store.warnings()),
            **more,
        )


async def _in_all(ctx: ToolContext, question: _Question, page: PassagePage) -> SearchResult:
    """The best passages of the caller's sessions, each with its session, those that are nearest the question first."""
    listed = [one for one in await own_sessions(ctx) if one.items]
    registry = (await application(ctx).services()).sessions
    found: dict[tuple[str, str], Evidence] = {}
    warnings, total = list[str](), 0
    for one in reversed(listed[:MOST_SESSIONS]):  # the order in which they were used stays
        try:
            store = await registry.get(one.session_id, owner=caller())
            best = await question.found_in(store, PassagePage(MOST_CHARACTERS, MOST_RESULTS))  # the same for all pages
            passages = await question.quoted_from(store, best) if best.close else ()
            total += await store.count()
        except DeepCriticalError as error:
            warnings.append(f"{one.session_id} was not searched: {error.message}")
            continue
        for item in passages:
            key = item.id, item.anchor
            if key not in found or found[key].relevance < item.relevance:
                found[key] = item.but(session_id=one.session_id, found_by=())
    ordered = sorted(found.values(), key=lambda item: -item.relevance)

    def answer(some: slice) -> SearchResult:
        shown, told = tuple(ordered[some]), tuple(warnings)
        return SearchResult(session_id="", query=question.query, evidence=shown, total_found=total, warnings=told)

    place = page_of(len(ordered), page, lambda some: len(to_markdown(answer(some))))
    shown = ordered[place]
    if len(listed) > MOST_SESSIONS:
        warnings.append(f"Only the {MOST_SESSIONS} sessions used last were searched, of {len(listed)}.")
    if not ordered:
        warnings.append("None of your sessions has anything close to the question." if listed else NO_SESSIONS)
    following = place.stop if place.stop < len(ordered) else -1
    read_on = 'Each passage names its session, to read on (get_evidence ids=["…"] session_id="…") or search there.'
    steps = (*_on(shown, page.offset, following), read_on if shown else "")
    return answer(place).but(next_offset=following, next_step=" ".join(filter(None, steps)))


def _room(item: Evidence) -> int:
    """Characters for its passage, the fewer the longer its citation is."""
    citation = (item.citation.title, item.citation.reference, *item.citation.publication_types)
    return max(MIN_PASSAGE, min(MAX_PASSAGE, WITH_CITATION - sum(map(len, citation))))


def _next_steps(total: int, evidence: Sequence[Evidence], close: bool, offset: int, following: int) -> tuple[str, ...]:
    if not total:
        return ()
    if not evidence and offset:
        return _on(evidence, offset, following)
    if not evidence:
        return ("Nothing fits: lower min_relevance, drop the filters, or search PubMed and the web for more.",)
    if not close:
        return ("Search PubMed or the web for this question, or ask the session in other words.",)
    is_cut = any(item.content_truncated and not item.anchor for item in evidence)
    of_paper = next((item for item in evidence if item.anchor), evidence[0])
    part = split_paragraph_anchor(of_paper.anchor)[0]
    calls = f'get_evidence ids=["{of_paper.id}@{part}"] or get_full_text id="{of_paper.id}" sections=["{part}"]'
    return (
        *_on(evidence, offset, following),
        'Whole texts: get_evidence, or detail="full".' if is_cut else "",
        f"A whole section of a paper: {calls}." if of_paper.anchor else "",
        "Relevance only orders results: read a source before you cite it. For more, search outside this session.",
    )


def _on(shown: Sequence[Evidence], offset: int, following: int) -> tuple[str, ...]:
    """How to go on after a page of passages, and where they end."""
    if following >= 0:
        return (f"The next best passages: offset={following}.",)
    if not shown:
        return (f"offset={offset} is beyond the last passage.",) if offset else ()
    return ("These are the last passages.",) if offset else ()


TOOL = ToolSpec(semantic_search, "Search the session by meaning", "🔎", read_only=True, on_board=True, is_basic=True)
