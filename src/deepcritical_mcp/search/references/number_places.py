"""Year, volume, issue and pages of a reference: its numbers in order, laid against those of a record.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Literal, NamedTuple

from deepcritical_mcp.evidence.titles import plain_letters
from deepcritical_mcp.search.references.plain_text import WORD, WORD_LISTS, Span, blanked, without

Role = Literal["year", "volume", "issue", "pages"]
MONTHS = WORD_LISTS["months"] | {name.lower() for name in (*calendar.month_name[1:], *calendar.month_abbr[1:])}
_NUMBER = re.compile(
    r"(?<!\d)([A-Za-z]{0,5})(\d{1,20})([A-Za-z]{0,2}\b)?(?:\s{0,2}[-–—‐−]{1,2}\s{0,2}([A-Za-z]{0,5}\d{1,20}(?:\.\d{1,2})?[A-Za-z]?)(?!\d))?"
)
_LEAD = re.compile(r"([^\W\d_]{1,24})[^\w]{0,6}\Z")
_OPENED, _CLOSED = re.compile(r"\([^\d()]{0,19}\Z"), re.compile(r"[^\d()]{0,19}\)")
_DIGITS = re.compile(r"0{0,9}(\d{1,20})")
YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
_MONTH = "|".join(sorted(MONTHS))
_MONTHS = re.compile(
    rf"(?<![\w-])(?:(?:[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?\.? (?:de )?)?(?:(?:{_MONTH})\.?[-/–]\s?)?(?:{_MONTH})\b\.?"
    rf"(?: \d{{1,2}}(?:st|nd|rd|th)?)?,?\s(?:de )?(?={YEAR.pattern})",
    re.IGNORECASE,
)
"""Days and months in front of a year."""
NOT_OF_THE_PLACE = re.compile(
    rf"\b(?:{'|'.join(sorted(WORD_LISTS['dates apart']))}|acesso em)\b(?! ahead)"
    r"[^;\])]{0,40}?\b(?:1[5-9]|20)\d\d\b(?:[-/. ](?:[A-Z][a-z]{2,8}\b|\d{1,2}\b(?![(:]))){0,2}"
    r"|(?<=\b[12]\d\d\d)[a-z]?\s?\[[^\[\]]{1,60}\]"
    r"|\s?[(\[](?:published |an? |see |with |has been |was )?(?:retract|withdrawn|errat|correct|corrigend|addend|"
    r"expression of concern|concern in|republished|update in|comments? in)[^\[\]()]{0,160}"
    rf"(?:\([^()]{{0,40}}\)[^\[\]()]{{0,80}}){{0,3}}[)\]]|(?<![\w-])\d{{1,2}}[ .]{{0,3}}(?:{_MONTH})\b|"
    rf"\b(?:{_MONTH})[^\w]{{0,6}}\d{{1,2}}(?:[-–]\d{{1,2}})?\b(?![(:])|\b\d{{1,4}}(?:st|nd|rd|th)\b|"
    r"\b\d{1,4} pages\b(?! ?\d)|"
    r"\A[ (\[]{0,3}(?:\d{1,3}[.)\] ]|\d{4}[.)\]])|\b(?:PII|doi)\b:? ?\S{1,80}|\b(?:ISSN|ISBN)\b:? ?[\dX-]{4,20}",
    re.IGNORECASE,
)
"""The day of a visit or of a month; what became of the work; how many pages it has; the number of a list."""
ROLES: tuple[Role, ...] = ("year", "volume", "issue", "pages")
_LEADS: Mapping[str, Role] = {word: role for role in ROLES[1:] for word in WORD_LISTS[role]}
"""Words in front of a number, and which number that is."""
_JOINING = MONTHS | _LEADS.keys() | WORD_LISTS["supplement"] | WORD_LISTS["joining"]
JOINING = _JOINING | {*map(plain_letters, _JOINING)}
_FAR, _MOST = 40, 12
"""Characters between two numbers of one place; numbers of one place."""
_ABSENT: Mapping[Role, float] = {"year": 0.4, "volume": 0.6, "issue": 0.2, "pages": 0.6}
_OTHER: Mapping[Role, float] = {"year": 0.8, "volume": 1.0, "issue": 0.5, "pages": 1.0}
_FREE, _LEFT, _SWAPPED = 0.3, 0.5, 2.0
"""What it costs if the record does not say what a number is, if nothing explains a number of the place, and if that is
one of the record's."""


