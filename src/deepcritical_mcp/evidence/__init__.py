"""The evidence of a session: recognized, stored, and found again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deepcritical_mcp.models import Publication, PublicationStatus, Source, TextKind


@dataclass(frozen=True)
class Scope:
    """Which evidence is searched; None means any."""

    source: Source | None = None
    kind: TextKind | None = None
    status: PublicationStatus | None = None

    def includes(self, publication: Publication) -> bool:
        """Whether it is searched."""
        return (
            self.source in (None, publication.source)
            and self.status in (None, publication.status)
            and (self.kind is None or any(text.kind == self.kind for text in publication.texts))
        )


EVERYTHING = Scope()
