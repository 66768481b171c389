"""The tools `search` and `fetch` in the form that two-tool hosts require, over the same services.

Such hosts pass no session argument, so each id carries its session: `<session_id>/<evidence id>`.
"""

from __future__ import annotations

import json
from typing import Annotated

from pydantic import Field

from deepcritical_mcp.errors import InvalidInputError, SessionNotFoundError
from deepcritical_mcp.models import NOTICE_LABELS, PREPRINT, Citation, StatusNotice, Value, status_label
from deepcritical_mcp.text import clean_line
from deepcritical_mcp.tools.answers.structured import structured
from deepcritical_mcp.tools.arguments.call_session import (
    ToolContext,
    application,
    progress_of,
    read_session,
    session_for,
)
from deepcritical_mcp.tools.arguments.params import Query
from deepcritical_mcp.tools.spec import ToolSpec, hints
from deepcritical_mcp.urls import is_web_address

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
