"""The values that cross the wire. All are frozen: derive a new one with `model_copy(update=...)`.

Field names are the wire names. `Optional` is avoided on purpose (several MCP clients choke on `anyOf`): "" and [] mean
"none".
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from deepcritical_mcp.text import clean_line, clean_text
from deepcritical_mcp.urls import normalise_url

Source = Literal["pubmed", "web", "user"]
PublicationStatus = Literal["ok", "retracted", "concern", "corrected"]
NoticeKind = Literal["retraction", "concern", "erratum"]

TITLE_LIMIT = 500
LINE_LIMIT = 1_000
"""Characters of a name, a journal and the like, so that no source can fill an answer with one of them."""
URL_LIMIT = 2_000
NO_TITLE = "[No title]"


def _title(value: object) -> object:
    if not isinstance(value, str):
        return value
    title = clean_line(value) or NO_TITLE
    return title if len(title) <= TITLE_LIMIT else title[: TITLE_LIMIT - 1].rstrip() + "…"


def _line(value: str) -> str:
    line = clean_line(value)
    return line if len(line) <= LINE_LIMIT else line[: LINE_LIMIT - 1].rstrip() + "…"


def _url(value: str) -> str:
    url = clean_line(value)
    return url if len(url) <= URL_LIMIT else ""  # half an address is none


Line = Annotated[str, AfterValidator(_line)]
Url = Annotated[str, AfterValidator(_url)]


class Value(BaseModel):
    """Base of all values: frozen, and strict about names."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class StatusNotice(Value):
    """A notice about a publication: a retraction, an expression of concern or an erratum."""

    kind: NoticeKind
    pmid: Line = ""
    reference: Line = ""


class AuthorName(NamedTuple):
    """An author's name in its parts; of a collective only `family` is given, and holds its whole name."""

    family: Line
    given: Line = ""
    suffix: Line = ""


class Citation(Value):
    """Where a piece of evidence comes from."""

    source: Source
    title: Annotated[str, BeforeValidator(_title), Field(min_length=1, max_length=TITLE_LIMIT)]
    url: Url = ""
    date: Annotated[str, Field(pattern=r"^(\d{4}(-\d\d(-\d\d)?)?|Unknown)$")] = "Unknown"
    authors: tuple[Line, ...] = ()
    pmid: Line = ""
    doi: Line = ""
    pmcid: Line = ""
    journal: Line = ""
    publication_types: tuple[Line, ...] = ()
    mesh_terms: tuple[Line, ...] = ()
    status: PublicationStatus = "ok"
    status_notices: tuple[StatusNotice, ...] = ()

    @property
    def formatted(self) -> str:
        """E.g. "Lee M, Okafor C, García J et al. (2021-03-04). Title. PUBMED"."""
        shown = ", ".join(self.authors[:3]) + (" et al." if len(self.authors) > 3 else "")
        title = self.title if self.title.endswith((".", "?", "!", "…")) else f"{self.title}."
        return f"{shown or 'No author'} ({self.date}). {title} {self.source.upper()}"


class Evidence(Value):
    """One piece of evidence: what it says (`content`) and where it comes from (`citation`).

    What follows `found_by` is kept but not sent over the wire: `keywords` (author keywords and chemical names) feed
    query expansion; `author_parts` (one for each of `citation.authors`, or none), `volume`, `issue` and `pages`
    complete an exported citation.
    """

    id: str
    content: Annotated[str, AfterValidator(clean_text), Field(min_length=1)]
    content_truncated: bool = False
    citation: Citation
    relevance: Annotated[float, Field(ge=0, le=1)] = 0.0
    provider: str = ""
    similar: tuple[str, ...] = ()
    found_by: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    author_parts: tuple[AuthorName, ...] = ()
    volume: Line = ""
    issue: Line = ""
    pages: Line = ""

    @classmethod
    def of(
        cls,
        citation: Citation,
        content: str,
        *,
        provider: str,
        relevance: float = 0.0,
        found_by: Sequence[str] = (),
        keywords: Sequence[str] = (),
        author_parts: Sequence[AuthorName] = (),
        volume: str = "",
        issue: str = "",
        pages: str = "",
    ) -> Evidence:
        """Evidence under its stable id (see `evidence_id`)."""
        content = clean_text(content)
        return cls(
            id=evidence_id(citation, content),
            content=content,
            citation=citation,
            relevance=relevance,
            provider=provider,
            found_by=tuple(found_by),
            keywords=tuple(keywords),
            author_parts=tuple(author_parts),
            volume=volume,
            issue=issue,
            pages=pages,
        )


def normalise_doi(doi: str) -> str:
    """A DOI without resolver or "doi:" in front, in lower case (DOIs are case-insensitive); "" stays ""."""
    return re.sub(r"^(https?://(dx\.)?doi\.org/|doi(:|\s))\s*", "", doi.strip(), flags=re.IGNORECASE).lower()


def normalise_pmid(pmid: str) -> str:
    """A PMID as PubMed writes it, from "PMID: 31978945", "pubmed:31978945" or "031978945"; "" when it is none."""
    found = re.fullmatch(r"(?:(?:pmid|pubmed)\s*:?\s*)?0*([1-9][0-9]{0,8})", pmid.strip(), flags=re.IGNORECASE)
    return found[1] if found else ""


def evidence_id(citation: Citation, content: str) -> str:
    """`pubmed:<pmid>`, else `doi:<doi>`, else `url:<hash of the normalised URL>`, else `text:<hash of the content>`."""
    if citation.pmid:
        return f"pubmed:{citation.pmid}"
    if citation.doi:
        return f"doi:{normalise_doi(citation.doi)}"
    if citation.url:
        return f"url:{_digest(normalise_url(citation.url))}"
    return f"text:{_digest(content)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:20]


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
