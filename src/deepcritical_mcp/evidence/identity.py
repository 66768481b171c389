"""When two descriptions are of the same publication: decided by numbers, else by title and content together.

Likeness in meaning alone never makes two publications one. Every rule is symmetric, so that the order of arrival does
not matter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from rapidfuzz import fuzz

from deepcritical_mcp.evidence.embedding.calibration import Calibration
from deepcritical_mcp.evidence.titles import (
    bare_title,
    identifies,
    is_generic,
    is_junk,
    language_of,
    likeness,
    numbers_agree,
    tokens,
)
from deepcritical_mcp.identifiers import normalise_doi, record_ids
from deepcritical_mcp.models import NO_ABSTRACT, NO_TITLE, UNKNOWN_DATE, Publication
from deepcritical_mcp.urls import host_of, normalise_url

LIKE_TITLE = 0.6
"""Token sort ratio from which two titles under one DOI belong to the same article."""
OTHER_NAME = 60
"""Token set ratio below which two names belong to different authors."""
TELLING_CONTENT = 80
"""Characters from which a content tells whether two documents are the same."""
COMPARED = 4_000
"""Characters of two contents that are compared."""
SAME_CONTENT = 92
"""Ratio (0..100) from which two contents are the same but for misprints."""
SHARED_NUMBERS = 0.5
"""Of the numbers in the content that has fewer of them, how many the other must have."""

Agreement = Literal["same", "like", "unknown", "other"]

_JOURNAL_FILLERS = frozenset({"the", "of", "and", "in", "for", "on"})
_NEGATION = re.compile(
    r"\b(?:no|not|non|never|neither|nor|none|without|cannot|lacks?|lacking|fails?|failed|\w+n['’]t)\b"
)
_PRINT_VIEW = re.compile(r"(?:^|[/._=-])(?:pdf|epdf|articlepdf|print|printable|pdfdirect|pdfplus)(?:$|[/._=&-])")


@dataclass(frozen=True, slots=True)
class Identity:
    """What a publication is recognised by; "" and year 0 mean unknown. `text` is the id of what has no other mark.

    Attributes:
        title: as `tokens`, without what a site adds.
        shown_title: as it is written.
        is_note: whether it is what the user says, perhaps about the publication whose numbers it bears.
        is_users: whether the user supplied it.
        content: what it says, "" when that is nothing.
    """

    pmid: str
    pmcid: str
    doi: str
    nct: str
    url: str
    text: str
    title: tuple[str, ...]
    shown_title: str
    year: int
    first_author: str
    journal: str
    is_note: bool
    is_users: bool
    content: str


def identity_of(publication: Publication) -> Identity:
    """The identity of a publication, every part in one spelling; numbers are read from its URL too."""
    ids = record_ids(publication.url)
    content = publication.text.content
    return Identity(
        pmid=publication.pmid.strip() or ids.pmid,
        pmcid=(publication.pmcid.strip().upper() or ids.pmcid).removeprefix("PMC"),
        doi=normalise_doi(publication.doi) or ids.doi,
        nct=publication.nct.strip().upper() or ids.nct,
        url=normalise_url(publication.url),
        text=publication.id.partition("#")[0] if publication.id.startswith("text:") else "",
        title=tokens(bare_title(title)) if (title := _own_title(publication)) else (),
        shown_title=title,
        year=int(publication.date[:4]) if publication.date[:4].isdigit() else 0,
        first_author=" ".join(tokens(str(publication.authors[0]))) if publication.authors else "",
        journal=" ".join(tokens(publication.journal)),
        is_note=publication.source == "user" and publication.is_users,
        is_users=publication.is_users,
        content="" if content in (NO_ABSTRACT, publication.title) else content,
    )


def _own_title(publication: Publication) -> str:
    # A bare note was given its own beginning for a title, which identifies nothing.
    title = publication.title
    bare = publication.source == "user" and not publication.authors and publication.date == UNKNOWN_DATE
    is_given = bare and publication.text.content.startswith(title.rstrip("…"))
    return "" if is_given or title == NO_TITLE or is_junk(title) else title


def negations(text: str) -> int:
    """How many words of a text are negations."""
    return len(_NEGATION.findall(text.casefold()))


def conflict(one: Identity, other: Identity) -> bool:
    """Whether two identities name two different publications: different PMIDs, PMCIDs, DOIs or trial numbers."""
    return any(_differ(getattr(one, number), getattr(other, number)) for number in ("pmid", "doi", "nct", "pmcid"))


def _differ(one: str, other: str) -> bool:
    return bool(one and other and one != other)


def opposed(one: Publication, other: Publication) -> bool:
    """Whether two nearly equal texts differ in a negation ("X is essential", "X is not essential")."""
    texts = one.text.content, other.text.content
    return negations(one.title) != negations(other.title) or (
        negations(texts[0]) != negations(texts[1]) and fuzz.ratio(texts[0].casefold(), texts[1].casefold()) >= 85
    )


def title_similarity(one: Identity, other: Identity) -> float:
    """0..1: how alike two titles are, whatever the order of their words; 0 when one is missing."""
    if not one.title or not other.title:
        return 0.0
    return fuzz.token_sort_ratio(" ".join(one.title), " ".join(other.title)) / 100


def contents_agree(one: Identity, other: Identity, cosine: float, like: float) -> Agreement:
    """How far two contents agree; `like` is the cosine from which they mean nearly the same."""
    short, long = sorted((one.content, other.content), key=len)
    if len(short) < TELLING_CONTENT:
        return "same" if short and short in long else "unknown"
    first, second = tokens(short[:COMPARED]), tokens(long[:COMPARED])
    if _shared_numbers(first, second) < SHARED_NUMBERS:
        return "other"
    texts = " ".join(first), " ".join(second)
    ratio = fuzz.ratio(*texts) if len(short) > 0.8 * len(long) else fuzz.partial_ratio(*texts)
    if ratio >= SAME_CONTENT and negations(short) == negations(long[: len(short) + 40]):
        return "same"
    return "like" if cosine >= like else "other"


def _shared_numbers(one: Sequence[str], other: Sequence[str]) -> float:
    fewer, more = sorted(({word for word in words if word.isdigit()} for words in (one, other)), key=len)
    return len(fewer & more) / len(fewer) if len(fewer) > 2 else 1.0


def _same_people(one: Identity, other: Identity) -> bool | None:
    """Whether both have the same first author; None where one is unknown."""
    if not one.first_author or not other.first_author:
        return None
    return fuzz.token_set_ratio(one.first_author, other.first_author) >= OTHER_NAME


def _same_journal(one: Identity, other: Identity) -> bool | None:
    """Whether one journal's name may abbreviate or begin the other ("int j cardiol", "international journal of
    cardiology"); None where one is unknown."""
    if not one.journal or not other.journal:
        return None
    words = [[word for word in name.split() if word not in _JOURNAL_FILLERS] for name in (one.journal, other.journal)]
    return all(first.startswith(second) or second.startswith(first) for first, second in zip(*words, strict=False))


