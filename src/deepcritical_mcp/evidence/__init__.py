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
            and (self.status is None or self.status == known_status(publication))
            and (self.kind is None or any(text.kind == self.kind for text in publication.texts))
        )


def known_status(publication: Publication) -> PublicationStatus | None:
    """Its status; None if nobody has checked it, e.g. of a web page: that is not "ok"."""
    checked = publication.status != "ok" or publication.status_checked != "Unknown"
    return publication.status if checked else None


EVERYTHING = Scope()
