"""A publication with the texts that a session has of it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field

from deepcritical_mcp.identifiers import normalise_doi
from deepcritical_mcp.models.publication import (
    FINER_DATE,
    FIRST_KNOWN,
    UNION,
    UNKNOWN_DATE,
    AuthorName,
    Bibliography,
    Line,
    MergeRule,
    Paragraph,
    PartialDate,
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
PREPRINT = "Preprint"
"""PubMed's publication type of a preprint."""
PublicationForm = Literal["article", "preprint", "chapter", "book", "trial", "page", "other"]
_WEB_ADDRESS = re.compile(r"https?://[^\s/]", re.IGNORECASE)


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

    Attributes:
        editors: the editors of the book.
        publisher: of a book or a page; `publisher_place` is its place.
        vernacular_title: the title in the publication's own language; `title` is then a translation in brackets.
        electronic_date: when it was published online; `date` is that of the issue, or of the contribution to a book.
        publication_stage: PubMed's "ppublish", "epublish" or "aheadofprint".
        book_title: the book that it is a chapter of, or `title` again for a whole book.
        book_years: "1993-2025" for a book that was published over years, "1993-" if it still is.
        bookshelf_id: NCBI Bookshelf's number, e.g. "NBK1403".
        revised_date: the last revision of a chapter.
        grants: number, agency and country of each.
    """

    id: str
    texts: Annotated[tuple[Text, ...], TEXTS, Field(min_length=1)]
    authors: Annotated[tuple[AuthorName, ...], FIRST_KNOWN] = ()
    found_by: Annotated[tuple[Line, ...], UNION] = ()
    vernacular_title: Annotated[Line, FIRST_KNOWN] = ""
    issn: Annotated[Line, FIRST_KNOWN] = ""
    electronic_date: Annotated[PartialDate, FINER_DATE] = UNKNOWN_DATE
    publication_stage: Annotated[Line, FIRST_KNOWN] = ""
    publisher: Annotated[Line, FIRST_KNOWN] = ""
    publisher_place: Annotated[Line, FIRST_KNOWN] = ""
    book_title: Annotated[Line, FIRST_KNOWN] = ""
    editors: Annotated[tuple[AuthorName, ...], FIRST_KNOWN] = ()
    book_years: Annotated[Line, FIRST_KNOWN] = ""
    isbn: Annotated[Line, FIRST_KNOWN] = ""
    bookshelf_id: Annotated[Line, FIRST_KNOWN] = ""
    revised_date: Annotated[PartialDate, FINER_DATE] = UNKNOWN_DATE
    grants: Annotated[tuple[Line, ...], UNION] = ()
    conflict_of_interest: Annotated[Paragraph, FIRST_KNOWN] = ""

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
    def form(self) -> PublicationForm:
        """What it is cited as."""
        if self.book_title:
            return "book" if self.book_title == self.title else "chapter"
        if self.source == "preprint" or PREPRINT in self.publication_types:
            return "preprint"
        if self.source == "trial":
            return "trial"
        if self.journal or self.journal_abbreviation:
            return "article"
        return "page" if self.is_on_the_web and not (self.pmid or self.doi) else "other"

    @property
    def is_on_the_web(self) -> bool:
        """Whether its URL leads to the web: a script's address is not where a source can be found."""
        return bool(_WEB_ADDRESS.match(self.url))

    @property
    def is_users(self) -> bool:
        """Whether all of its texts come from the user."""
        return all(text.is_users for text in self.texts)


def merged(kept: Publication, other: Publication) -> Publication:
    """One publication out of two descriptions of it, under the id of `kept`.

    A record counts more than a page, a page more than what the user pasted, and that more than the user's notes; of
    equals, `kept` counts more.
    """
    first, second = (other, kept) if _authority(other) > _authority(kept) else (kept, other)
    values = {
        name: rule.combine(getattr(first, name), getattr(second, name))
        for name, rule in merge_rules(Publication).items()
    }
    return kept.model_copy(update={**values, "found_by": united(kept.found_by, other.found_by)})


def _authority(publication: Publication) -> int:
    if publication.is_users:
        return 0 if publication.source == "user" else 1
    return 3 if publication.is_record else 2


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