class WrittenNumber(NamedTuple):
    """A number or a range of numbers.

    Attributes:
        value: as written, without a range's end: "e0123456"; `last` is that end.
        lead: which number it is by the word in front of it ("vol.").
        in_brackets: whether it stands alone in brackets, but for a month.
        is_later: whether a number stands before it that is no year, as a volume does before an issue.
    """

    value: str
    last: str
    start: int
    end: int
    lead: Role | None
    in_brackets: bool
    is_later: bool

    @property
    def is_year(self) -> bool:
        """Whether it can be a year, also with a letter behind it: "2019b"."""
        return YEAR.fullmatch(self.value.rstrip("abcdefgh")) is not None and (not self.last or len(self.last) == 4)

    @property
    def text(self) -> str:
        """As written, with one dash."""
        return f"{self.value}-{self.last}" if self.last else self.value


_Found = tuple[float, dict[Role, WrittenNumber]]
"""What it costs to take numbers for these."""
PlaceNumbers = Mapping[Role, str]
"""The numbers of a record that tell its place, all its years in one text; empty where no record is known."""


class NumberPlaces(NamedTuple):
    """Which written number is which, and where the first one begins and the last one ends (-1: nowhere)."""

    by_role: Mapping[Role, WrittenNumber]
    first: int
    last: int


def number_in(text: str) -> str:
    """The first number of a text without leading zeros; "" if it has none."""
    found = _DIGITS.search(text)
    return found[1] if found else ""


def numbers_of(text: str) -> frozenset[str]:
    """All numbers of a text without leading zeros."""
    return frozenset(_DIGITS.findall(text))


def years_only(text: str, head: int, names: Collection[str] = ()) -> str:
    """A text with years for dates, and blanks for the rest of these; before `head`, where a title begins, not for one
    of the `names`, nor for what stands first or behind a word: "Theresa May, 2012"."""

    def blanks(found: re.Match[str]) -> str:
        before = text[: found.start()].rstrip()[-1:]
        is_name = before.isalpha() or before in ("", "&") or not {*WORD.findall(found[0].lower())}.isdisjoint(names)
        return found[0] if found.start() < head and is_name else " " * len(found[0])

    return _MONTHS.sub(blanks, text)


def written_numbers(text: str) -> list[WrittenNumber]:
    """The numbers of a text that may tell a place."""
    found = list[WrittenNumber]()
    for one in _NUMBER.finditer(text):
        start, end = one.span()
        lead = last[1].lower() if (last := _LEAD.search(text, max(0, start - 24), start)) else ""
        if lead in WORD_LISTS["supplement"] and found:
            if "(" not in text[found[-1].end : start]:  # "150 Suppl 2"
                found[-1] = found[-1]._replace(end=end)
            continue
        opened = _OPENED.search(text, max(0, start - 20), start)
        in_brackets = opened is not None and _CLOSED.match(text, end) is not None
        role = _LEADS.get(lead)
        if role == "issue" and one[1]:  # "Art. No.: CD009999"
            role = "pages"
        value = f"{one[1]}{one[2]}{one[3] or ''}"
        is_later = not all(other.is_year for other in found)
        found.append(WrittenNumber(value, one[4] or "", start, end, role, in_brackets, is_later))
    return found


