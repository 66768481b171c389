"""What the tools return: evidence with its citation, and the result of each tool."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from operator import not_
from typing import Annotated, ClassVar, Literal, Self, cast

from pydantic import AfterValidator, Field, PlainSerializer, WithJsonSchema

from deepcritical_mcp.models.evidence import Publication, Text, TextKind, decision_line
from deepcritical_mcp.models.publication import (
    NO_TITLE,
    Bibliography,
    CitationSource,
    Line,
    PublicationStatus,
    StatusDay,
    StatusNotice,
    Value,
    united,
)
from deepcritical_mcp.models.screening import NOT_RANKED, ScreeningState
from deepcritical_mcp.models.vancouver import vancouver
from deepcritical_mcp.text import clean_text, counted

SHOWN_AUTHORS = 12


class Citation(Bibliography):
    """Where an item of evidence comes from, as clients see it.

    `reference` is one line in Vancouver style (ICMJE, NLM), sent without the title, which stands beside it;
    of a user's note, what it is about. `source` is absent for "pubmed", `status` for "ok" and for the user's own texts,
    which have none. `authors` are at most 12: the first ten, "…" and the last one of more; they are not sent.
    """

    SENT: ClassVar = (
        "source title reference url publication_types registrations status status_checked status_notices".split()
    )
    source: CitationSource = "pubmed"
    status: PublicationStatus = "ok"
    authors: tuple[Line, ...] = ()
    authors_total: Annotated[int, Field(ge=0)] = 0
    reference: str = ""

    @classmethod
    def of(cls, publication: Publication) -> Self:
        """The citation of a publication."""
        names = tuple(map(str, publication.authors))
        return cls.model_construct(
            **{name: getattr(publication, name) for name in Bibliography.model_fields},
            authors=names if len(names) <= SHOWN_AUTHORS else (*names[: SHOWN_AUTHORS - 2], "…", names[-1]),
            authors_total=len(names),
            reference=f"Note on {publication.about}" if publication.about else vancouver(publication),
        )


SAME = Citation(title=NO_TITLE)
"""Stands for the citation of what is shown before with another text of the same publication; not sent."""
Relevance = Annotated[float, Field(ge=0, le=1), PlainSerializer(partial(round, ndigits=3), return_type=float)]
"""0..1, sent to clients with three decimals."""


class Evidence(Value):
    """An item of evidence as clients see it: one text of a publication, and where it comes from.

    `found_by` are numbers of `queries` in the same result, absent if there is one only. Of several texts of a
    publication the first has its `citation`, `similar`, `notes` and `decision`. `provider` is absent if it is PubMed
    or the user. `get_evidence` alone has `details`, what else a record says.
    A passage of a longer text has the titles that it stands under, `section`, and an `anchor` that leads to it.
    `cited_by` is how often the publication has been cited, absent if that was not asked for or is not known.
    Of a round of citation searching, `seeds` is to how many of the papers asked about the item is linked, of which it
    cites `cites_seeds` and `cited_by_seeds` cite it; absent if 0.
    `decision` is the user's about the publication, with the tags, see `decision_line`. `session_id` is that of another
    session than the result's.
    """

    id: str
    kind: TextKind = "abstract"
    content: Annotated[str, AfterValidator(clean_text), Field(min_length=1)]
    content_truncated: bool = False
    section: tuple[str, ...] = ()
    anchor: str = ""
    citation: Citation = SAME
    relevance: Relevance = 0.0
    provider: str = ""
    similar: tuple[str, ...] = ()
    found_by: tuple[int, ...] = ()
    cited_by: int = -1
    seeds: int = 0
    cites_seeds: int = 0
    cited_by_seeds: int = 0
    notes: tuple[str, ...] = ()
    decision: str = ""
    details: tuple[str, ...] = ()
    session_id: str = ""

    @classmethod
    def of(
        cls,
        publication: Publication,
        text: Text | None = None,
        *,
        relevance: float = 0.0,
        similar: Sequence[str] = (),
        notes: Sequence[str] = (),
    ) -> Self:
        """What `publication` says in `text`, by default in the text that stands for it.

        `notes` are what the user wrote about it elsewhere in the session, besides the notes that it owns.
        """
        shown = text or publication.text
        own = (one.content for one in publication.texts if one.kind == "note" and one is not shown)
        return cls.model_construct(
            id=publication.id_of(shown),
            kind=shown.kind,
            content=shown.content,
            citation=Citation.of(publication),
            relevance=relevance,
            provider=shown.provider,
            similar=tuple(similar),
            notes=cast("tuple[str, ...]", united(own, notes)),
            decision=decision_line(publication),
        )


class QueryReport(Value):
    """What one query found; `Evidence.found_by` refers to its `index`.

    `results` counts what the source has or, for records from the session, those of its records that this query found;
    `shown` counts those in this result.
    """

    index: int = 1
    query: str
    status: Literal["ok", "failed"]
    results: int = 0
    shown: int = 0
    detail: str = ""


def with_numbers_shown(queries: Sequence[QueryReport], evidence: Sequence[Evidence]) -> tuple[QueryReport, ...]:
    """`queries`, each with the number of `evidence` that it found."""
    shown = Counter(number for item in evidence for number in item.found_by)
    return tuple(query.but(shown=shown[query.index]) for query in queries)


class ProviderReport(Value):
    """What one provider did for a search: `skipped` = no key; `failed` = no answer, or its circuit is open."""

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
        session_id: "" for a search in all sessions.
        total_found: what the source has, or the session for a search in it.
        queries: the query and its variants; for a search in the session, the earlier queries that found the evidence.
        duplicates_removed: results not shown because they are the same as others, or known already.
        already_known: how many of those the session held, with `only_new`.
        left_out: results that the request's filters, or `max_results` of a source without pages, left out; `warnings`
            say why.
        ordered_by: what the order follows; "" if it is `relevance`.
        next_offset: where the next page starts, -1 at the end.
        offsets: for each item of evidence, where the page after it would start; () if there are no pages. Not sent.
    """

    session_id: str
    query: str
    evidence: tuple[Evidence, ...] = ()
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
    """One proposed query for a topic; `hits` is how many papers PubMed finds by `pubmed_query`,
    absent if they were not counted."""

    query: str
    strategy: Literal["direct", "broader", "specific"]
    reformulation: Literal["syntactic", "semantic"]
    rationale: str
    pubmed_query: str
    source: Literal["mesh", "rules", "evidence", "sampling"]
    hits: int = -1


