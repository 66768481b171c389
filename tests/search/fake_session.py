"""A session without a model."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from deepcritical_mcp.errors import DeepCriticalError
from deepcritical_mcp.evidence.adding import AddOutcome
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import Evidence, Publication, RelatedEvidence, Text, merged


@dataclass
class FakeSession(EvidenceStore):
    """Keeps publications as `EvidenceStore` does: by id, PMID or DOI, merged when they come again.

    Attributes:
        relevances: by title; 0.5 for all others.
        error: raised instead of keeping anything.
        unwritable: raised instead of keeping a document.
    """

    session_id: str = "rs_test"
    kept: dict[str, Publication] = field(default_factory=dict[str, Publication])
    relevances: dict[str, float] = field(default_factory=dict[str, float])
    error: DeepCriticalError | None = None
    unrelated: set[str] = field(default_factory=set[str])
    compared_with: list[str] = field(default_factory=list[str])
    kept_documents: dict[str, str] = field(default_factory=dict[str, str])
    unwritable: DeepCriticalError | None = None

    def warnings(self, ids: Collection[str] | None = None) -> tuple[str, ...]:
        return ()

    async def keep_document(self, name: str, content: str) -> None:
        if self.unwritable:
            raise self.unwritable
        self.kept_documents[name] = content

    async def document(self, name: str) -> str:
        return self.kept_documents.get(name, "")

    async def text(self, id: str) -> tuple[Publication, Text] | None:
        return None

    async def ids(self) -> list[str]:
        return list(self.kept)

    async def present_ids(self, ids: Collection[str]) -> dict[str, str]:
        return {id: id for id in ids}

    async def set_statuses(self, publications: Sequence[Publication]) -> None:
        self.kept |= {one.id: one for one in publications}

    async def documents(self, prefix: str) -> dict[str, str]:
        return {name: text for name, text in sorted(self.kept_documents.items()) if name.startswith(prefix)}

    async def publications(self, ids: Sequence[str]) -> dict[str, Publication]:
        return {id: self.kept[id] for id in ids if id in self.kept}

    async def known(self, publications: Sequence[Publication]) -> list[str]:
        return [self._id_of(publication) for publication in publications]

    def _id_of(self, publication: Publication) -> str:
        for id, kept in self.kept.items():
            same_doi = publication.doi and kept.doi.lower() == publication.doi.lower()
            if id == publication.id or (publication.pmid and kept.pmid == publication.pmid) or same_doi:
                return id
        return ""

    async def add_evidence(self, publications: Sequence[Publication], *, embed: bool = True) -> tuple[AddOutcome, ...]:
        if self.error:
            raise self.error
        return tuple(map(self._added, publications))

    def _added(self, publication: Publication) -> AddOutcome:
        id = self._id_of(publication)
        if not id:
            self.kept[publication.id] = publication
            return AddOutcome("added", publication, Evidence.of(publication))
        kept = self.kept[id] = merged(self.kept[id], publication)
        return AddOutcome("duplicate", kept, Evidence.of(kept), 1.0, "same PMID")

    async def relevance(self, query: str, publications: Sequence[Publication]) -> list[float]:
        self.compared_with.append(query)
        return [self.relevances.get(publication.title, 0.5) for publication in publications]

    async def related(self, query: str, *, exclude: Collection[str], limit: int = 5) -> tuple[RelatedEvidence, ...]:
        self.unrelated = set(exclude)
        others = [publication for id, publication in self.kept.items() if id not in exclude]
        return tuple(
            RelatedEvidence(id=one.id, title=one.title, url=one.url, snippet=one.text.content, relevance=0.4)
            for one in others[:limit]
        )
