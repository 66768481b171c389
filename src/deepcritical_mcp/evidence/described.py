"""What a description of a publication says that identifies it, normalized: its own numbers, those that it only claims,
title, people and texts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from deepcritical_mcp.evidence.text_agreement import COMPARED
from deepcritical_mcp.evidence.titles import bare_title, content_words, is_junk, tokens
from deepcritical_mcp.identifiers import RecordIds, normalize_doi, record_ids
from deepcritical_mcp.models import NO_ABSTRACT, NO_TITLE, UNKNOWN_DATE, AuthorName, Publication
from deepcritical_mcp.urls import host_of, normalize_url

REGISTERED = ("pmid", "doi", "nct", "pmcid")
"""Numbers of which a publication has one each."""
CLAIMED = "claimed "
"""Before the kind of a number, the key under which those are found that have it or claim to have it."""
BEGINNING = 6_000
"""Characters: the authors and numbers of a document stand among its first ones."""
_PRINT_VIEW = re.compile(r"(?:^|[/._=?&-])(?:pdf|epdf|articlepdf|print|printable|pdfdirect|pdfplus|amp)(?:$|[/._=&-])")
_VIEW = re.compile(  # of one page: /abs/pii/S1 and /pii/S1, /content/1/2.full.pdf and /content/1/2
    r"(?<=[^/:])/(?:pdf|epdf|articlepdf|pdfdirect|pdfplus|print|printable|amp|abs|abstract|article-abstract|full|"
    r"fullarticle|full-?text|html)(?=/|$)|(?:\.(?:full|abstract|full-text|pdf)){1,2}$|\?print=(?:true|yes)$"
)
_DIGEST = re.compile(r"#[0-9a-f]{12}$")
ENDS = 3
"""Content words at each end of a title by which others are looked up that may have the same title."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What identifies a publication; "" means unknown.

    Attributes:
        numbers: those known of `NAMES`, normalized.
        claims: of `REGISTERED`, those that it only claims, or that its address names, without being a record.
        named: both of these.
        addressed: the kinds of those that its address names.
        id: the one that these facts alone give it, without the digest that tells two with one id apart.
        title: as `tokens`, without what a site adds.
        shown_title: as it is written.
        translation: the title in the publication's own language, as `tokens`.
        beginning: how the text of a document begins that was read; "" for others.
        is_record: whether a bibliographic source describes it.
        is_note: whether it is what the user says, perhaps about the publication whose numbers it bears.
        is_preprint: whether a record says so.
        is_print: whether its URL leads to the PDF or print view of a page.
        is_document: whether the user supplied it as a web page or document, not as a note or a database's record.
        contents: what its texts say, of a full text its beginning; none when that is nothing.
        keys: what it can be looked up by: numbers, id, and how its title begins and ends (words may be cut, or
            misspelled, or a site's name added, on one side). Two that are the same share one.
    """

    numbers: Mapping[str, str]
    claims: Mapping[str, str]
    named: Mapping[str, str]
    addressed: frozenset[str]
    id: str
    title: tuple[str, ...]
    shown_title: str
    date: str
    authors: tuple[AuthorName, ...]
    journal: tuple[str, ...]
    translation: tuple[str, ...]
    beginning: str
    is_record: bool
    is_note: bool
    is_preprint: bool
    is_print: bool
    is_document: bool
    contents: tuple[str, ...]
    keys: frozenset[tuple[str, str]]

    @property
    def first_author(self) -> AuthorName | None:
        """None if nobody is known."""
        return self.authors[0] if self.authors else None


def identity_of(publication: Publication) -> Identity:
    """The identity of a publication, normalized; identifiers are read from its URL too."""
    url = normalize_url(publication.url)
    known = identity_numbers(publication.own_ids) | ({"url": _VIEW.sub("", url)} if url else {})
    # A paper names the trial that it reports, but is not the trial's registration.
    claims = {part: value for part, value in identity_numbers(publication.claimed_ids).items() if part not in known}
    sought = {f"{CLAIMED}{part}": value for part, value in (claims | known).items() if part in REGISTERED}
    shown_title, id = _own_title(publication), base_id(publication.id)
    title = tokens(bare_title(shown_title, host_of(url))) if shown_title else ()
    words = content_words(title)
    ends = {"begin": " ".join(words[:ENDS]), "end": " ".join(words[-ENDS:])} if words else {}
    return Identity(
        numbers=known,
        claims=claims,
        named=claims | known,
        addressed=frozenset(identity_numbers(record_ids(publication.url))),
        id=id,
        title=title,
        shown_title=shown_title,
        date="" if publication.date == UNKNOWN_DATE else publication.date,
        authors=publication.authors,
        journal=tokens(publication.journal),
        translation=tokens(publication.vernacular_title),
        beginning="" if publication.is_record else _beginning(publication),
        is_record=publication.is_record,
        is_note=publication.is_own_note,
        is_preprint=publication.form == "preprint" and publication.is_record,
        is_print=bool(_PRINT_VIEW.search(url)),
        is_document=publication.is_users and publication.source == "web",
        contents=tuple(
            text.content[:COMPARED] if text.parts else text.content
            for text in publication.texts
            if text.content not in (NO_ABSTRACT, publication.title)
        ),
        keys=frozenset((known | sought | ends | {"id": id}).items()),
    )


def identity_numbers(ids: RecordIds) -> dict[str, str]:
    """Those of `REGISTERED` that are known, normalized."""
    numbers = {
        "pmid": ids.pmid.strip(),
        "pmcid": ids.pmcid.strip().upper().removeprefix("PMC"),
        "doi": normalize_doi(ids.doi),
        "nct": "" if ids.pmid else ids.nct.strip().upper(),
    }
    return {part: value for part, value in numbers.items() if value}


def _beginning(publication: Publication) -> str:
    """How the text that was read begins, with its first headings; "" if none was."""
    for text in publication.texts:
        if text.parts:
            return " ".join([*(title for part in text.parts[:2] for title in part.path), text.content[:BEGINNING]])
    return ""


def base_id(id: str) -> str:
    """An id without the digest that tells two publications with one id apart."""
    return id.partition("#")[0] if id.startswith("text:") else _DIGEST.sub("", id)


def _own_title(publication: Publication) -> str:
    # What the user added without a title was given its own beginning for one, which identifies nothing.
    title = publication.title
    bare = publication.is_users and not publication.authors and publication.date == UNKNOWN_DATE
    is_given = bare and publication.text.content.startswith(title.rstrip("…"))
    return "" if is_given or title == NO_TITLE or is_junk(title) else title