def years_agree(one: Identity, other: Identity) -> bool:
    """At most one year apart, or unknown."""
    return not one.year or not other.year or abs(one.year - other.year) <= 1


def two_pages(one: Identity, other: Identity) -> bool:
    """Whether they are two pages of one host, neither the PDF or print view of the other."""
    if not one.url or not other.url or one.url == other.url or host_of(one.url) != host_of(other.url):
        return False
    return bool(_PRINT_VIEW.search(one.url)) == bool(_PRINT_VIEW.search(other.url))


@dataclass(frozen=True, slots=True)
class Match:
    """A kept publication that is the same, how alike the two are, and why they are one."""

    id: str
    similarity: float
    reason: str


Similarity = Callable[[str], float]
"""The cosine of a new publication to a kept one, by id; 0.0 where unknown."""


class IdentityIndex:
    """The identities of what a session keeps, found by each of their parts.

    Args:
        calibration: thresholds of the embedding model; without them, nothing is recognised by meaning.
    """

    def __init__(self, calibration: Calibration | None = None) -> None:
        self._like_meaning = calibration.like_meaning if calibration else 2.0  # no cosine reaches it
        self._same_meaning = calibration.same_meaning if calibration else 2.0
        self._kept: dict[str, Identity] = {}
        self._ids: dict[tuple[str, str], tuple[str, ...]] = {}

    def __getitem__(self, id: str) -> Identity:
        return self._kept[id]

    def add(self, id: str, identity: Identity) -> None:
        """Keep `identity` under `id`, in place of what was known of it."""
        self.remove(id)
        self._kept[id] = identity
        for key in _keys(identity):
            self._ids[key] = (*self._ids.get(key, ()), id)

    def remove(self, id: str) -> None:
        """Forget `id`, if it is known."""
        identity = self._kept.pop(id, None)
        for key in _keys(identity) if identity is not None else ():
            self._ids[key] = tuple(other for other in self._ids[key] if other != id)
            if not self._ids[key]:
                del self._ids[key]

    def by_number(self, kind: str, value: str) -> str:
        """The id of the publication that bears a number, "" when none does; `kind` as in ids, e.g. "pubmed"."""
        kind = {"pubmed": "pmid", "pmc": "pmcid"}.get(kind, kind)
        value = normalise_doi(value) if kind == "doi" else value.upper().removeprefix("PMC")
        return next((id for id in self._under(kind, value) if not self._kept[id].is_note), "")

    def notes_on(self, id: str) -> list[str]:
        """The ids of the user's notes that bear a number of publication `id`."""
        identity = self._kept[id]
        if identity.is_note:
            return []
        ids = (other for part, value in _numbers(identity) for other in self._under(part, value))
        return list(dict.fromkeys(other for other in ids if self._kept[other].is_note))

    def match(self, new: Identity, similarity: Similarity, close: Iterable[str] = ()) -> Match | None:
        """The kept publication that `new` is; `close` are the ids of those close in meaning, whose titles are compared
        too."""
        if found := self._by_text(new):
            return found
        if new.is_note and not new.title:
            return None
        return self._by_number(new) or self._by_doi(new, similarity) or self._by_title(new, similarity, close)

    def _under(self, kind: str, value: str) -> Iterable[str]:
        return self._ids.get((kind, value), ()) if value else ()

    def _by_text(self, new: Identity) -> Match | None:
        """The same words. About two publications, or with two titles, they are two documents all the same."""
        about = set(_numbers(new))
        for id in self._under("text", new.text):
            kept = self._kept[id]
            others = set(_numbers(kept))
            titles_agree = not new.title or not kept.title or likeness(new.title, kept.title) != "other"
            if titles_agree and (not about or not others or about & others):
                return Match(id, 1.0, "same content")
        return None

    def _by_number(self, new: Identity) -> Match | None:
        for part, value in _numbers(new):
            for id in self._under(part, value) if part != "doi" else ():
                kept = self._kept[id]
                contradicted = part != "pmid" and conflict(new, kept)
                if not contradicted and not self._is_note_on(new, kept) and not self._is_note_on(kept, new):
                    return Match(id, 1.0, f"same {_NAMES[part]}")
        return None

    def _by_doi(self, new: Identity, similarity: Similarity) -> Match | None:
        for id in self._under("doi", new.doi):
            kept = self._kept[id]
            if conflict(new, kept) or self._is_note_on(new, kept) or self._is_note_on(kept, new):
                continue
            if not new.title or not kept.title:
                return Match(id, 1.0, "same DOI")
            if not numbers_agree(new.title, kept.title) or _negated(new) != _negated(kept):
                continue
            languages = language_of(new.shown_title), language_of(kept.shown_title)
            if title_similarity(new, kept) >= LIKE_TITLE:
                return Match(id, 1.0, "same DOI and a similar title")
            if all(languages) and languages[0] != languages[1]:
                return Match(id, 1.0, "same DOI and a translated title")
            if (cosine := similarity(id)) >= self._like_meaning:
                return Match(id, cosine, "same DOI and similar content")
        return None

    def _by_title(self, new: Identity, similarity: Similarity, close: Iterable[str]) -> Match | None:
        if not new.title or is_generic(new.title):
            return None
        for id in dict.fromkeys((*self._under("title", _title_key(new)), *close)):
            kept = self._kept[id]
            if self._is_same_document(new, kept, similarity(id)):
                return Match(id, 1.0 if new.title == kept.title else similarity(id), "same title and content")
        return None

    def _is_same_document(self, new: Identity, kept: Identity, cosine: float) -> bool:
        """Whether title, content, people, journal and year agree, and no number or address contradicts."""
        titles = likeness(new.title, kept.title)
        if titles == "other" or conflict(new, kept) or not years_agree(new, kept) or two_pages(new, kept):
            return False
        people, journal = _same_people(new, kept), _same_journal(new, kept)
        if people is False and journal is not True:
            return False
        if self._is_note_on(new, kept) or self._is_note_on(kept, new):
            return False
        agreement = contents_agree(new, kept, cosine, self._same_meaning)
        same_year = bool(new.year and kept.year)
        if not identifies(new.title) or not identifies(kept.title):
            return agreement == "same" and titles == "same" and bool(people and journal and same_year)
        if agreement == "same":
            return True
        if agreement == "like":
            return titles == "same" or bool(people and same_year)
        return agreement == "unknown" and titles == "same" and bool(people and same_year)

    def _is_note_on(self, note: Identity, other: Identity) -> bool:
        """Whether `note` is the user's own words about a publication that a source described."""
        if not note.is_note or other.is_users:
            return False
        return not other.content or contents_agree(note, other, 0.0, 2.0) != "same"


_NAMES = {"pmid": "PMID", "pmcid": "PMCID", "doi": "DOI", "nct": "NCT number", "url": "URL"}


def _negated(identity: Identity) -> int:
    return negations(" ".join(identity.title))


def _title_key(identity: Identity) -> str:
    return " ".join(identity.title)


def _numbers(identity: Identity) -> list[tuple[str, str]]:
    return [(part, value) for part in _NAMES if (value := getattr(identity, part))]


def _keys(identity: Identity) -> list[tuple[str, str]]:
    others = (("text", identity.text), ("title", _title_key(identity)))
    return [*_numbers(identity), *((part, value) for part, value in others if value)]
