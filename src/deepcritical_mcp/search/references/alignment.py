"""A record laid along a written reference: where each of its fields stands, and what no field explains.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from deepcritical_mcp.evidence.titles import tokens
from deepcritical_mcp.models import Publication
from deepcritical_mcp.search.references.agreement import (
    PREPRINT_SERVER,
    TRANSLITERATED,
    Agreement,
    FieldAgreement,
    FieldVerdict,
    nearer_title,
    number_agrees,
    own_number,
    years_of,
)
from deepcritical_mcp.search.references.journal_places import (
    JournalPlace,
    find_journal,
    other_journal,
)
from deepcritical_mcp.search.references.number_places import (
    JOINING,
    ROLES,
    YEAR,
    NumberPlaces,
    PlaceNumbers,
    find_numbers,
    number_in,
    numbers_of,
)
from deepcritical_mcp.search.references.people_places import (
    ET_AL,
    PeopleAgreement,
    compare_people,
    has_author,
    people_before,
)
from deepcritical_mcp.search.references.plain_text import WORD, Span, blanked, listed_words
from deepcritical_mcp.search.references.title_places import (
    LEAST_WORDS,
    ORDER,
    TitleAgreement,
    content_left,
    end_of_longer_title,
    find_title,
    start_of_longer_title,
    title_span,
    titles_agree,
)
from deepcritical_mcp.search.references.written import WrittenReference

_LONGEST_REST = 300
"""Characters behind a title that may belong to it where nothing else follows."""
_NAME_ALONE = re.compile(r"[^\W\d_a-z][\w'’-]{2,40}(?: (?:&|and) [^\W\d_a-z][\w'’-]{2,40}| [A-Z]{1,3}\.?)?")
_FAMILY = r"[^\W\d_a-zß-öø-ÿ][\w'’‐-]{1,40}"
_NAMED = re.compile(
    rf"{_FAMILY} [A-Z]{{1,3}}[,.]|{_FAMILY}, [A-Z]\.|\b[A-Z]\. {_FAMILY}|"
    rf"{_FAMILY} (?:et al\b|(?:and|und|y|et|&) {_FAMILY}, )"
)
_IN_BRACKETS = re.compile(r"\([^()]{0,200}\)")
_VOLUME_AND_PAGE = r"\b\d{1,4}(?:\s?\([^()]{1,15}\))?[:,]\s?[A-Za-z]?\d{1,8}"
_OTHER_PLACE = re.compile(
    rf"\b(?:19|20)\d\d\b.{{0,30}}?{_VOLUME_AND_PAGE}|{_VOLUME_AND_PAGE}.{{0,40}}?\b(?:19|20)\d\d\b|"
    r"\b\d{1,4}\(\d{1,4}\):\d{1,8}"
)


def journals_of(record: Publication) -> list[str]:
    """The names of a record's journal."""
    names = (record.journal, record.journal_abbreviation, record.medline_abbreviation, record.book_title)
    return [name for name in (*names, record.publisher if record.form == "preprint" else "") if name]


def place_of(record: Publication) -> PlaceNumbers:
    """The numbers of a record's place."""
    years = years_of(record)
    known = range(min(years), max(years) + 1) if years and max(years) - min(years) < 10 else years
    return {
        "year": " ".join(map(str, known)),
        "volume": record.volume,
        "issue": record.issue,
        "pages": record.pages,
    }


def compare(reference: WrittenReference, record: Publication) -> Agreement:
    """Lay a record along a reference."""
    return _Alignment(reference, record).agreement()


def title_agreement(written: str, record: Publication) -> TitleAgreement:
    """Whether a title, as a caller wrote it, is the record's; the beginning of one may end in "…"."""
    if (cut := written.rstrip(" .…")) and written.rstrip().endswith(("…", "...")):
        words = tokens(cut)
        return "agrees" if words and tokens(record.title)[: len(words)] == words else "differs"
    titles = (record.title, record.vernacular_title)
    found: list[TitleAgreement] = [titles_agree(written, name) for name in titles if name]
    return min(found, key=lambda one: ORDER[one]) if found else "differs"