class Concept(Value):
    """A concept of the topic, or a term of the session's evidence close to it.

    `kind` is "heading" or "substance" (a supplementary concept) for what MeSH has. `abbreviation_of` has the long forms
    with their shares. `pubmed_block` finds the concept by all its names; a long one has a short form beside it, and
    what that leaves out.
    """

    term: str
    kind: Literal["heading", "substance", "words", "evidence"] = "words"
    mesh_id: str = ""
    mesh_term: str = ""
    entry_terms: tuple[str, ...] = ()
    narrower: tuple[str, ...] = ()
    broader: tuple[str, ...] = ()
    supplementary: tuple[str, ...] = ()
    abbreviation_of: tuple[str, ...] = ()
    pubmed_block: str = ""
    short_block: str = ""
    short_leaves_out: str = ""


class SearchFilter(Value):
    """A condition for PubMed that fits the topic, to be joined to a query by AND; `source` published it."""

    name: str
    pubmed: str
    source: str


class SeedTerm(Value):
    """A term that papers known to be relevant (the seeds) share and the direct query lacks: how many of them have it,
    and how many of those that the query misses."""

    pubmed: str
    seeds: int
    missed: int


class Expansion(Value):
    """Queries proposed for a topic, the direct one first; `translation` is how PubMed read that one. `seeds_missed` are
    the PMIDs of the seeds that it does not find."""

    session_id: str
    queries: tuple[ExpandedQuery, ...]
    concepts: tuple[Concept, ...] = ()
    filters: tuple[SearchFilter, ...] = ()
    seed_terms: tuple[SeedTerm, ...] = ()
    seeds_missed: tuple[str, ...] = ()
    corrected_query: str = ""
    translation: str = ""
    warnings: tuple[str, ...] = ()
    next_step: str = ""


class EvidenceList(Value):
    """Evidence by id; `missing` ids are not in the session. Contents start at character `offset`.

    `queries` are those of the session that found it. `starts`, which is not sent, is where each content starts.
    """

    session_id: str
    evidence: tuple[Evidence, ...] = ()
    queries: tuple[QueryReport, ...] = ()
    missing: tuple[str, ...] = ()
    offset: int = 0
    warnings: tuple[str, ...] = ()
    next_step: str = ""
    starts: Annotated[tuple[int, ...], Field(exclude=True)] = ()


class EvidenceSummary(Value):
    """One line about an item of evidence: where its status was announced, and on which day (UTC) it was checked;
    `full_text` is the id of its full text, "" if the session has none; `decision` is the user's, with the reason;
    `why` are the words that speak for and against an undecided record, if it is ranked."""

    id: str
    title: str
    source: CitationSource = "pubmed"
    date: Annotated[str, Field(exclude=True)] = ""
    year: int = 0
    about: str = ""
    status: PublicationStatus = "ok"
    status_notices: tuple[StatusNotice, ...] = ()
    status_checked: StatusDay = ""
    full_text: str = ""
    decision: str = ""
    tags: tuple[str, ...] = ()
    why: str = ""


class EvidencePage(Value):
    """A page of a session's evidence, in order of arrival or as it is best screened. `next_offset` is absent at the
    end.

    `total` counts all of it, `matching` what the filter selects, if that is less. `asked` says when the status of what
    is listed was last asked. `marks` are the decisions ("included"), then the tags, each with its number. `screening`
    is there if that is how it is sorted.
    """

    session_id: str
    screening: Annotated[ScreeningState, WithJsonSchema({"type": "object"})] = NOT_RANKED
    total: int
    matching: int = -1
    asked: str = ""
    statuses: Mapping[PublicationStatus, int] = Field(default_factory=dict[PublicationStatus, int])
    sources: Mapping[CitationSource, int] = Field(default_factory=dict[CitationSource, int])
    marks: Mapping[str, int] = Field(default_factory=dict[str, int])
    items: tuple[EvidenceSummary, ...] = ()
    next_offset: int = -1
    warnings: tuple[str, ...] = ()
    next_step: str = ""


