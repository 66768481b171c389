"""The tool `expand_queries`, which may ask the client's own model for queries."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Annotated

import anyio
from mcp.server.mcpserver import Resolve, Sample
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import CreateMessageRequest, CreateMessageResult, SamplingMessage, TextContent
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import Field

from deepcritical_mcp.deadline import CLIENT_MODEL, seconds_for
from deepcritical_mcp.errors import EvidenceStoreError, InvalidInputError, SessionBusyError
from deepcritical_mcp.identifiers import normalize_pmid
from deepcritical_mcp.models import Expansion, matches_mark
from deepcritical_mcp.search.expansion.pubmed_syntax import uses_pubmed_syntax
from deepcritical_mcp.text import clean_line, clipped
from deepcritical_mcp.tools.arguments.call_session import (
    CallSession,
    ToolContext,
    application,
    opens_new,
    progress_of,
    session_for,
)
from deepcritical_mcp.tools.arguments.params import OtherSession, Query
from deepcritical_mcp.tools.arguments.values import syntax_notes
from deepcritical_mcp.tools.spec import ToolSpec, hints

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
    request = services.expander.sampling_request(topic, description=description, count=count)
    message = SamplingMessage(role="user", content=TextContent(type="text", text=request.text))
    question = Sample([message], max_tokens=request.max_tokens, system_prompt=request.system_prompt)
    if ctx.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
        return question
    with anyio.move_on_after(seconds_for(CLIENT_MODEL, cap=settings.deadline)):
        try:
            answer = await ctx.session.send_request(
                CreateMessageRequest(params=question.params),
                CreateMessageResult,
                metadata=ServerMessageMetadata(related_request_id=ctx.request_id),
            )
            return _text_of(answer)
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
        "Call pubmed_search with the pubmed_query of the direct query, and of the broader ones as variants; a specific "
        "one only narrows, so use it alone or not at all. For web_search and semantic_search, use query instead of "
        "pubmed_query."
    )
    if not uses_pubmed_syntax(topic):
        step = (
            "These queries only guess what the words of the topic mean. Better call again with what papers must name, "
            f"each with other words for it: A AND (B OR another word for B). Then: {step}"
        )
    if any("translate it" in one for one in expansion.warnings):
        step = "Translate the topic into English and call expand_queries again."
    steps = session.next_step(step) if session else step
    notes = syntax_notes(topic) if uses_pubmed_syntax(topic) else ()
    return expansion.model_copy(update={"next_step": steps, "warnings": (*unused, *notes, *expansion.warnings)})


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
            raise InvalidInputError(
                f'Nothing with a PMID is marked "{mark}" in this session: add_evidence marks by id.'
            )
        found += chosen
    return found


TOOL = ToolSpec(expand_queries, "Expand queries", "💡", Expansion, hints(read_only=True, open_world=True))
