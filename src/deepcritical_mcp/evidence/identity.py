"""What a description of a publication says that identifies it, and when two of them are of the same publication: by
identifiers, else by title and content together.

Similar meaning alone is never enough. Every rule is symmetric, so that the order of arrival does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

from rapidfuzz import fuzz

from deepcritical_mcp.evidence.comparisons import (
    COMPARED,
    MIN_COMPARED,
    Agreement,
    Place,
    elsewhere,
    is_one_place,
    negations_in,
    opposite_signs,
    place_of,
    same_author,
    same_journal,
    texts_agree,
)
from deepcritical_mcp.evidence.titles import (
    Likeness,
    adds_a_site,
    bare_title,
    begins_with,
    content_words,
    continues,
    identifies,
    is_generic,
    is_junk,
    is_notice,
    is_subtitle,
    is_translation,
    likeness,
    names_a_part,
    numbers_agree,
    replaced,
    tokens,
)
from deepcritical_mcp.identifiers import RecordIds, is_preprint_doi, normalize_doi, record_ids, registration_number
from deepcritical_mcp.models import (
    DECLARED,
    LIBRARY,
    NO_ABSTRACT,
    NO_TITLE,
    UNKNOWN_DATE,
    AuthorName,
    Publication,
    is_collective,
)
from deepcritical_mcp.urls import host_of, is_print_view, normalize_url, without_view

REGISTERED = ("pmid", "doi", "nct", "pmcid")
"""Numbers of which a publication has one each."""
CLAIMED = "claimed "
"""Prefix of the kind of a number, in the key that finds the publications that have it or claim to have it."""
BEGINNING = 6_000
"""Characters: the authors and numbers of a document stand among its first ones."""
_DIGEST = re.compile(r"#[0-9a-f]{12}$")
ENDS = 3
"""Content words at each end of a title by which others are looked up that may have the same title."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What identifies a publication; "" means unknown.

    Attributes:
        numbers: those known of `_NAMES`, normalized.
        claims: of `REGISTERED`, those that it only claims, or that its address names, without being a record.
        named: both of these.
        addressed: the kinds of those that its address names.
        id: the one that these facts alone give it, without the digest that tells two with one id apart.
        title: as `tokens`, without what a site adds.
        shown_title: as it is written.
        place: its volume, issue and first page.
        translation: the title in the publication's own language, as `tokens`.
        beginning: how the text of a document begins that was read; "" for others.
        is_record: whether a bibliographic source describes it.
        is_note: whether it is what the user says, perhaps about the publication whose numbers it bears.
        is_preprint: whether a record says so.
        is_listed: whether a library of the user's has it.
        is_print: whether its URL leads to the PDF or print view of a page.
        is_document: whether the user supplied it as a web page or document, not as a note or a database's record.
        contents: what its texts say, of a full text its beginning; of a library's record, what may be an abstract.
        declared: marks that it shares with what the user declared to be the same.
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
    place: Place
    translation: tuple[str, ...]
    beginning: str
    is_record: bool
    is_note: bool
    is_preprint: bool
    is_listed: bool
    is_print: bool
    is_document: bool
    contents: tuple[str, ...]
    declared: frozenset[tuple[str, str]]
    keys: frozenset[tuple[str, str]]


