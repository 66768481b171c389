"""What every citation format needs, derived once from a publication: its texts as far as they may be repeated, and the
fields that a caller chooses.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

from deepcritical_mcp.data_files import data_lines, data_table
from deepcritical_mcp.excerpts import GAP
from deepcritical_mcp.identifiers import normalize_doi, record_ids, registration_number
from deepcritical_mcp.models import (
    LIBRARY,
    NO_ABSTRACT,
    NO_TITLE,
    NOTICE_LABELS,
    UNKNOWN_DATE,
    AuthorName,
    NoticeKind,
    Publication,
    PublicationForm,
    Text,
    retraction_label,
    status_label,
    vancouver,
)
from deepcritical_mcp.models.evidence import decision_of
from deepcritical_mcp.models.publication import Bibliography, is_open_claim
from deepcritical_mcp.text import FUNCTION_WORDS, MONTHS, cut_at_sentence, normalized
from deepcritical_mcp.urls import normalize_url

SHORT_QUOTE, OPEN_QUOTE = 300, 1_500
"""Characters that are quoted of a full text: without an open licence, and with one."""
_LICENCES = data_table(__file__, "licences.txt")
_OPEN, _CLOSED = [set(row.split()) for row in _LICENCES["open"].split("|")], {*_LICENCES["closed"].split()}


def is_open(licence: str) -> bool:
    """Whether a licence, as its source writes it, lets everybody pass the text on: CC BY, CC BY-SA, CC0, public domain;
    "CC BY 4.0", "cc-by", an address and a sentence are understood. False if in doubt."""
    words = set(re.findall("cc0|[a-z]+|[0-9]", licence.casefold()))
    return not words & _CLOSED and any(row <= words for row in _OPEN)


def quotable(text: Text) -> Text:
    """`text`; of one that was read whole, its beginning without parts, shorter if its licence is not an open one."""
    if not text.parts or text.is_users:
        return text
    room = OPEN_QUOTE if is_open(text.licence) else SHORT_QUOTE
    shown = text.content if len(text.content) <= room else f"{cut_at_sentence(text.content, room)} {GAP}"
    return text.model_copy(update={"content": shown, "parts": ()})


def without_full_texts(publication: Publication) -> Publication:
    """The publication with no more of its full texts than may be repeated."""
    texts = tuple(map(quotable, publication.texts))
    return publication if texts == publication.texts else publication.model_copy(update={"texts": texts})


_SPECIES = re.compile(r"(?<!\S)\(?[A-Z]\. [a-z]{3,}(?![^\W_])")
_PAGES = re.compile(r"(\w+)\s*[-‐-―−]+\s*(\w+)")
_ROMAN = re.compile(r"[ivxlc]+")
# Letters that have no decomposition into an ASCII letter and a mark.
_PLAIN_LETTERS = str.maketrans(
    {"ß": "ss", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h"}
)
_NOT_IN_KEYS = FUNCTION_WORDS | {*data_table(__file__, "words.txt")["not in keys"].split()}
TRIAL_GENRE = "Clinical trial registration"
"""What kind of report a trial's registration is, which is how Zotero keeps those of ClinicalTrials.gov."""
SEASONS = {"spring": 1, "summer": 2, "fall": 3, "autumn": 3, "winter": 4}
ET_AL = AuthorName("et al.")
"""The end of a shortened list of authors."""


NOT_CHECKED = "Numbers as given in a library, not checked."


class Names(NamedTuple):
    """What a type of record or a field is called in each format; "" if a format treats it in its own way."""

    bibtex: str
    ris: str
    csl: str


_ROWS = [[cell.strip() for cell in row.split("|")] for row in data_lines(__file__, "reference_names.txt")]
TYPES = {row[1]: Names(*row[2:]) for row in _ROWS if row[0] == "type"}
FIELDS = {row[1]: Names(*row[2:]) for row in _ROWS if row[0] == "field"}
"""The fields of a publication that reference managers store as they are."""


