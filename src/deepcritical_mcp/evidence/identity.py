"""When two descriptions are of the same publication: decided by numbers, else by title and content together.

Likeness in meaning alone never makes two publications one. Every rule is symmetric, so that the order of arrival does
not matter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from typing import Literal

from rapidfuzz import fuzz

from deepcritical_mcp.evidence.embedding.calibration import Calibration
from deepcritical_mcp.evidence.same_author import same_author
from deepcritical_mcp.evidence.text_agreement import COMPARED, copies, opposite_signs
from deepcritical_mcp.evidence.titles import (
    Likeness,
    bare_title,
    identifies,
    is_generic,
    is_junk,
    is_negation,
    is_notice,
    is_translation,
    likeness,
    numbers_agree,
    replaced,
    tokens,
)
from deepcritical_mcp.identifiers import is_preprint_doi, normalise_doi, record_ids
from deepcritical_mcp.models import NO_ABSTRACT, NO_TITLE, UNKNOWN_DATE, AuthorName, Publication
from deepcritical_mcp.urls import host_of, normalise_url

LIKE_TITLE = 0.6
"""Token sort ratio from which two titles under one DOI belong to the same article."""
TELLING_CONTENT = 80
"""Characters from which a content tells whether two documents are the same."""

Agreement = Literal["same", "like", "other", "unknown"]
_AGREEMENTS: tuple[Agreement, ...] = ("same", "like", "other")

_JOURNAL_FILLERS = frozenset({"the", "of", "and", "in", "for", "on"})
_NEGATION = re.compile(r"\b\w+n['’]t\b")
_PRINT_VIEW = re.compile(r"(?:^|[/._=?&-])(?:pdf|epdf|articlepdf|print|printable|pdfdirect|pdfplus)(?:$|[/._=&-])")
_PRINT_QUERY = re.compile(r"\?print=(?:true|yes)$")
_CUT = ("…", "...")


@dataclass(frozen=True, slots=True)
class Identity:
    """What a publication is recognised by; "" and year 0 mean unknown. `text` is the id of what has no other mark.

    Attributes:
        title: as `tokens`, without what a site adds.
        shown_title: as it is written.
        is_note: whether it is what the user says, perhaps about the publication whose numbers it bears.
        is_document: whether the user supplied it as a web page or document, not as a note or a database's record.
        contents: what its texts say; none when that is nothing.
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
    first_author: AuthorName | None
    journal: str
    is_note: bool
    is_document: bool
    contents: tuple[str, ...]


def identity_of(publication: Publication) -> Identity:
    """The identity of a publication, every part in one spelling; numbers are read from its URL too."""
    ids = record_ids(publication.url)
    url = _PRINT_QUERY.sub("", normalise_url(publication.url))
    return Identity(
        pmid=publication.pmid.strip() or ids.pmid,
        pmcid=(publication.pmcid.strip().upper() or ids.pmcid).removeprefix("PMC"),
        doi=normalise_doi(publication.doi) or ids.doi,
        # A paper names the trial that it reports, but is not the trial's registration.
        nct="" if publication.pmid else publication.nct.strip().upper() or ids.nct,
        url=url,
        text=publication.id.partition("#")[0] if publication.id.startswith("text:") else "",
        title=tokens(bare_title(title, host_of(url))) if (title := _own_title(publication)) else (),
        shown_title=title,
        year=int(publication.date[:4]) if publication.date[:4].isdigit() else 0,
        first_author=publication.authors[0] if publication.authors else None,
        journal=" ".join(tokens(publication.journal)),
        is_note=publication.source == "user" and publication.is_users,
        is_document=publication.is_users and publication.source == "web",
        contents=tuple(
            text.content for text in publication.texts if text.content not in (NO_ABSTRACT, publication.title)
        ),
    )


def _own_title(publication: Publication) -> str:
    # What the user added without a title was given its own beginning for one, which identifies nothing.
    title = publication.title
    bare = publication.is_users and not publication.authors and publication.date == UNKNOWN_DATE
    is_given = bare and publication.text.content.startswith(title.rstrip("…"))
    return "" if is_given or title == NO_TITLE or is_junk(title) else title


def negations(text: str) -> int:
    """How many words of a text are negations."""
    return len(_NEGATION.findall(text.casefold())) + sum(map(is_negation, tokens(text)))


def conflict(one: Identity, other: Identity) -> bool:
    """Whether two identities name two different publications: different PMIDs, PMCIDs, DOIs or trial numbers, or a
    preprint and an article."""
    if any(_differ(getattr(one, number), getattr(other, number)) for number in ("pmid", "doi", "nct", "pmcid")):
        return True
    return any(
        is_preprint_doi(preprint.doi) and not article.doi and bool(article.pmid or article.pmcid) and not preprint.pmid
        for preprint, article in ((one, other), (other, one))
    )


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
    """How far two publications agree in any of their texts; `like` is the cosine of nearly the same meaning."""
    found = {_texts_agree(*texts, cosine >= like) for texts in product(one.contents, other.contents)}
    for agreement in _AGREEMENTS:
        if agreement in found:
            return agreement
    return "unknown"


def _texts_agree(one: str, other: str, is_like: bool) -> Agreement:
    short, long = sorted((one, other), key=len)
    if short in long:
        return "same"
    found = copies(short, long)
    if len(short) < TELLING_CONTENT:
        return "unknown" if found == "different" else "same" if found == "same" else "other"
    if found == "same" or found == "contradicted":
        return "same" if found == "same" else "other"
    first, second = tokens(short[:COMPARED]), tokens(long[:COMPARED])
    return "like" if is_like and numbers_agree(first, second) else "other"