def identity_of(publication: Publication) -> Identity:
    """The identity of a publication, normalized; identifiers are read from its URL too."""
    url = normalize_url(publication.url) if publication.source != LIBRARY else ""  # databases give one to many
    known = identity_numbers(publication.own_ids) | ({"url": without_view(url)} if url else {})
    # A paper names the trial that it reports, but is not the trial's registration.
    claims = {part: value for part, value in identity_numbers(publication.stated_ids).items() if part not in known}
    sought = {f"{CLAIMED}{part}": value for part, value in (claims | known).items() if part in REGISTERED}
    shown_title, id = publication.title, base_id(publication.id)
    # A text added without a title got its own beginning as its title, which identifies nothing.
    bare = publication.is_users and not publication.authors and publication.date == UNKNOWN_DATE
    is_given = bare and publication.text.content.startswith(shown_title.rstrip("…"))
    shown_title = "" if is_given or shown_title == NO_TITLE or is_junk(shown_title) else shown_title
    title = tokens(bare_title(shown_title, host_of(url))) if shown_title else ()
    words = content_words(title)
    ends = {"begin": " ".join(words[:ENDS]), "end": " ".join(words[-ENDS:])} if words else {}
    declared = frozenset((DECLARED, mark) for mark in publication.declared)
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
        place=place_of(publication),
        translation=tokens(publication.vernacular_title),
        beginning="" if publication.is_record else _beginning(publication),
        is_record=publication.is_record,
        is_note=publication.is_own_note,
        is_preprint=publication.form == "preprint" and publication.is_record,
        is_listed=publication.source == LIBRARY,
        is_print=is_print_view(url),
        is_document=publication.is_users and publication.source == "web",
        contents=tuple(
            text.content[:COMPARED] if text.parts else text.content
            for text in publication.texts
            if text.content not in (NO_ABSTRACT, publication.title)
            and not (publication.source == LIBRARY and (text.kind == "note" or len(text.content) < MIN_COMPARED))
        ),
        declared=declared,
        keys=frozenset((known | sought | ends | {"id": id}).items()) | declared,
    )


def identity_numbers(ids: RecordIds) -> dict[str, str]:
    """Those of `REGISTERED` that are known, normalized."""
    numbers = {
        "pmid": ids.pmid.strip(),
        "pmcid": ids.pmcid.strip().upper().removeprefix("PMC"),
        "doi": normalize_doi(ids.doi),
        "nct": registration_number(ids.pmid, ids.nct).strip().upper(),
    }
    return {part: value for part, value in numbers.items() if value}


def _beginning(publication: Publication) -> str:
    """How the text that was read begins, with its first headings; "" if none was."""
    text = next((one for one in publication.texts if one.parts), None)
    headings = [title for part in text.parts[:2] for title in part.path] if text else []
    return " ".join([*headings, text.content[:BEGINNING]]) if text else ""


def base_id(id: str) -> str:
    """An id without the digest that tells two publications with one id apart."""
    return id.partition("#")[0] if id.startswith("text:") else _DIGEST.sub("", id)


LIKE_TITLE = 0.6
"""Token sort ratio from which two titles under one DOI belong to the same article."""
_BEST_FIRST: tuple[Agreement, ...] = ("same", "like", "other", "unknown")
_NAMES = {"pmid": "PMID", "pmcid": "PMCID", "doi": "DOI", "nct": "NCT number", "url": "URL"}
_CUT = ("…", "...")


def conflict(one: Identity, other: Identity) -> bool:
    """Whether two identities name two different publications: different PMIDs, PMCIDs, DOIs or trial numbers, or a
    preprint and an article."""
    first, second = one.named, other.named
    differ = any(part in first and part in second and first[part] != second[part] for part in REGISTERED)
    return differ or _is_of_preprint(one, other) or _is_of_preprint(other, one)


def _is_of_preprint(preprint: Identity, article: Identity) -> bool:
    """Whether one is a preprint, and the other the article that it may have become, in another journal."""
    own, others = preprint.named, article.named
    by_doi = is_preprint_doi(own.get("doi", "")) and "doi" not in others and ("pmid" in others or "pmcid" in others)
    by_form = preprint.is_preprint and not article.is_preprint and "pmid" in others
    return "pmid" not in own and (by_doi or by_form) and not same_journal(preprint.journal, article.journal)


def title_similarity(one: Identity, other: Identity) -> float:
    """The similarity of two titles, 0..1, regardless of word order; 0 if one is missing."""
    if not one.title or not other.title:
        return 0.0
    return fuzz.token_sort_ratio(" ".join(one.title), " ".join(other.title)) / 100


def _contents_agree(one: Identity, other: Identity) -> Agreement:
    """How far two publications agree in any of their texts."""
    found = [texts_agree(*texts) for texts in product(one.contents, other.contents)]
    return min([*found, _BEST_FIRST[-1]], key=_BEST_FIRST.index)


def _same_first_author(one: Identity, other: Identity) -> bool | None:
    """Whether both have the same first author; None if one is unknown."""
    return same_author(one.authors[0], other.authors[0]) if one.authors and other.authors else None