@dataclass(frozen=True)
class Reference:
    """A publication as a citation: `number` is its place in the export, from 1, `key` its citation key in ASCII, and
    `form` what it is cited as, whichever fields it is written with. Texts that others wrote are left out unless
    `has_texts`."""

    publication: Publication
    number: int
    key: str
    form: PublicationForm
    has_texts: bool = True

    @property
    def title(self) -> str:
        """Without the full stop at its end; with "RETRACTED: " in front where that is so."""
        title = _without_stop(self.publication.title)
        label = retraction_label(self.publication.status, title)
        return f"{label}: {title}" if label else title

    @property
    def is_of_library(self) -> bool:
        """Whether only a library of the user's describes it."""
        return self.publication.source == LIBRARY

    @property
    def original_title(self) -> str:
        """In the publication's own language, without the full stop at its end."""
        return _without_stop(self.publication.vernacular_title)

    @property
    def container(self) -> str:
        """Where it appeared: a journal, a book, a preprint server."""
        publication = self.publication
        if self.form == "preprint":
            return publication.short_journal or publication.journal or publication.publisher
        return publication.book_title if self.form == "chapter" else publication.journal

    @property
    def date(self) -> tuple[int, ...]:
        """Year, year and month, or year, month and day; () when unknown."""
        return parts_of_date(self.publication.date)

    @property
    def issued(self) -> tuple[tuple[int, ...], ...]:
        """The date, or the first and last month or year of a range: ((2013, 11), (2013, 12))."""
        words = self.publication.issue_date.lower()
        months = [MONTHS[name] for name in re.findall(r"\b[a-z]{3}", words) if name in MONTHS]
        end = (*map(int, re.findall("[0-9]{4}", words)[-1:]), *months[-1:])
        if self.date and len(end) == len(self.date) and end > self.date:
            return self.date, end
        return (self.date,) if self.date else ()

    @property
    def within_year(self) -> str:
        """PubMed's words for a part of a year, "Nov-Dec" or "Spring"; all of them if there are two years."""
        words = self.publication.issue_date
        return words if re.search(r"\d{4}.*\d{4}", words) else words[5:]

    @property
    def accessed(self) -> str:
        """The day on which a web page or a trial's registration, which may change, was read; "" for all others, or if
        unknown."""
        one = self.publication
        return "" if self.form not in ("trial", "page") or one.accessed == UNKNOWN_DATE else one.accessed

    @property
    def data_note(self) -> str:
        """The day of the data of a trial's registration; "" for all others, or if unknown."""
        one = self.publication
        return f"Source: {one.publisher}, data of {one.version}." if self.form == "trial" and one.version else ""

    @property
    def url(self) -> str:
        """ "" unless it leads to the web."""
        return self.publication.url if self.publication.is_on_the_web else ""

    @property
    def pages(self) -> tuple[str, ...]:
        """First and last page, the last one in full: PubMed shortens 1820-1830 to 1820-30. One text if not a range."""
        match = _PAGES.fullmatch(self.publication.pages)
        first, last = match.groups() if match else ("", "")
        # Not the parts of an electronic location such as e01611-19.
        is_range = _ROMAN.fullmatch(first + last) or re.sub(r"\d+", "", first) == re.sub(r"\d+", "", last)
        if not match or not is_range:
            return (self.publication.pages,)
        is_shortened = first.isdecimal() and last.isdecimal() and len(last) < len(first)
        return first, first[: -len(last)] + last if is_shortened else last

    @property
    def status_note(self) -> str:
        """Its status, and the publications that correct, replace or publish it; "" if there is nothing."""
        label = status_label(self.publication.status)
        notices = self.notices(NOTICE_LABELS)
        return ". ".join(filter(None, (label, *notices))) + "." if label or notices else ""

    def notices(self, kinds: Collection[NoticeKind]) -> list[str]:
        """The publications of these kinds that it names, each with what it is: "Retraction: J Zinc. 2020, PMID 1"."""
        return [
            f"{NOTICE_LABELS[one.kind]}: "
            + ", ".join(filter(None, (one.reference.rstrip(" .:;,"), f"PMID {one.pmid}" if one.pmid else one.own_doi)))
            for one in self.publication.status_notices
            if one.kind in kinds and (one.reference or one.pmid or one.doi)
        ]

    @property
    def notes(self) -> tuple[str, ...]:
        """The status note, and what no format has a field for, a sentence each."""
        one = self.publication
        accessions = [" ".join(each) for each in one.accessions if each.number and each.number != one.pmid]
        refuted = [claim for claim in one.claims if self.is_of_library and not is_open_claim(claim)]
        is_registered = self.form == "trial" or any(one.nct in number for number in one.registrations)
        facts = (
            (one.is_ahead_of_print, "Epub ahead of print."),
            (one.registrations, f"Registrations: {'; '.join(one.registrations)}."),
            (one.nct and not is_registered, f"Trial registration: {one.nct}."),
            (one.bookshelf_id, f"Bookshelf ID: {one.bookshelf_id}."),
            (one.book_years, f"Book published {one.book_years}."),
            (one.revised_date != UNKNOWN_DATE, f"Updated {one.revised_date}."),
            (accessions, f"Accession numbers: {'; '.join(accessions)}."),
            (self.is_of_library and any(map(is_open_claim, one.claims)), NOT_CHECKED),
            (refuted, f"Given in a library: {'; '.join(refuted)}."),
        )
        return tuple(filter(None, (self.status_note, *(fact for applies, fact in facts if applies), self.data_note)))

    @property
    def abstract(self) -> str:
        """What the source says, "" where that is only the title again."""
        if not self.has_texts:
            return ""
        read = [one for one in self.publication.texts if not one.is_users and one.kind != "full_text"]
        texts = [quotable(one).content for one in read if one.content != NO_ABSTRACT]
        return texts[0] if texts and texts[0].rstrip(".") != self.publication.title.rstrip(".") else ""

    @property
    def licences(self) -> tuple[str, ...]:
        """Of each text that was read whole, a full text or a page with a licence, what it may be used for, a sentence
        each."""
        read = [one for one in self.publication.texts if not one.is_users and one.content != NO_ABSTRACT]
        return tuple(
            f"{one.kind.replace('_', ' ').capitalize()} ({one.provider}): licence "
            + ", ".join(filter(None, (one.licence.rstrip(".") or "unknown", one.url)))
            + "."
            for one in read
            if one.kind == "full_text" or one.licence
        )

    @property
    def user_notes(self) -> str:
        """The user's notes."""
        return "\n\n".join(text.content for text in self.publication.texts if text.kind == "note")

    @property
    def pasted(self) -> str:
        """The text of a document that the user added, if no source has it."""
        texts = self.publication.texts if self.publication.is_users and self.has_texts else ()
        return "\n\n".join(text.content for text in texts if text.kind != "note")

    @property
    def remark(self) -> str:
        """The user's notes, or, without any, what else the user added."""
        return self.user_notes or self.pasted

    @property
    def keywords(self) -> tuple[str, ...]:
        """MeSH terms and the authors' keywords."""
        return tuple(dict.fromkeys((*self.publication.mesh_terms, *self.publication.keywords)))


