"""When two descriptions are of the same publication: by identifiers, else by title and content together.

Similar meaning alone is never enough. Every rule is symmetric, so that the order of arrival does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Literal

from rapidfuzz import fuzz

from deepcritical_mcp.evidence.text_agreement import COMPARED, copies, opposite_signs, same_author, same_journal
from deepcritical_mcp.evidence.titles import (
    DENIALS,
    Likeness,
    adds_a_site,
    bare_title,
    content_words,
    identifies,
    is_generic,
    is_junk,
    is_notice,
    is_translation,
    likeness,
    names_a_part,
    numbers_agree,
    replaced,
    tokens,
)
from deepcritical_mcp.identifiers import is_preprint_doi, normalize_doi, record_ids
from deepcritical_mcp.models import NO_ABSTRACT, NO_TITLE, UNKNOWN_DATE, AuthorName, Publication
from deepcritical_mcp.urls import host_of, normalize_url

LIKE_TITLE = 0.6
"""Token sort ratio from which two titles under one DOI belong to the same article."""
MIN_COMPARED = 80
"""Minimum characters of a text that shows whether two documents are the same."""

Agreement = Literal["same", "like", "other", "unknown"]
_BEST_FIRST: tuple[Agreement, ...] = ("same", "like", "other", "unknown")

_NAMES = {"pmid": "PMID", "pmcid": "PMCID", "doi": "DOI", "nct": "NCT number", "url": "URL"}
_REGISTERED = ("pmid", "doi", "nct", "pmcid")
"""Numbers of which a publication has one each."""
_NEGATION = re.compile(r"\b\w+n['’]t\b")
_PRINT_VIEW = re.compile(r"(?:^|[/._=?&-])(?:pdf|epdf|articlepdf|print|printable|pdfdirect|pdfplus|amp)(?:$|[/._=&-])")
_VIEW = re.compile(  # of one page: /abs/pii/S1 and /pii/S1, /content/1/2.full.pdf and /content/1/2
    r"(?<=[^/:])/(?:pdf|epdf|articlepdf|pdfdirect|pdfplus|print|printable|amp|abs|abstract|article-abstract|full|"
    r"fullarticle|full-?text|html)(?=/|$)|(?:\.(?:full|abstract|full-text|pdf)){1,2}$|\?print=(?:true|yes)$"
)
_CUT = ("…", "...")
_DIGEST = re.compile(r"#[0-9a-f]{12}$")
ENDS = 3
"""Content words at each end of a title by which others are looked up that may have the same title."""
LIKE_CONTENT = 0.75
"""Token sort ratio from which two texts may be descriptions of one publication."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What identifies a publication; "" means unknown.

    Attributes:
        numbers: those known of `_NAMES`, normalized.
        id: the one that these facts alone give it, without the digest that tells two with one id apart.
        title: as `tokens`, without what a site adds.
        shown_title: as it is written.
        is_note: whether it is what the user says, perhaps about the publication whose numbers it bears.
        is_preprint: whether a record says so.
        is_print: whether its URL leads to the PDF or print view of a page.
        is_document: whether the user supplied it as a web page or document, not as a note or a database's record.
        contents: what its texts say, of a full text its beginning; none when that is nothing.
        keys: what it can be looked up by: numbers, id, and how its title begins and ends (words may be cut, or
            misspelled, or a site's name added, on one side). Two that are the same share one.
    """

    numbers: Mapping[str, str]
    id: str
    title: tuple[str, ...]
    shown_title: str
    date: str
    first_author: AuthorName | None
    journal: tuple[str, ...]
    is_note: bool
    is_preprint: bool
    is_print: bool
    is_document: bool
    contents: tuple[str, ...]
    keys: frozenset[tuple[str, str]]


def identity_of(publication: Publication) -> Identity:
    """The identity of a publication, normalized; identifiers are read from its URL too."""
    ids = record_ids(publication.url)
    url = normalize_url(publication.url)
    numbers = {
        "pmid": publication.pmid.strip() or ids.pmid,
        "pmcid": (publication.pmcid.strip().upper() or ids.pmcid).removeprefix("PMC"),
        "doi": normalize_doi(publication.doi) or ids.doi,
        # A paper names the trial that it reports, but is not the trial's registration.
        "nct": "" if publication.pmid else publication.nct.strip().upper() or ids.nct,
        "url": _VIEW.sub("", url),
    }
    known = {part: value for part, value in numbers.items() if value}
    shown_title, id = _own_title(publication), base_id(publication.id)
    title = tokens(bare_title(shown_title, host_of(url))) if shown_title else ()
    words = content_words(title)
    ends = {"begin": " ".join(words[:ENDS]), "end": " ".join(words[-ENDS:])} if words else {}
    return Identity(
        numbers=known,
        id=id,
        title=title,
        shown_title=shown_title,
        date="" if publication.date == UNKNOWN_DATE else publication.date,
        first_author=publication.authors[0] if publication.authors else None,
        journal=tokens(publication.journal),
        is_note=publication.is_own_note,
        is_preprint=publication.form == "preprint" and publication.is_record,
        is_print=bool(_PRINT_VIEW.search(url)),
        is_document=publication.is_users and publication.source == "web",
        contents=tuple(
            text.content[:COMPARED] if text.parts else text.content
            for text in publication.texts
            if text.content not in (NO_ABSTRACT, publication.title)
        ),
        keys=frozenset((known | ends | {"id": id}).items()),
    )


def base_id(id: str) -> str:
    """An id without the digest that tells two publications with one id apart."""
    return id.partition("#")[0] if id.startswith("text:") else _DIGEST.sub("", id)


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
    differ = any(part in first and part in second and first[part] != second[part] for part in _REGISTERED)
    return differ or _is_of_preprint(one, other) or _is_of_preprint(other, one)


def _is_of_preprint(preprint: Identity, article: Identity) -> bool:
    """Whether one is a preprint, and the other the article that it may have become."""
    own, others = preprint.numbers, article.numbers
    by_doi = is_preprint_doi(own.get("doi", "")) and "doi" not in others and ("pmid" in others or "pmcid" in others)
    by_form = preprint.is_preprint and not article.is_preprint and "pmid" in others
    return "pmid" not in own and (by_doi or by_form)


def opposed(one: Publication, other: Publication) -> bool:
    """Whether two nearly equal texts differ in a negation ("X is essential", "X is not essential")."""
    texts = [each.text.content[:COMPARED] if each.text.parts else each.text.content for each in (one, other)]
    return _negations(one.title) != _negations(other.title) or (
        _negations(texts[0]) != _negations(texts[1]) and fuzz.ratio(texts[0].casefold(), texts[1].casefold()) >= 85
    )


def _negations(text: str) -> int:
    return len(_NEGATION.findall(text.casefold())) + sum(word in DENIALS for word in tokens(text))


def title_similarity(one: Identity, other: Identity) -> float:
    """The similarity of two titles, 0..1, regardless of word order; 0 if one is missing."""
    if not one.title or not other.title:
        return 0.0
    return fuzz.token_sort_ratio(" ".join(one.title), " ".join(other.title)) / 100


def _contents_agree(one: Identity, other: Identity) -> Agreement:
    """How far two publications agree in any of their texts."""
    found = [_texts_agree(*texts) for texts in product(one.contents, other.contents)]
    return min([*found, _BEST_FIRST[-1]], key=_BEST_FIRST.index)


@lru_cache(maxsize=500)
def _texts_agree(one: str, other: str) -> Agreement:
    short, long = sorted((one, other), key=lambda text: (len(text), text))
    found = "same" if short in long else copies(short, long)
    if found == "same":
        return "same"
    if len(short) < MIN_COMPARED:
        return "unknown" if found == "different" else "other"
    first, second = tokens(short[:COMPARED]), tokens(long[:COMPARED])
    if found == "contradicted" or not numbers_agree(first, second):
        return "other"
    return "like" if fuzz.token_sort_ratio(" ".join(first), " ".join(second)) >= 100 * LIKE_CONTENT else "other"


def _same_first_author(one: Identity, other: Identity) -> bool | None:
    """Whether both have the same first author; None if one is unknown."""
    if not one.first_author or not other.first_author:
        return None
    return same_author(one.first_author, other.first_author)


def _dates_agree(one: Identity, other: Identity) -> bool:
    """Unknown or at most a year apart, as online and in print. Two pages without authors, which may be numbers of a
    series, have the same date as far as both give it."""
    if one.first_author or other.first_author or not one.date or not other.date:
        return not one.date or not other.date or abs(int(one.date[:4]) - int(other.date[:4])) <= 1
    return one.date.startswith(other.date) or other.date.startswith(one.date)


def _titles_alike(one: Identity, other: Identity) -> Likeness:
    """As `likeness`; a missing title is like any, one that is visibly cut is like what it begins, and one with a
    journal's or site's name is like the same without it."""
    if not one.title or not other.title:
        return "same"
    if opposite_signs(one.shown_title, other.shown_title):
        return "other"
    known = bool(_same_first_author(one, other) and one.date and other.date)
    for long, short in ((one, other), (other, one)):
        if long.shown_title.endswith(_CUT) and identifies(long.title[:-1]) and _begins(short.title, long.title):
            return "near"
        if adds_a_site(long.shown_title, short.title, (long.journal, short.journal), known):
            return "near"
    return likeness(one.title, other.title)


def _begins(title: tuple[str, ...], cut: tuple[str, ...]) -> bool:
    """Whether `cut` is how `title` begins; its last word may be cut as well, unless it is a number."""
    *begun, last = cut
    word = title[len(begun)] if len(title) >= len(cut) else ""
    return title[: len(begun)] == tuple(begun) and (word == last or (word.startswith(last) and not last.isdigit()))


def _are_two(one: Identity, other: Identity) -> bool:
    """Whether numbers, years or first authors show that two publications are not one."""
    if conflict(one, other) or not _dates_agree(one, other):
        return True
    return _same_first_author(one, other) is False and same_journal(one.journal, other.journal) is not True


def _are_separate_pages(one: Identity, other: Identity) -> bool:
    """Whether these are two different pages of one host, neither the PDF or print view of the other."""
    urls = one.numbers.get("url", ""), other.numbers.get("url", "")
    if not all(urls) or urls[0] == urls[1] or host_of(urls[0]) != host_of(urls[1]):
        return False
    return one.is_print == other.is_print


def _says_the_same(one: Identity, other: Identity) -> bool:
    """Whether two publications with the same text are one; two notes must be about the same thing."""
    if one.id != other.id or not one.id.startswith("text:") or _titles_alike(one, other) == "other":
        return False
    if not _dates_agree(one, other) or _same_first_author(one, other) is False:
        return False
    if not one.numbers or not other.numbers:
        return one.numbers == other.numbers or not (one.is_note and other.is_note)
    return bool(one.numbers.items() & other.numbers.items())


def _same_as_document(note: Identity, document: Identity) -> str:
    """Why what the user keeps as a note is the text of a document that the user supplied: all of its words, or another
    text of some length under its title and one of its numbers."""
    if conflict(note, document) or _titles_alike(note, document) == "other":
        return ""
    contents = [{tokens(text) for text in each.contents} for each in (note, document)]
    if not contents[0].isdisjoint(contents[1]):
        return SAME_TEXT
    is_text = all(len(text) >= MIN_COMPARED for each in (note, document) for text in each.contents)
    shared = next((part for part in _REGISTERED if _share(part, note, document)), "")
    if not (is_text and shared and note.title and document.title):
        return ""
    return f"same {_NAMES[shared]} and a similar title; the text is kept with it as your note"


LEVELS: tuple[str, ...] = ("pmid", "number", "doi", "document")
"""What two descriptions of a publication may share, the most reliable first."""
SAME_TEXT = "same content"
SAME_DOCUMENT = "same title and content"


def reason(level: str, one: Identity, other: Identity) -> str:
    """Why two descriptions are of the same publication on one of `LEVELS`, e.g. "same PMID"; "" if they are not."""
    if one.keys.isdisjoint(other.keys):
        return ""
    if one.is_note or other.is_note:
        return _same_note(one, other) if level == "document" else ""
    if level == "pmid":
        shared = one.numbers.get("pmid", "") == other.numbers.get("pmid")
        return f"same PMID{_doubt(one, other)}" if shared else ""
    if conflict(one, other):
        return ""
    if level == "number":
        shared = next((part for part in ("pmcid", "nct", "url") if _share(part, one, other)), "")
        return f"same {_NAMES[shared]}{_doubt(one, other) if shared != 'url' else ''}" if shared else ""
    if level == "doi":
        return _same_doi(one, other) if _share("doi", one, other) else ""
    return SAME_TEXT if _says_the_same(one, other) else SAME_DOCUMENT if _is_same_document(one, other) else ""


def contradict(level: str, one: Identity, other: Identity) -> bool:
    """Whether two descriptions that share nothing on earlier levels cannot be of one publication."""
    if level == "pmid":
        return False
    if conflict(one, other) or (one.is_note and not (other.is_note or other.is_document)):
        return True
    if other.is_note and not (one.is_note or one.is_document):
        return True
    if level == "doi":
        return _share("doi", one, other) and not _same_doi(one, other)
    return level == "document" and (
        _are_two(one, other) or _are_separate_pages(one, other) or _titles_alike(one, other) == "other"
    )


def tells_apart(one: Identity, other: Identity) -> bool:
    """Whether two publications that are close in meaning are two all the same: by numbers, dates, first authors or
    addresses, or by a number in their titles, or in their texts without these ("week 12", "week 13")."""
    words = [each.title or tokens(" ".join(each.contents)) for each in (one, other)]
    if len({frozenset(filter(str.isdigit, some)) for some in words}) > 1:
        return True
    return contradict("doi", one, other) or _are_two(one, other) or _are_separate_pages(one, other)


def overruled(one: Identity, leader: Identity) -> Identity:
    """`one` without what `leader`, a better description of the same publication, contradicts."""
    numbers = {
        part: value
        for part, value in one.numbers.items()
        if part not in _REGISTERED or leader.numbers.get(part, value) == value
    }
    alike = _titles_alike(one, leader) != "other"
    return replace(
        one,
        numbers=numbers,
        title=one.title if alike else (),
        shown_title=one.shown_title if alike else "",
        date=one.date if _dates_agree(one, leader) else "",
        first_author=None if _same_first_author(one, leader) is False else one.first_author,
    )


def _share(part: str, one: Identity, other: Identity) -> bool:
    return part in one.numbers and one.numbers[part] == other.numbers.get(part)


def _same_note(one: Identity, other: Identity) -> str:
    if one.is_note and other.is_note:
        return SAME_TEXT if _says_the_same(one, other) else ""
    note, document = (one, other) if one.is_note else (other, one)
    return _same_as_document(note, document) if document.is_document else ""


def _same_doi(one: Identity, other: Identity) -> str:
    """Why two descriptions with one DOI are the same; a conference book has one DOI, too."""
    if not one.title or not other.title:
        return "same DOI"
    if is_translation(one.shown_title, other.shown_title):
        return "same DOI and a translated title"
    titles = one.title, other.title
    if len(set(map(is_notice, titles))) > 1:
        return ""
    if is_preprint_doi(one.numbers["doi"]):
        return "same DOI"
    if _titles_alike(one, other) != "other":
        return "same DOI and a similar title"
    negations = {_negations(" ".join(title)) for title in titles}
    if not numbers_agree(*titles) or len(negations) > 1 or replaced(*titles) or names_a_part(*titles):
        return ""
    if title_similarity(one, other) >= LIKE_TITLE:
        return "same DOI and a similar title"
    return "same DOI and similar content" if _contents_agree(one, other) in ("same", "like") else ""


def _is_same_document(one: Identity, other: Identity) -> bool:
    """Whether title, content, people, journal and year agree, and no number or address contradicts."""
    if not one.title or not other.title or is_generic(one.title) or is_generic(other.title):
        return False
    titles = _titles_alike(one, other)
    if titles == "other" or _are_two(one, other) or _are_separate_pages(one, other):
        return False
    if same_journal(one.journal, other.journal) is False:
        return False
    known = bool(_same_first_author(one, other) and one.date and other.date)
    agreement = _contents_agree(one, other)
    if not identifies(one.title) or not identifies(other.title):
        return agreement == "same" and titles == "same" and known and bool(same_journal(one.journal, other.journal))
    return agreement == "same" or (agreement != "other" and titles == "same" and known)


def _doubt(one: Identity, other: Identity) -> str:
    if not one.title or not other.title or title_similarity(one, other) >= LIKE_TITLE:
        return ""
    return "" if is_translation(one.shown_title, other.shown_title) else ", though the titles differ: check the number"
