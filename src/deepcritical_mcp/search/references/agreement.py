"""How a record agrees with a written reference, field by field."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from deepcritical_mcp.evidence.titles import (
    content_words,
    identifies,
    is_generic,
    is_notice,
    likeness,
    plain_letters,
    tokens,
)
from deepcritical_mcp.models import UNKNOWN_DATE, Publication
from deepcritical_mcp.search.references.name_forms import journals_agree, people_agree
from deepcritical_mcp.search.references.renamed_journals import is_renamed
from deepcritical_mcp.search.references.statements import Statements, statements_around
from deepcritical_mcp.search.references.title_forms import (
    ORDER,
    TitleAgreement,
    are_similar,
    main_title,
    place_of_similar,
    place_of_title,
    titles_agree,
)
from deepcritical_mcp.search.references.written import WrittenReference

StatedField = Literal["title", "authors", "year", "journal", "volume", "pages"]
FieldVerdict = Literal["agrees", "minor", "differs", "absent"]
_PAGE = re.compile(r"([a-z]{0,5})0{0,6}(\d{1,8})([a-z]?)", re.IGNORECASE)
_SUBTITLE = re.compile(r"\s{0,2}(?::|[–—-](?=\s))\s{0,2}([^.?!”\"“*]{1,300})")
_SENTENCE = re.compile(r"[.?!]\s{1,2}([^.?!:\[\]”\"“*]{12,300})[.?!]\s{1,2}")
_ADDED_WORDS = 3
"""Content words that a title may have besides the record's: "a randomised trial", "results of a cohort study"."""
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_NAME_WORD = re.compile(r"[^\W\d_]+")
_OTHER_WORDS = frozenset(
    """et al and others und y e pp p vol no doi pmid pmcid pubmed jan feb mar apr may jun jul aug sep oct nov dec epub
    the of in for""".split()
)
_NAME_AND_YEAR = re.compile(
    r"[\W\d]{0,8}(?!(?:In|On|Since|From|Until|Published|Updated|Accessed|Online|January|February|March|April|May|June|"
    r"July|August|September|October|November|December|Spring|Summer|Autumn|Winter|Epub|Preprint)\b)"
    r"[^\W\d_a-z][\w'’-]{2,40}(?: (?:&|and) [^\W\d_a-z][\w'’-]{2,40})?,? \(?(?:1[5-9]|20)\d\d[a-z]?\)?[\W_]{0,8}"
)
_AND = re.compile(r" (?:&|and) ")
_NUMBERS = re.compile(r"(\d{1,6})(?:\s?[-–/‐]\s?(\d{1,6}))?")
_INITIAL_OF_JOURNAL = re.compile(r"(?<![^\W\d_] )(?<![^\W\d_]\. )(?<![\w-])[A-Z]\.? \Z")
_MOST_VOLUMES = 6
"""Volumes that one range joins."""


class FieldAgreement(NamedTuple):
    """How one field agrees: "minor" for what careful people write differently (a year off by one, other last page);
    "absent" if the reference or the record does not say it. `written` and `true` are what the two say."""

    field: StatedField
    verdict: FieldVerdict
    written: str = ""
    true: str = ""


@dataclass(frozen=True)
class Agreement:
    """How a record agrees with a reference; `says` is what the reference says around the record's title."""

    fields: tuple[FieldAgreement, ...]
    says: Statements

    def verdict(self, field: StatedField) -> FieldVerdict:
        """How one field agrees."""
        return next(one.verdict for one in self.fields if one.field == field)

    @property
    def differences(self) -> tuple[FieldAgreement, ...]:
        """The fields that differ."""
        return tuple(one for one in self.fields if one.verdict == "differs")

    @property
    def conflicts(self) -> int:
        """How many statements differ; volume and pages are one, because they name one place."""
        return len({"volume" if one.field == "pages" else one.field for one in self.differences})

    @property
    def rank(self) -> tuple[int, int]:
        """Larger for a record that agrees better."""
        return -self.conflicts, sum((one.verdict == "agrees") * 2 + (one.verdict == "minor") for one in self.fields)

    @property
    def is_accepted(self) -> bool:
        """Whether the record is the one that the reference means.

        Title and authors agree, as far as they are written, and at most one other statement differs; a title that many
        documents have needs names and a place besides. Without a title, journal, year, volume and first page agree.
        """
        said = {one.field: one.verdict in ("agrees", "minor") for one in self.fields}
        if "differs" in (self.verdict("title"), self.verdict("authors")):
            return False
        place = said["volume"] and said["pages"]
        if self.verdict("title") == "absent":
            return self.conflicts == 0 and place and said["journal"] and said["year"]
        support = said["authors"] + said["journal"] + said["year"] + place
        if not self._title_identifies or self.verdict("title") == "minor":
            return self.conflicts == 0 and support >= 2
        return self.conflicts == 0 or (self.conflicts == 1 and support >= 2)

    @property
    def _title_identifies(self) -> bool:
        words = tokens(next(one.true for one in self.fields if one.field == "title"))
        return identifies(words) and not is_generic(words)


