"""What became of publications that were added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from deepcritical_mcp.evidence.adding import Decision
from deepcritical_mcp.evidence.catalogue import Catalogue
from deepcritical_mcp.models import Evidence, Publication


@dataclass(frozen=True)
class AddOutcome:
    """What became of one publication.

    Attributes:
        index: its position in the call.
        status: "added", or "duplicate" of a stored publication.
        publication: as stored now, under its id in this session.
        evidence: the same as clients see it.
        similarity: of the duplicate to the stored publication, 1.0 for the same identity; 0.0 if added.
        reason: why it is a duplicate, e.g. "same PMID"; "" if added.
        folds: ids of nearly identical publications, with their cosines.
        separates: whether publications that were merged before are kept apart because of this one.
    """

    index: int
    status: Literal["added", "duplicate"]
    publication: Publication
    evidence: Evidence
    similarity: float = 0.0
    reason: str = ""
    folds: tuple[tuple[str, float], ...] = ()
    separates: bool = False


def outcomes_of(decisions: Sequence[Decision], catalogue: Catalogue) -> tuple[AddOutcome, ...]:
    """What became of each publication in the end: later ones of the same call may have given it another id."""
    outcomes: list[AddOutcome] = []
    for index, decision in enumerate(decisions):
        if not decision.full:
            publication, match = catalogue[decision.publication.id].publication, decision.match
            links, folds = catalogue.links(publication.id), dict(decision.folds)
            outcomes.append(
                AddOutcome(
                    index=index,
                    status="duplicate" if match else "added",
                    publication=publication,
                    evidence=catalogue.shown(publication),
                    similarity=match.similarity if match else 0.0,
                    reason=match.reason if match else "",
                    folds=tuple((own, folds[id]) for id in folds if (own := catalogue.resolve(id)) in links),
                    separates=decision.separates,
                )
            )
    return tuple(outcomes)
