"""When two descriptions are of the same publication: by identifiers, else by title and content together.

Similar meaning alone is never enough. Every rule is symmetric, so that the order of arrival does
not matter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations, product
from typing import Literal

from rapidfuzz import fuzz

from deepcritical_mcp.evidence.embedding.calibration import Calibration
from deepcritical_mcp.evidence.text_agreement import COMPARED, copies, opposite_signs, same_author, same_journal
from deepcritical_mcp.evidence.titles import (
    NEGATIONS,
    Likeness,
    adds_a_site,
    bare_title,
    identifies,
    is_generic,
    is_junk,
    is_notice,
    is_translation,
    likeness,
    numbers_agree,
    replaced,
    tokens,
)
from deepcritical_mcp.identifiers import is_preprint_doi, normalize_doi, record_ids
from deepcritical_mcp.models import NO_ABSTRACT, NO_TITLE, UNKNOWN_DATE, AuthorName, Publication
from deepcritical_mcp.urls import host_of, normalize_url

LIKE_TITLE = 0.6
"""Token sort ratio from which two titles under one DOI belong to the same article."""
TELLING_CONTENT = 80
"""Characters from which a content tells whether two documents are the same."""

Agreement = Literal["same", "like", "other", "unknown"]
_BEST_FIRST: tuple[Agreement, ...] = ("same", "like", "other")

_NAMES = {"pmid": "PMID", "pmcid": "PMCID", "doi": "DOI", "nct": "NCT number", "url": "URL"}
_REGISTERED = ("pmid", "doi", "nct", "pmcid")
"""Numbers of which a publication has one each."""
_NEGATION = re.compile(r"\b\w+n['’]t\b")
_PRINT_VIEW = re.compile(r"(?:^|[/._=?&-])(?:pdf|epdf|articlepdf|print|printable|pdfdirect|pdfplus)(?:$|[/._=&-])")
_PRINT_QUERY = re.compile(r"\?print=(?:true|yes)$")
_CUT = ("…", "...")


@dataclass(frozen=True, slots=True)
class Identity:
    """What identifies a publication; "" and year 0 mean unknown.

    Attributes:
        numbers: those known of `_NAMES`, normalized.
        text: the id of a text without identifiers.
        title: as `tokens`, without what a site adds.
        shown_title: as it is written.
        is_note: whether it is what the user says, perhaps about the publication whose numbers it bears.
        is_document: whether the user supplied it as a web page or document, not as a note or a database's record.
        contents: what its texts say; none when that is nothing.
    """

    numbers: Mapping[str, str]
    text: str
    title: tuple[str, ...]
    shown_title: str
    year: int
    first_author: AuthorName | None
    journal: tuple[str, ...]
    is_note: bool
    is_document: bool
    contents: tuple[str, ...]

    @property
    def keys(self) -> list[tuple[str, str]]:
        """What the publication can be looked up by: numbers, text and title."""
        others = {"text": self.text, "title": " ".join(self.title)}
        return [*self.numbers.items(), *((part, value) for part, value in others.items() if value)]


def identity_of(publication: Publication) -> Identity:
    """The identity of a publication, normalized; identifiers are read from its URL too."""
    ids = record_ids(publication.url)
    url = _PRINT_QUERY.sub("", normalize_url(publication.url))
    numbers = {
        "pmid": publication.pmid.strip() or ids.pmid,
        "pmcid": (publication.pmcid.strip().upper() or ids.pmcid).removeprefix("PMC"),
        "doi": normalize_doi(publication.doi) or ids.doi,
        # A paper names the trial that it reports, but is not the trial's registration.
        "nct": "" if publication.pmid else publication.nct.strip().upper() or ids.nct,
        "url": url,
    }
    title = _own_title(publication)
    return Identity(
        numbers={part: value for part, value in numbers.items() if value},
        text=publication.id.partition("#")[0] if publication.id.startswith("text:") else "",
        title=tokens(bare_title(title, host_of(url))) if title else (),
        shown_title=title,
        year=int(publication.date[:4]) if publication.date[:4].isdigit() else 0,
        first_author=publication.authors[0] if publication.authors else None,
        journal=tokens(publication.journal),
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


def conflict(one: Identity, other: Identity) -> bool:
    """Whether two identities name two different publications: different PMIDs, PMCIDs, DOIs or trial numbers, or a
    preprint and an article."""
    first, second = one.numbers, other.numbers
    if any(number in first and number in second and first[number] != second[number] for number in _REGISTERED):
        return True
    return any(
        is_preprint_doi(preprint.get("doi", ""))
        and "pmid" not in preprint
        and "doi" not in article
        and ("pmid" in article or "pmcid" in article)
        for preprint, article in ((first, second), (second, first))
    )


def opposed(one: Publication, other: Publication) -> bool:
    """Whether two nearly equal texts differ in a negation ("X is essential", "X is not essential")."""
    texts = one.text.content, other.text.content
    return _negations(one.title) != _negations(other.title) or (
        _negations(texts[0]) != _negations(texts[1]) and fuzz.ratio(texts[0].casefold(), texts[1].casefold()) >= 85
    )


def _negations(text: str) -> int:
    return len(_NEGATION.findall(text.casefold())) + sum(word in NEGATIONS for word in tokens(text))


def title_similarity(one: Identity, other: Identity) -> float:
    """The similarity of two titles, 0..1, regardless of word order; 0 if one is missing."""
    if not one.title or not other.title:
        return 0.0
    return fuzz.token_sort_ratio(" ".join(one.title), " ".join(other.title)) / 100


def _contents_agree(one: Identity, other: Identity, is_like: bool) -> Agreement:
    """How far two publications agree in any of their texts; `is_like` if they have nearly the same meaning."""
    found = {_texts_agree(*texts, is_like) for texts in product(one.contents, other.contents)}
    for agreement in _BEST_FIRST:
        if agreement in found:
            return agreement
    return "unknown"


def _texts_agree(one: str, other: str, is_like: bool) -> Agreement:
    short, long = sorted((one, other), key=len)
    found = "same" if short in long else copies(short, long)
    if found == "same":
        return "same"
    if len(short) < TELLING_CONTENT:
        return "unknown" if found == "different" else "other"
    first, second = tokens(short[:COMPARED]), tokens(long[:COMPARED])
    return "like" if is_like and found != "contradicted" and numbers_agree(first, second) else "other"


def _same_first_author(one: Identity, other: Identity) -> bool | None:
    """Whether both have the same first author; None if one is unknown."""
    if not one.first_author or not other.first_author:
        return None
    return same_author(one.first_author, other.first_author)


def _years_agree(one: Identity, other: Identity) -> bool:
    """At most one year apart, or unknown."""
    return not one.year or not other.year or abs(one.year - other.year) <= 1


def _titles_alike(one: Identity, other: Identity) -> Likeness:
    """As `likeness`; a missing title is like any, one that is visibly cut is like what it begins, and one with a
    journal's or site's name is like the same without it."""
    if not one.title or not other.title:
        return "same"
    if opposite_signs(one.shown_title, other.shown_title):
        return "other"
    known = bool(_same_first_author(one, other) and one.year and other.year)
    for long, short in ((one, other), (other, one)):
        begun = long.title[:-1]  # the last word may be cut too
        if long.shown_title.endswith(_CUT) and identifies(begun) and short.title[: len(begun)] == begun:
            return "near"
        if adds_a_site(long.shown_title, short.title, (long.journal, short.journal), known):
            return "near"
    return likeness(one.title, other.title)


def _are_two(one: Identity, other: Identity) -> bool:
    """Whether numbers, years or first authors show that two publications are not one."""
    if conflict(one, other) or not _years_agree(one, other):
        return True
    return _same_first_author(one, other) is False and same_journal(one.journal, other.journal) is not True


def _are_separate_pages(one: Identity, other: Identity) -> bool:
    """Whether these are two different pages of one host, neither the PDF or print view of the other."""
    urls = one.numbers.get("url", ""), other.numbers.get("url", "")
    if not all(urls) or urls[0] == urls[1] or host_of(urls[0]) != host_of(urls[1]):
        return False
    return bool(_PRINT_VIEW.search(urls[0])) == bool(_PRINT_VIEW.search(urls[1]))


def _says_the_same(one: Identity, other: Identity) -> bool:
    """Whether two publications with the same text are one; two notes must be about the same thing."""
    if _titles_alike(one, other) == "other" or not _years_agree(one, other) or _same_first_author(one, other) is False:
        return False
    if not one.numbers or not other.numbers:
        return one.numbers == other.numbers or not (one.is_note and other.is_note)
    return bool(one.numbers.items() & other.numbers.items())


def _is_note_on(one: Identity, other: Identity) -> bool:
    """Whether one is the user's own words and the other something else. What the user supplied as a document is the
    same as a page the user supplied if it bears its title and number, or its title and all of its words."""
    if one.is_note == other.is_note:
        return one.is_note  # two notes with the same words are found before
    if not (one.is_document or other.is_document) or _titles_alike(one, other) == "other":
        return True
    shared = {part for part, _ in one.numbers.items() & other.numbers.items()}
    if one.title and other.title and shared - {"url"}:
        return False
    return {tokens(text) for text in one.contents}.isdisjoint(tokens(text) for text in other.contents)


@dataclass(frozen=True, slots=True)
class Match:
    """A stored publication that is the same, its similarity, and why it is the same."""

    id: str
    similarity: float
    reason: str


SAME_TEXT = "same content"
SAME_DOCUMENT = "same title and content"
"""The reasons of a match without a shared number."""
Similarity = Callable[[str], float]
"""The cosine of a new publication to a stored one, by id; 0.0 if unknown."""


class IdentityIndex:
    """The identities of a session's publications, indexed by each of their parts.

    Args:
        calibration: thresholds of the embedding model; without them, meaning is not compared.
    """

    def __init__(self, calibration: Calibration | None = None) -> None:
        self._like_meaning = calibration.like_meaning if calibration else 2.0  # no cosine reaches it
        self._same_meaning = calibration.same_meaning if calibration else 2.0
        self._kept: dict[str, Identity] = {}
        self._ids: dict[tuple[str, str], dict[str, None]] = {}

    def __getitem__(self, id: str) -> Identity:
        return self._kept[id]

    def add(self, id: str, identity: Identity) -> None:
        """Store `identity` under `id`, replacing an earlier one."""
        for key in self._kept[id].keys if id in self._kept else ():
            del self._ids[key][id]
        self._kept[id] = identity
        for key in identity.keys:
            self._ids.setdefault(key, {})[id] = None

    def by_number(self, kind: str, value: str) -> str:
        """The id of the publication with an identifier; "" if there is none. `kind` is as in ids, e.g. "pubmed"."""
        kind = {"pubmed": "pmid", "pmc": "pmcid"}.get(kind, kind)
        value = normalize_doi(value) if kind == "doi" else value.upper().removeprefix("PMC")
        return next((id for id in self._under(kind, value) if not self._kept[id].is_note), "")

    def notes_on(self, id: str) -> list[str]:
        """The ids of the user's notes that share an identifier with publication `id`."""
        identity = self._kept[id]
        if identity.is_note:
            return []
        ids = (other for number in identity.numbers.items() for other in self._under(*number))
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

    def with_title(self, new: Identity, close: Iterable[str] = ()) -> list[str]:
        """The ids of those with the same title and of `close`; none if many documents have such a title."""
        if not new.title or is_generic(new.title):
            return []
        return list(dict.fromkeys((*self._under("title", " ".join(new.title)), *close)))

    def is_same_document(self, new: Identity, kept: Identity, cosine: float) -> bool:
        """Whether title, content, people, journal and year agree, and no number or address contradicts."""
        if not new.title or not kept.title:
            return False
        titles = _titles_alike(new, kept)
        if titles == "other" or _are_two(new, kept) or _are_separate_pages(new, kept) or _is_note_on(new, kept):
            return False
        known = bool(_same_first_author(new, kept) and new.year and kept.year)
        agreement = _contents_agree(new, kept, cosine >= self._same_meaning)
        if not identifies(new.title) or not identifies(kept.title):
            return agreement == "same" and titles == "same" and known and bool(same_journal(new.journal, kept.journal))
        return agreement == "same" or (agreement != "other" and titles == "same" and known)

    def _under(self, kind: str, value: str) -> Iterable[str]:
        return list(self._ids.get((kind, value), ()))

    def _by_text(self, new: Identity) -> Match | None:
        """The same words. Of two authors or years, about two publications or with two titles, they are two documents
        all the same."""
        ids = [id for id in self._under("text", new.text) if _says_the_same(new, self._kept[id])]
        return Match(ids[0], 1.0, SAME_TEXT) if ids and not self._are_several(ids, _are_two) else None

    def _by_number(self, new: Identity) -> Match | None:
        for part, value in new.numbers.items():
            for id in self._under(part, value) if part != "doi" else ():
                kept = self._kept[id]
                contradicted = part != "pmid" and conflict(new, kept)
                if not contradicted and not _is_note_on(new, kept):
                    return Match(id, 1.0, f"same {_NAMES[part]}{_doubt(new, kept) if part != 'url' else ''}")
        return None

    def _by_doi(self, new: Identity, similarity: Similarity) -> Match | None:
        under = [(id, self._kept[id]) for id in self._under("doi", new.numbers.get("doi", ""))]
        found = [(id, kept) for id, kept in under if not conflict(new, kept) and not _is_note_on(new, kept)]
        if len(found) > 1 and not new.title:
            return None  # it could be any of a book's chapters
        for id, kept in found:
            if not new.title or not kept.title:
                return Match(id, 1.0, "same DOI")
            if is_translation(new.shown_title, kept.shown_title):
                return Match(id, 1.0, "same DOI and a translated title")
            titles = new.title, kept.title
            negated, notices = (set(map(test, titles)) for test in (_negated, is_notice))
            if not numbers_agree(*titles) or len(negated) > 1 or len(notices) > 1 or replaced(*titles):
                continue
            if title_similarity(new, kept) >= LIKE_TITLE:
                return Match(id, 1.0, "same DOI and a similar title")
            if (cosine := similarity(id)) >= self._like_meaning:
                return Match(id, cosine, "same DOI and similar content")
        return None

    def _by_title(self, new: Identity, similarity: Similarity, close: Iterable[str]) -> Match | None:
        candidates = self.with_title(new, close)
        ids = [id for id in candidates if self.is_same_document(new, self._kept[id], similarity(id))]
        if not ids or self._are_several(ids, _are_two) or self._are_several(ids, _are_separate_pages):
            return None
        return Match(ids[0], 1.0 if new.title == self._kept[ids[0]].title else similarity(ids[0]), SAME_DOCUMENT)

    def _are_several(self, ids: Iterable[str], differ: Callable[[Identity, Identity], bool]) -> bool:
        return any(differ(one, other) for one, other in combinations([self._kept[id] for id in ids], 2))


def _doubt(one: Identity, other: Identity) -> str:
    if not one.title or not other.title or title_similarity(one, other) >= LIKE_TITLE:
        return ""
    return "" if is_translation(one.shown_title, other.shown_title) else ", though the titles differ: check the number"


def _negated(title: tuple[str, ...]) -> int:
    return _negations(" ".join(title))
