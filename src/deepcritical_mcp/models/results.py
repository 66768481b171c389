"""What the tools return."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from deepcritical_mcp.models.evidence import Evidence
from deepcritical_mcp.models.publication import PublicationStatus, Source, Value


class QueryReport(Value):
    """What one wording of the query brought."""

    query: str
    status: Literal["ok", "failed"]
    results: int = 0
    detail: str = ""


class ProviderReport(Value):
    """What one provider did for a search: `skipped` = no key; `failed` = asked in vain, or its circuit is open."""

    name: str
    status: Literal["ok", "failed", "skipped"]
    detail: str = ""
    results: int = 0


class RelatedEvidence(Value):
    """Evidence already in the session, close in meaning to a query that did not return it."""

    id: str
    title: str
    url: str
    snippet: str
    relevance: Annotated[float, Field(ge=0, le=1)]


class SearchResult(Value):
    """What a search found. `next_offset` is -1 at the end; `next_step` tells the model what to do next."""

    session_id: str
    query: str
    evidence: tuple[Evidence, ...] = ()
    sources_searched: tuple[Source, ...] = ()
    total_found: int = 0
    queries: tuple[QueryReport, ...] = ()
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    duplicates_removed: int = 0
    related: tuple[RelatedEvidence, ...] = ()
    providers: tuple[ProviderReport, ...] = ()
    query_translation: str = ""
    next_offset: int = -1
    from_cache: bool = False
    next_step: str = ""


class ExpandedQuery(Value):
    """One proposed wording of a topic."""

    query: str
    strategy: Literal["direct", "broader", "specific"]
    reformulation: Literal["syntactic", "semantic"]
    rationale: str
    pubmed_query: str
    source: Literal["mesh", "rules", "evidence", "sampling"]


class Concept(Value):
    """A concept of a topic, or ("evidence") of what the session holds close to it, with its MeSH descriptor if known.

    `synonym_sources` says of each synonym, in the same order, where it comes from.
    """

    term: str
    mesh_id: str = ""
    mesh_term: str = ""
    synonyms: tuple[str, ...] = ()
    synonym_sources: tuple[Literal["mesh", "topic", "evidence", "rules"], ...] = ()
    found_in: Literal["topic", "evidence"] = "topic"


class Expansion(Value):
    """Queries proposed for a topic, the direct one first."""

    session_id: str
    queries: tuple[ExpandedQuery, ...]
    concepts: tuple[Concept, ...] = ()
    corrected_query: str = ""
    warnings: tuple[str, ...] = ()
    next_step: str = ""


class AddedItem(Value):
    """Item `index` of the call is now kept under `id`."""

    index: int
    id: str


class DuplicateItem(Value):
    """Item `index` is what the session already holds as `duplicate_of`."""

    index: int
    duplicate_of: str
    similarity: float
    reason: str


class SimilarItem(Value):
    """Item `index` says nearly the same as `id`; both are kept."""

    index: int
    id: str
    similarity: float


class RejectedItem(Value):
    """Item `index` could not be taken, and why."""

    index: int
    reason: str


class AddResult(Value):
    """What became of each item of an `add_evidence` call; `total` counts the session's evidence afterwards."""

    session_id: str
    added: tuple[AddedItem, ...] = ()
    duplicates: tuple[DuplicateItem, ...] = ()
    similar: tuple[SimilarItem, ...] = ()
    rejected: tuple[RejectedItem, ...] = ()
    total: int = 0
    next_step: str = ""


class EvidenceList(Value):
    """Whole pieces of evidence, by id; `missing` ids are not in the session. Contents begin at character `offset`."""

    session_id: str
    evidence: tuple[Evidence, ...] = ()
    missing: tuple[str, ...] = ()
    offset: int = 0
    next_step: str = ""


class EvidenceSummary(Value):
    """One line about a piece of evidence."""

    id: str
    title: str
    source: Source
    date: str
    status: PublicationStatus


class SourceCount(Value):
    """How much of a session comes from one source."""

    source: Source
    count: int


class EvidencePage(Value):
    """A page of a session's evidence in order of arrival, and the session's numbers. `next_offset` is -1 at the end."""

    session_id: str
    total: int
    sources: tuple[SourceCount, ...] = ()
    items: tuple[EvidenceSummary, ...] = ()
    next_offset: int = -1
    warnings: tuple[str, ...] = ()
    next_step: str = ""


class ExportResult(Value):
    """Evidence as a file's text. `next_offset` is -1 when `text` holds all that was asked for."""

    session_id: str
    format: str
    text: str
    count: int
    missing: tuple[str, ...] = ()
    next_offset: int = -1
    next_step: str = ""


class ClearResult(Value):
    """A session that is gone, and how much evidence went with it."""

    session_id: str
    removed: int
    next_step: str = ""
