"""A session without a model, and NCBI behind a search of literature."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import DeepCriticalError
from deepcritical_mcp.evidence.store import AddOutcome
from deepcritical_mcp.models import Evidence, RelatedEvidence
from deepcritical_mcp.search.literature import LiteratureRequest, LiteratureSearch
from tests.sources.ncbi import Ncbi, ncbi, pubmed_tool


@dataclass
class FakeSession:
    """Keeps evidence as `EvidenceStore` does: by PMID or id, completed when it comes again.

    Attributes:
        relevances: by title; 0.5 for all others.
        error: raised instead of keeping anything.
    """

    session_id: str = "rs_test"
    warnings: tuple[str, ...] = ()
    kept: dict[str, Evidence] = field(default_factory=dict[str, Evidence])
    relevances: dict[str, float] = field(default_factory=dict[str, float])
    folds: dict[str, tuple[tuple[str, float], ...]] = field(default_factory=dict[str, tuple[tuple[str, float], ...]])
    error: DeepCriticalError | None = None
    unrelated: set[str] = field(default_factory=set[str])
    weighed_against: list[str] = field(default_factory=list[str])

    async def get(self, ids: Sequence[str]) -> dict[str, Evidence]:
        return {id: self.kept[id] for id in ids if id in self.kept}

    async def known(self, evidence: Sequence[Evidence]) -> list[str]:
        return [self._id_of(piece) for piece in evidence]

    def _id_of(self, evidence: Evidence) -> str:
        citation = evidence.citation
        for id, piece in self.kept.items():
            same_doi = citation.doi and piece.citation.doi.lower() == citation.doi.lower()
            if id == evidence.id or (citation.pmid and piece.citation.pmid == citation.pmid) or same_doi:
                return id
        return ""

    async def add_evidence(self, evidence: Sequence[Evidence]) -> tuple[AddOutcome, ...]:
        if self.error:
            raise self.error
        return tuple(self._add(index, piece) for index, piece in enumerate(evidence))

    def _add(self, index: int, piece: Evidence) -> AddOutcome:
        folds = self.folds.get(piece.id, ())
        id = self._id_of(piece)
        if not id:
            self.kept[piece.id] = piece
            return AddOutcome(index, "added", piece, folds=folds)
        found_by = tuple(dict.fromkeys((*self.kept[id].found_by, *piece.found_by)))
        self.kept[id] = piece.model_copy(update={"id": id, "found_by": found_by})
        return AddOutcome(index, "duplicate", self.kept[id], 1.0, "same PMID", folds)

    async def relevance(self, query: str, evidence: Sequence[Evidence]) -> list[float]:
        self.weighed_against.append(query)
        return [self.relevances.get(piece.citation.title, 0.5) for piece in evidence]

    async def related(self, query: str, *, exclude: Collection[str], limit: int = 5) -> tuple[RelatedEvidence, ...]:
        self.unrelated = set(exclude)
        others = [piece for id, piece in self.kept.items() if id not in exclude]
        return tuple(
            RelatedEvidence(
                id=piece.id, title=piece.citation.title, url=piece.citation.url, snippet=piece.content, relevance=0.4
            )
            for piece in others[:limit]
        )


@dataclass(frozen=True)
class Library:
    """A search of literature, what it asks, and a session that keeps what it finds."""

    search: LiteratureSearch
    ncbi: Ncbi
    session: FakeSession


@asynccontextmanager
async def library(records: Mapping[str, str] | None = None, *, key: str = "") -> AsyncGenerator[Library]:
    """A library with these records, PMID to XML."""
    async with ncbi(records) as played, httpx.AsyncClient() as http:
        yield Library(LiteratureSearch(pubmed_tool(played.url, http, key=key), Settings()), played, FakeSession())


def request(query: str = "zinc", **more: object) -> LiteratureRequest:
    """A request as the tool makes it."""
    return LiteratureRequest(query, **more)  # pyright: ignore[reportArgumentType]  # fields of several types
