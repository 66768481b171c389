"""A record laid along a written reference: where each of its fields stands, and what no field explains.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from deepcritical_mcp.evidence.titles import is_notice, tokens
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
    journals_agree,
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
    TitlePlace,
    content_left,
    end_of_longer_title,
    find_title,
    start_of_longer_title,
    title_span,
    titles_agree,
)
from deepcritical_mcp.search.references.written import WrittenReference

_BEFORE_NAMES = re.compile(r"[\s.,*_”\"'’»\])]{0,6}[(\[–—-]\s?")
"""What stands between a title and names behind it."""
_NAME_ALONE = re.compile(
    r"[\W\d]{0,8}[^\W\d_a-z][\w'’-]{2,40}(?: (?:&|and) [^\W\d_a-z][\w'’-]{2,40})?"
    r"(?P<initials> [A-Z]{1,3}\.?)?[\s,.(]{0,4}"
)
_LONGEST_REST = 300
"""Characters behind a title that may belong to it where nothing else follows."""


def journals_of(record: Publication) -> list[str]:
    """The names of a record's journal."""
    names = (record.journal, record.journal_abbreviation, record.medline_abbreviation, record.book_title)
    return [name for name in (*names, record.publisher if record.form == "preprint" else "") if name]


def place_of(record: Publication) -> PlaceNumbers:
    """The numbers of a record's place."""
    years = years_of(record)
    known = tuple(range(min(years), max(years) + 1)) if years and max(years) - min(years) < 10 else tuple(years)
    return PlaceNumbers(known, record.volume, record.issue, record.pages)


def compare(reference: WrittenReference, record: Publication) -> Agreement:
    """Lay a record along a reference."""
    return _compare_entry(reference, record) if reference.entry else _Alignment(reference, record).agreement()


def title_agreement(written: str, record: Publication) -> TitleAgreement:
    """Whether a title, as a caller wrote it, is the record's; the beginning of one may end in "…"."""
    if (cut := written.rstrip(" .…")) and written.rstrip().endswith(("…", "...")):
        words = tokens(cut)
        return "agrees" if words and tokens(record.title)[: len(words)] == words else "differs"
    found: list[TitleAgreement] = [
        titles_agree(written, name) for name in filter(None, (record.title, record.vernacular_title))
    ]
    return min(found, key=lambda one: ORDER[one])


