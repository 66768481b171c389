"""The tools that search a source and keep what it finds in the session; and `search` and `fetch` in the form that
two-tool hosts require, over the same services. Such hosts pass no session argument, so each id carries its session:
`<session_id>/<evidence id>`.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable
from functools import wraps
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field

from deepcritical_mcp.errors import InvalidInputError, SessionNotFoundError
from deepcritical_mcp.identifiers import normalize_pmid
from deepcritical_mcp.models import NOTICE_LABELS, PREPRINT, Citation, SearchResult, StatusNotice, Value, status_label
from deepcritical_mcp.sources.base import SearchRequest
from deepcritical_mcp.sources.europepmc.preprint_request import PreprintRequest
from deepcritical_mcp.sources.pubmed.request import AgeGroup, PubMedRequest, Sort, StudyFilter
from deepcritical_mcp.sources.trials.request import StudyType, TrialPhase, TrialRequest, TrialStatus
from deepcritical_mcp.sources.web.request import Recency, SearchDepth, WebRequest, WebTopic
from deepcritical_mcp.text import clean_line
from deepcritical_mcp.tools.answers.structured import TRIAL_PAPERS, structured
from deepcritical_mcp.tools.arguments.call_session import (
    ToolContext,
    application,
    progress_of,
    read_session,
    search_of,
    session_for,
)
from deepcritical_mcp.tools.arguments.params import (
    DescribedSession,
    MoreVariants,
    OneLine,
    OtherSession,
    Query,
    Variants,
    Word,
    evidence_id,
)
from deepcritical_mcp.tools.spec import ToolSpec, hints
from deepcritical_mcp.urls import is_web_address

RequestT = TypeVar("RequestT", bound=SearchRequest)
FIND_AGAIN = "semantic_search finds these again by meaning."


def search_spec(
    described: Callable[..., Awaitable[None]],
    request: type[RequestT],
    next_steps: Callable[[SearchResult, RequestT, str], Iterable[str]],
    title: str,
    icon: str,
    source: str,
    *,
    is_basic: bool = False,
) -> ToolSpec:
    """The tool that searches a source and keeps what it finds in the session.

    `described` has no body: its parameters, besides the session, are fields of `request`. `next_steps` says what the
    model can do next; its third argument is how to read on, "" after the last page.
    """

    @wraps(described)
    async def run(ctx: ToolContext, session_id: str, **asked: object) -> SearchResult:
        wanted = request.model_validate(asked)
        session = await session_for(ctx, session_id, about=wanted.query)
        search = await search_of(ctx, source)
        result = await search.search(wanted, session.store, progress=progress_of(ctx))
        more = f"Continue with offset={result.next_offset}." if result.next_offset >= 0 else ""
        steps = next_steps(result, wanted, more)
        if not result.evidence and wanted.offset >= result.total_found > 0:
            steps = ("There are no results at this offset: use a smaller one.",)
        return result.model_copy(update={"next_step": session.next_step(*steps)})

    shown: dict[str, Any] = {"changes_session": True, "on_board": True, "is_basic": is_basic, "source": source}
    return ToolSpec(run, title, icon, SearchResult, hints(read_only=True, open_world=True), **shown)


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


def _after_pubmed(result: SearchResult, _: PubMedRequest, more: str) -> tuple[str, ...]:
    if result.evidence or result.duplicates_removed:
        return more or "For other queries call expand_queries.", FIND_AGAIN
    if not result.total_found:
        return ("Nothing found: try fewer terms, wider dates, or expand_queries for other queries.",)
    return "All results were omitted (see the warnings): search with include_retracted=true to see them.", more


PUBMED_SEARCH = search_spec(pubmed_search, PubMedRequest, _after_pubmed, "Search PubMed", "🔬", "pubmed", is_basic=True)


async def preprint_search(
    ctx: ToolContext,
    query: Query,
    variants: MoreVariants = [],  # noqa: B006  # pydantic copies it
    max_results: Annotated[int, Field(ge=1, le=PreprintRequest.MAX_RESULTS)] = 10,
    offset: Annotated[int, Field(ge=0)] = 0,
    min_date: Word = "",
    max_date: Word = "",
    servers: Annotated[list[Word], Field(max_length=20)] = [],  # noqa: B006
    unpublished_only: bool = False,
    only_new: bool = False,
    session_id: OtherSession = "",
) -> None:
    """Search preprints (bioRxiv, medRxiv, Research Square …): manuscripts not yet peer reviewed or published, in plain
    words or Europe PMC syntax; names the article that each became."""


def _after_preprints(result: SearchResult, request: PreprintRequest, more: str) -> tuple[str, ...]:
    notices = [notice for item in result.evidence for notice in item.citation.status_notices]
    published = [one for one in notices if one.kind == "published" and (one.pmid or one.doi)]
    if published:
        first = {"pmid": published[0].pmid} if published[0].pmid else {"doi": published[0].doi}
        items = f"[{json.dumps(first)}{', …' if len(published) > 1 else ''}]"
        return more, f"Where an article was published, cite that: add_evidence items={items}.", FIND_AGAIN
    if result.evidence or result.duplicates_removed:
        return more, FIND_AGAIN
    if not result.total_found:
        return ("Nothing found: a preprint must have all words of the query, so try fewer, or join synonyms with OR.",)
    if request.unpublished_only and result.left_out:
        return "All results were omitted (see the warnings): search with unpublished_only=false to see them.", more
    return (more or "Europe PMC sent no results from this offset on: try again in a minute, or use a smaller offset.",)


PREPRINT_SEARCH = search_spec(preprint_search, PreprintRequest, _after_preprints, "Search preprints", "📰", "preprints")


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


def _after_trials(result: SearchResult, _: TrialRequest, more: str) -> tuple[str, ...]:
    if result.evidence:
        kinds = {notice.kind for item in result.evidence for notice in item.citation.status_notices}
        papers = "" if kinds.isdisjoint(TRIAL_PAPERS) else 'Fetch papers with add_evidence(items=[{"pmid": …}]).'
        whole = f'A whole trial with results: get_full_text(id="{result.evidence[0].citation.nct}").'
        return more, whole, papers, FIND_AGAIN
    return (more if result.total_found else "Nothing found: try other words, or fewer filters.",)


TRIAL_SEARCH = search_spec(trial_search, TrialRequest, _after_trials, "Search clinical trials", "🧪", "trials")


DomainList = Annotated[list[Word], Field(max_length=50)]


async def web_search(
    ctx: ToolContext,
    query: Query,
    variants: MoreVariants = [],  # noqa: B006  # pydantic copies it
    max_results: Annotated[int, Field(ge=1, le=WebRequest.MAX_RESULTS)] = 10,
    min_score: Annotated[float, Field(ge=0, le=1)] = WebRequest.MIN_SCORE,
    search_depth: SearchDepth = "advanced",
    topic: WebTopic = "general",
    recency: Recency = "any",
    include_domains: Annotated[DomainList, Field(description='e.g. "nih.gov"')] = [],  # noqa: B006
    exclude_domains: DomainList = [],  # noqa: B006
    only_new: bool = False,
    session_id: OtherSession = "",
) -> None:
    """Search the web, the internet, online as Google does: news, websites, a guideline, and what guidelines and health
    agencies advise (WHO, FDA, CDC, NICE)."""


def _after_web(result: SearchResult, _: WebRequest, __: str) -> tuple[str]:
    if result.evidence:
        return (FIND_AGAIN,)
    if result.errors:
        return ("Not every provider answered: try again later, or try other queries now.",)
    if result.total_found:
        return (
            "All results were omitted (see the warnings): lower min_score, set only_new=false, or try other queries.",
        )
    return ("Nothing found: try other queries.",)


WEB_SEARCH = search_spec(web_search, WebRequest, _after_web, "Search the web", "🌐", "web")


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


PUBMED_RELATED = ToolSpec(
    pubmed_related,
    "Papers linked to a paper",
    "🔗",
    SearchResult,
    hints(read_only=True, open_world=True),
    changes_session=True,
    source="pubmed",
)


RESULTS_PER_SOURCE, MAX_NOTICES = 10, 10


class SearchHit(Value):
    """One result: enough to decide whether to fetch it."""

    id: str
    title: str
    url: str


class SearchHits(Value):
    """What all sources found, best first. `errors` names each source that could not answer."""

    results: tuple[SearchHit, ...]
    errors: tuple[str, ...] = ()


class DocumentMetadata(Value):
    """Where a document comes from, and what became of it: `notices` name retractions, the article of a preprint and
    the like."""

    citation: str
    status: str
    status_checked: str
    source: str
    date: str
    pmid: str
    doi: str
    nct: str
    notices: tuple[str, ...] = ()


class FetchedDocument(Value):
    """One result with its full content."""

    id: str
    title: str
    text: str
    url: str
    metadata: DocumentMetadata


async def search(ctx: ToolContext, query: Query) -> SearchHits:
    """Search PubMed, preprints, trials and the web for evidence on a biomedical question. Returns ids for `fetch`."""
    store = (await session_for(ctx, "", about=query)).store
    services = await application(ctx).services()
    found = await services.everywhere.search(query, RESULTS_PER_SOURCE, store, progress=progress_of(ctx))
    hits = (
        SearchHit(id=f"{store.session_id}/{item.id}", title=_title(item.citation), url=_url(item.citation))
        for item in found.evidence
    )
    return SearchHits(results=tuple(hits), errors=found.errors)


async def fetch(ctx: ToolContext, id: Annotated[str, Field(min_length=1, max_length=2_000)]) -> FetchedDocument:
    """The full text of a search result, by its id."""
    session_id, _, evidence_id = clean_line(id).partition("/")
    if not evidence_id:
        raise InvalidInputError("id: pass the id of a search result, unchanged.")
    try:
        store = await read_session(ctx, session_id)
    except SessionNotFoundError as error:
        raise InvalidInputError("id: its session has expired. Search again.") from error
    item = (await store.get([evidence_id])).get(evidence_id)
    if item is None:
        raise InvalidInputError("id: no such result in its session. Search again.")
    citation = item.citation
    return FetchedDocument(
        id=id,
        title=_title(citation),
        text=item.content,
        url=_url(citation),
        metadata=DocumentMetadata(
            citation=citation.reference,
            notices=tuple(map(_notice_line, citation.status_notices[:MAX_NOTICES])),
            **citation.model_dump(include={"status", "status_checked", "source", "date", "pmid", "doi", "nct"}),
        ),
    )


def _title(citation: Citation) -> str:
    """The title, marked if the document is retracted or the like, or a preprint."""
    is_preprint = citation.source == "preprint" or PREPRINT in citation.publication_types
    mark = status_label(citation.status) or (PREPRINT.upper() if is_preprint else "")
    return f"{mark}: {citation.title}" if mark else citation.title


def _notice_line(notice: StatusNotice) -> str:
    number = f"PMID {notice.pmid}" if notice.pmid else f"doi:{notice.doi}" if notice.doi else ""
    return f"{NOTICE_LABELS[notice.kind]}: {', '.join(filter(None, (notice.reference, number)))}"


def _url(citation: Citation) -> str:
    if is_web_address(citation.url):
        return citation.url
    return f"https://doi.org/{citation.doi}" if citation.doi else ""


def _as_json(result: Value) -> str:
    return json.dumps(structured(result), ensure_ascii=False, separators=(",", ":"))


SEARCH = ToolSpec(
    search, "Search literature and web", "🔬", SearchHits, hints(read_only=True, open_world=True), render=_as_json
)
FETCH = ToolSpec(fetch, "Fetch a result", "📄", FetchedDocument, hints(read_only=True), render=_as_json)
