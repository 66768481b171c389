"""The tools `search` and `fetch`, in the form that two-tool hosts require, over the same services.

Such hosts know no session argument, so each id carries its session: `<session_id>/<evidence id>`.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Annotated

import anyio
import pydantic_core
from pydantic import Field

from deepcritical_mcp.errors import (
    AllProvidersFailedError,
    DeepCriticalError,
    InvalidInputError,
    SessionNotFoundError,
)
from deepcritical_mcp.models import Evidence, SearchResult, Value
from deepcritical_mcp.text import clean_line
from deepcritical_mcp.tools.call_session import ToolContext, application, session_for
from deepcritical_mcp.tools.params import Query
from deepcritical_mcp.tools.progress_reports import progress_of
from deepcritical_mcp.tools.render import MARKS
from deepcritical_mcp.tools.spec import ToolSpec, reading, searching

RESULTS_PER_SOURCE = 10


class SearchHit(Value):
    """One result: enough to decide whether to fetch it."""

    id: str
    title: str
    url: str


class SearchHits(Value):
    """What literature and web found. `errors` names a source that could not answer."""

    results: tuple[SearchHit, ...]
    errors: tuple[str, ...] = ()


class DocumentMetadata(Value):
    """Where a document comes from."""

    citation: str
    status: str
    source: str
    date: str
    pmid: str
    doi: str


class Document(Value):
    """One result, whole."""

    id: str
    title: str
    text: str
    url: str
    metadata: DocumentMetadata


async def search(ctx: ToolContext, query: Query) -> SearchHits:
    """Search PubMed and the web for evidence on a biomedical question. Returns ids for `fetch`."""
    from deepcritical_mcp.search.fusion import fuse
    from deepcritical_mcp.search.literature_request import LiteratureRequest
    from deepcritical_mcp.search.web import WebRequest

    store = (await session_for(ctx, "")).store
    services = await application(ctx).services()
    progress = progress_of(ctx)
    literature = LiteratureRequest(query=query, max_results=RESULTS_PER_SOURCE)
    web = WebRequest(query=query, max_results=RESULTS_PER_SOURCE)
    found, errors = await _side_by_side(
        services.literature.search(literature, store, progress=progress),
        services.web.search(web, store, progress=progress),
    )
    pieces = {piece.id: piece for result in found for piece in result.evidence}
    order = fuse([[piece.id for piece in result.evidence] for result in found])
    return SearchHits(
        results=tuple(_hit(store.session_id, pieces[one]) for one in order),
        errors=tuple(error.message for error in errors),
    )


async def fetch(ctx: ToolContext, id: Annotated[str, Field(min_length=1, max_length=2_000)]) -> Document:
    """The whole text of a search result, by its id."""
    session_id, _, evidence_id = clean_line(id).partition("/")
    if not evidence_id:
        raise InvalidInputError("id: take it unchanged from a result of search.")
    try:
        store = (await session_for(ctx, session_id, may_open=False)).store
    except SessionNotFoundError as error:
        raise InvalidInputError("id: the search that it comes from has been forgotten; search again.") from error
    piece = (await store.get([evidence_id])).get(evidence_id)
    if piece is None:
        raise InvalidInputError("id: this is no result of a search in its session; search again.")
    citation = piece.citation
    return Document(
        id=id,
        title=_title(piece),
        text=piece.content,
        url=_url(piece),
        metadata=DocumentMetadata(
            citation=citation.formatted,
            status=citation.status,
            source=citation.source,
            date=citation.date,
            pmid=citation.pmid,
            doi=citation.doi,
        ),
    )


async def _side_by_side(*searches: Awaitable[SearchResult]) -> tuple[list[SearchResult], list[DeepCriticalError]]:
    found: dict[int, SearchResult] = {}
    failed: dict[int, DeepCriticalError] = {}

    async def run(index: int, one: Awaitable[SearchResult]) -> None:
        try:
            found[index] = await one
        except DeepCriticalError as error:
            failed[index] = error

    async with anyio.create_task_group() as tasks:
        for index, one in enumerate(searches):
            tasks.start_soon(run, index, one)
    causes = [failed[index] for index in sorted(failed)]
    if not found:
        raise AllProvidersFailedError("No source could answer: " + " ".join(cause.message for cause in causes), causes)
    return [found[index] for index in sorted(found)], causes


def _hit(session_id: str, piece: Evidence) -> SearchHit:
    return SearchHit(id=f"{session_id}/{piece.id}", title=_title(piece), url=_url(piece))


def _title(piece: Evidence) -> str:
    mark = MARKS.get(piece.citation.status, "")
    return f"{mark}: {piece.citation.title}" if mark else piece.citation.title


def _url(piece: Evidence) -> str:
    citation = piece.citation
    return citation.url or (f"https://doi.org/{citation.doi}" if citation.doi else "")


def _as_json(result: Value) -> str:
    return pydantic_core.to_json(result).decode()


SEARCH = ToolSpec(search, "Search literature and web", SearchHits, searching(), render=_as_json)
FETCH = ToolSpec(fetch, "Fetch a result", Document, reading(), render=_as_json)
