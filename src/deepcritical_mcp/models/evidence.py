"""A publication with the texts that a session has of it, and the piece of evidence that a client sees of it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Annotated, Literal, Self, cast

from pydantic import AfterValidator, Field

from deepcritical_mcp.identifiers import normalise_doi
from deepcritical_mcp.models.publication import (
    FIRST_KNOWN,
    UNION,
    AuthorName,
    Bibliography,
    Line,
    MergeRule,
    Value,
    merge_rules,
    united,
)
from deepcritical_mcp.text import clean_text
from deepcritical_mcp.urls import normalise_url

TextKind = Literal["abstract", "full_text", "page", "note", "registration"]

PREFERENCE: tuple[TextKind, ...] = ("abstract", "registration", "full_text", "page", "note")
"""Which text stands for a publication where only one is shown; what the user wrote comes after all others."""
USER = "user"
"""Provider of what the user wrote or pasted."""
NO_ABSTRACT = "[No abstract]"


class Text(Value):
    """One text of a publication. Texts of different kinds, and the user's own, never overwrite each other."""

    kind: TextKind
    content: Annotated[str, AfterValidator(clean_text), Field(min_length=1)]
    provider: Line = ""

    @property
    def is_users(self) -> bool:
        """Whether the user supplied it."""
        return self.provider == USER


def _merged_texts(first: Sequence[Text], second: Sequence[Text]) -> tuple[Text, ...]:
    """All texts of both. Of two that have the same kind and origin the fuller one is kept; notes are all kept."""
    kept = list(first)
    for text in second:
        rivals = [at for at, one in enumerate(kept) if one.kind == text.kind and one.is_users == text.is_users]
        if text.kind == "note" or (text.is_users and text.kind == "page"):
            if not any(kept[at].content == text.content for at in rivals):
                kept.append(text)
        elif rivals:
            kept[rivals[0]] = max(kept[rivals[0]], text, key=_fullness)
        else:
            kept.append(text)
    return tuple(sorted(kept, key=_rank))


def _rank(text: Text) -> tuple[bool, bool, int]:
    return text.is_users, text.content == NO_ABSTRACT, PREFERENCE.index(text.kind)


def _fullness(text: Text) -> tuple[bool, int, str]:
    return text.content != NO_ABSTRACT, len(text.content), text.content


TEXTS = MergeRule("texts", _merged_texts)


class Publication(Bibliography):
    """A publication and the texts that a session has of it. It has one id, whichever texts it owns.

    The fields after `texts` are kept, but not sent to clients under their names.
    """

    id: str
    texts: Annotated[tuple[Text, ...], TEXTS, Field(min_length=1)]
    authors: Annotated[tuple[AuthorName, ...], FIRST_KNOWN] = ()
    found_by: Annotated[tuple[Line, ...], UNION] = ()

    @classmethod
    def of(cls, kind: TextKind, content: str, *, provider: str, **fields: object) -> Self:
        """A publication with one text, under its stable id (see `publication_id`)."""
        text = Text(kind=kind, content=content, provider=provider)
        bare = cls.model_validate({**fields, "id": "new", "texts": (text,)})
        return bare.model_copy(update={"id": publication_id(bare)})

    @property
    def text(self) -> Text:
        """The text that stands for the publication where only one is shown."""
        return self.texts[0]

    @property
    def is_record(self) -> bool:
        """Whether a bibliographic source described it: then it knows the publication better than a page or a user."""
        return any(text.kind in ("abstract", "registration") and not text.is_users for text in self.texts)

    @property
    def is_users(self) -> bool:
        """Whether all of its texts come from the user."""
        return all(text.is_users for text in self.texts)


def merged(kept: Publication, other: Publication) -> Publication:
    """One publication out of two descriptions of it, under the id of `kept`.

    A record counts more than a page, and a page more than what the user says; of equals, `kept` counts more.
    """
    first, second = (other, kept) if _authority(other) > _authority(kept) else (kept, other)
    values = {
        name: rule.combine(getattr(first, name), getattr(second, name))
        for name, rule in merge_rules(Publication).items()
    }
    return kept.model_copy(update={**values, "found_by": united(kept.found_by, other.found_by)})


def _authority(publication: Publication) -> int:
    return 2 if publication.is_record else 0 if publication.is_users else 1


def publication_id(publication: Publication) -> str:
    """`pubmed:<pmid>`, else `doi:<doi>`, `nct:<number>`, `url:<hash of the normalised URL>`, `text:<hash>`.

    What the user wrote has the last form whatever numbers it bears: it may be about a publication.
    """
    if publication.is_users and publication.source == "user":
        return f"text:{_digest(publication.text.content)}"
    if publication.pmid:
        return f"pubmed:{publication.pmid}"
    if publication.doi:
        return f"doi:{normalise_doi(publication.doi)}"
    if publication.nct:
        return f"nct:{publication.nct}"
    if publication.url:
        return f"url:{_digest(normalise_url(publication.url))}"
    content = publication.text.content
    return f"text:{_digest(publication.title if content == NO_ABSTRACT else content)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:20]


class Citation(Bibliography):
    """Where a piece of evidence comes from, as clients see it."""

    authors: tuple[Line, ...] = ()

    @classmethod
    def of(cls, publication: Publication) -> Self:
        """The citation of a publication."""
        shared = {name: getattr(publication, name) for name in Bibliography.model_fields}
        return cls.model_construct(**shared, authors=tuple(map(str, publication.authors)))

    @property
    def formatted(self) -> str:
        """E.g. "Lee M, Okafor C, García J et al. (2021-03-04). Title. PUBMED"."""
        shown = ", ".join(self.authors[:3]) + (" et al." if len(self.authors) > 3 else "")
        title = self.title if self.title.endswith((".", "?", "!", "…")) else f"{self.title}."
        return f"{shown or 'No author'} ({self.date}). {title} {self.source.upper()}"


class Evidence(Value):
    """A piece of evidence as clients see it: one text of a publication, and where it comes from."""

    id: str
    kind: TextKind = "abstract"
    content: Annotated[str, AfterValidator(clean_text), Field(min_length=1)]
    content_truncated: bool = False
    citation: Citation
    relevance: Annotated[float, Field(ge=0, le=1)] = 0.0
    provider: str = ""
    similar: tuple[str, ...] = ()
    found_by: tuple[str, ...] = ()
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

        `notes` are what the user wrote about it elsewhere in the session, beside the notes that it owns.
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
            found_by=publication.found_by,
            notes=cast("tuple[str, ...]", united(own, notes)),
        )
