"""A record laid along a written reference: where each of its fields stands, before anything is said of how it agrees.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from deepcritical_mcp.evidence.titles import tokens
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
    ROLES,
    YEAR,
    NumberPlaces,
    PlaceNumbers,
    find_numbers,
    numbers_of,
    years_only,
)
from deepcritical_mcp.search.references.plain_text import Span, blanked
from deepcritical_mcp.search.references.title_places import (
    LEAST_WORDS,
    content_left,
    find_title,
    title_span,
)
from deepcritical_mcp.search.references.written import WrittenReference

IN_BRACKETS = re.compile(r"\([^()]{0,200}\)")
_BEFORE_TITLE = re.compile(rf"\A[\W_]*(?:{YEAR.pattern}[a-z]?)?[\W_]*")


class Alignment:
    """Where the fields of a record stand in a reference.

    The title is found first, because its words are the most; then the journal, the numbers of the place, and the names
    around them, each among what the fields before it do not explain.

    Attributes:
        text: that of the reference, with years in place of dates; places in both are the same.
        own, own_numbers: the numbers that tell the record's place, by role, and all of them.
        found_title: the record's title; None if it does not stand there.
        title: where that stands, or else what looks like a title, or stands where one is expected.
        journal: one of the names of the record's journal.
        journal_span: that name with the words that make it another journal's, or else the name of another journal.
        people: the names, already compared with the record's authors.
        numbers: year, volume, issue and pages.
    """

    def __init__(self, reference: WrittenReference, record: Publication) -> None:
        self.record = record
        self.found_title = find_title(reference.text, reference.words, (record.title, record.vernacular_title))
        found_span = self.found_title[:2] if self.found_title else None
        families = {one.family.lower() for one in record.authors}
        self.text = years_only(reference.text, found_span[0] if found_span else 0, families)
        years = " ".join(map(str, years_of(record)))
        self.own: PlaceNumbers = {role: years if role == "year" else getattr(record, role) for role in ROLES}
        self.own_numbers = numbers_of(" ".join(self.own.values()))

        # Each field that is found narrows down where the numbers may be, so these are looked for anew.
        numbers_without_journal = self._numbers_outside(found_span, None)
        self.journal = journal = find_journal(self.text, found_span, journals_of(record), numbers_without_journal.first)
        bare = blanked(self.text, [journal[:2]] if journal else [])
        has_place = journal is not None or numbers_without_journal.first >= 0
        likely_title = found_span or self._guessed_title(bare, has_place=has_place)

        numbers = self._numbers_outside(likely_title, journal)
        starts = [one for one in (journal.start if journal else -1, numbers.first) if one >= 0]
        self.people = self._find_people(bare, likely_title, starts)
        self.journal_span = journal[2:] if journal else self._other_journal(likely_title, numbers.first)
        self.title = found_span or self._expected_title(likely_title, starts)
        self.numbers = self._numbers_outside(self.title, journal)

    def _numbers_outside(self, title: Span | None, journal: JournalPlace | None) -> NumberPlaces:
        """The numbers of the place, which stand neither in the title nor in the name of the journal."""
        hidden = [span for span in (title, journal and journal[:2]) if span]
        return find_numbers(self.text, hidden, self.own, title[0] if title else 0)

    def _guessed_title(self, bare: str, *, has_place: bool) -> Span | None:
        """What looks like a title and says enough that the record does not: any word, if nothing of a place was found.
        `bare` is the text without the journal."""
        span = title_span(self.text)
        words = strange_words(bare[slice(*span)], self.record, title_is_known=not has_place) if span else ()
        return span if len(words) >= (LEAST_WORDS if has_place else 1) else None

    def _find_people(self, bare: str, title: Span | None, starts: Sequence[int]) -> PeopleAgreement:
        """The names before the title, or else those with "et al." right behind it; without a title, those before the
        journal or the numbers, which begin at the `starts`."""
        text, authors = self.text, self.record.authors
        head_end, tail_start = title or (min(starts, default=len(text)), len(text))
        head = people_before(text[:head_end])
        if head and (title or starts or has_author(head, authors)):
            start = max(text.find(head), 0)
            found = compare_people(bare, start, start + len(head), authors)
            if found.verdict != "absent":
                return found
        others = ET_AL.search(text, tail_start, next_place(starts, tail_start, len(text)))
        return compare_people(bare, tail_start, others.end(), authors) if others else PeopleAgreement("absent")

    def _other_journal(self, title: Span | None, numbers_start: int) -> Span | None:
        """The name of another journal behind title and names, if the record has one."""
        start = max(title[1] if title else 0, self.people.span[1])
        return other_journal(self.text, start, numbers_start, self.record.authors) if journals_of(self.record) else None

    def _expected_title(self, likely_title: Span | None, starts: Sequence[int]) -> Span | None:
        """What looks like a title, or what stands between names and journal, or numbers, however short."""
        names_end, journal = self.people.span[1], self.journal_span
        start, end = likely_title or (names_end, next_place(starts, names_end, 0))
        start = max(start, names_end)
        end = journal[0] if journal and start < journal[0] < end else end
        part = self.text[min(start, end) : end].rstrip(" ,;*_’”\"'")
        has_words = self.people.verdict != "absent" and strange_words(IN_BRACKETS.sub(" ", part), self.record)
        end = min(start, end) + len(part)
        return (end - len(_BEFORE_TITLE.sub("", part)), end) if likely_title or has_words else None


def next_place(starts: Sequence[int], at: int, default: int) -> int:
    """The first of some places from another one on."""
    return min((one for one in starts if one >= at), default=default)


def years_of(record: Publication) -> list[int]:
    """The years of a record: that of its date first."""
    dates = (record.date, record.electronic_date, record.issue_date, record.revised_date)
    return [int(year) for date in dates if date != UNKNOWN_DATE for year in YEAR.findall(date)]


def journals_of(record: Publication) -> list[str]:
    """The names of a record's journal."""
    names = (record.journal, record.journal_abbreviation, record.medline_abbreviation, record.book_title)
    return [name for name in (*names, record.publisher if record.form == "preprint" else "") if name]


def strange_words(text: str, record: Publication, *, title_is_known: bool = False) -> list[str]:
    """Words of content that are in none of a record's names and journals; nor in its title, if `title_is_known`."""
    names = [*map(str, record.authors), *journals_of(record), record.title if title_is_known else ""]
    strange = content_left(text, {*tokens(" ".join(names)), *JOINING})
    return [one for one in strange if one.isalpha() and len(one) > 1]
