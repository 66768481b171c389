"""What every citation format asks for, worked out once from a piece of evidence."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from deepcritical_mcp.export.names import author_names
from deepcritical_mcp.models import NO_TITLE, AuthorName, Evidence

Kind = Literal["article", "webpage", "other"]

_STATUS_LABELS = {"retracted": "RETRACTED", "concern": "EXPRESSION OF CONCERN", "corrected": "CORRECTED"}
_NOTICE_LABELS = {"retraction": "Retraction", "concern": "Expression of concern", "erratum": "Erratum"}
_MARKED_AS_RETRACTED = re.compile(r"\W*retract(?:ed|ion)\b", re.IGNORECASE)
_PAGES = re.compile(r"(\w+)\s*[-‐-―−]+\s*(\w+)")
_WEB_ADDRESS = re.compile(r"https?://[^\s/]", re.IGNORECASE)
# Letters that have no decomposition into an ASCII letter and a mark.
_PLAIN_LETTERS = str.maketrans(
    {"ß": "ss", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h"}
)
_UNTELLING = re.compile(
    "an?|and|are|as|at|by|can|do|does|for|from|ha[sd]|have|how|in|into|is|its|no|not|of|on|or|retract(ed|ion)|than|that|"
    "the|their|these|this|to|versus|vs|was|were|what|when|which|who|why|with|[0-9]*|[a-z]"
)


@dataclass(frozen=True)
class Reference:
    """A piece of evidence as a citation.

    Attributes:
        number: its place in the export, from 1.
        key: citation key in ASCII, unique in its export.
        title: without the full stop at its end; with "RETRACTED: " in front where that is so.
        date: year, year and month, or year, month and day; () when unknown.
        url: "" unless it leads to the web (a script's address is no place to find a source).
        pages: first and last page; last is "" for a single page or what is not a range.
        status_note: "" when nothing is wrong with the publication.
        abstract: what the source says, "" where that is only the title again.
        remark: what the user wrote.
    """

    evidence: Evidence
    number: int
    key: str
    kind: Kind
    title: str
    authors: tuple[AuthorName, ...]
    date: tuple[int, ...]
    url: str
    pages: tuple[str, str]
    status_note: str
    abstract: str
    remark: str
    keywords: tuple[str, ...]


def references(evidence: Sequence[Evidence], start: int = 0) -> Iterator[Reference]:
    """A reference for each piece from `start` on, in order, with keys that are unique among all of `evidence`."""
    uses: Counter[str] = Counter()
    for position, piece in enumerate(evidence):
        key = _key(piece)
        uses[key] += 1
        if position >= start:
            yield _reference(piece, key if uses[key] == 1 else f"{key}-{uses[key]}", position + 1)


def status_label(evidence: Evidence) -> str:
    """E.g. "RETRACTED"; "" when nothing is wrong with the publication."""
    return _STATUS_LABELS.get(evidence.citation.status, "")


def _reference(piece: Evidence, key: str, number: int) -> Reference:
    citation = piece.citation
    is_remark = citation.source == "user"
    content = "" if piece.content.rstrip(".") == citation.title.rstrip(".") else piece.content
    return Reference(
        evidence=piece,
        number=number,
        key=key,
        kind=_kind(piece),
        title=_title(piece),
        authors=author_names(piece),
        date=tuple(int(part) for part in citation.date.split("-")) if citation.date != "Unknown" else (),
        url=_url(piece),
        pages=_page_range(piece.pages),
        status_note=_status_note(piece),
        abstract="" if is_remark else content,
        remark=content if is_remark else "",
        keywords=tuple(dict.fromkeys((*citation.mesh_terms, *piece.keywords))),
    )


def _kind(piece: Evidence) -> Kind:
    if piece.citation.journal:
        return "article"
    return "webpage" if _url(piece) and not (piece.citation.pmid or piece.citation.doi) else "other"


def _url(piece: Evidence) -> str:
    return piece.citation.url if _WEB_ADDRESS.match(piece.citation.url) else ""


def _title(piece: Evidence) -> str:
    title = piece.citation.title
    if title.endswith(".") and not title.endswith(("..", ". .")):
        title = title[:-1].rstrip() or title
    retracted = piece.citation.status == "retracted" and not _MARKED_AS_RETRACTED.match(title)
    return f"RETRACTED: {title}" if retracted else title


def _status_note(piece: Evidence) -> str:
    label = status_label(piece)
    if not label:
        return ""
    notices = [
        f"{_NOTICE_LABELS[notice.kind]}: " + ", ".join(filter(None, (notice.reference.rstrip("."), _pmid(notice.pmid))))
        for notice in piece.citation.status_notices
        if notice.reference or notice.pmid
    ]
    return ". ".join([label, *notices]) + "."


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


def _key(piece: Evidence) -> str:
    """First author's family name, year and first telling word of the title, e.g. "garcialopez2021metformin"."""
    names = author_names(piece)
    family = _ascii_letters(names[0].family)[:30] if names else ""
    year = piece.citation.date[:4] if piece.citation.date != "Unknown" else ""
    title = "" if piece.citation.title == NO_TITLE else piece.citation.title
    words = [_ascii_letters(word) for word in re.split(r"[\s/:–—-]+", title)]
    word = next((word for word in words if not _UNTELLING.fullmatch(word)), "")[:30]
    return f"{family}{year}{word}" if family else f"{word or _ascii_letters(piece.id)[:30]}{year}"


def _ascii_letters(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text.lower().translate(_PLAIN_LETTERS))
    return "".join(letter for letter in plain if letter.isascii() and letter.isalnum())
