"""Which of a session's evidence is searched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deepcritical_mcp.models import matches_mark

if TYPE_CHECKING:
    from deepcritical_mcp.models import CitationSource, Publication, PublicationStatus, Text, TextKind


@dataclass(frozen=True)
class Scope:
    """Which evidence is searched; None means any. The user's notes are texts of the source "user", also where they
    belong to another publication. `marked` is read by `matches_mark`."""

    source: CitationSource | None = None
    kind: TextKind | None = None
    status: PublicationStatus | None = None
    marked: str = ""

    def includes(self, publication: Publication) -> bool:
        """Whether it is searched."""
        is_in_source = self.source in (None, "user", publication.source)
        has_status = self.status is None or self.status == publication.status
        is_wanted = is_in_source and has_status and matches_mark(publication, self.marked)
        return is_wanted and any(map(self.includes_text, publication.texts))

    def includes_text(self, text: Text) -> bool:
        """Whether a text of such a publication is searched."""
        return self.kind in (None, text.kind) and (self.source != "user" or text.kind == "note")


EVERYTHING = Scope()
