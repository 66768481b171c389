"""A session's store without a model: close in meaning is what shares words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from deepcritical_mcp.evidence.embedding.calibration import MINILM, Calibration
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import Evidence, Publication
from deepcritical_mcp.search.expansion.phrases import stems
from tests.publications import published


def paper(
    pmid: int, title: str, abstract: str, *, mesh: Sequence[str] = (), keywords: Sequence[str] = ()
) -> Publication:
    """A PubMed record."""
    return published(
        abstract, source="pubmed", title=title, pmid=str(pmid), mesh_terms=tuple(mesh), keywords=tuple(keywords)
    )


def page(url: str, title: str, text: str) -> Publication:
    """A web page, which has neither MeSH terms nor keywords."""
    return published(text, provider="duckduckgo", source="web", title=title, url=url)


class _Store:
    """Evidence in a list; relevance is the share of the query's stems that a piece has."""

    def __init__(
        self, publications: Sequence[Publication], error: Exception | None, calibration: Calibration | None
    ) -> None:
        self.session_id = "rs_test"
        self.calibration = calibration
        self._evidence = [Evidence.of(publication) for publication in publications]
        self._error = error

    async def count(self) -> int:
        if self._error:
            raise self._error
        return len(self._evidence)

    async def page(self, offset: int, limit: int) -> list[Evidence]:
        return self._evidence[offset : offset + limit]

    async def search_similar(self, query: str, *, max_results: int = 5) -> list[Evidence]:
        wanted = stems(query)
        scored = [
            piece.model_copy(update={"relevance": len(wanted & stems(_text(piece))) / max(1, len(wanted))})
            for piece in self._evidence
        ]
        return sorted(scored, key=lambda piece: -piece.relevance)[:max_results]


def fake_store(
    publications: Sequence[Publication] = (),
    *,
    error: Exception | None = None,
    calibration: Calibration | None = MINILM,
) -> EvidenceStore:
    return cast(EvidenceStore, _Store(publications, error, calibration))


def _text(piece: Evidence) -> str:
    return f"{piece.citation.title} {piece.content}"


NEUROPROTECTION = (
    paper(
        101,
        "Metformin activates AMPK and protects neurons in a mouse model of Alzheimer's disease",
        "Metformin crossed the blood-brain barrier. AMP-activated protein kinase (AMPK) activation lowered "
        "amyloid-beta and tau phosphorylation; inhibition of AMPK abolished neuroprotection.",
        mesh=["Animals", "Mice", "Metformin", "Alzheimer Disease", "AMP-Activated Protein Kinases", "Neuroprotection"],
        keywords=["AMPK activation", "neuroprotection", "metformin"],
    ),
    paper(
        102,
        "AMPK-dependent autophagy under metformin in Alzheimer's disease",
        "In neurons of Alzheimer's disease patients metformin induced autophagy through AMPK activation.",
        mesh=["Humans", "Metformin", "Alzheimer Disease", "Autophagy", "AMP-Activated Protein Kinases"],
        keywords=["AMPK activation", "autophagy"],
    ),
    paper(
        103,
        "Metformin and cognition in Alzheimer's disease: neuroprotective effects",
        "Metformin slowed cognitive decline in Alzheimer's disease by neuroprotection beyond glucose control.",
        mesh=["Humans", "Aged", "Metformin", "Alzheimer Disease", "Neuroprotective Agents", "Cognition"],
        keywords=["neuroprotection", "cognitive decline"],
    ),
    paper(
        104,
        "Metformin as first-line therapy of type 2 diabetes",
        "Metformin lowers hepatic glucose output in type 2 diabetes and is first-line therapy.",
        mesh=["Humans", "Metformin", "Diabetes Mellitus, Type 2", "Hypoglycemic Agents"],
        keywords=["type 2 diabetes", "HbA1c"],
    ),
    *(
        paper(
            200 + number,
            f"Statins and cardiovascular events, cohort {number}",
            "Statins lowered cholesterol and cardiovascular events in adults.",
            mesh=["Humans", "Hydroxymethylglutaryl-CoA Reductase Inhibitors", "Cardiovascular Diseases"],
            keywords=["statins", "cholesterol"],
        )
        for number in range(6)
    ),
)
