"""The piece of evidence that a client sees of a publication, and its citation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Self, cast

from pydantic import AfterValidator, Field, PlainSerializer

from deepcritical_mcp.models.evidence import Publication, Text, TextKind
from deepcritical_mcp.models.publication import Bibliography, Line, Value, united
from deepcritical_mcp.models.vancouver import vancouver
from deepcritical_mcp.text import clean_text

SHOWN_AUTHORS = 12


class Citation(Bibliography):
    """Where a piece of evidence comes from, as clients see it.

    Attributes:
        authors: at most 12: the first ten, "…" and the last one of more.
        authors_total: how many there are.
        reference: one line in Vancouver style (ICMJE, NLM), to be pasted.
    """

    authors: tuple[Line, ...] = ()
    authors_total: Annotated[int, Field(ge=0)] = 0
    reference: str = ""

    @classmethod
    def of(cls, publication: Publication) -> Self:
        """The citation of a publication."""
        shared = {name: getattr(publication, name) for name in Bibliography.model_fields}
        names = tuple(map(str, publication.authors))
        return cls.model_construct(
            **shared,
            authors=names if len(names) <= SHOWN_AUTHORS else (*names[: SHOWN_AUTHORS - 2], "…", names[-1]),
            authors_total=len(names),
            reference=vancouver(publication),
        )


Relevance = Annotated[float, Field(ge=0, le=1), PlainSerializer(partial(round, ndigits=3), return_type=float)]
"""0..1, sent to clients with three decimals."""


class Evidence(Value):
    """A piece of evidence as clients see it: one text of a publication, and where it comes from.

    `found_by` are numbers of `queries` in the same result.
    """

    id: str
    kind: TextKind = "abstract"
    content: Annotated[str, AfterValidator(clean_text), Field(min_length=1)]
    content_truncated: bool = False
    citation: Citation
    relevance: Relevance = 0.0
    provider: str = ""
    similar: tuple[str, ...] = ()
    found_by: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        publication: Publication,
        text: Text | None = None,
        *,
        relevance: float = 0.0,
        similar: Sequence[str] = (),
        notes: Sequence[str] = (),
    ) -> Self:
        """What `publication` says in `text`, by default in the text that stands for it.

        `notes` are what the user wrote about it elsewhere in the session, besides the notes that it owns.
        """
        shown = text or publication.text
        own = [one.content for one in publication.texts if one.is_users and one is not shown]
        return cls.model_construct(
            id=publication.id,
            kind=shown.kind,
            content=shown.content,
            content_truncated=False,
            citation=Citation.of(publication),
            relevance=relevance,
            provider=shown.provider,
            similar=tuple(similar),
            found_by=(),
            notes=cast("tuple[str, ...]", united(own, notes)),
        )
