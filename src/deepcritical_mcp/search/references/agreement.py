"""How a record agrees with a written reference, field by field, and what no field explains; and the one table of what
is a difference.

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
from collections.abc import Iterable
from typing import Literal, NamedTuple

from deepcritical_mcp.evidence.titles import identifies, is_generic, tokens
from deepcritical_mcp.models import Publication
from deepcritical_mcp.search.references.alignment import (
    IN_BRACKETS,
    Alignment,
    journals_of,
    next_place,
    strange_words,
    years_of,
)
from deepcritical_mcp.search.references.number_places import (
    NOT_OF_THE_PLACE,
    ROLES,
    YEAR,
    Role,
    number_in,
    numbers_of,
    written_numbers,
)
from deepcritical_mcp.search.references.plain_text import WORD, WORD_LISTS, Span, blanked, without
from deepcritical_mcp.search.references.title_places import (
    LEAST_WORDS,
    content_left,
    end_of_longer_title,
    start_of_longer_title,
    title_agreement,
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

    Attributes:
        fields: how each field agrees.
        by_others: whether the first author that is written, or most of them, are none of the record's.
        is_preprint: whether the preprint of the record's article is written.
        names_left_out: how many names are listed, where authors are left out and the list does not say so; 0 if not.
        unread: which of volume and pages may be among numbers of the reference that could not be assigned.
        left_over: words among the fields that none of them explains.
        further: what no field explains and looks like a work of its own; "" if there is nothing.
    """

    def __init__(self, reference: WrittenReference, record: Publication) -> None:
        found = Alignment(reference, record)
        title, authors = _compare_title(reference, found), _compare_authors(reference, found)
        numbers, journal = [_compare_number(role, found) for role in ROLES], _compare_journal(found)
        are_authors_same = found.people.verdict in ("agrees", "minor")
        is_on_preprint_server = journal.verdict == "differs" and is_preprint_server(journal.written)
        self.is_preprint = record.form != "preprint" and are_authors_same and is_on_preprint_server
        if self.is_preprint:  # it has a place of its own
            numbers = [one._replace(verdict="absent") for one in numbers]
            journal = journal._replace(verdict="minor")
        self.fields = (title, authors, *numbers, journal)
        self.by_others = found.people.by_others
        self.names_left_out = found.people.named if are_authors_same and found.people.named > 1 else 0
        self.unread = _unread(found)
        self.left_over = _left_over(found, self.fields)
        self.further = _further_work(found)

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


def _compare_title(reference: WrittenReference, found: Alignment) -> FieldAgreement:
    record, place = found.record, found.found_title
    if reference.entry and reference.says.title:
        verdict = title_agreement(reference.says.title, record)
        return FieldAgreement("title", verdict, reference.says.title, record.title, found.title)
    if found.title is None:
        return FieldAgreement("title", "absent", "", record.title)
    if place is None:
        written = reference.text[slice(*found.title)].strip(" .,;")
        words = strange_words(IN_BRACKETS.sub(" ", written), record)
        is_part = len(words) < LEAST_WORDS and {*words} <= {*tokens(record.title)}
        return FieldAgreement("title", "minor" if is_part else "differs", written, record.title, found.title)
    journal_start = found.journal_span[0] if found.journal_span else -1
    stop = next_place((journal_start, found.numbers.first, found.people.span[0]), place.end, len(reference.text))
    start = start_of_longer_title(reference.text, place, record)
    end = end_of_longer_title(reference.text, place, stop, record)
    verdict = place.agreement if (start, end) == place[:2] else "differs"
    return FieldAgreement("title", verdict, reference.text[start:end], place.true, (start, end))


def _compare_authors(reference: WrittenReference, found: Alignment) -> FieldAgreement:
    people, verdict, shown = found.people, found.people.verdict, found.record.authors[:3]
    if reference.entry and verdict == "agrees" and people.named > 0:  # an entry that leaves some out without saying so
        verdict, shown = "minor", found.record.authors
    written = people.written or found.text[slice(*people.span)]
    true = people.true or ", ".join(author.short for author in shown)
    return FieldAgreement("authors", verdict, written, true, None if verdict == "absent" else people.span)


def _compare_number(role: Role, found: Alignment) -> FieldAgreement:
    true, number = own_number(role, found.record), found.numbers.by_role.get(role)
    if number is None:
        return FieldAgreement(role, "absent", "", true)
    span = number.start, number.start + 4 if role == "year" else number.end
    written = found.text[slice(*span)]
    return FieldAgreement(role, number_agrees(role, written, found.record), written, true, span)


def _compare_journal(found: Alignment) -> FieldAgreement:
    true, span = next(iter(journals_of(found.record)), ""), found.journal_span
    if span is None:
        return FieldAgreement("journal", "absent", "", true)
    is_whole_name = found.journal is not None and found.journal[:2] == span
    return FieldAgreement("journal", "agrees" if is_whole_name else "differs", found.text[slice(*span)], true, span)