class _Alignment:
    """Where the fields of one record stand in one reference that is no entry.

    The title is found first, because its words are the most; then the journal, the numbers of the place, and the names
    around them, each among what the fields before it do not explain.
    """

    _journal: JournalPlace | None = None

    def __init__(self, reference: WrittenReference, record: Publication) -> None:
        self._record, self._text, self._place = record, reference.text, place_of(record)
        self._entry = reference.says if reference.entry else None
        self._found = find_title(reference.words, [one for one in (record.title, record.vernacular_title) if one])
        self._title: Span | None = self._found[:2] if self._found else None
        self._numbers = self._find_numbers()
        known = [self._title] if self._title else []
        self._journal = find_journal(self._text, known, journals_of(record), self._numbers.first)
        if self._title is None and (guess := title_span(self._text)) and not self._explains(guess):
            self._title = guess
        self._numbers = self._find_numbers()
        self._people = self._find_people()
        self._journal_field = self._compare_journal()

    def _find_numbers(self) -> NumberPlaces:
        title, journal = self._title, self._journal
        known = [span for span in (title, journal and journal[:2]) if span]
        return find_numbers(self._text, known, self._place, title[0] if title else 0, journal.end if journal else -1)

    def agreement(self) -> Agreement:
        """How the record agrees."""
        record, people, journal = self._record, self._people, self._journal_field
        is_theirs, is_other = people.verdict in ("agrees", "minor"), journal.verdict == "differs"
        found = (self._compare_title(), self._compare_people(), *self._compare_numbers(), journal)
        left_over, fields = tuple(self._left_over(found)), {one.field: one for one in found}
        is_preprint = record.form != "preprint" and is_theirs and is_other and PREPRINT_SERVER.search(journal.written)
        is_there = "differs" not in (fields[name].verdict for name in ("volume", "pages", "year"))
        if is_preprint or (is_other and is_there and record.language[:3] in TRANSLITERATED):
            fields["journal"] = journal._replace(verdict="minor")
        if is_preprint:
            fields |= {name: fields[name]._replace(verdict="absent") for name in ROLES}
        ends = (self._found.end if self._found else 0, self._journal.end if self._journal else 0, self._numbers.last)
        return Agreement(
            tuple(fields.values()),
            by_others=people.by_others,
            is_preprint=bool(is_preprint),
            names_left_out=people.named if people.named > 1 and is_theirs else 0,
            unread=tuple(self._unread()),
            further=_further_work(self._text[max(ends) :], numbers_of(" ".join(self._place.values()))),
            left_over=left_over,
        )

    def _compare_people(self) -> FieldAgreement:
        people, authors = self._people, self._record.authors
        is_short = self._entry is not None and people.verdict == "agrees" and people.named > 0
        true = people.true or ", ".join(author.short for author in authors[: None if is_short else 3])
        written, span = people.written or self._text[slice(*people.span)], people.span
        verdict = "minor" if is_short else people.verdict
        return FieldAgreement("authors", verdict, written, true, None if verdict == "absent" else span)

    def _left_over(self, fields: Iterable[FieldAgreement]) -> Iterator[str]:
        """Words before, between and among the fields that none of them explains."""
        spans = [self._people.span, *(one.span for one in fields if one.span)]
        spans += [(one.start, one.end) for one in self._numbers.by_role.values()]
        stop, page = max(end for _, end in spans), number_in(self._record.pages)
        found = re.search(rf"\b{page}\b", self._text[stop:]) if page else None
        text = blanked(self._text[: stop + (found.start() if found else 0)], spans)
        names = " ".join((*map(str, self._record.authors), *journals_of(self._record), self._record.title))
        yield from (word for word in content_left(text, {*tokens(names), *JOINING}) if word.isalpha() and len(word) > 1)

    def _explains(self, span: Span) -> bool:
        """Whether names and journal explain all words but a few of a part; beside a number alone, all of them."""
        start, end = span
        if (journal := self._journal) and journal.start < end and start < journal.end:
            is_behind = journal.start - start > end - journal.end
            start, end = (start, journal.start) if is_behind else (journal.end, end)
        is_note = journal is None and self._numbers.first < 0
        known = {*tokens(" ".join((*map(str, self._record.authors), self._record.title * is_note)))}
        left = [
            one for one in content_left(self._text[start:end], known) if one.isalpha() and len(one) > 1 + 2 * is_note
        ]
        return len(left) < (1 if is_note else LEAST_WORDS)

    def _next(self, at: int, default: int) -> int:
        """Where journal or numbers begin behind a place."""
        starts = (self._journal.start if self._journal else -1, self._numbers.first)
        return min((one for one in starts if one >= at), default=default)

    def _find_people(self) -> PeopleAgreement:
        text = blanked(self._text, [self._journal[:2]] if self._journal else [])
        found = (compare_people(text, *region, self._record.authors) for region in self._people_regions())
        return next((one for one in found if one.verdict != "absent"), PeopleAgreement("absent"))

    def _people_regions(self) -> Iterator[Span]:
        """Where names may stand: before the title, else right behind it; without a title, before the journal."""
        text, authors = self._text, self._record.authors
        head = people_before(text[: self._title[0] if self._title else self._next(0, len(text))])
        start = max(text.find(head), 0)
        is_list = self._title or self._journal or ET_AL.search(head) or has_author(head, authors)
        if head and (is_list or (_NAME_ALONE.fullmatch(head) and self._numbers.first >= 0)):
            yield start, start + len(head)
        if self._title:
            low = self._title[1]
            stop = self._next(low, len(text))
            behind = text[low:stop]
            names = behind.lstrip(" .,*_”\"'’»])")
            if others := ET_AL.search(behind):
                yield low, low + others.end()
            elif self._journal and (names.startswith(("(", "[", "–", "—", "-")) or has_author(behind, authors)):
                yield stop - len(names), stop

    def _compare_title(self) -> FieldAgreement:
        record, text, journal, people = self._record, self._text, self._journal_field.span, self._people
        verdict: FieldVerdict
        if self._entry and (told := self._entry.title):
            return FieldAgreement("title", title_agreement(told, record), told, nearer_title(told, record), self._title)
        if self._title is None:  # what stands between names and journal is one, however short
            start, stop = people.span[1], self._next(people.span[1], 0)
            known = {*tokens(" ".join((*map(str, record.authors), *journals_of(record)))), *JOINING}
            words = [
                word
                for word in content_left(_IN_BRACKETS.sub(" ", text[start:stop]), known)
                if word.isalpha() and len(word) > 1
            ]
            if people.verdict == "absent" or not words:
                return FieldAgreement("title", "absent", "", record.title)
            verdict = "differs" if {*words}.isdisjoint(tokens(record.title)) else "minor"
            return FieldAgreement("title", verdict, text[start:stop].strip(" .,;"), record.title, (start, stop))
        start, end = self._title
        if self._found is None:
            if people.verdict != "absent" and people.span[1] > start:
                start = min(people.span[1], end)
            end = journal[0] if journal and start < journal[0] < end else end
            written = text[start:end].strip(" .,;")
            return FieldAgreement("title", "differs", written, nearer_title(written, record), (start, end))
        following = (journal[0] if journal else -1, self._numbers.first, people.span[0] if people.span[1] else -1)
        stop = min((at for at in following if at >= end), default=end + _LONGEST_REST)
        span = start_of_longer_title(text, start, record), end_of_longer_title(text, end, stop, record)
        verdict = self._found.agreement if span == (start, end) else "differs"
        return FieldAgreement("title", verdict, text[slice(*span)], self._found.true, span)

    def _compare_journal(self) -> FieldAgreement:
        record, text, journal = self._record, self._text, self._journal
        true = next(iter(journals_of(record)), "")
        span = journal[2:] if journal else other_journal(text, self._journal_parts(), record.authors) if true else None
        verdict: FieldVerdict = "absent" if not span else "agrees" if journal and not journal.is_other else "differs"
        return FieldAgreement("journal", verdict, text[slice(*span)] if span else "", true, span)

    def _journal_parts(self) -> Iterator[Span]:
        """Where the journal should stand: behind title and names and before the numbers; or between names and title,
        or behind a title without numbers."""
        title, people, first = self._title, self._people.span, self._numbers.first
        low = max(title[1] if title else 0, people[1])
        if first > low:
            yield low, first
        if title and 0 < people[1] < title[0]:  # "Berg et al., 1989, Lancet: Title"
            yield people[1], title[0]
        if title and first < low:
            yield low, min(len(self._text), low + _LONGEST_REST // 2)

    def _compare_numbers(self) -> Iterator[FieldAgreement]:
        for role in ROLES:
            one, true = self._numbers.by_role.get(role), own_number(role, self._record)
            span = (one.start, one.start + 4 if role == "year" else one.end) if one else None
            written = self._text[slice(*span)] if span else ""
            yield FieldAgreement(role, number_agrees(role, written, self._record), written, true, span)

    def _unread(self) -> Iterator[str]:
        """Of volume and pages, what may stand in numbers behind the title that were not read and are not the
        record's."""
        behind = numbers_of(self._text[self._found.end :]) if self._found else frozenset[str]()
        read = numbers_of(" ".join(one.text for one in self._numbers.by_role.values()))
        for role, true in (("volume", self._record.volume), ("pages", self._record.pages.partition("-")[0])):
            if (
                true
                and role not in self._numbers.by_role
                and not behind <= read
                and behind.isdisjoint(numbers_of(true))
            ):
                yield role


def _further_work(behind: str, own: frozenset[str]) -> str:
    """A work in what stands behind everything that a record explains: a place other than its `own` numbers, or names
    with words of a title or a year; "" if there is none."""
    is_remark = not listed_words("of the work").isdisjoint(word.lower() for word in WORD.findall(behind))
    if is_remark or (numbers_of(behind) <= own and not _NAMED.search(behind)):
        return ""
    left = [word for word in content_left(behind, ()) if f" {word}" in behind and word.isalpha()]
    is_told = len(left) >= LEAST_WORDS or (bool(left) and YEAR.search(behind) is not None)
    is_work = _OTHER_PLACE.search(behind) or (is_told and _NAMED.search(behind))
    return behind.strip(" .,;)/–|[") if is_work else ""