def with_notes(publications: Iterable[Publication]) -> dict[str, Publication]:
    """What each publication is cited as, by its id: one that the user wrote notes on has their words too, and such a
    note is cited as that one, or by itself if what it is about is not among `publications`."""
    cited = {one.id: one for one in publications}
    notes = {id: one for id, one in cited.items() if one.is_users and one.source == "user"}
    papers_with: dict[tuple[str, str], list[str]] = {}
    for id in [id for id in cited if notes and id not in notes]:
        for number in _numbers(cited[id]):
            papers_with.setdefault(number, []).append(id)
    subjects: dict[str, str] = {}
    for note in notes.values():
        papers = next((papers_with[number] for number in _numbers(note) if number in papers_with), list[str]())
        for id in papers:
            cited[id] = cited[id].model_copy(update={"texts": (*cited[id].texts, note.text)})
        if papers:
            subjects[note.id] = papers[0]
    return cited | {note: cited[paper] for note, paper in subjects.items()}


def _numbers(publication: Publication) -> list[tuple[str, str]]:
    ids = record_ids(publication.url)
    numbers = {
        "pmid": publication.pmid or ids.pmid,
        "pmcid": publication.pmcid or ids.pmcid,
        "doi": normalize_doi(publication.doi) or ids.doi,
        "nct": registration_number(publication.pmid, publication.nct or ids.nct),
        "url": normalize_url(publication.url),
    }
    return [(name, number) for name, number in numbers.items() if number]


def references(publications: Iterable[Publication], start: int = 0) -> Iterator[Reference]:
    """A reference for each publication from `start` on, in order, with keys that are unique among all of them."""
    uses: Counter[str] = Counter()
    for position, publication in enumerate(publications):
        key = _key(publication)
        uses[key] += 1
        if position >= start:
            unique = key if uses[key] == 1 else f"{key}-{uses[key]}"
            # A library's numbers are claims, but what came in goes out again.
            given = publication.stated_ids._asdict() if publication.source == LIBRARY else {}
            yield Reference(publication.but(**given), position + 1, unique, publication.form)


def _without_stop(title: str) -> str:
    return (title[:-1].rstrip() or title) if title.endswith(".") and not title.endswith(("..", ". .")) else title


def parts_of_date(date: str) -> tuple[int, ...]:
    """(2021, 3) for "2021-03"; () when unknown."""
    return tuple(map(int, date.split("-"))) if date != UNKNOWN_DATE else ()


