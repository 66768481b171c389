"""A record laid along a written reference: where each of its fields stands, how it agrees, and what no field explains;
and the one table of what is a difference.

| field   | none                                             | minor                        | a difference         |
|---------|--------------------------------------------------|------------------------------|----------------------|
| title   | case, accents, Greek letters, punctuation,       | a slip, another small word,  | another content word,|
|         | spelling, subtitle left out, a short one added   | cut off, also by "...",      | also in a subtitle   |
|         | where the record has none                        | translated                   | or before the title  |
| authors | some of the initials, order of a name's parts,   | a slip, other initials of    | another name, another|
|         | names left out, "et al." at any place            | one that is not the first    | first author         |
| year    | that of the issue, of the publication online     | off by one                   | another year         |
| journal | abbreviations of it, its initials, a former name | a preprint's server          | another journal      |
| volume  | "45 Suppl 2", the year as the volume             |                              | another number       |
| issue   | one of several                                   | another number               |                      |
| pages   | abbreviated, with letters, the first one only,   | last page, those of the PDF  | another first page   |
|         | one of the ranges that the record has            |                              |                      |

A field that is absent is no field that differs. Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from deepcritical_mcp.evidence.titles import identifies, is_generic, tokens
from deepcritical_mcp.models import UNKNOWN_DATE, Publication
from deepcritical_mcp.search.references.name_places import (
    ET_AL,
    JournalPlace,
    PeopleAgreement,
    compare_people,
    find_journal,
    has_author,
    other_journal,
    people_before,
)
from deepcritical_mcp.search.references.number_places import (
    JOINING,
    NOT_OF_THE_PLACE,
    ROLES,
    YEAR,
    NumberPlaces,
    PlaceNumbers,
    Role,
    find_numbers,
    number_in,
    numbers_of,
    written_numbers,
    years_only,
)
from deepcritical_mcp.search.references.plain_text import WORD, WORD_LISTS, Span, blanked, without
from deepcritical_mcp.search.references.title_places import (
    LEAST_WORDS,
    content_left,
    end_of_longer_title,
    find_title,
    start_of_longer_title,
    title_agreement,
    title_span,
)
from deepcritical_mcp.search.references.written import WrittenReference

StatedField = Literal["title", "authors", "year", "journal", "volume", "issue", "pages"]
FieldVerdict = Literal["agrees", "minor", "differs", "absent"]


class FieldAgreement(NamedTuple):
    """How one field agrees: "minor" for what careful people write differently (a year off by one, other last page);
    "absent" if the reference or the record does not say it. `written` and `true` are what the two say, and `span` is
    where it stands in the text of the reference."""

    field: StatedField
    verdict: FieldVerdict
    written: str = ""
    true: str = ""
    span: Span | None = None


class Agreement:
    """How a record agrees with a reference.

    The title is found first, because its words are the most; then the journal, the numbers of the place, and the names
    around them, each among what the fields before it do not explain.

    Attributes:
        fields: how each field agrees.
        by_others: whether the first author that is written, or most of them, are none of the record's.
        is_preprint: whether the preprint of the record's article is written.
        names_left_out: how many names are listed, where authors are left out and the list does not say so; 0 if not.
        unread: which of volume and pages may be among numbers of the reference that could not be assigned.
        left_over: words among the fields that none of them explains.
        further: what no field explains and looks like a work of its own; "" if there is nothing.
    """

    _journal: JournalPlace | None = None

    def __init__(self, reference: WrittenReference, record: Publication) -> None:
        self._record, self._written = record, reference.text
        years = " ".join(map(str, years_of(record)))
        self._place: PlaceNumbers = {role: years if role == "year" else getattr(record, role) for role in ROLES}
        self._entry = reference.says if reference.entry else None
        self._found = find_title(self._written, reference.words, (record.title, record.vernacular_title))
        self._title: Span | None = self._found[:2] if self._found else None
        names = {one.family.lower() for one in record.authors}
        self._text = text = years_only(self._written, self._title[0] if self._title else 0, names)
        self._numbers = self._find_numbers()
        self._journal = journal = find_journal(text, self._title, journals_of(record), self._numbers.first)
        bare = blanked(text, [journal[:2]] if journal else [])
        guess = title_span(text) if self._title is None else None
        least = LEAST_WORDS if journal or self._numbers.first >= 0 else 1  # beside a number alone, any word
        if guess and len(self._strange(bare[slice(*guess)], is_title=least == 1)) >= least:
            self._title = guess
        self._numbers = self._find_numbers()
        self._people = people = self._find_people(bare)
        low, true = max(self._title[1] if self._title else 0, people.span[1]), next(iter(journals_of(record)), "")
        other = other_journal(text, low, self._numbers.first, record.authors) if true and not journal else None
        span = journal[2:] if journal else other
        verdict: FieldVerdict = "absent" if not span else "agrees" if journal and journal[:2] == span else "differs"
        self._journal_field = FieldAgreement("journal", verdict, text[slice(*span)] if span else "", true, span)
        self._title = self._title if self._found else self._other_title()
        self._numbers = self._find_numbers()
        self._conclude()

    def field(self, name: StatedField) -> FieldAgreement:
        """One field."""
        return next(one for one in self.fields if one.field == name)

    def verdict(self, name: StatedField) -> FieldVerdict:
        """How one field agrees, as far as that tells whether the record is meant: one wrong name of several does
        not speak against it."""
        found = self.field(name).verdict
        return "minor" if name == "authors" and found == "differs" and not self.by_others else found

    @property
    def differences(self) -> tuple[FieldAgreement, ...]:
        """The fields that differ."""
        return tuple(one for one in self.fields if one.verdict == "differs")

    @property
    def conflicts(self) -> int:
        """How many statements differ; volume and pages are one, because they name one place."""
        differing = {one.field for one in self.fields if self.verdict(one.field) == "differs"} - {"issue"}
        return len({"volume" if field == "pages" else field for field in differing})

    @property
    def rank(self) -> tuple[int, int]:
        """Larger for a record that agrees better."""
        verdicts = [self.verdict(one.field) for one in self.fields if one.field != "issue"]
        return -self.conflicts, sum((one == "agrees") * 2 + (one == "minor") for one in verdicts)

    def says(self, name: StatedField) -> bool:
        """Whether the reference says what the record says."""
        return self.verdict(name) in ("agrees", "minor")

    @property
    def has_place(self) -> bool:
        """Whether volume and pages are the record's."""
        return self.says("volume") and self.says("pages")

    @property
    def support(self) -> int:
        """How many of authors, journal, year and place are the record's."""
        return self.says("authors") + self.says("journal") + self.says("year") + self.has_place

    @property
    def is_accepted(self) -> bool:
        """Whether the record is the one that the reference means.

        Title and authors agree, as far as they are written, and at most one other statement differs; a title that many
        documents have needs names and a place besides. Without a title, journal, year, volume and first page agree.
        """
        if "differs" in (self.verdict("title"), self.verdict("authors")):
            return False
        if self.verdict("title") == "absent":
            return self.conflicts == 0 and self.has_place and self.says("journal") and self.says("year")
        words = tokens(self.field("title").written)
        if not (identifies(words) and not is_generic(words)) or self.verdict("title") == "minor":
            return self.conflicts == 0 and self.support >= 2
        return self.conflicts == 0 or (self.conflicts == 1 and self.support >= 2)

    def _find_numbers(self) -> NumberPlaces:
        known = [span for span in (self._title, self._journal and self._journal[:2]) if span]
        return find_numbers(self._text, known, self._place, self._title[0] if self._title else 0)

    def _conclude(self) -> None:
        """What the places that were found say."""
        record, people, journal = self._record, self._people, self._journal_field
        is_theirs, is_other = people.verdict in ("agrees", "minor"), journal.verdict == "differs"
        is_short = self._entry is not None and people.verdict == "agrees" and people.named > 0
        true = people.true or ", ".join(author.short for author in record.authors[: None if is_short else 3])
        written, span = people.written or self._text[slice(*people.span)], people.span
        verdict = "minor" if is_short else people.verdict
        authors = FieldAgreement("authors", verdict, written, true, None if verdict == "absent" else span)
        fields: dict[StatedField, FieldAgreement] = {"title": self._compare_title(), "authors": authors}
        for role in ROLES:
            one = self._numbers.by_role.get(role)
            span = (one.start, one.start + 4 if role == "year" else one.end) if one else None
            written = self._text[slice(*span)] if span else ""
            verdict = number_agrees(role, written, record)
            fields[role] = FieldAgreement(role, verdict, written, own_number(role, record), span)
        fields["journal"] = journal
        spans = [people.span, *(one.span for one in fields.values() if one.span)]
        spans += [(one.start, one.end) for one in self._numbers.by_role.values()]
        among = blanked(self._text[: max(end for _, end in spans)], spans)
        self.left_over = tuple(self._strange(among, is_title=True))
        self.is_preprint = record.form != "preprint" and is_theirs and is_other and is_preprint_server(journal.written)
        if self.is_preprint:
            fields |= {name: fields[name]._replace(verdict="absent") for name in ROLES}
            fields["journal"] = journal._replace(verdict="minor")
        self.fields, self.by_others = tuple(fields.values()), people.by_others
        self.names_left_out = people.named if people.named > 1 and is_theirs else 0
        start = self._found.end if self._found else len(self._text)
        behind = numbers_of(without(NOT_OF_THE_PLACE, self._text[start:]))
        by_role, own = self._numbers.by_role, numbers_of(" ".join(self._place.values()))
        roles = ROLES[1::2] if not behind <= own | numbers_of(" ".join(one.text for one in by_role.values())) else ()
        self.unread = tuple(role for role in roles if self._place[role] and role not in by_role)
        ends = (self._found.end if self._found else 0, self._journal.end if self._journal else 0, self._numbers.last)
        self.further = _further_work(self._text[max(ends) :], own)

    def _strange(self, text: str, *, is_title: bool = False) -> list[str]:
        """Words of content that the record's names and journals, or its title as well, do not have."""
        record = self._record
        names = " ".join((*map(str, record.authors), *journals_of(record), record.title * is_title))
        return [one for one in content_left(text, {*tokens(names), *JOINING}) if one.isalpha() and len(one) > 1]

    def _next(self, at: int, default: int) -> int:
        """Where journal or numbers begin behind a place."""
        starts = (self._journal.start if self._journal else -1, self._numbers.first)
        return min((one for one in starts if one >= at), default=default)

    def _find_people(self, bare: str) -> PeopleAgreement:
        """Those before the title, else with "et al." right behind it; without a title, those before the journal. `bare`
        is the text without the journal."""
        text, authors, found = self._text, self._record.authors, PeopleAgreement("absent")
        low, high = self._title or (self._next(0, len(text)), len(text))
        head = people_before(text[:low])
        start = max(text.find(head), 0)
        if head and (self._title or self._journal or self._numbers.first >= 0 or has_author(head, authors)):
            found = compare_people(bare, start, start + len(head), authors)
        if found.verdict == "absent" and (others := ET_AL.search(text, high, self._next(high, len(text)))):
            found = compare_people(bare, high, others.end(), authors)
        return found

    def _other_title(self) -> Span | None:
        """What looks like a title, or what stands between names and journal, or numbers, however short."""
        low, journal = self._people.span[1], self._journal_field.span
        start, end = self._title or (low, self._next(low, 0))
        end = journal[0] if journal and max(start, low) < journal[0] < end else end
        start = min(max(start, low), end)
        part = self._text[start:end].rstrip(" ,;*_’”\"'")
        is_one = self._title or (self._people.verdict != "absent" and self._strange(_IN_BRACKETS.sub(" ", part)))
        end = start + len(part)
        return (end - len(_BEFORE_TITLE.sub("", part)), end) if is_one else None

    def _compare_title(self) -> FieldAgreement:
        record, text, journal, people = self._record, self._written, self._journal_field.span, self._people
        verdict: FieldVerdict
        if self._entry and (told := self._entry.title):
            return FieldAgreement("title", title_agreement(told, record), told, record.title, self._title)
        if self._title is None:
            return FieldAgreement("title", "absent", "", record.title)
        if self._found is None:
            written = text[slice(*self._title)].strip(" .,;")
            words = self._strange(_IN_BRACKETS.sub(" ", written))
            verdict = "minor" if len(words) < LEAST_WORDS and {*words} <= {*tokens(record.title)} else "differs"
            return FieldAgreement("title", verdict, written, record.title, self._title)
        start, end = self._found[:2]
        following = (journal[0] if journal else -1, self._numbers.first, people.span[0] if people.span[1] else -1)
        stop = min((at for at in following if at >= end), default=len(text))
        span = start_of_longer_title(text, self._found, record), end_of_longer_title(text, self._found, stop, record)
        verdict = self._found.agreement if span == (start, end) else "differs"
        return FieldAgreement("title", verdict, text[slice(*span)], self._found.true, span)