def _dates_agree(one: Identity, other: Identity) -> bool:
    """Unknown or at most a year apart, as online and in print; two years for the same text in one journal by the same
    first author. Two pages without authors, which may be numbers of a series, have the same date as far as both give
    it."""
    if not one.date or not other.date:
        return True
    if one.authors or other.authors:
        years = abs(int(one.date[:4]) - int(other.date[:4]))
        is_one_place = _same_first_author(one, other) and same_journal(one.journal, other.journal)
        return years <= 1 or (years == 2 and bool(is_one_place) and _contents_agree(one, other) == "same")
    return one.date.startswith(other.date) or other.date.startswith(one.date)


def _titles_alike(one: Identity, other: Identity) -> Likeness:
    """As `likeness`, but a missing title matches any title, a visibly truncated one matches every title that it begins,
    and the name of a journal or site is ignored."""
    if not one.title or not other.title:
        return "same"
    if opposite_signs(one.shown_title, other.shown_title):
        return "other"
    known = bool(_same_first_author(one, other) and one.date and other.date)
    for long, short in ((one, other), (other, one)):
        is_cut = bare_title(long.shown_title).endswith(_CUT) and identifies(long.title[:-1])
        if is_cut and continues(short.title, long.title):
            return "near"
        if adds_a_site(long.shown_title, short.title, (long.journal, short.journal), known):
            return "near"
    return likeness(one.title, other.title)


def _are_two(one: Identity, other: Identity) -> bool:
    """Whether numbers, years, first authors or addresses show that two publications are not one. Two pages of one host
    are two, unless one is the PDF or print view of the other."""
    if conflict(one, other) or not _dates_agree(one, other):
        return True
    if _same_first_author(one, other) is False and same_journal(one.journal, other.journal) is not True:
        return True
    is_other = one.numbers.get("url") != other.numbers.get("url")
    return is_other and _on_one_host(one, other) and one.is_print == other.is_print


def _on_one_host(one: Identity, other: Identity) -> bool:
    first, second = (host_of(each.numbers.get("url", "")) for each in (one, other))
    return first == second != ""


def _says_the_same(one: Identity, other: Identity) -> bool:
    """Whether two publications with the same text are one; two notes must be about the same thing."""
    if one.id != other.id or not one.id.startswith("text:") or _titles_alike(one, other) == "other":
        return False
    is_elsewhere = any(elsewhere(one.place, other.place))
    if is_elsewhere or not _dates_agree(one, other) or _same_first_author(one, other) is False:
        return False
    if not one.named or not other.named:
        return one.named == other.named or not (one.is_note and other.is_note)
    return bool(one.named.items() & other.named.items())


def _same_as_document(note: Identity, document: Identity) -> str:
    """Why a user's note counts as the text of a document that the user supplied: it has all of the document's words, or
    is a text of some length with its title and one of its numbers."""
    if conflict(note, document) or _titles_alike(note, document) == "other":
        return ""
    contents = [{tokens(text) for text in each.contents} for each in (note, document)]
    if not contents[0].isdisjoint(contents[1]):
        return SAME_TEXT
    is_text = all(len(text) >= MIN_COMPARED for each in (note, document) for text in each.contents)
    shared = next((part for part in REGISTERED if _share(part, note, document)), "")
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
    if not one.declared.isdisjoint(other.declared):
        return DECLARED
    if one.is_note or other.is_note:
        if level != "document":
            return ""
        if one.is_note and other.is_note:
            return SAME_TEXT if _says_the_same(one, other) else ""
        note, document = (one, other) if one.is_note else (other, one)
        return _same_as_document(note, document) if document.is_document else ""
    if level == "pmid":
        return f"same PMID{_doubt(one, other)}" if _is_shared("pmid", one, other) else ""
    if conflict(one, other):
        return ""
    if level == "number":
        shared = next((part for part in ("pmcid", "nct", "url") if _is_shared(part, one, other)), "")
        return f"same {_NAMES[shared]}{_doubt(one, other) if shared != 'url' else ''}" if shared else ""
    if level == "doi":
        return _same_doi(one, other) if _is_shared("doi", one, other) else ""
    return SAME_TEXT if _says_the_same(one, other) else SAME_DOCUMENT if _is_same_document(one, other) else ""