class SessionSummary(Value):
    """One line about a session: times in UTC, "YYYY-MM-DD HH:MM", and the day until which it is kept if nobody uses it;
    "" = unknown, or until the server ends. `evidence` counts items, `searches` those of its log; -1 = unknown."""

    session_id: str
    title: str = ""
    created: str = ""
    last_used: str = ""
    kept_until: str = ""
    evidence: int = 0
    searches: int = 0


class SessionList(Value):
    """A page of the caller's sessions, the last used first. `next_offset` is absent at the end.

    `session_id` is the connection's current session, "" if it has none yet; `matching` counts those that the query
    selects of `total`.
    """

    session_id: str = ""
    total: int = 0
    matching: int = 0
    sessions: tuple[SessionSummary, ...] = ()
    next_offset: int = -1
    warnings: tuple[str, ...] = ()
    next_step: str = ""


class ExportResult(Value):
    """Exported evidence. `next_offset` is absent if `text` is complete.

    `count` is of the records in `text`, or of its lines if it is no list of records. What was saved is in `file`, a
    path or the address of a resource, with so many `bytes`; `text` is empty then, and `count` is of all records, in a
    search log of all searches.
    """

    session_id: str
    format: str
    text: str
    count: int
    file: str = ""
    bytes: int = 0
    missing: tuple[str, ...] = ()
    next_offset: int = -1
    warnings: tuple[str, ...] = ()
    next_step: str = ""


class ClearResult(Value):
    """A session that was deleted or, if `undone`, brought back, and how much evidence from which sources it holds;
    if it was `damaged`, that is unknown. With `ids`, only these publications were removed or brought back."""

    session_id: str
    removed: int
    ids: tuple[str, ...] = ()
    damaged: bool = False
    undone: bool = False
    sources: Mapping[CitationSource, int] = Field(default_factory=dict[CitationSource, int])
    next_step: str = ""


FetchVerdict = Literal["found", "not_found", "ambiguous", "wrong", "outage"]
"""What became of a record that was to be fetched."""


class AddedItem(Value):
    """Item `index` of the call is now kept under `id`; of a record that was fetched, its `reference`."""

    index: int
    id: str
    reference: str = ""


class DuplicateItem(Value):
    """Item `index` duplicates `duplicate_of`, which the session already has."""

    index: int
    duplicate_of: str
    reference: str = ""
    similarity: float
    reason: str


class SimilarItem(Value):
    """Item `index` is nearly identical to `id`; both are kept."""

    index: int
    id: str
    similarity: float


class RecordCandidate(Value):
    """A record that an item may mean: `id`, e.g. "pubmed:31978945", fetches it."""

    id: str
    reference: str


class RejectedItem(Value):
    """Item `index` could not be added, and why; `candidates` are what it may mean, best first."""

    index: int
    reason: str
    verdict: Literal["invalid", "not_found", "ambiguous", "wrong", "outage"] = "invalid"
    candidates: tuple[RecordCandidate, ...] = ()


class DecidedItem(Value):
    """What is decided about the publication `id` after item `index`, see `decision_line`, and what that `replaced`, see
    `decision_replaced`; "" for nothing."""

    index: int
    id: str
    decision: str = ""
    replaced: Annotated[str, Field(exclude_if=not_)] = ""


class FileResult(Value):
    """What became of a file: of the `read` records of a library, `new` are new and `known` were in the session or
    earlier in the file. `unread` has the lines and reason of entries that were not read, `unsure` pairs of ids that may
    be one publication, with what differs."""

    file: str
    read: int = 0
    new: int = 0
    known: int = 0
    without_abstract: int = 0
    unread: tuple[str, ...] = ()
    unsure: tuple[str, ...] = ()
    detail: str = ""

    @property
    def told(self) -> str:
        """What became of it, in a sentence, and a line for each entry that was not read."""
        counts = f"{self.new:,} new, {self.known:,} already there, {self.without_abstract:,} without an abstract"
        read = f"{counted(self.read, 'record')} read, {counts}. " if self.read else ""
        told = [f"{self.file}: {read}{self.detail}".rstrip()] if read or self.detail else []
        told += [f"{self.file}, not read: {one}" for one in self.unread]
        return "\n".join([*told, *(f"{self.file}, perhaps the same: {one}" for one in self.unsure)])


class AddResult(Value):
    """The outcome for each item of an `add_evidence` call; `total` counts the session's evidence afterward."""

    session_id: str
    files: tuple[FileResult, ...] = ()
    added: tuple[AddedItem, ...] = ()
    duplicates: tuple[DuplicateItem, ...] = ()
    similar: tuple[SimilarItem, ...] = ()
    decided: tuple[DecidedItem, ...] = ()
    rejected: tuple[RejectedItem, ...] = ()
    warnings: tuple[str, ...] = ()
    total: int = 0
    next_step: str = ""
