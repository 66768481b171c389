"""The tools that search a source and keep what it finds in the session; `expand_queries`, which suggests queries and
may ask the client's own model for them; and `search` and `fetch` in the form that two-tool hosts require, over the same
services. Such hosts pass no session argument, so each id carries its session: `<session_id>/<evidence id>`.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Iterable
from functools import wraps
from typing import Annotated, Any

import anyio
from mcp.server.mcpserver import Resolve, Sample
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import CreateMessageRequest, CreateMessageResult, SamplingMessage, TextContent
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import Field

from deepcritical_mcp.deadline import CLIENT_MODEL, seconds_for
from deepcritical_mcp.errors import EvidenceStoreError, InvalidInputError, SessionBusyError, SessionNotFoundError
from deepcritical_mcp.identifiers import normalize_pmid
from deepcritical_mcp.models import (
    NOTICE_LABELS,
    PREPRINT,
    Citation,
    Expansion,
    SearchResult,
    StatusNotice,
    Value,
    matches_mark,
    status_label,
)
from deepcritical_mcp.models.documents import DocumentMetadata, FetchedDocument, SearchHit, SearchHits
from deepcritical_mcp.search.documents import MARKED, MAX_PAPERS, DocumentId, LinkKind, Round
from deepcritical_mcp.search.expansion.pubmed_syntax import uses_pubmed_syntax
from deepcritical_mcp.sources.base import SearchRequest
from deepcritical_mcp.sources.europepmc.preprint_request import PreprintRequest
from deepcritical_mcp.sources.pubmed.request import AgeGroup, PubMedRequest, Sort, StudyFilter
from deepcritical_mcp.sources.trials.request import StudyType, TrialPhase, TrialRequest, TrialStatus
from deepcritical_mcp.sources.web.request import Recency, SearchDepth, WebRequest, WebTopic
from deepcritical_mcp.text import clean_line, clipped
from deepcritical_mcp.tools.answers.structured import TRIAL_PAPERS, structured
from deepcritical_mcp.tools.arguments.call_session import (
    CallSession,
    ToolContext,
    application,
    opens_new,
    progress_of,
    read_session,
    search_of,
    session_for,
)
from deepcritical_mcp.tools.arguments.params import (
    DescribedSession,
    GivenId,
    MoreVariants,
    Offset,
    OneLine,
    OtherSession,
    Query,
    Variants,
    Word,
    id_parts,
    read_document_id,
)
from deepcritical_mcp.tools.arguments.values import syntax_notes
from deepcritical_mcp.tools.spec import ToolSpec, asking_tool
from deepcritical_mcp.urls import is_web_address

Signature = Callable[..., Awaitable[None]]
"""An empty function that declares a tool: its name, its parameters, and its description, the docstring."""
NextSteps = Callable[[SearchResult, Any, str], Iterable[str]]
FIND_AGAIN = "semantic_search finds these again by meaning."


def search_spec(
    signature: Signature, request: type[SearchRequest], next_steps: NextSteps, title: str, icon: str, source: str
) -> ToolSpec:
    """The tool that `signature` declares, which searches a source and keeps what it finds in the session.

    `signature` is never called: `run` is. Its parameters, besides the session, are fields of `request`. `next_steps`
    says what the model can do next; its third argument is how to read on, "" after the last page. Only the tool over
    PubMed is basic.
    """

    @wraps(signature)
    async def run(ctx: ToolContext, session_id: str, **asked: object) -> SearchResult:
        wanted = request.model_validate(asked)
        session = await session_for(ctx, session_id, about=wanted.query)
        search = await search_of(ctx, source)
        result = await search.search(wanted, session.store, progress=progress_of(ctx))
        more = f"Continue with offset={result.next_offset}." if result.next_offset >= 0 else ""
        steps = next_steps(result, wanted, more)
        if not result.evidence and wanted.offset >= result.total_found > 0:
            steps = ("There are no results at this offset: use a smaller one.",)
        return result.but(next_step=session.next_step(*steps))

    run.__annotations__ = {**run.__annotations__, "return": SearchResult}
    return asking_tool(run, title, icon, on_board=True, is_basic=source == "pubmed", source=source)


DateLimit = Annotated[Word, Field(description="YYYY[-MM[-DD]]")]


# Only declares the tool: `search_spec` makes what is called.
async def pubmed_search(
    ctx: ToolContext,
    query: Query,
    variants: Variants = [],  # noqa: B006  # pydantic copies it
    max_results: Annotated[int, Field(ge=1, le=PubMedRequest.MAX_RESULTS)] = 10,
    offset: Offset = 0,
    sort: Sort = "relevance",
    min_date: DateLimit = "",
    max_date: Word = "",
    publication_types: Annotated[list[Word], Field(max_length=20, description='e.g. "Meta-Analysis"')] = [],  # noqa: B006
    has_abstract: bool = False,
    study_filter: StudyFilter = "none",
    age_group: AgeGroup = "any",
    humans_only: bool = False,
    author: Annotated[Word, Field(description='"Smith J"')] = "",
    journal: Word = "",
    language: Word = "",
    include_retracted: bool = True,
    only_new: Annotated[bool, Field(description="omit known results")] = False,
    session_id: DescribedSession = "",
) -> None:
    """Search PubMed (MEDLINE), the biomedical literature, for published research: journal articles, papers, studies,
    randomized clinical trials (RCTs), case reports, systematic reviews, a meta-analysis, on a topic, drug, disease or
    treatment, or by an author. Plain words or boolean PubMed syntax ([MeSH Terms]). Returns abstracts, retractions
    marked."""


def _after_pubmed(result: SearchResult, _: PubMedRequest, more: str) -> tuple[str, ...]:
    if result.evidence or result.duplicates_removed:
        return more or "For other queries call expand_queries.", FIND_AGAIN
    if not result.total_found:
        return ("Nothing found: try fewer terms, wider dates, or expand_queries for other queries.",)
    return "All results were omitted (see the warnings): search with include_retracted=true to see them.", more


PUBMED_SEARCH = search_spec(pubmed_search, PubMedRequest, _after_pubmed, "Search PubMed", "🔬", "pubmed")


# Only declares the tool: `search_spec` makes what is called.
async def preprint_search(
    ctx: ToolContext,
    query: Query,
    variants: MoreVariants = [],  # noqa: B006  # pydantic copies it
    max_results: Annotated[int, Field(ge=1, le=PreprintRequest.MAX_RESULTS)] = 10,
    offset: Offset = 0,
    min_date: Word = "",
    max_date: Word = "",
    servers: Annotated[list[Word], Field(max_length=20)] = [],  # noqa: B006
    unpublished_only: bool = False,
    only_new: bool = False,
    session_id: OtherSession = "",
) -> None:
    """Search preprints (bioRxiv, medRxiv, Research Square …): manuscripts not yet peer reviewed or published; names the
    article that each became."""


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


# Only declares the tool: `search_spec` makes what is called.
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
    offset: Offset = 0,
    only_new: bool = False,
    session_id: OtherSession = "",
) -> None:
    """Find registered clinical trials (ClinicalTrials.gov registry, NCT numbers): ongoing, recruiting, enrolling or
    finished studies, by phase, their results."""


def _after_trials(result: SearchResult, _: TrialRequest, more: str) -> tuple[str, ...]:
    if result.evidence:
        kinds = {notice.kind for item in result.evidence for notice in item.citation.status_notices}
        papers = "" if kinds.isdisjoint(TRIAL_PAPERS) else 'Fetch papers with add_evidence(items=[{"pmid": …}]).'
        whole = f'A whole trial with results: get_full_text(id="{result.evidence[0].citation.nct}").'
        return more, whole, papers, FIND_AGAIN
    return (more if result.total_found else "Nothing found: try other words, or fewer filters.",)


TRIAL_SEARCH = search_spec(trial_search, TrialRequest, _after_trials, "Search clinical trials", "🧪", "trials")


DomainList = Annotated[list[Word], Field(max_length=50)]


# Only declares the tool: `search_spec` makes what is called.
async def web_search(
    ctx: ToolContext,
    query: Query,
    variants: MoreVariants = [],  # noqa: B006  # pydantic copies it
    max_results: Annotated[int, Field(ge=1, le=WebRequest.MAX_RESULTS)] = 10,
    min_score: Annotated[float, Field(ge=0, le=1)] = WebRequest.MIN_SCORE,
    search_depth: SearchDepth = "advanced",
    topic: WebTopic = "general",
    recency: Recency = "any",
    include_domains: Annotated[DomainList, Field(description='"nih.gov"')] = [],  # noqa: B006
    exclude_domains: DomainList = [],  # noqa: B006
    only_new: bool = False,
    session_id: OtherSession = "",
) -> None:
    """Search the web, the internet, online as Google does: news, websites, a guideline, what guidelines and health
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
    pmid: Annotated[str, Field(max_length=200)] = "",
    ids: Annotated[list[GivenId], Field(max_length=MAX_PAPERS, description='"marked:included"')] = [],  # noqa: B006
    kind: LinkKind = "similar",
    max_results: Annotated[int, Field(ge=1, le=PubMedRequest.MAX_RESULTS)] = 10,
    offset: Offset = 0,
    only_new: bool = False,
    session_id: OtherSession = "",
) -> SearchResult:
    """Find papers similar or related to articles; that cite this (cited by); its references; both (citation chasing,
    snowballing)."""
    session = await session_for(ctx, session_id)
    search = await search_of(ctx, "pubmed")
    parts = [one for some in (pmid, *ids) for one in ([some] if some.startswith(MARKED) else id_parts(some))]
    is_round = bool(ids) or kind == "citations" or len(parts) != 1 or parts[0].startswith(MARKED)
    named = (one.removeprefix("pmc:") for one in parts)
    papers = [DocumentId(one) if one.startswith(MARKED) else read_document_id(one)[0] for one in named]
    asked = Round(papers, kind, max_results, offset, only_new, is_round)
    result = await search.follow(asked, session.store, progress=progress_of(ctx))
    return result.but(next_step=session.next_step(*_after_round(result, asked)))