def is_preprint_server(journal: str) -> bool:
    """Whether the name of a journal is that of a server of preprints."""
    words = f" {' '.join(tokens(journal))} "
    return any(name in words for name in ("rxiv ", " preprint", " research square ", " ssrn ", " osf "))


def years_of(record: Publication) -> list[int]:
    """The years of a record: that of its date first."""
    dates = (record.date, record.electronic_date, record.issue_date, record.revised_date)
    return [int(year) for date in dates if date != UNKNOWN_DATE for year in YEAR.findall(date)]


def own_number(role: str, record: Publication) -> str:
    """A number of a record's place."""
    return str(next(iter(years_of(record)), "")) if role == "year" else str(getattr(record, role))


def number_agrees(role: Role, written: str, record: Publication) -> FieldVerdict:
    """A year ("2019b"), a volume with a supplement or without, an issue, or pages or the number of an article."""
    years, true = years_of(record), own_number(role, record)
    if not numbers_of(written) or not numbers_of(true):
        return "absent"
    if role == "issue":
        return "minor" if numbers_of(written).isdisjoint(numbers_of(true)) else "agrees"
    if role == "volume":
        volumes = numbers_of(true.lower().partition("s")[0]) or numbers_of(true)
        issues = numbers_of(record.issue) if any(map(YEAR.fullmatch, volumes)) else ()
        return "agrees" if number_in(written) in {*volumes, *issues, *map(str, years)} else "differs"
    if role == "year":
        year = int(number_in(written))
        nearest = 0 if min(years) <= year <= max(years) else min(abs(year - one) for one in years)
        return "differs" if nearest > 1 else "minor" if nearest else "agrees"
    first, second = _pages(written), _pages(true)
    if "".join(filter(str.isdigit, written)) == "".join(filter(str.isdigit, true)):  # "e00216-22" for "e0021622"
        return "agrees"
    if number_in(first[0]) == number_in(second[0]):
        return "agrees" if len(first) == 1 or len(second) == 1 or first[1] == second[1] else "minor"
    is_pdf = [len(one) for one in (first, second) if number_in(one[0]) == "1"] == [2] and len(first) != len(second)
    parts = true.replace(",", ";").split(";")  # "1563-5; author reply 1565-6"
    return "minor" if is_pdf else "agrees" if number_in(first[0]) in map(number_in, parts) else "differs"