class _Alignment:
    """Where the fields of one record stand in one reference that is no entry.

    The title is found first, because its words are the most; then the journal, the numbers of the place, and the names
    around them, each among what the fields before it do not explain.
    """

    def __init__(self, reference: WrittenReference, record: Publication) -> None:
        self._record, self._text = record, reference.text
        titles = [one for one in (record.title, record.vernacular_title) if one]
        self._found: TitlePlace | None = find_title(reference.words, titles)
        known: list[Span] = [self._found[:2]] if self._found else []
        head, place = self._found.start if self._found else 0, place_of(record)
        self._numbers: NumberPlaces = find_numbers(self._text, known, place, head)
        self._journal: JournalPlace | None = find_journal(self._text, known, journals_of(record), self._numbers.first)
        guess = None if self._found else title_span(self._text)
        self._title: Span | None = known[0] if known else guess if guess and not self._explains(guess) else None
        if self._title and not known:
            known, head = [self._title], self._title[0]
        if self._journal:
            known.append((self._journal.start, self._journal.end))
        self._numbers = find_numbers(self._text, known, place, head, self._journal.end if self._journal else -1)
        self._people = self._find_people()
        self._journal_field = self._compare_journal()

    def agreement(self) -> Agreement:
        """How the record agrees."""
        people, record, own = self._people, self._record, place_of(self._record)
        written = _people_field(people, self._text[slice(*people.span)], record)
        numbers = {*numbers_of(" ".join((own.volume, own.issue, own.pages))), *map(str, own.years)}
        ends = (self._found.end if self._found else 0, self._journal.end if self._journal else 0, self._numbers.last)
        fields = (self._compare_title(), written, *self._compare_numbers(), self._journal_field)
        further = _further_work(self._text[max(ends) :], numbers)
        return _settled(fields, people, record, self._unread(), further, self._left_over(fields))

    def _left_over(self, fields: Iterable[FieldAgreement]) -> Iterator[str]:
        """Words before, between and among the fields that none of them explains."""
        spans = [one.span for one in fields if one.span] + [self._people.span]
        spans += [(one.start, one.end) for one in self._numbers.by_role.values()]
        stop, pages = max(end for _, end in spans), number_in(self._record.pages)
        first = re.search(rf"\b{pages}\b", self._text[stop:]) if pages else None
        text = blanked(self._text[: stop + (first.start() if first else 0)], spans)
        names = " ".join((*map(str, self._record.authors), *journals_of(self._record), self._record.title))
        yield from (word for word in content_left(text, {*tokens(names), *JOINING}) if word.isalpha() and len(word) > 1)

    def _explains(self, span: Span) -> bool:
        """Whether names and journal explain all words but a few of a part."""
        start, end = span
        if (journal := self._journal) and journal.start < end and start < journal.end:
            is_behind = journal.start - start > end - journal.end
            start, end = (start, journal.start) if is_behind else (journal.end, end)
        left = content_left(self._text[start:end], {*tokens(" ".join(map(str, self._record.authors)))})
        return sum(word.isalpha() and len(word) > 1 for word in left) < LEAST_WORDS

    def _next(self, at: int, default: int) -> int:
        """Where journal or numbers begin behind a place."""
        starts = (self._journal.start if self._journal else -1, self._numbers.first)
        return min((one for one in starts if one >= at), default=default)

    def _find_people(self) -> PeopleAgreement:
        text = blanked(self._text, [self._journal[:2]] if self._journal else [])
        for start, end in self._people_regions():
            found = compare_people(text, start, end, self._record.authors)
            if found.verdict != "absent":
                return found
        return PeopleAgreement("absent")

    def _people_regions(self) -> Iterator[Span]:
        """Where names may stand: before the title, else right behind it; without a title, before the journal."""
        text, authors = self._text, self._record.authors
        stop = self._title[0] if self._title else self._next(0, len(text))
        head = people_before(text[:stop])
        start = max(text.find(head), 0)
        is_list = self._title or self._journal or ET_AL.search(head) or has_author(head, authors)
        alone = _NAME_ALONE.fullmatch(text[:stop])
        if head and (is_list or (alone and (stop < len(text) or alone["initials"]))):
            yield start, start + len(head)
        if not self._title:
            return
        low = self._title[1]
        stop = self._next(low, len(text))
        behind = text[low:stop]
        if others := ET_AL.search(behind):
            yield low, low + others.end()
        elif self._journal and has_author(behind, authors):
            yield low, stop
        elif self._journal and (lead := _BEFORE_NAMES.match(behind)):
            yield low + lead.end(), stop

    def _compare_title(self) -> FieldAgreement:
        record, text, journal, people = self._record, self._text, self._journal_field.span, self._people
        if self._title is None:
            # "Corrigendum" stands for a title that the record does not have.
            before = text[: self._next(0, 0)].rstrip(" .")
            span = before.rfind(". ") + 2, len(before)
            written = before[slice(*span)] if is_notice(tokens(before[slice(*span)])) else ""
            is_other = bool(written) and not is_notice(tokens(record.title))
            return FieldAgreement(
                "title", "differs" if is_other else "absent", written, record.title, span if is_other else None
            )
        start, end = self._title
        if self._found is None:
            if people.verdict != "absent" and people.span[1] > start:
                start = min(people.span[1], end)
            end = journal[0] if journal and start < journal[0] < end else end
            written = text[start:end].strip(" .,;")
            return FieldAgreement("title", "differs", written, nearer_title(written, record), (start, end))
        following = (journal[0] if journal else -1, self._numbers.first, people.span[0] if people.span[1] else -1)
        stop = min((at for at in following if at >= end), default=end + _LONGEST_REST)
        low, high = start_of_longer_title(text, start, record), end_of_longer_title(text, end, stop, record)
        verdict: FieldVerdict = "differs" if low < start or high > end else self._found.agreement
        return FieldAgreement("title", verdict, text[low:high], self._found.true, (low, high))

    def _compare_journal(self) -> FieldAgreement:
        record, text, journal = self._record, self._text, self._journal
        true = record.journal or record.journal_abbreviation or record.book_title
        if not journals_of(record):
            return FieldAgreement("journal", "absent")
        if journal:
            verdict: FieldVerdict = "differs" if journal.is_other else "agrees"
            return FieldAgreement(
                "journal", verdict, text[journal.low : journal.high], true, (journal.low, journal.high)
            )
        span = other_journal(text, self._journal_parts(), record)
        if span is None:
            return FieldAgreement("journal", "absent", true=true)
        return FieldAgreement("journal", "differs", text[slice(*span)], true, span)

    def _journal_parts(self) -> Iterator[Span]:
        """Where the journal should stand: behind title and names and before the numbers; or between names and title,
        between the numbers, or behind a title without numbers."""
        title, people, first = self._title, self._people.span, self._numbers.first
        low = max(title[1] if title else 0, people[1])
        if first > low:
            yield low, first
        if title and 0 < people[1] < title[0]:  # "Berg et al., 1989, Lancet: Title"
            yield people[1], title[0]
        if title and first >= 0:  # "45 Lancet 327"
            yield first, self._numbers.last
        if title and first < low:
            yield low, min(len(self._text), low + _LONGEST_REST // 2)

    def _compare_numbers(self) -> Iterator[FieldAgreement]:
        for role in ROLES:
            one, true = self._numbers.by_role.get(role), own_number(role, self._record)
            if one is None:
                yield FieldAgreement(role, "absent", true=true)
                continue
            span = (one.start, one.start + 4 if role == "year" else one.end)
            written = self._text[slice(*span)]
            yield FieldAgreement(role, number_agrees(role, written, self._record), written, true, span)

    def _unread(self) -> Iterator[str]:
        """Of volume and pages, what may stand in numbers behind the title that were not read and are not the
        record's."""
        behind = numbers_of(self._text[self._found.end :]) if self._found else frozenset[str]()
        read = numbers_of(" ".join(one.text for one in self._numbers.by_role.values()))
        for role, true in (("volume", self._record.volume), ("pages", self._record.pages)):
            is_told = role in self._numbers.by_role or not true or behind <= read
            if not is_told and behind.isdisjoint(numbers_of(true.partition("-")[0])):
                yield role


_ORDER = ("title", "authors", "year", "journal", "volume", "issue", "pages")


def _settled(
    found: Iterable[FieldAgreement],
    people: PeopleAgreement,
    record: Publication,
    unread: Iterable[str] = (),
    further: str = "",
    left_over: Iterable[str] = (),
) -> Agreement:
    """With what one field tells about another."""
    fields = {one.field: one for one in sorted(found, key=lambda one: _ORDER.index(one.field))}
    journal = fields["journal"]
    is_theirs, is_other = people.verdict in ("agrees", "minor"), journal.verdict == "differs"
    is_preprint = record.form != "preprint" and is_theirs and is_other and bool(PREPRINT_SERVER.search(journal.written))
    is_there = "differs" not in (fields[name].verdict for name in ("volume", "pages", "year"))
    is_translated = not TRANSLITERATED.isdisjoint(re.findall(r"[a-z]{3}", record.language))
    if is_preprint or (is_other and is_there and is_translated):
        fields["journal"] = journal._replace(verdict="minor")
    if is_preprint:
        fields |= {name: fields[name]._replace(verdict="absent") for name in ("year", "volume", "issue", "pages")}
    return Agreement(
        tuple(fields.values()),
        by_others=people.by_others,
        is_preprint=is_preprint,
        names_left_out=people.named if people.named > 1 and is_theirs else 0,
        unread=tuple(unread),
        further=further,
        left_over=tuple(left_over),
    )


def _compare_entry(reference: WrittenReference, record: Publication) -> Agreement:
    """Lay a record along the fields of an entry."""
    says, journals = reference.says, journals_of(record)
    people = compare_people(says.people, 0, len(says.people), record.authors)
    title: FieldVerdict = title_agreement(says.title, record) if says.title else "absent"
    true = nearer_title(says.title, record) if says.title else record.title
    is_told = says.journal and journals
    journal: FieldVerdict = (
        "absent" if not is_told else "agrees" if journals_agree(says.journal, journals) else "differs"
    )
    if people.verdict == "agrees" and people.named:
        people = replace(people, verdict="minor", true=", ".join(author.short for author in record.authors))
    fields = [
        FieldAgreement("title", title, says.title, true),
        _people_field(people, says.people, record),
        FieldAgreement("journal", journal, says.journal, next(iter(journals), "")),
    ]
    for role in ROLES:
        written = getattr(says, role)
        fields.append(FieldAgreement(role, number_agrees(role, written, record), written, own_number(role, record)))
    return _settled(fields, people, record)


def _people_field(people: PeopleAgreement, written: str, record: Publication) -> FieldAgreement:
    true = people.true or ", ".join(author.short for author in record.authors[:3])
    span = None if people.verdict == "absent" else people.span
    return FieldAgreement("authors", people.verdict, people.written or written, true, span)


_FAMILY = r"[^\W\d_a-zß-öø-ÿ][\w'’‐-]{1,40}"
_NAMED = re.compile(
    rf"{_FAMILY} [A-Z]{{1,3}}[,.]|{_FAMILY}, [A-Z]\.|\b[A-Z]\. {_FAMILY}|"
    rf"{_FAMILY} (?:et al\b|(?:and|und|y|et|&) {_FAMILY}, )"
)
_VOLUME_AND_PAGE = r"\b\d{1,4}(?:\s?\([^()]{1,15}\))?[:,]\s?[A-Za-z]?\d{1,8}"
_OTHER_PLACE = re.compile(
    rf"\b(?:19|20)\d\d\b.{{0,30}}?{_VOLUME_AND_PAGE}|{_VOLUME_AND_PAGE}.{{0,40}}?\b(?:19|20)\d\d\b|"
    r"\b\d{1,4}\(\d{1,4}\):\d{1,8}"
)


def _further_work(behind: str, own: Collection[str]) -> str:
    """A work in what stands behind everything that a record explains: a place other than its `own` numbers, or names
    with words of a title or a year; "" if there is none."""
    words = {word.lower() for word in WORD.findall(behind)}
    is_remark = not words.isdisjoint(listed_words("of the work"))
    if is_remark or (numbers_of(behind) <= {*own} and not _NAMED.search(behind)):
        return ""
    left = [word for word in content_left(behind, ()) if f" {word}" in behind and word.isalpha()]
    is_told = len(left) >= LEAST_WORDS or (bool(left) and YEAR.search(behind) is not None)
    is_work = _OTHER_PLACE.search(behind) or (is_told and _NAMED.search(behind))
    return behind.strip(" .,;)/–|[") if is_work else ""