def find_numbers(text: str, hidden: Sequence[Span], record: PlaceNumbers, head: int = 0) -> NumberPlaces:
    """Which number is the year, the volume and so on.

    Args:
        hidden: parts of the text that other fields explain.
        record: what a record has; without it, the numbers are told by their order and form.
        head: where the title begins: before it stands nothing but a year.
    """
    text = without(NOT_OF_THE_PLACE, blanked(text, hidden))
    numbers = written_numbers(text)
    early = [one for one in numbers if one.start < head and one.is_year and not one.last]
    groups = list[list[WrittenNumber]]()  # of numbers with nothing between them but marks and words of a place
    for one in (one for one in numbers if one.start >= head):
        between = text[groups[-1][-1].end : one.start] if groups else ""
        is_near = len(between.strip()) <= _FAR and all(word.lower() in JOINING for word in WORD.findall(between))
        if groups and is_near and len(groups[-1]) < _MOST:
            groups[-1].append(one)
        else:
            groups.append([one])
    groups = groups or [[]]
    matched = [len({role for one in group for role in ROLES if _is(role, one, record)}) for group in groups]
    main = groups[max(range(len(groups)), key=lambda at: (matched[at], len(groups[at]) > 1, -at))]
    years = [*early, *(one for one in main if one.is_year and not (one.last and one.lead == "pages"))]
    # Only where another number is the year, one that looks like a year may be something else.
    no_year, found = _ABSENT["year"] + _LEFT * bool(early) + 0.25 * bool(years), list[_Found]()
    for year in (None, *years):
        cost, rest = _in_order([one for one in main if one is not year], ROLES[1:], record)
        found.append((cost + _cost("year", year, record), {"year": year, **rest}) if year else (cost + no_year, rest))
    by_role = min(found, key=lambda one: one[0])[1]
    spans = [one for one in main if one in by_role.values()] or main
    first, last = min((one.start for one in spans), default=-1), max((one.end for one in spans), default=-1)
    return NumberPlaces(by_role, first, last)


def _in_order(numbers: Sequence[WrittenNumber], roles: Sequence[Role], record: PlaceNumbers) -> _Found:
    """Volume, issue and pages, in this order, at the least cost."""
    if not roles:
        return sum(_left(one, record) for one in numbers), {}
    found = list[_Found]()
    for at, one in enumerate(numbers):
        cost, rest = _in_order(numbers[at + 1 :], roles[1:], record)
        left = sum(_left(other, record) for other in numbers[:at])
        found.append((cost + left + _cost(roles[0], one, record), {roles[0]: one, **rest}))
    cost, rest = _in_order(numbers, roles[1:], record)
    found.append((cost + _ABSENT[roles[0]] * (not record or record[roles[0]] != ""), rest))
    return min(found, key=lambda one: one[0])


def _is(role: Role, one: WrittenNumber, record: PlaceNumbers) -> bool:
    """Whether a number is a record's, and stands where one with this role may."""
    own, value = record.get(role, ""), one.value[:4] if role == "year" else number_in(one.value)
    if role == "issue" and not (one.lead or one.in_brackets or one.is_later):
        return False
    if role == "volume" and ((one.in_brackets and one.is_later) or one.last not in ("", *numbers_of(own))):
        return False
    return value in (numbers_of(own) if role != "pages" else {number_in(own)} - {""})


def _left(one: WrittenNumber, record: PlaceNumbers) -> float:
    """What it costs to leave a number out: most if it is a record's, since then it stands in another's place."""
    own = (number_in(record[role]) for role in ROLES[1:]) if record else ()
    return _SWAPPED if number_in(one.value) in own else _LEFT


def _cost(role: Role, one: WrittenNumber, record: PlaceNumbers) -> float:
    """What it costs to take a number for one with a role."""
    if one.lead and one.lead != role and role != "year":
        return 2.0
    form = 0.0 if one.lead == role else _form(role, one)
    return 0.1 * form if _is(role, one, record) else (_OTHER[role] if record.get(role) else _FREE) + form


def _form(role: Role, one: WrittenNumber) -> float:
    """How little a number looks like one with a role."""
    if role == "volume":
        return 0.6 * one.is_year + 0.5 * bool(one.last) + 0.8 * one.in_brackets
    if role == "issue":
        return (0.5 + 0.5 * bool(one.last)) * (not one.in_brackets) + 0.6 * one.is_year
    return 0.8 * (one.in_brackets and not one.last) - 0.05 * bool(one.last) if role == "pages" else 0.0
