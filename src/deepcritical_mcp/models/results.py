"""What the tools return."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from deepcritical_mcp.models.citation import Evidence, Relevance
from deepcritical_mcp.models.publication import PublicationStatus, Source, StatusNotice, Value


class QueryReport(Value):
    """What one query found.

    Attributes:
        index: its number, to which `Evidence.found_by` refers.
        results: how many the source has.
        shown: how many of them are in this result.
    """

    index: int = 1
    query: str
    status: Literal["ok", "failed"]
    results: int = 0
    shown: int = 0
    detail: str = ""


def with_numbers_shown(queries: Sequence[QueryReport], evidence: Sequence[Evidence]) -> tuple[QueryReport, ...]:
    """`queries`, each with the number of `evidence` that it found."""
    shown = Counter(number for piece in evidence for number in piece.found_by)
    return tuple(query.model_copy(update={"shown": shown[query.index]}) for query in queries)


class ProviderReport(Value):
    """What one provider did for a search: `skipped` = no key; `failed` = it gave no answer, or its circuit is open."""

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
    relevance: Relevance


class SearchResult(Value):
    """What a search found.

    Attributes:
        total_found: what the source has, or the session for a search in it.
        queries: the query and its variants; for a search in the session, the earlier queries that found the evidence.
        duplicates_removed: results not shown because they are the same as others, or known already.
        already_known: how many of those the session held, with `only_new`.
        left_out: results that the request's filters left out; `warnings` say why.
        ordered_by: what the order follows; "" if it is `relevance`.
        next_offset: where the next page starts, -1 at the end.
        next_step: what the model can do next.
        offsets: for each piece of evidence, where a page would start that follows it; () if there are no pages. Not
            sent.
    """

    session_id: str
    query: str
    evidence: tuple[Evidence, ...] = ()
    sources_searched: tuple[Source, ...] = ()
    total_found: int = 0
    queries: tuple[QueryReport, ...] = ()
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    duplicates_removed: int = 0
    already_known: int = 0
    left_out: int = 0
    ordered_by: str = ""
    related: tuple[RelatedEvidence, ...] = ()
    providers: tuple[ProviderReport, ...] = ()
    query_translation: str = ""
    next_offset: int = -1
    from_cache: bool = False
    next_step: str = ""
    offsets: Annotated[tuple[int, ...], Field(exclude=True)] = ()


class ExpandedQuery(Value):
    """One proposed query for a topic."""

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
    """Pieces of evidence by id; `missing` ids are not in the session. Contents start at character `offset`.

    `queries` are those of the session that found them. `starts`, which is not sent, says at which character each
    content starts.
    """

    session_id: str
    evidence: tuple[Evidence, ...] = ()
    queries: tuple[QueryReport, ...] = ()
    missing: tuple[str, ...] = ()
    offset: int = 0
    next_step: str = ""
    starts: Annotated[tuple[int, ...], Field(exclude=True)] = ()


class EvidenceSummary(Value):
    """One line about a piece of evidence; `status_notices` say where its status was announced."""

    id: str
    title: str
    source: Source
    date: str
    status: PublicationStatus
    status_notices: tuple[StatusNotice, ...] = ()


class StatusCount(Value):
    """How many pieces of a session have one status."""

    status: PublicationStatus
    count: int


class SourceCount(Value):
    """How much of a session comes from one source."""

    source: Source
    count: int


class EvidencePage(Value):
    """A page of a session's evidence in order of arrival, and the session's numbers. `next_offset` is -1 at the end.

    `matching` counts the pieces that the filter lets through, `total` all.
    """

    session_id: str
    total: int
    matching: int = 0
    statuses: tuple[StatusCount, ...] = ()
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
