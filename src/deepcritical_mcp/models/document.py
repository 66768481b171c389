"""What `get_full_text` returns."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_serializer

from deepcritical_mcp.models.evidence import TextKind
from deepcritical_mcp.models.publication import Value
from deepcritical_mcp.models.results import Citation, Relevance

DocumentStatus = Literal["full_text", "abstract_only", "not_allowed", "not_found", "no_text"]
"""`abstract_only`: the record is known, and no provider has its text. `not_allowed`: somebody has the text but may not
pass it on, or asks for a subscription. `not_found`: nobody knows the identifier. `no_text`: a file without text inside,
such as a scan."""
AttemptStatus = Literal[DocumentStatus, "failed", "skipped"]
"""`failed`: an outage; asking again may help. `skipped`: not configured, or does not apply."""

SESSION = "session"
"""Stands among the attempts for a text that the session held; not sent, since nobody was asked."""


class OutlineEntry(Value):
    """A part of the text, and how many characters it has, with those of the parts inside it that the outline leaves
    out. Sent as a line, indented as deep as it lies: anchor, its own title and the characters, "s3.1 Harms (420)"."""

    section: tuple[str, ...]
    anchor: str
    characters: int

    @model_serializer
    def _line(self) -> str:
        return str(self)

    def __str__(self) -> str:
        title = self.section[-1] if self.section else "(untitled)"
        return f"{'  ' * (len(self.section) - 1)}{self.anchor} {title} ({self.characters:,})"


class DocumentPassage(Value):
    """Text of one section, verbatim; `anchor` leads to it ("s3.2p4": the fourth paragraph of section 3.2).
    `is_close` says whether it is close to the question; it is not sent."""

    anchor: str
    section: tuple[str, ...]
    text: str
    relevance: Relevance = 0.0
    is_close: Annotated[bool, Field(exclude=True)] = True


class TableEntry(Value):
    """A table; `get_full_text` with its anchor among `sections` gives it."""

    anchor: str
    caption: str


class Attempt(Value):
    """What one provider said when asked for the text."""

    provider: str
    status: AttemptStatus
    detail: str = ""


class Document(Value):
    """A text as far as a call asked for it: its outline, the passages that answer a question, or whole sections.

    Attributes:
        id: evidence id of the text; "" if nothing was kept.
        kind: of the text.
        provider: who delivered it.
        licence: what the text may be used for, as its source says it; "" if unknown.
        passages: best first for a question, else in the order of the text.
        status: what was found; see `DocumentStatus`.
        attempts: who was asked, in order, and what each said.
        errors: what failed on the way, although there is an answer.
        next_offset: where the rest of what was asked for begins; -1 if nothing is left.
        form: whether this is an outline, passages that answer a question, or text in order. Not sent, as what follows.
        offset: where `passages` begin in the text that was asked for, or the outline among all its entries.
        characters: of the text that was asked for.
        call: the call that this answers, without its offset.
    """

    session_id: str
    id: str = ""
    kind: TextKind = "full_text"
    citation: Citation
    provider: str = ""
    licence: str = ""
    url: str = ""
    outline: tuple[OutlineEntry, ...] = ()
    passages: tuple[DocumentPassage, ...] = ()
    tables: tuple[TableEntry, ...] = ()
    status: DocumentStatus
    attempts: tuple[Attempt, ...] = ()
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    next_offset: int = -1
    next_step: str = ""
    form: Annotated[Literal["outline", "passages", "text"], Field(exclude=True)] = "outline"
    offset: Annotated[int, Field(exclude=True)] = 0
    characters: Annotated[int, Field(exclude=True)] = 0
    call: Annotated[str, Field(exclude=True)] = ""