def _pages(text: str) -> list[str]:
    """First and last page without abbreviation: "327-57" is 327 to 357."""
    one = next(iter(written_numbers(text)), None)
    first, last = (one.value.lower(), one.last.lower()) if one else ("", "")
    return [first, f"{first[: max(0, len(first) - len(last))]}{last}"] if last else [first]


_FAMILY = r"[^\W\d_a-zß-öø-ÿ][\w'’‐-]{1,40}"
_NAMED = re.compile(
    rf"{_FAMILY} [A-Z]{{1,3}}[,.]|{_FAMILY}, [A-Z]\.|\b[A-Z]\. {_FAMILY}|"
    rf"{_FAMILY} (?:et al\b|(?:and|und|y|et|&) {_FAMILY}, )"
)
_OTHER_PLACE = re.compile(r"\b\d{1,4}(?:(\s?\([^()]{1,15}\))[:,]?|[:,])\s?[A-Za-z]?\d")
_IN_BRACKETS = re.compile(r"\([^()]{0,200}\)")
_BEFORE_TITLE = re.compile(rf"\A[\W_]*(?:{YEAR.pattern}[a-z]?)?[\W_]*")


def journals_of(record: Publication) -> list[str]:
    """The names of a record's journal."""
    names = (record.journal, record.journal_abbreviation, record.medline_abbreviation, record.book_title)
    return [name for name in (*names, record.publisher if record.form == "preprint" else "") if name]


def _further_work(behind: str, own: frozenset[str]) -> str:
    """A work in what stands behind everything that a record explains: a place other than its `own` numbers, or names
    with words of a title or a year; "" if there is none."""
    is_remark = not WORD_LISTS["of the work"].isdisjoint(word.lower() for word in WORD.findall(behind))
    if is_remark or (numbers_of(behind) <= own and not _NAMED.search(behind)):
        return ""
    left = [word for word in content_left(behind, ()) if f" {word}" in behind and word.isalpha()]
    is_told = len(left) >= LEAST_WORDS or (bool(left) and YEAR.search(behind) is not None)
    is_place = (place := _OTHER_PLACE.search(behind)) and (place[1] or YEAR.search(behind))
    return behind.strip(" .,;)/–|[") if is_place or (is_told and _NAMED.search(behind)) else ""
