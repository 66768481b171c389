"""The tools `search` and `fetch` in the form that two-tool hosts require, over the same services.

Such hosts pass no session argument, so each id carries its session: `<session_id>/<evidence id>`.
"""

from __future__ import annotations

from typing import Annotated

import pydantic_core
from pydantic import Field

from deepcritical_mcp.errors import InvalidInputError, SessionNotFoundError
from deepcritical_mcp.models import Evidence, Value, status_label
from deepcritical_mcp.text import clean_line
from deepcritical_mcp.tools.call_session import ToolContext, application, session_for
from deepcritical_mcp.tools.params import Query
from deepcritical_mcp.tools.progress_reports import progress_of
from deepcritical_mcp.tools.spec import ToolSpec, reading, searching

RESULTS_PER_SOURCE = 10


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
    """Where a document comes from."""

    citation: str
    status: str
    source: str
    date: str
    pmid: str
    doi: str


class Document(Value):
    """One result with its full content."""

    id: str
    title: str
    text: str
    url: str
    metadata: DocumentMetadata


async def search(ctx: ToolContext, query: Query) -> SearchHits:
    """Search PubMed and the web for evidence on a biomedical question. Returns ids for `fetch`."""
    store = (await session_for(ctx, "")).store
    services = await application(ctx).services()
    found = await services.everywhere.search(query, RESULTS_PER_SOURCE, store, progress=progress_of(ctx))
    return SearchHits(results=tuple(_hit(store.session_id, item) for item in found.evidence), errors=found.errors)


async def fetch(ctx: ToolContext, id: Annotated[str, Field(min_length=1, max_length=2_000)]) -> Document:
    """The full text of a search result, by its id."""
    session_id, _, evidence_id = clean_line(id).partition("/")
    if not evidence_id:
        raise InvalidInputError("id: pass it unchanged from a result of search.")
    try:
        store = (await session_for(ctx, session_id, may_open=False)).store
    except SessionNotFoundError as error:
        raise InvalidInputError("id: the search it comes from has expired; search again.") from error
    piece = (await store.get([evidence_id])).get(evidence_id)
    if piece is None:
        raise InvalidInputError("id: its session has no such result; search again.")
    citation = piece.citation
    return Document(
        id=id,
        title=_title(piece),
        text=piece.content,
        url=_url(piece),
        metadata=DocumentMetadata(
            citation=citation.reference,
            status=citation.status,
            source=citation.source,
            date=citation.date,
            pmid=citation.pmid,
            doi=citation.doi,
        ),
    )


def _hit(session_id: str, piece: Evidence) -> SearchHit:
    return SearchHit(id=f"{session_id}/{piece.id}", title=_title(piece), url=_url(piece))


def _title(piece: Evidence) -> str:
    mark = status_label(piece.citation.status)
    return f"{mark}: {piece.citation.title}" if mark else piece.citation.title


def _url(piece: Evidence) -> str:
    citation = piece.citation
    return citation.url or (f"https://doi.org/{citation.doi}" if citation.doi else "")


def _as_json(result: Value) -> str:
    return pydantic_core.to_json(result).decode()


SEARCH = ToolSpec(search, "Search literature and web", SearchHits, searching(), render=_as_json)
FETCH = ToolSpec(fetch, "Fetch a result", Document, reading(), render=_as_json)
