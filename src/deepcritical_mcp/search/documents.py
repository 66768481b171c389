"""A document as a caller names it, and what was found for it."""

from __future__ import annotations

from dataclasses import dataclass, field

from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.models import Attempt, DocumentStatus, Publication, Text


@dataclass(frozen=True)
class DocumentId:
    """A document as a caller named it: by an evidence id, by numbers, by an address. `name` is what was written."""

    name: str
    evidence: str = ""
    ids: RecordIds = field(default_factory=RecordIds)
    url: str = ""


@dataclass(frozen=True)
class FoundText:
    """What was found for one document.

    Attributes:
        publication: None if nobody knows the document.
        text: with its parts; None if nobody has it.
        id: the evidence id of the text, or of the publication; "" if nothing was kept.
        attempts: who was asked, and what each said.
        errors: what failed on the way.
        warnings: what a reader must know, the gravest first.
    """

    status: DocumentStatus
    publication: Publication | None = None
    text: Text | None = None
    id: str = ""
    attempts: tuple[Attempt, ...] = ()
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


_NOTICES = ("Retraction of Publication", "Published Erratum", "Expression of Concern", "Addendum")
"""Types of publications that are about another one."""