def contradict(level: str, one: Identity, other: Identity) -> bool:
    """Whether two descriptions that share nothing on earlier levels cannot be of one publication."""
    if not one.declared.isdisjoint(other.declared):
        return False
    if any(_share(part, one, other) and not _is_shared(part, one, other) for part in REGISTERED):
        return True
    if level == "pmid":
        return False
    pairs = (one, other), (other, one)
    if conflict(one, other) or any(a.is_note and not (b.is_note or b.is_document) for a, b in pairs):
        return True
    if level == "doi":
        return _share("doi", one, other) and not _same_doi(one, other)
    return level == "document" and (_are_two(one, other) or _titles_alike(one, other) == "other")


def tells_apart(one: Identity, other: Identity) -> bool:
    """Whether two publications that are close in meaning are nevertheless different: by numbers, dates, first authors
    or addresses, or by a number in their titles, or in their texts without these ("week 12", "week 13")."""
    words = [each.title or tokens(" ".join(each.contents)) for each in (one, other)]
    if len({frozenset(filter(str.isdigit, some)) for some in words}) > 1:
        return True
    return contradict("doi", one, other) or _are_two(one, other)


def _share(part: str, one: Identity, other: Identity) -> bool:
    return part in one.named and one.named[part] == other.named.get(part)


def _is_shared(part: str, one: Identity, other: Identity) -> bool:
    """Whether two descriptions share an identifying number or address; where one of them only claims it, they must also
    agree, unless both are views of one page."""
    if not _share(part, one, other):
        return False
    claims, are_pages = {**one.claims, **other.claims}, not one.is_record and not other.is_record
    is_view = part == "url" or (part in one.addressed & other.addressed and _on_one_host(one, other))
    if not claims or (are_pages and is_view):
        return True
    return bears_out(one, other) if part in (*claims, "url") else True


def bears_out(one: Identity, other: Identity, *, is_named: bool = False) -> bool:
    """Whether two descriptions with one number, which at least one only claims, are of one publication: by title and
    first author. What a page or a user leaves out does not count against it, but a text that was read must name the
    record's author, unless another source says that it is a copy (`is_named`). Of two claims the texts may agree in
    place of the titles, but not the abstracts of two libraries."""
    record, claim = (one, other) if one.is_record else (other, one)
    if not is_by_author(claim, record, is_named=is_named):
        return False
    if _has_title(claim, record, is_sure=bool(names_author(claim, record))):
        return True
    is_known = record.is_record or (one.is_listed and other.is_listed)
    return not is_known and _contents_agree(one, other) in ("same", "like")


def is_by_author(claim: Identity, record: Identity, *, is_named: bool = False) -> bool:
    """Whether no other author is named, and a text that was read names the record's; see `bears_out`."""
    is_author, must_name = names_author(claim, record), claim.beginning and record.is_record and not is_named
    return is_author if is_author is not None else not (must_name and record.authors)


def names_author(claim: Identity, record: Identity) -> bool | None:
    """True if the first author of one is among the authors of the other, or if the beginning of the claim's text has
    the name of the record's. False if both name other people. None if one of them names no person: a site or an
    organization need not be the author."""
    pairs = [*product(claim.authors, record.authors[:1]), *product(claim.authors[:1], record.authors)]
    if any(same_author(*pair) for pair in pairs):
        return True
    people = [one for one in claim.authors if not claim.beginning or not (is_collective(one) or " " not in str(one))]
    if people and record.authors:
        return False
    words = " ".join(tokens(record.authors[0].family)) if record.authors else ""
    return True if words and f" {words} " in f" {' '.join(tokens(claim.beginning))} " else None


def has_title_of(one: Identity, record: Identity) -> bool:
    """Whether a description without a number has the title of a record, and nothing that speaks against it: no other
    author, nor, where it names none, another journal or year."""
    if not identifies(record.title) or not one.title or is_notice(one.title) or _titles_alike(one, record) == "other":
        return False
    is_author = names_author(one, record)
    is_place = same_journal(one.journal, record.journal) is not False and _dates_agree(one, record)
    return is_author is True or (is_author is None and is_place)


