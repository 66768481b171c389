"""The interfaces of services that know something about documents, besides searching them, and of those that deliver
full texts.

A service implements those of `RecordLookup`, `ReferenceLookup`, `PlaceLookup`, `StatusLookup`, `LinkLookup`,
`NameLookup` and `CitationCounter` that it can answer. All methods raise only ProviderError: an outage is never an empty
answer.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

from deepcritical_mcp.identifiers import RecordIds, arxiv_doi, normalize_doi, normalize_pmid
from deepcritical_mcp.models import DocumentStatus, Publication, StatusNotice
from deepcritical_mcp.reading import Reading
from deepcritical_mcp.sources.base import Service


class RecordLookup(Service):
    """Has bibliographic records, found by identifiers."""

    @abstractmethod
    def accepts(self, ids: RecordIds) -> bool:
        """Whether it can be asked for a document with these identifiers."""

    @abstractmethod
    async def records(self, wanted: Sequence[RecordIds]) -> Sequence[Publication | str]:
        """The records of up to 100 documents, each accepted before, in as few requests as the service allows; for one
        without a record why there is none, "" if no more is known than that.

        A record is only returned for identifiers that it has itself. It has an abstract or NO_ABSTRACT, its status and
        its links to other records (`status_notices`).
        """


class ReferenceLookup(Service):
    """Finds what a reference, written in any style, may refer to."""

    @abstractmethod
    async def match(self, reference: str) -> Sequence[Publication | RecordIds]:
        """Candidates, best first: records, or identifiers whose records must be looked up. They may all be wrong."""


class CitedPlace(NamedTuple):
    """Where a reference says that an article stands; `author` is the first one's family name. "" if unknown."""

    journal: str
    year: str = ""
    volume: str = ""
    first_page: str = ""
    author: str = ""


class PlaceLookup(Service):
    """Finds articles by journal, year, volume and first page."""

    @abstractmethod
    async def at_places(self, places: Sequence[CitedPlace]) -> Sequence[str]:
        """The PMID of what stands at each of up to 100 places, in order, in one request; "" where nothing or more than
        one article does."""


class StatusLookup(Service):
    """A second witness of what happened to a publication."""

    @abstractmethod
    async def notices(self, dois: Sequence[str]) -> Mapping[str, tuple[StatusNotice, ...]]:
        """For each of up to 100 normalized DOIs that the service knows, what it says about it: retractions, concerns,
        corrections, newer versions, the article of a preprint, the preprint of an article. () if nothing happened.

        `reference` of a retraction says who reported it, e.g. "Retraction Watch, 2024-05-01".
        """


class CitationCounter(Service):
    """Counts how often papers have been cited."""

    @abstractmethod
    async def counts(self, pmids: Sequence[str]) -> Mapping[str, int]:
        """How often each of up to 200 papers has been cited, for those that the service counts."""


Direction = Literal["similar", "cited_by", "references"]
"""Of links: to papers like one, to those that cite it, and to its references."""
PaperNames = frozenset[str]
"""What services call one paper, all that one of them says at once: "pmid:11", "doi:10.1/x", "pmcid:PMC1", "ppr:PPR1",
"openalex:W3", "place:…" (a `CitedPlace`, its parts separated by "|")."""


_NAMES = {"doi": normalize_doi, "pmid": normalize_pmid, "openalex": str.strip}


def names_in(written: Iterable[str]) -> PaperNames:
    """Names out of "doi:10.1/x", "pmid:11", "openalex:W3" and "arxiv:2601.17238"; others are left out."""
    found: dict[str, str] = {}
    for one in written:
        kind, _, number = one.partition(":")
        if kind == "arxiv":
            kind, number = "doi", arxiv_doi(one)
        if kind in _NAMES and (value := _NAMES[kind](number)):
            found.setdefault(f"{kind}:{value}", value)
    return frozenset(found)


class Linked(NamedTuple):
    """The papers linked to one, in the service's order; `unnamed` of them come without anything to find them by."""

    papers: tuple[PaperNames, ...] = ()
    unnamed: int = 0


class LinkLookup(Service):
    """Knows the papers that are linked to papers.

    Attributes:
        directions: the links that it knows.
        links_at_once: papers that one request asks for.
    """

    directions: ClassVar[tuple[Direction, ...]] = ("cited_by", "references")
    links_at_once: ClassVar[int] = 1

    @abstractmethod
    def knows(self, ids: RecordIds) -> bool:
        """Whether it can be asked for a paper with these identifiers."""

    @abstractmethod
    async def links(self, papers: Sequence[RecordIds], direction: Direction) -> Sequence[Linked]:
        """The links of up to `links_at_once` papers, in order, in one request; none for a paper that it has not."""


class NameLookup(Service):
    """Knows other names of papers; `names_kind` is the kind that it looks up, e.g. "doi"."""

    names_kind: ClassVar[str]

    @abstractmethod
    async def names(self, names: Sequence[str]) -> Mapping[str, PaperNames]:
        """What else up to 100 papers are called, in one request; those that it does not know are missing."""


@dataclass(frozen=True)
class Wanted:
    """The document that is looked for: all its identifiers that are known, and addresses where a copy may be."""

    ids: RecordIds
    urls: tuple[str, ...] = ()


@dataclass(frozen=True)
class Copy:
    """What a provider answers. An outage is not an answer, but a ProviderError.

    Attributes:
        status: "full_text" comes with a `reading`.
        detail: one sentence for people that says why, e.g. "PMC has this article, but the publisher does not allow it
            to be downloaded."; for a full text, which version it is, if not the published one.
        reading: the text, or, with another status, what the provider knows about the document.
        url: where the copy was read.
        elsewhere: addresses where a copy may be, best first.
        needs_browser: whether the page at `url` does not serve programs, or needs JavaScript, so that a provider that
            runs a browser may be asked; not if it asks for a subscription, or forbids programs in robots.txt.
    """

    status: DocumentStatus
    detail: str = ""
    reading: Reading | None = None
    url: str = ""
    elsewhere: tuple[str, ...] = ()
    needs_browser: bool = False


class FullTextSource(Service):
    """A provider of full texts.

    Attributes:
        has_browser: whether it reads pages that need one; it is asked only for those.
        off: why it is not asked at all, e.g. "no email address (NCBI_EMAIL)"; "" if it is.
        at_once: documents whose records one request asks for.
    """

    has_browser: bool = False
    off: str = ""
    at_once: int = 1

    @abstractmethod
    def accepts(self, wanted: Wanted) -> bool:
        """Whether it can be asked for a document with these identifiers and addresses."""

    @abstractmethod
    async def read(self, wanted: Wanted) -> Copy:
        """Its copy of the document, or why it has none."""

    async def record(self, wanted: Wanted) -> Publication | None:
        """Its bibliographic record of the document, with an abstract or NO_ABSTRACT; None if it has none."""
        return None

    async def records_and_copies(self, wanted: Sequence[Wanted]) -> Sequence[tuple[Publication | None, Copy | None]]:
        """Its records of up to `at_once` documents, and its copies if the same answer has them; None for each that it
        does not have."""
        return [(await self.record(one), None) for one in wanted]
