"""Where a new publication belongs among those of a session."""

from __future__ import annotations

from dataclasses import dataclass

from deepcritical_mcp.evidence.clustering import Cluster


@dataclass(frozen=True, slots=True)
class Match:
    """A stored publication that is the same, its similarity, and why it is the same."""

    id: str
    similarity: float
    reason: str


@dataclass(frozen=True)
class Placement:
    """Where a new publication belongs.

    Attributes:
        match: the stored publication that it is; None if it is another one.
        affected: the ids of the stored publications that it is linked to.
        clusters: what these and the new one are then; () if it only completes the match, which has many members.
    """

    match: Match | None
    affected: tuple[str, ...]
    clusters: tuple[Cluster, ...]

    @property
    def separates(self) -> bool:
        """Whether it shows that what was merged before are several publications."""
        return bool(self.clusters) and len(self.clusters) - len(self.affected) > (self.match is None)