def _unread(found: Alignment) -> tuple[Role, ...]:
    """Which of volume and pages may be among numbers behind the title that are not the record's, nor assigned."""
    by_role, behind = found.numbers.by_role, found.text[found.found_title.end :] if found.found_title else ""
    explained = found.own_numbers | numbers_of(" ".join(one.text for one in by_role.values()))
    if numbers_of(without(NOT_OF_THE_PLACE, behind)) <= explained:
        return ()
    return tuple(role for role in ("volume", "pages") if found.own[role] and role not in by_role)


def _left_over(found: Alignment, fields: Iterable[FieldAgreement]) -> tuple[str, ...]:
    """Words of content among the fields that none of them explains."""
    spans = [found.people.span, *(one.span for one in fields if one.span)]
    spans += [(one.start, one.end) for one in found.numbers.by_role.values()]
    among = blanked(found.text[: max(end for _, end in spans)], spans)
    return tuple(strange_words(among, found.record, title_is_known=True))


def is_preprint_server(journal: str) -> bool:
    """Whether the name of a journal is that of a server of preprints."""
    words = f" {' '.join(tokens(journal))} "
    return any(name in words for name in ("rxiv ", " preprint", " research square ", " ssrn ", " osf "))


def own_number(role: str, record: Publication) -> str:
    """A number of a record's place."""
    return str(next(iter(years_of(record)), "")) if role == "year" else str(getattr(record, role))


def number_agrees(role: Role, written: str, record: Publication) -> FieldVerdict:
    """Whether a number that is written agrees with a record's; "absent" if one of the two has no digits."""
    if not numbers_of(written) or not numbers_of(own_number(role, record)):
        return "absent"
    rules = {"year": _year_agrees, "volume": _volume_agrees, "issue": _issue_agrees, "pages": _pages_agree}
    return rules[role](written, record)


def _year_agrees(written: str, record: Publication) -> FieldVerdict:
    """A year ("2019b") within those of the record, or one beside them."""
    year, years = int(number_in(written)), years_of(record)
    if min(years) <= year <= max(years):
        return "agrees"
    return "minor" if min(abs(year - one) for one in years) == 1 else "differs"


def _volume_agrees(written: str, record: Publication) -> FieldVerdict:
    """A volume with a supplement or without; the year may stand for it, and if it is a year, the issue."""
    volumes = numbers_of(record.volume.lower().partition("s")[0]) or numbers_of(record.volume)
    issues = numbers_of(record.issue) if any(map(YEAR.fullmatch, volumes)) else ()
    return "agrees" if number_in(written) in {*volumes, *issues, *map(str, years_of(record))} else "differs"


def _issue_agrees(written: str, record: Publication) -> FieldVerdict:
    return "minor" if numbers_of(written).isdisjoint(numbers_of(record.issue)) else "agrees"


def _pages_agree(written: str, record: Publication) -> FieldVerdict:
    """Pages, or the number of an article."""
    if "".join(filter(str.isdigit, written)) == "".join(filter(str.isdigit, record.pages)):  # "e00216-22", "e0021622"
        return "agrees"
    said, own = _pages(written), _pages(record.pages)
    if number_in(said[0]) == number_in(own[0]):
        return "minor" if len(said) == len(own) == 2 and said[1] != own[1] else "agrees"
    if _are_of_pdf(said, own) or _are_of_pdf(own, said):
        return "minor"
    ranges = record.pages.replace(",", ";").split(";")  # "1563-5; author reply 1565-6"
    return "agrees" if number_in(said[0]) in map(number_in, ranges) else "differs"


def _are_of_pdf(pages: list[str], others: list[str]) -> bool:
    """Whether pages count from 1, as those of a PDF do, while the others are one number, as that of an article is."""
    return len(pages) == 2 and number_in(pages[0]) == "1" and len(others) == 1


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


def _further_work(found: Alignment) -> str:
    """A work in what stands behind everything that a record explains: a place other than its own numbers, or names
    with words of a title or a year; "" if there is none."""
    ends = [0, found.numbers.last, *(one.end for one in (found.found_title, found.journal) if one)]
    behind = found.text[max(ends) :]
    is_remark = not WORD_LISTS["of the work"].isdisjoint(word.lower() for word in WORD.findall(behind))
    if is_remark or (numbers_of(behind) <= found.own_numbers and not _NAMED.search(behind)):
        return ""
    left = [word for word in content_left(behind, ()) if f" {word}" in behind and word.isalpha()]
    is_told = len(left) >= LEAST_WORDS or (bool(left) and YEAR.search(behind) is not None)
    is_place = (place := _OTHER_PLACE.search(behind)) and (place[1] or YEAR.search(behind))
    return behind.strip(" .,;)/–|[") if is_place or (is_told and _NAMED.search(behind)) else ""
