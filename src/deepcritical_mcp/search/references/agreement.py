"""How a record agrees with a written reference, field by field, and the one table of what is a difference.

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

A field that is absent is no field that differs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from deepcritical_mcp.evidence.titles import identifies, is_generic, is_translation, tokens
from deepcritical_mcp.models import UNKNOWN_DATE, Publication
from deepcritical_mcp.search.references.number_places import YEAR, Role, number_in, numbers_of, written_numbers
from deepcritical_mcp.search.references.plain_text import Span

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


@dataclass(frozen=True)
class Agreement:
    """How a record agrees with a reference.

    Attributes:
        by_others: whether the first author that is written, or most of them, are none of the record's.
        is_preprint: whether the preprint of the record's article is written.
        names_left_out: how many names are listed, where authors are left out and the list does not say so; 0 if not.
        unread: which of volume and pages may be among numbers of the reference that could not be assigned.
        left_over: words among the fields that none of them explains.
        further: what no field explains and looks like a work of its own; "" if there is nothing.
    """

    fields: tuple[FieldAgreement, ...]
    by_others: bool = False
    is_preprint: bool = False
    names_left_out: int = 0
    unread: tuple[str, ...] = ()
    further: str = ""
    left_over: tuple[str, ...] = ()

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


def is_preprint_server(journal: str) -> bool:
    """Whether the name of a journal is that of a server of preprints."""
    words = f" {' '.join(tokens(journal))} "
    return any(name in words for name in ("rxiv ", " preprint", " research square ", " ssrn ", " osf "))


def years_of(record: Publication) -> list[int]:
    """The years of a record: that of its date first."""
    dates = (record.date, record.electronic_date, record.issue_date, record.revised_date)
    return [int(year) for date in dates if date != UNKNOWN_DATE for year in YEAR.findall(date)]


def own_number(role: Role, record: Publication) -> str:
    """A number of a record's place."""
    return str(next(iter(years_of(record)), "")) if role == "year" else str(getattr(record, role))


def number_agrees(role: Role, written: str, record: Publication) -> FieldVerdict:
    """A year ("2019b"), a volume with a supplement or without, an issue, or pages or the number of an article."""
    years, true = years_of(record), own_number(role, record)
    if not numbers_of(written) or not numbers_of(true):
        return "absent"
    if role == "pages":
        return _pages_agree(written, true)
    if role == "issue":
        return "minor" if numbers_of(written).isdisjoint(numbers_of(true)) else "agrees"
    if role == "volume":
        volumes = numbers_of(true.lower().partition("s")[0]) or numbers_of(true)
        issues = numbers_of(record.issue) if any(map(YEAR.fullmatch, volumes)) else ()
        return "agrees" if number_in(written) in {*volumes, *issues, *map(str, years)} else "differs"
    year = int(number_in(written))
    if min(years) <= year <= max(years):
        return "agrees"
    return "minor" if min(abs(year - one) for one in years) == 1 else "differs"


def _pages_agree(written: str, true: str) -> FieldVerdict:
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


def is_minor_title(written: str, true: str) -> bool:
    """Whether a title that is not the record's as a whole is translated, or cut off, as programs do after 60
    characters."""
    words, whole = tokens(written.rstrip(" .…")), tokens(true)
    is_cut = written.rstrip().endswith(("…", "...")) or len(written) >= 60
    return is_translation(written, true) or (is_cut and 0 < len(words) < len(whole) and whole[: len(words)] == words)