def _has_title(claim: Identity, record: Identity, *, is_sure: bool) -> bool:
    """Whether a description that claims a number has the title of its record. If its author `is_sure`, a subtitle may
    be missing, a few words may differ, and the title may be in another language."""
    if not record.title:
        return is_sure
    if not claim.title:
        texts = [claim.beginning, *claim.contents]
        is_copy = max(map(len, texts)) >= MIN_COMPARED and _contents_agree(claim, record) == "same"
        return is_copy or any(begins_with(text, record.shown_title) for text in texts)
    if is_notice(claim.title) != is_notice(record.title):
        return False
    if _titles_alike(claim, record) != "other" or likeness(claim.title, record.translation) != "other":
        return True
    if adds_a_site(claim.shown_title, record.title, (claim.journal, record.journal), is_sure):
        return True
    if is_sure and is_translation(claim.shown_title, record.shown_title):
        return True
    short, long = sorted((claim, record), key=lambda one: len(one.title))
    rest = long.title[len(short.title) :]
    if long.title == (*short.title, *rest) and is_subtitle(long.shown_title, rest):
        return is_sure or identifies(short.title)
    return is_sure and _are_one_title(claim, record) and title_similarity(claim, record) >= LIKE_TITLE


def _same_doi(one: Identity, other: Identity) -> str:
    """Why two descriptions with one DOI are the same; a conference book has one DOI, too."""
    if not one.title or not other.title:
        return "same DOI"
    if is_translation(one.shown_title, other.shown_title):
        return "same DOI and a translated title"
    titles = one.title, other.title
    is_other_page = all(each.place[2] for each in (one, other)) and one.place[2] != other.place[2]
    if len(set(map(is_notice, titles))) > 1 or (is_other_page and _contents_agree(one, other) == "other"):
        return ""  # two abstracts of a supplement
    if is_preprint_doi(one.named["doi"]):
        return "same DOI"
    if "doi" in ({**one.claims, **other.claims}) or _titles_alike(one, other) != "other":
        return "same DOI and a similar title"
    if not _are_one_title(one, other):
        return ""
    if title_similarity(one, other) >= LIKE_TITLE:
        return "same DOI and a similar title"
    return "same DOI and similar content" if _contents_agree(one, other) in ("same", "like") else ""


def _are_one_title(one: Identity, other: Identity) -> bool:
    """Whether two titles that differ in some words agree in their numbers, negations and subjects."""
    titles = one.title, other.title
    negations = {negations_in(" ".join(title)) for title in titles}
    return numbers_agree(*titles) and len(negations) == 1 and not replaced(*titles) and not names_a_part(*titles)


def _is_same_document(one: Identity, other: Identity) -> bool:
    """Whether title, content, people, journal and year agree, and no number or address contradicts."""
    if not one.title or not other.title or is_generic(one.title) or is_generic(other.title):
        return False
    titles = _titles_alike(one, other)
    if titles == "other" or _are_two(one, other):
        return False
    if same_journal(one.journal, other.journal) is False:
        return False
    known = bool(_same_first_author(one, other) and one.date and other.date)
    agreement = _contents_agree(one, other)
    if not identifies(one.title) or not identifies(other.title):
        is_said = agreement == "same" or (agreement != "other" and is_one_place(one.place, other.place))
        return is_said and titles == "same" and known and bool(same_journal(one.journal, other.journal))
    # Yearly reports, corrections, updates and congress abstracts have one title in several places.
    volumes, issues, pages = elsewhere(one.place, other.place)
    if agreement == "same":
        return not (volumes and pages and one.date[:4] != other.date[:4])
    return agreement != "other" and titles == "same" and known and not (volumes or issues or pages)


def _doubt(one: Identity, other: Identity) -> str:
    if not one.title or not other.title or title_similarity(one, other) >= LIKE_TITLE:
        return ""
    return "" if is_translation(one.shown_title, other.shown_title) else ", though the titles differ: check the number"
