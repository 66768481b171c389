"""What a description of a publication says that identifies it, normalized: its own numbers, those that it only claims,
title, people and texts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from typing import Literal

from rapidfuzz import fuzz

from deepcritical_mcp.evidence.titles import (
    ABSTRACT_LABELS,
    DENIALS,
    bare_title,
    changes,
    content_words,
    is_junk,
    is_misprint,
    plain_letters,
    tokens,
)
from deepcritical_mcp.identifiers import RecordIds, normalize_doi, record_ids
from deepcritical_mcp.models import NO_ABSTRACT, NO_TITLE, UNKNOWN_DATE, AuthorName, Publication
from deepcritical_mcp.text import normalized
from deepcritical_mcp.urls import host_of, normalize_url

COMPARED = 4_000
"""Characters of two contents that are compared."""
WORDS = 300
"""Words of the shorter one that are compared."""
COPIED = 0.75
"""Share of the shorter text's words that the longer one must have for the two to be compared word by word."""

Copies = Literal["same", "other words", "contradicted", "different"]

_NAME_WORD = re.compile(r"[^\W\d_]+")
_JOURNAL_FILLERS = frozenset({"the", "of", "and", "in", "for", "on"})
_TAG = re.compile(r"</?\w[^<>]*>")
_DASHES = str.maketrans("\u2212\u2013\u2012\u2010\u2011\ufe63", "------")
_SIGNED = re.compile(
    r"(?<![^\W_])([^\W_]{1,40})(?: ?\()?([+-](?:/[+-])?)(?![\w+/-])|(?:(?<=[\s(\[=])|^)([+-])(\d+(?:\.\d+)?)"
)
"""CD4+, ER(-), Apoe+/-; +8, -8."""


def opposite_signs(one: str, other: str) -> bool:
    """Whether what is positive in one text is negative in the other: CD4+ and CD4-, Apoe+/+ and Apoe+/-, +8 and -8."""
    first, second = _signs(one[:COMPARED]), _signs(other[:COMPARED])
    return any(first[word].isdisjoint(second[word]) for word in first.keys() & second.keys())


@lru_cache(maxsize=1_000)
def _signs(text: str) -> dict[str, set[str]]:
    """The signs that each word or number has."""
    plain = normalized("NFKC", _TAG.sub("", unescape(text))).translate(_DASHES).casefold()
    signs = defaultdict[str, set[str]](set)
    for word, after, before, number in _SIGNED.findall(plain):
        signs[word or number].add(after or before)
    return signs


def copies(one: str, other: str) -> Copies:
    """How the shorter of two texts compares with the part of the longer one that it may be a copy of.

    "same": only misprints, spelling, section labels and cuts differ. "other words": a word is replaced by another, or a
    number is missing. "contradicted": a number or negation differs. "different": too little is shared to tell.
    """
    short, long = (tokens(text[:COMPARED]) for text in sorted((one, other), key=lambda text: (len(text), text)))
    short = short[:WORDS]
    if not short or not long:
        return "different"
    if opposite_signs(one, other):
        return "contradicted"
    part = _aligned(short, long)
    found = changes(short, part)
    if sum(len(gone) for gone, *_ in found) > (1 - COPIED) * len(short):
        return "different"
    verdict: Copies = "same"
    for *both, at_end in found:
        gone, come = ([word for word in words if word not in ABSTRACT_LABELS] for words in both)
        # One text may be the other cut short, perhaps within a word.
        is_cut = not gone or not come or come[0].startswith(gone[-1]) or gone[0].startswith(come[-1])
        if "".join(gone) == "".join(come) or (at_end and is_cut):
            continue
        if not DENIALS.isdisjoint((*gone, *come)) or (any(map(str.isdigit, gone)) and any(map(str.isdigit, come))):
            return "contradicted"
        has_number = any(map(str.isdigit, (*gone, *come)))
        is_respelled = len(gone) == len(come) and all(map(is_misprint, gone, come))
        if has_number or (gone and come and not is_respelled):
            verdict = "other words"
    return verdict


def _aligned(short: Sequence[str], long: Sequence[str]) -> Sequence[str]:
    """The words of the longer text that stand where the shorter one's do."""
    texts = " ".join(short), " ".join(long)
    if len(texts[0]) >= len(texts[1]):
        return long
    found = fuzz.partial_ratio_alignment(*texts)
    if found is None:
        return long
    start = texts[1].rfind(" ", 0, found.dest_start + 1) + 1
    end = texts[1].find(" ", found.dest_end)
    return texts[1][start : end if end >= 0 else None].split()


def same_author(one: AuthorName, other: AuthorName) -> bool:
    """Whether two names agree in the family name and, where both are known, the first initial."""
    return any(
        family == other_family and (not given or not other_given or given[0] == other_given[0])
        for family, given in _readings(one)
        for other_family, other_given in _readings(other)
    )


def _readings(author: AuthorName) -> list[tuple[str, str]]:
    """Family and given names; of a name that is only known as a whole, every way to read it."""
    family, given = _name_words(author.family), _name_words(author.given)
    if given:
        return [("".join(family), given[0])]
    parts = [("".join(family[at:]), "".join(family[:at])) for at in range(min(len(family), 5))]
    return [*parts, *((first, last) for last, first in parts[1:])]  # "Zhang Wei", "Wei Zhang"


def _name_words(name: str) -> list[str]:
    """The words of a name, where "Müller", "Mueller" and "Muller" are one."""
    plain = plain_letters(name).replace("ae", "a").replace("oe", "o").replace("ue", "u")
    return _NAME_WORD.findall(plain)


def same_journal(one: Sequence[str], other: Sequence[str]) -> bool | None:
    """Whether one journal's name, as `tokens`, may abbreviate or begin the other ("int j cardiol", "international
    journal of cardiology"); None if one is unknown."""
    if not one or not other:
        return None
    words = [[word for word in name if word not in _JOURNAL_FILLERS] for name in (one, other)]
    if all(first.startswith(second) or second.startswith(first) for first, second in zip(*words, strict=False)):
        return True
    return fuzz.ratio("".join(words[0]), "".join(words[1])) >= 80  # "neuro endocrinol lett"


REGISTERED = ("pmid", "doi", "nct", "pmcid")
"""Numbers of which a publication has one each."""
CLAIMED = "claimed "
"""Prefix of the kind of a number, in the key that finds the publications that have it or claim to have it."""
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


def identity_of(publication: Publication) -> Identity:
    """The identity of a publication, normalized; identifiers are read from its URL too."""
    url = normalize_url(publication.url)
    known = identity_numbers(publication.own_ids) | ({"url": _VIEW.sub("", url)} if url else {})
    # A paper names the trial that it reports, but is not the trial's registration.
    claims = {part: value for part, value in identity_numbers(publication.claimed_ids).items() if part not in known}
    sought = {f"{CLAIMED}{part}": value for part, value in (claims | known).items() if part in REGISTERED}
    shown_title, id = publication.title, base_id(publication.id)
    # A text added without a title got its own beginning as its title, which identifies nothing.
    bare = publication.is_users and not publication.authors and publication.date == UNKNOWN_DATE
    is_given = bare and publication.text.content.startswith(shown_title.rstrip("…"))
    shown_title = "" if is_given or shown_title == NO_TITLE or is_junk(shown_title) else shown_title
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
