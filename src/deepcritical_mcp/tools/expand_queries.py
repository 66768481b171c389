"""The tool `expand_queries`."""

from __future__ import annotations

from typing import Annotated

from mcp.server.mcpserver import Resolve
from mcp_types import CreateMessageResult
from pydantic import Field

from deepcritical_mcp.models import Expansion
from deepcritical_mcp.tools.call_session import ToolContext, application, session_for
from deepcritical_mcp.tools.params import Query, SessionId
from deepcritical_mcp.tools.progress_reports import progress_of
from deepcritical_mcp.tools.sampling import ask_client_model, text_of
from deepcritical_mcp.tools.spec import ToolSpec, reading


async def expand_queries(
    ctx: ToolContext,
    topic: Query,
    reply: Annotated[CreateMessageResult | str, Resolve(ask_client_model)],
    description: Annotated[str, Field(max_length=4_000, description="context that the topic leaves out")] = "",
    count: Annotated[int, Field(ge=1, le=8)] = 3,
    session_id: SessionId = "",
) -> Expansion:
    """Propose `count` queries for a research topic (direct, broader, specific), with MeSH concepts and synonyms; fewer
    where nothing else fits. Use them as queries or, with your own, as `variants` of a search."""
    session = await session_for(ctx, session_id)
    services = await application(ctx).services()
    expansion = await services.expander.expand(
        topic,
        description=description,
        count=count,
        store=session.store,
        sampled=text_of(reply),
        progress=progress_of(ctx),
    )
    step = (
        "pubmed_search: the first pubmed_query as query, the others and some of your own as variants. "
        "web_search and semantic_search: the same with each query."
    )
    return expansion.model_copy(update={"next_step": f"{session.hint} {step}".strip()})


TOOL = ToolSpec(expand_queries, "Expand queries", Expansion, reading(open_world=True))