def _key(publication: Publication) -> str:
    """First author's family name, year and first significant word of the title, e.g. "garcialopez2021metformin"."""
    family = _ascii_letters(publication.authors[0].family)[:30] if publication.authors else ""
    year = publication.date[:4] if publication.date != UNKNOWN_DATE else ""
    title = "" if publication.title == NO_TITLE else publication.title
    words = [_ascii_letters(word)[:30] for word in re.split(r"[\s/:–—-]+", title)]
    word = next((word for word in words if word not in _NOT_IN_KEYS and not re.fullmatch("[0-9]*|[a-z]", word)), "")
    return f"{family}{year}{word}" if family else f"{word or _ascii_letters(publication.id)[:30]}{year}"


def _ascii_letters(text: str) -> str:
    plain = normalized("NFKD", text.lower().translate(_PLAIN_LETTERS))
    return "".join(letter for letter in plain if letter.isascii() and letter.isalnum())


def words_with_case(title: str) -> list[tuple[str, bool]]:
    """The words of a title, and whether each keeps its capitals when a style changes those of the rest.

    Those are words with a capital after their first letter (DNA, mRNA), symbols such as p53, species ("E. coli", as one
    word), and names, which are known by their capital unless a longer title capitalizes its words or a sentence begins
    there.
    """
    words = _SPECIES.sub(lambda name: name[0].replace(" ", "\0"), title).split(" ")
    long = [word for word in words if len(word) > 3 and word[1:].islower() and "\0" not in word]
    capitalized = len(long) > 3 and sum(word[:1].isupper() for word in long) > 0.6 * len(long)
    starts = [True, *(word.endswith((":", ".", "?", "!", "-", "–", "—")) for word in words)]
    return [
        (word.replace("\0", " "), "\0" in word or _keeps_case(word, initial_counts=not start and not capitalized))
        for word, start in zip(words, starts, strict=False)
    ]


def _keeps_case(word: str, *, initial_counts: bool) -> bool:
    letters = "".join(filter(str.isalnum, word))
    is_symbol = letters[:1].islower() and any(map(str.isdigit, letters))
    return is_symbol or any(map(str.isupper, letters if initial_counts else letters[1:]))


ALWAYS = frozenset({"id", "source", "title", "status", "status_notices", "status_checked"})
"""What every record keeps: what it is, what it is called, and that it was retracted, as of which day."""
_ALONGSIDE = {row[1]: row[2].split() for row in _ROWS if row[0] == "with"}
"""Fields that results do not have, and the one of theirs that they go with."""
RECORD_FIELDS = tuple(dict.fromkeys(("id", *Bibliography.model_fields, "authors", "abstract", "notes")))
"""What can be chosen for a reference manager's file."""


_READ: Mapping[str, Callable[[Reference], str]] = {
    "title": lambda one: one.title,
    "date": lambda one: "" if one.publication.date == UNKNOWN_DATE else one.publication.date,
    "url": lambda one: one.url,
    "status": lambda one: status_label(one.publication.status) or one.publication.status,
    "status_notices": lambda one: one.status_note,
    "abstract": lambda one: one.abstract or one.pasted,
    "notes": lambda one: one.user_notes,
    "reference": lambda one: vancouver(one.publication),
    "decision": lambda one: decision_of(one.publication),
    "decisions": lambda one: "; ".join(one.publication.history),
}
LISTED_FIELDS = tuple(dict.fromkeys((*RECORD_FIELDS, *_READ, "tags")))
"""What can be chosen for a list or a table of values."""


def with_fields(reference: Reference, fields: Collection[str]) -> Reference:
    """`reference` with only these fields and those that every record keeps; its form and its key stay."""
    one = reference.publication
    kept = {*ALWAYS, *fields}
    kept |= {more for name in kept for more in _ALONGSIDE.get(name, ())}
    texts = tuple(text for text in one.texts if "notes" in kept or text.kind != "note" or text is one.text)
    all_fields = Publication.model_fields.items()
    blank = {name: field.get_default() for name, field in all_fields if name not in kept and not field.is_required()}
    chosen = one.model_copy(update={**blank, "texts": texts})
    return replace(reference, publication=chosen, has_texts="abstract" in kept)


def listed_value(reference: Reference, field: str) -> str:
    """What a field says, for a list or a table; "" if nothing is known."""
    if read := _READ.get(field):
        return read(reference)
    value: object = getattr(reference.publication, field)
    return "; ".join(map(str, cast("tuple[object, ...]", value))) if isinstance(value, tuple) else str(value)