def _after_round(result: SearchResult, asked: Round) -> Iterable[str]:
    if result.errors:
        yield "Call again in a minute: only what was not answered is asked again."
    if result.evidence and result.next_offset >= 0:
        is_by_mark = any(one.name.startswith(MARKED) for one in asked.papers)
        yield f"Continue with offset={result.next_offset}."
        if is_by_mark:
            yield "Mark after the last page: what is marked is what is followed."
    if not result.evidence and not result.errors:
        nothing = "Nothing is listed: try another kind, or pubmed_search with the paper's title."
        ended = "There is nothing more here that is new." if asked.only_new else "There are no results at this offset."
        yield ended if result.total_found else nothing
    if result.evidence and not asked.is_round:
        yield FIND_AGAIN
    if asked.kind == "citations":
        more = 'follow ids=["marked:included"] with only_new=true until a round leads to nothing that is included'
        yield f'Mark what you include (add_evidence), then {more}: export_evidence format="search-log" says which did.'


PUBMED_RELATED = asking_tool(pubmed_related, "Papers linked to a paper", "🔗", source="pubmed")


RESULTS_PER_SOURCE, MAX_NOTICES = 10, 10


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
    cited, notices = item.citation, tuple(map(_notice_line, item.citation.status_notices[:MAX_NOTICES]))
    known = cited.model_dump(include={"status", "status_checked", "source", "date", "pmid", "doi", "nct"})
    about = DocumentMetadata(citation=cited.reference, notices=notices, **known)
    return FetchedDocument(id=id, title=_title(cited), text=item.content, url=_url(cited), metadata=about)


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


