"""What every citation format needs, worked out once from a publication."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from deepcritical_mcp.models import (
    NO_ABSTRACT,
    NO_TITLE,
    NOTICE_LABELS,
    UNKNOWN_DATE,
    AuthorName,
    Publication,
    PublicationForm,
    status_label,
)
from deepcritical_mcp.models.vancouver import AHEAD_OF_PRINT

_MARKED_AS_RETRACTED = re.compile(r"\W*retract(?:ed|ion)\b", re.IGNORECASE)
_PAGES = re.compile(r"(\w+)\s*[-‐-―−]+\s*(\w+)")
# Letters that have no decomposition into an ASCII letter and a mark.
_PLAIN_LETTERS = str.maketrans(
    {"ß": "ss", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h"}
)
_UNTELLING = re.compile(
    "an?|and|are|as|at|by|can|do|does|for|from|ha[sd]|have|how|in|into|is|its|no|not|of|on|or|retract(ed|ion)|than|that|"
    "the|their|these|this|to|versus|vs|was|were|what|when|which|who|why|with|[0-9]*|[a-z]"
)


class PlainField(NamedTuple):
    """A field of a publication that reference managers store as it is, and its name in each format."""

    field: str
    bibtex: str
    ris: str
    csl: str


PLAIN_FIELDS = (
    PlainField("publisher_place", "address", "CY", "publisher-place"),
    PlainField("volume", "volume", "VL", "volume"),
    PlainField("issue", "number", "IS", "issue"),
)


@dataclass(frozen=True)
class Reference:
    """A publication as a citation.

    Attributes:
        number: its place in the export, from 1.
        key: citation key in ASCII, unique in its export.
        title: without the full stop at its end; with "RETRACTED: " in front where that is so.
        date: year, year and month, or year, month and day; () when unknown.
        url: "" unless it leads to the web.
        pages: first and last page; last is "" for a single page or what is not a range.
        status_note: its status, and the publications that correct, replace or publish it; "" if there is nothing.
        facts: what no format has a field for, a sentence each: numbers, revision, ahead of print.
        abstract: what the source says, "" where that is only the title again.
        remark: what the user wrote.
    """

    publication: Publication
    number: int
    key: str
    kind: PublicationForm
    title: str
    authors: tuple[AuthorName, ...]
    date: tuple[int, ...]
    url: str
    pages: tuple[str, str]
    status_note: str
    facts: tuple[str, ...]
    abstract: str
    remark: str
    keywords: tuple[str, ...]


def references(publications: Sequence[Publication], start: int = 0) -> Iterator[Reference]:
    """A reference for each publication from `start` on, in order, with keys that are unique among all of them."""
    uses: Counter[str] = Counter()
    for position, publication in enumerate(publications):
        key = _key(publication)
        uses[key] += 1
        if position >= start:
            yield _reference(publication, key if uses[key] == 1 else f"{key}-{uses[key]}", position + 1)


def _reference(publication: Publication, key: str, number: int) -> Reference:
    return Reference(
        publication=publication,
        number=number,
        key=key,
        kind=publication.form,
        title=_marked_title(publication),
        authors=publication.authors,
        date=tuple(int(part) for part in publication.date.split("-")) if publication.date != UNKNOWN_DATE else (),
        url=publication.url if publication.is_on_the_web else "",
        pages=_page_range(publication.pages),
        status_note=_status_note(publication),
        facts=tuple(_facts(publication)),
        abstract=_abstract(publication),
        remark="\n\n".join(text.content for text in publication.texts if text.is_users),
        keywords=tuple(dict.fromkeys((*publication.mesh_terms, *publication.keywords))),
    )


def _abstract(publication: Publication) -> str:
    """What the source says, never what the user wrote about it."""
    said = [text.content for text in publication.texts if not text.is_users and text.content != NO_ABSTRACT]
    return said[0] if said and said[0].rstrip(".") != publication.title.rstrip(".") else ""


def _marked_title(publication: Publication) -> str:
    title = publication.title
    if title.endswith(".") and not title.endswith(("..", ". .")):
        title = title[:-1].rstrip() or title
    retracted = publication.status == "retracted" and not _MARKED_AS_RETRACTED.match(title)
    return f"{status_label(publication.status)}: {title}" if retracted else title


def _status_note(publication: Publication) -> str:
    label = status_label(publication.status)
    notices = [
        f"{NOTICE_LABELS[notice.kind]}: " + ", ".join(filter(None, (notice.reference.rstrip("."), _pmid(notice.pmid))))
        for notice in publication.status_notices
        if notice.reference or notice.pmid
    ]
    return ". ".join(filter(None, [label, *notices, ""])) + "." if label or notices else ""


def _facts(publication: Publication) -> Iterator[str]:
    if publication.publication_stage == AHEAD_OF_PRINT:
        yield "Epub ahead of print."
    if publication.registrations:
        yield f"Registrations: {'; '.join(publication.registrations)}."
    if publication.nct and not any(publication.nct in one for one in publication.registrations):
        yield f"Trial registration: {publication.nct}."
    if publication.bookshelf_id:
        yield f"Bookshelf ID: {publication.bookshelf_id}."
    if publication.book_years:
        yield f"Book published {publication.book_years}."
    if publication.revised_date != UNKNOWN_DATE:
        yield f"Updated {publication.revised_date}."


def _pmid(pmid: str) -> str:
    return f"PMID {pmid}" if pmid else ""


def _page_range(pages: str) -> tuple[str, str]:
    """First and last page, the last one written out: PubMed shortens 1820-1830 to 1820-30."""
    match = _PAGES.fullmatch(pages)
    if not match:
        return pages, ""
    first, last = match.groups()
    if first.isdecimal() and last.isdecimal() and len(last) < len(first):
        last = first[: -len(last)] + last
    return first, last


def _key(publication: Publication) -> str:
    """First author's family name, year and first telling word of the title, e.g. "garcialopez2021metformin"."""
    family = _ascii_letters(publication.authors[0].family)[:30] if publication.authors else ""
    year = publication.date[:4] if publication.date != UNKNOWN_DATE else ""
    title = "" if publication.title == NO_TITLE else publication.title
    words = [_ascii_letters(word) for word in re.split(r"[\s/:–—-]+", title)]
    word = next((word for word in words if not _UNTELLING.fullmatch(word)), "")[:30]
    return f"{family}{year}{word}" if family else f"{word or _ascii_letters(publication.id)[:30]}{year}"


def _ascii_letters(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text.lower().translate(_PLAIN_LETTERS))
    return "".join(letter for letter in plain if letter.isascii() and letter.isalnum())


def words_with_case(title: str) -> list[tuple[str, bool]]:
    """The words of a title, and whether each keeps its capitals when a style changes those of the rest.

    Those are words with a capital after their first letter (DNA, mRNA), symbols such as p53, and names, which are
    known by their capital unless the title capitalises its words or a sentence begins there.
    """
    words = title.split(" ")
    # In a title that capitalises its words, a capital at a word's start says nothing.
    capitalised = sum(word[:1].isupper() for word in words) > len(words) / 2
    starts = [True, *(word.endswith((":", ".", "?", "!", "-", "–", "—")) for word in words)]
    return [
        (word, _keeps_case(word, initial_counts=not start and not capitalised))
        for word, start in zip(words, starts, strict=False)
    ]


def _keeps_case(word: str, *, initial_counts: bool) -> bool:
    letters = "".join(letter for letter in word if letter.isalnum())
    if letters[:1].islower() and any(letter.isdigit() for letter in letters):
        return True
    return any(letter.isupper() for letter in (letters if initial_counts else letters[1:]))
