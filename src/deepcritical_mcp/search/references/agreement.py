"""How a record agrees with a written reference, field by field."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from deepcritical_mcp.evidence.titles import content_words, identifies, is_generic, is_notice, tokens
from deepcritical_mcp.models import UNKNOWN_DATE, Publication
from deepcritical_mcp.search.references.name_forms import journals_agree, people_agree
from deepcritical_mcp.search.references.statements import Statements, statements_around
from deepcritical_mcp.search.references.title_forms import (
    ORDER,
    TitleAgreement,
    main_title,
    place_of_title,
    titles_agree,
)
from deepcritical_mcp.search.references.written import WrittenReference

StatedField = Literal["title", "authors", "year", "journal", "volume", "pages"]
FieldVerdict = Literal["agrees", "minor", "differs", "absent"]
_PAGE = re.compile(r"([a-z]{0,5})0{0,6}(\d{1,8})([a-z]?)", re.IGNORECASE)
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")


class FieldAgreement(NamedTuple):
    """How one field agrees: "minor" for what careful people write differently (a year off by one, other last page);
    "absent" if the reference or the record does not say it. `written` and `true` are what the two say."""

    field: StatedField
    verdict: FieldVerdict
    written: str = ""
    true: str = ""


@dataclass(frozen=True)
class Agreement:
    """How a record agrees with a reference."""

    fields: tuple[FieldAgreement, ...]

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
    return Agreement((title, *_others(says, record)))


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
    for name in _names(record):
        if place := place_of_title(reference.text, reference.words, name, lambda rest: _follows(rest, record)):
            says = statements_around(reference.text, place.start, place.end)
            return FieldAgreement("title", place.agreement, says.title, record.title), says
    if reference.has_title:
        return FieldAgreement("title", "differs", written, record.title), says
    return FieldAgreement("title", "absent", true=record.title), says


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
    same = journals_agree(says.journal, journals) if says.journal and journals else None
    verdict: FieldVerdict = "absent" if same is None else "agrees" if same else "differs"
    yield FieldAgreement("journal", verdict, says.journal, record.journal or record.journal_abbreviation)
    volume = "absent" if not (says.volume and record.volume) else _volume(says.volume, record.volume)
    yield FieldAgreement("volume", volume, says.volume, record.volume)
    pages = "absent" if not (says.pages and record.pages) else _pages(says.pages, record.pages)
    yield FieldAgreement("pages", pages, says.pages, record.pages)


def _year(written: str, record: Publication) -> FieldAgreement:
    dates = (record.date, record.electronic_date, record.issue_date, record.revised_date)
    years = [int(year) for date in dates if date != UNKNOWN_DATE for year in _YEAR.findall(date)]
    if not written or not years:
        return FieldAgreement("year", "absent", written, str(years[0]) if years else "")
    distance = min(abs(int(written) - year) for year in years)
    verdict: FieldVerdict = "agrees" if distance == 0 else "minor" if distance == 1 else "differs"
    return FieldAgreement("year", verdict, written, str(years[0]))


def _volume(written: str, true: str) -> FieldVerdict:
    first, second = (content_words(tokens(text)) for text in (written, true))
    return "agrees" if first[:1] == second[:1] or "".join(first) == "".join(second) else "differs"


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