SEARCH = ToolSpec(search, "Search literature and web", "🔬", read_only=True, open_world=True, render=_as_json)
FETCH = ToolSpec(fetch, "Fetch a result", "📄", read_only=True, render=_as_json)


logger = logging.getLogger(__name__)


async def ask_client_model(ctx: ToolContext, topic: str, description: str, count: int) -> Sample | str:
    """The answer of the client's model; "" if sampling is off or unsupported, or if it does not answer.

    With protocol 2026-07-28 the SDK puts the question into the call's own result. With the handshake versions it is a
    request to the client during the call; if the client refuses it, the call must not fail.
    """
    settings, capabilities = application(ctx).settings, ctx.client_capabilities
    if settings.sampling == "off" or capabilities is None or capabilities.sampling is None:
        return ""
    services = await application(ctx).services()
    asked = services.expander.sampling_request(topic, description=description, count=count)
    message = SamplingMessage(role="user", content=TextContent(type="text", text=asked.text))
    question = Sample([message], max_tokens=asked.max_tokens, system_prompt=asked.system_prompt)
    if ctx.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
        return question
    with anyio.move_on_after(seconds_for(CLIENT_MODEL, cap=settings.deadline)):
        try:
            request = CreateMessageRequest(params=question.params)
            of_call = ServerMessageMetadata(related_request_id=ctx.request_id)
            return _text_of(await ctx.session.send_request(request, CreateMessageResult, metadata=of_call))
        except MCPError as error:
            logger.info("the client's model did not answer: %s", error)
    return ""