def compare(reference: WrittenReference, record: Publication) -> Agreement:
    """Lay a record against a reference."""
    title, says = _title(reference, record)
    return Agreement((title, *_others(says, record)), says)


def title_agreement(written: str, record: Publication) -> TitleAgreement:
    """Whether a title, as a caller wrote it, is the record's; the beginning of one may end in "…"."""
    if (cut := written.rstrip(" .…")) and written.rstrip().endswith(("…", "...")):
        words = tokens(cut)
        return "agrees" if words and tokens(record.title)[: len(words)] == words else "differs"
    found: list[TitleAgreement] = [
        titles_agree(written, name) for name in filter(None, (record.title, record.vernacular_title))
    ]
    return min(found, key=lambda one: ORDER[one])


def _title(reference: WrittenReference, record: Publication) -> tuple[FieldAgreement, Statements]:
    """Whether the title agrees, and what the reference says around it."""
    says, written = reference.says, reference.says.title
    if not reference.has_title and reference.is_labelled:
        return FieldAgreement("title", "absent", true=record.title), says
    if reference.is_labelled:
        return FieldAgreement("title", title_agreement(written, record), written, record.title), says
    longer: tuple[int, int] | None = None
    for name in _names(record):
        if place := place_of_title(reference.text, reference.words, name, lambda rest: _follows(rest, record)):
            if added := _other_subtitle(reference.text[place.end :], name, record):
                longer = longer or (place.start, place.end + added)
                continue
            says = statements_around(reference.text, place.start, place.end)
            return FieldAgreement("title", place.agreement, says.title, record.title), says
    if longer:
        similar = place_of_similar(reference.text, reference.words, record.title)
        says = statements_around(reference.text, *(similar if similar and similar[1] >= longer[1] else longer))
        return FieldAgreement("title", "differs", says.title, record.title), says
    if (start := _start_of_place(reference, record)) >= 0:
        return FieldAgreement("title", "absent", true=record.title), statements_around(reference.text, start, start)
    if not reference.has_title:
        return FieldAgreement("title", "absent", true=record.title), _with_name(reference, says, record)
    if similar := place_of_similar(reference.text, reference.words, record.title):
        says = statements_around(reference.text, *similar)
    return FieldAgreement("title", "differs", says.title, record.title), says


def _start_of_place(reference: WrittenReference, record: Publication) -> int:
    """Where the record's journal begins in a reference that says nothing but its names, journal and numbers; -1 if it
    says more."""
    people = {word for author in record.authors for word in _name_words(str(author))}
    journals = [word for name in _journals(record) for word in _name_words(name)]
    start = -1
    for found in _NAME_WORD.finditer(reference.text):
        word = _name_words(found[0])
        is_initial = found[0].isupper() and len(found[0]) <= 3 and (len(found[0]) == 1 or word[0] not in journals)
        if is_initial or people.issuperset(word) or found[0].lower() in _OTHER_WORDS:
            continue
        if not all(any(name.startswith(one) for name in journals) for one in word):
            return -1
        start = found.start() if start < 0 else start
    lead = _INITIAL_OF_JOURNAL.search(reference.text[max(0, start - 8) : start])
    return start - len(lead[0]) if lead else start


def _name_words(name: str) -> list[str]:
    return _NAME_WORD.findall(plain_letters(name))


def is_name_and_year(reference: WrittenReference) -> bool:
    """Whether it says nothing but one or two names and a year: "Berg 2019", or has them in the first cell of a row."""
    return _NAME_AND_YEAR.fullmatch(reference.text.partition("|")[0]) is not None


def _with_name(reference: WrittenReference, says: Statements, record: Publication) -> Statements:
    """With an author's name where one was taken for a journal: "Berg 2019"."""
    if says.authors or not says.journal or journals_agree(says.journal, _journals(record)):
        return says
    if record.authors and is_name_and_year(reference):
        return replace(says, authors=tuple(_AND.split(says.journal)), people=says.journal, journal="")
    if not record.authors or people_agree([says.journal], record.authors) == "differs":
        return says
    return replace(says, authors=(says.journal,), people=says.journal, journal="")


def _other_subtitle(rest: str, name: str, record: Publication) -> int:
    """How far another subtitle reaches that follows a record's title or its main title, which is `name`; 0 if none."""
    found = _SUBTITLE.match(rest)
    if not found or _follows(found[1], record):
        return _other_sentence(rest, record)
    if name in (record.title, record.vernacular_title):
        is_added = bool(record.pmid) and len(content_words(tokens(found[1]))) > _ADDED_WORDS
        return found.end() if is_added else 0  # Crossref keeps subtitles elsewhere
    written = f"{name}: {found[1]}"
    titles = [title for title in (record.title, record.vernacular_title) if title]
    is_its_own = any(
        likeness(tokens(written), tokens(title)) != "other" or are_similar(found[1], title[len(name) :])
        for title in titles
    )
    return 0 if is_its_own and not all(_is_changed(written, title) for title in titles) else found.end()