def _same_people(one: Identity, other: Identity) -> bool | None:
    """Whether both have the same first author; None where one is unknown."""
    if not one.first_author or not other.first_author:
        return None
    return same_author(one.first_author, other.first_author)


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
        return (
            self._by_text(new)
            or self._by_number(new)
            or self._by_doi(new, similarity)
            or self._by_title(new, similarity, close)
        )

    def _under(self, kind: str, value: str) -> Iterable[str]:
        return self._ids.get((kind, value), ()) if value else ()

    def _by_text(self, new: Identity) -> Match | None:
        """The same words. Of two authors or years, about two publications or with two titles, they are two documents
        all the same."""
        ids = [id for id in self._under("text", new.text) if _says_the_same(new, self._kept[id])]
        if not ids or any(_are_two(self._kept[ids[0]], self._kept[id]) for id in ids[1:]):
            return None
        return Match(ids[0], 1.0, "same content")

    def _by_number(self, new: Identity) -> Match | None:
        for part, value in _numbers(new):
            for id in self._under(part, value) if part != "doi" else ():
                kept = self._kept[id]
                contradicted = part != "pmid" and conflict(new, kept)
                if not contradicted and not _is_note_on(new, kept):
                    return Match(id, 1.0, f"same {_NAMES[part]}")
        return None

    def _by_doi(self, new: Identity, similarity: Similarity) -> Match | None:
        ids = [id for id in self._under("doi", new.doi) if not _is_apart(new, self._kept[id])]
        if len(ids) > 1 and not new.title:
            return None  # it could be any of a book's chapters
        for id in ids:
            kept = self._kept[id]
            if not new.title or not kept.title:
                return Match(id, 1.0, "same DOI")
            if is_translation(new.shown_title, kept.shown_title):
                return Match(id, 1.0, "same DOI and a translated title")
            if not numbers_agree(new.title, kept.title) or _negated(new) != _negated(kept):
                continue
            if is_notice(new.title) != is_notice(kept.title) or replaced(new.title, kept.title):
                continue
            if title_similarity(new, kept) >= LIKE_TITLE:
                return Match(id, 1.0, "same DOI and a similar title")
            if (cosine := similarity(id)) >= self._like_meaning:
                return Match(id, cosine, "same DOI and similar content")
        return None

    def _by_title(self, new: Identity, similarity: Similarity, close: Iterable[str]) -> Match | None:
        if not new.title or is_generic(new.title):
            return None
        candidates = dict.fromkeys((*self._under("title", _title_key(new)), *close))
        ids = [id for id in candidates if self._is_same_document(new, self._kept[id], similarity(id))]
        kept = [self._kept[id] for id in ids]
        if not ids or any(_are_two(kept[0], one) or two_pages(kept[0], one) for one in kept[1:]):
            return None
        id = ids[0]
        return Match(id, 1.0 if new.title == self._kept[id].title else similarity(id), "same title and content")

    def _is_same_document(self, new: Identity, kept: Identity, cosine: float) -> bool:
        """Whether title, content, people, journal and year agree, and no number or address contradicts."""
        if not new.title or not kept.title:
            return False
        titles = _titles_alike(new, kept)
        if titles == "other" or _are_two(new, kept) or two_pages(new, kept) or _is_note_on(new, kept):
            return False
        people, journal = _same_people(new, kept), _same_journal(new, kept)
        agreement = contents_agree(new, kept, cosine, self._same_meaning)
        same_year = bool(new.year and kept.year)
        if not identifies(new.title) or not identifies(kept.title):
            return agreement == "same" and titles == "same" and bool(people and journal and same_year)
        if agreement == "same":
            return True
        return agreement in ("like", "unknown") and titles == "same" and bool(people and same_year)


def _says_the_same(one: Identity, other: Identity) -> bool:
    """Whether two publications with the same text are one; two notes must be about the same thing."""
    if _titles_alike(one, other) == "other" or not years_agree(one, other) or _same_people(one, other) is False:
        return False
    about, others = set(_numbers(one)), set(_numbers(other))
    if not about or not others:
        return about == others or not (one.is_note and other.is_note)
    return bool(about & others)


def _titles_alike(one: Identity, other: Identity) -> Likeness:
    """As `likeness`; a missing title is like any, and one that is visibly cut is like what it begins."""
    if not one.title or not other.title:
        return "same"
    if opposite_signs(one.shown_title, other.shown_title):
        return "other"
    for cut, whole in ((one, other), (other, one)):
        begun = cut.title[:-1]  # the last word may be cut too
        if cut.shown_title.endswith(_CUT) and identifies(begun) and whole.title[: len(begun)] == begun:
            return "near"
    return likeness(one.title, other.title)


def _are_two(one: Identity, other: Identity) -> bool:
    """Whether numbers, years or first authors show that two publications are not one."""
    if conflict(one, other) or not years_agree(one, other):
        return True
    return _same_people(one, other) is False and _same_journal(one, other) is not True


def _is_apart(one: Identity, other: Identity) -> bool:
    return conflict(one, other) or _is_note_on(one, other)


def _is_note_on(one: Identity, other: Identity) -> bool:
    """Whether one is the user's own words and the other something else. What the user supplied as a document is the
    same as a page the user supplied if it bears its title and number, or its title and all of its words."""
    if not one.is_note and not other.is_note:
        return False
    if one.is_note and other.is_note:
        return True  # the same words are found before
    if not (one.is_document or other.is_document) or _titles_alike(one, other) == "other":
        return True
    if (
        one.title
        and other.title
        and any(
            getattr(one, part) and getattr(one, part) == getattr(other, part)
            for part in ("pmid", "pmcid", "doi", "nct")
        )
    ):
        return False
    return {tokens(text) for text in one.contents}.isdisjoint(tokens(text) for text in other.contents)


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