def _text_of(reply: CreateMessageResult | str) -> str:
    if isinstance(reply, str):
        return reply
    return reply.content.text if isinstance(reply.content, TextContent) else ""


async def expand_queries(
    ctx: ToolContext,
    topic: Annotated[
        Query, Field(description="what papers must name, and other words for it: gout AND (adherence OR compliance)")
    ],
    reply: Annotated[CreateMessageResult | str, Resolve(ask_client_model)],
    description: Annotated[str, Field(max_length=4_000, description="more context")] = "",
    count: Annotated[int, Field(ge=1, le=8)] = 3,
    seeds: Annotated[
        tuple[Annotated[str, Field(max_length=100)], ...],
        Field(max_length=100, description='PMIDs, or "marked:included"'),
    ] = (),
    session_id: OtherSession = "",
) -> Expansion:
    """Suggest PubMed queries (direct, broader, narrower), synonyms, MeSH headings, hits, what `seeds` share. To write a
    search strategy."""
    session, unused = None, ()
    try:
        session = await session_for(ctx, session_id, about=topic)
    except (EvidenceStoreError, SessionBusyError) as error:
        if session_id and not opens_new(session_id):
            raise
        unused = (f"The session's evidence was not used: {error.message}",)
    services = await application(ctx).services()
    expansion = await services.expander.expand(
        topic,
        description=description,
        count=count,
        seeds=await _pmids_of(seeds, session),
        store=session.store if session else None,
        sampled=_text_of(reply),
        progress=progress_of(ctx),
    )
    step = (
        "Call pubmed_search with the pubmed_query of the direct query, and of the broader ones as "
        "variants; a specific one only narrows, so use it alone or not at all. For web_search and "
        "semantic_search, use query instead of pubmed_query."
    )
    if not uses_pubmed_syntax(topic):
        step = (
            "The topic is in plain words, so these queries are a guess. For better ones, call expand_queries "
            f"again with what papers must name, joined: A AND (B OR another word for B). To use these: {step}"
        )
    if any("translate it" in one for one in expansion.warnings):
        step = "Translate the topic into English and call expand_queries again."
    steps = session.next_step(step) if session else step
    notes = syntax_notes(topic) if uses_pubmed_syntax(topic) else ()
    return expansion.but(next_step=steps, warnings=(*unused, *notes, *expansion.warnings))


async def _pmids_of(seeds: Iterable[str], session: CallSession | None) -> list[str]:
    """The PMIDs of the seeds: as given, or of the session's evidence with a mark ("marked:included").

    Raises:
        InvalidInputError: a seed is neither, or nothing with a PMID has the mark.
    """
    found: list[str] = []
    for seed in map(clean_line, seeds):
        _, is_mark, mark = seed.partition("marked:")
        if not is_mark and not normalize_pmid(seed):
            raise InvalidInputError(f'"{clipped(seed, 40)}" is not a PMID. Seeds are PMIDs, or "marked:included".')
        if not is_mark:
            found.append(normalize_pmid(seed))
            continue
        kept = (await session.store.publications(await session.store.ids())).values() if session else ()
        chosen = [one.pmid for one in kept if one.pmid and matches_mark(one, mark)]
        if not chosen:
            told = f'Nothing with a PMID is marked "{mark}" in this session: add_evidence marks by id.'
            raise InvalidInputError(told)
        found += chosen
    return found


EXPAND = ToolSpec(expand_queries, "Expand queries", "💡", read_only=True, open_world=True)