def _is_changed(written: str, title: str) -> bool:
    """Whether a title is another one, as long as that, with a word changed."""
    return abs(len(tokens(written)) - len(tokens(title))) <= 1 and titles_agree(written, title) == "differs"


def _other_sentence(rest: str, record: Publication) -> int:
    """How far a sentence reaches that stands between a title and its journal and is not in the record's title."""
    found = _SENTENCE.match(rest)
    if not found or not _follows(rest[found.end() :], record) or _follows(found[1], record):
        return 0
    known = {*tokens(record.title), *tokens(record.vernacular_title)}
    added = [word for word in content_words(tokens(found[1])) if word not in known and f" {word}" in found[1]]
    return found.end(1) if len(added) > _ADDED_WORDS else 0


def _follows(rest: str, record: Publication) -> bool:
    """Whether a text begins with the record's journal, whatever mark is missing before it."""
    return journals_agree(statements_around(rest, 0, 0).journal, _journals(record))


def _names(record: Publication) -> Iterator[str]:
    """The titles of a record: its own, in its own language, and without a subtitle."""
    for title in filter(None, (record.title, record.vernacular_title)):
        yield title
        main = main_title(title)
        if main != title and identifies(tokens(main)) and not is_notice(tokens(title)):
            yield main


def _journals(record: Publication) -> list[str]:
    names = (record.journal, record.journal_abbreviation, record.medline_abbreviation, record.book_title)
    return [name for name in (*names, record.publisher if record.form == "preprint" else "") if name]


def _others(says: Statements, record: Publication) -> Iterator[FieldAgreement]:
    names = tuple(map(str, record.authors))
    people = people_agree(says.authors, record.authors) if says.authors and names else "absent"
    yield FieldAgreement("authors", people, ", ".join(says.authors[:3]), ", ".join(names[:3]))
    yield _year(says.year, record)
    journals = _journals(record)
    same = _is_one_journal(says.journal, journals) if says.journal and journals else None
    verdict: FieldVerdict = "absent" if same is None else "agrees" if same else "differs"
    yield FieldAgreement("journal", verdict, says.journal, record.journal or record.journal_abbreviation)
    volume = "absent" if not (says.volume and record.volume) else _volume(says.volume, record.volume)
    yield FieldAgreement("volume", volume, says.volume, record.volume)
    pages = "absent" if not (says.pages and record.pages) else _pages(says.pages, record.pages)
    yield FieldAgreement("pages", pages, says.pages, record.pages)


def _is_one_journal(written: str, names: Sequence[str]) -> bool:
    return journals_agree(written, names) or any(is_renamed(written, name) for name in names)


def _year(written: str, record: Publication) -> FieldAgreement:
    dates = (record.date, record.electronic_date, record.issue_date, record.revised_date)
    years = [int(year) for date in dates if date != UNKNOWN_DATE for year in _YEAR.findall(date)]
    if not written or not years:
        return FieldAgreement("year", "absent", written, str(years[0]) if years else "")
    if is_living_work(record) and int(written) <= max(years):
        return FieldAgreement("year", "agrees", written, str(years[0]))
    distance = min(abs(int(written) - year) for year in years)
    verdict: FieldVerdict = "agrees" if distance == 0 else "minor" if distance == 1 else "differs"
    return FieldAgreement("year", verdict, written, str(years[0]))


def is_living_work(record: Publication) -> bool:
    """Whether it is a part of a book that is revised again and again, such as GeneReviews, which has years of its
    own."""
    return record.form in ("chapter", "book") and record.revised_date != UNKNOWN_DATE


def _volume(written: str, true: str) -> FieldVerdict:
    first, second = (content_words(tokens(text)) for text in (written, true))
    if first[:1] == second[:1] or "".join(first) == "".join(second):
        return "agrees"
    return "differs" if _volumes(written).isdisjoint(_volumes(true)) else "agrees"


def _volumes(text: str) -> frozenset[int]:
    """The numbers of a volume that is several: "181-182", "31/32"; none of another."""
    found = _NUMBERS.search(text)
    if not found:
        return frozenset()
    first, last = int(found[1]), int(found[2] or found[1])
    return frozenset(range(first, last + 1)) if last - first <= _MOST_VOLUMES else frozenset((first,))


def _pages(written: str, true: str) -> FieldVerdict:
    """First pages must be equal; a last page that differs is a slip."""
    first, second = _range(written), _range(true)
    if not first or not second:
        return "absent"
    if first[0] != second[0]:
        return "differs"
    return "agrees" if len(first) == 1 or len(second) == 1 or first[1] == second[1] else "minor"


def _range(pages: str) -> list[str]:
    """First and last page without abbreviation: "327-57" is 327 to 357."""
    found = [f"{one[1]}{one[2]}{one[3]}".lower() for one in _PAGE.finditer(re.split(r"[;,]", pages)[0])][:2]
    if len(found) == 2 and len(found[1]) < len(found[0]) and found[1].isdigit():
        found[1] = found[0][: len(found[0]) - len(found[1])] + found[1]
    return found
