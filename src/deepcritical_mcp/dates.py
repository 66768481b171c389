"""Dates as people, models and web pages write them."""

from __future__ import annotations

import calendar
import datetime
import re
from collections.abc import Iterator
from contextlib import suppress

from deepcritical_mcp.data_files import data_lines

_DAY = "(?P<day>[0-9]{1,2})"
_YEAR, _NAME = r"(?P<year>(?:1[5-9]|20|21)[0-9]{2})", r"(?P<month>[a-z]{3,9})\.?"
_PARTS = {"YEAR": _YEAR, "NAME": _NAME, "MONTH": "(?P<month>[0-9]{1,2})", "DAY": _DAY, "NTH": f"{_DAY}(?:st|nd|rd|th)?"}
_FORMS = (re.sub("[A-Z]{3,}", lambda part: _PARTS[part[0]], form) for form in data_lines(__file__, "date_formats.txt"))
_FORMATS = [re.compile(form) for form in _FORMS]
_AROUND = re.compile(
    r"\A(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,? |(?<=[0-9])(?:,? |t)[0-9]{2}:[0-9]{2}.*"
)
_AGO = re.compile(
    r"(?:in )?(?:the )?(?P<last>(?:(?:last|previous)(?= [0-9])|past) )?(?P<count>[0-9]{1,4}|an?|one)? ?"
    r"(?P<unit>second|sec|minute|min|hour|day|week|month|year)s?\.?(?P<ago> ago)?"
)
_MONTH_NAMES = [name.lower() for name in calendar.month_name]
_DAYS = {"day": 1, "week": 7, "month": 30.44, "year": 365.25}
_DAYS_BACK = {"today": 0, "now": 0, "present": 0, "current": 0, "to date": 0, "present day": 0, "yesterday": 1}
_SINCE = re.compile(r"(?:since|from|after)\b|>=?|≥")
_UNTIL = re.compile(r"(?:before|until|till|up to)\b|<=?|≤")
_RANGE = re.compile(
    r"(?:between |from )?(.{4,18}?)"
    r"(?: [-–—] | ?[–—:] ?|\.\.|(?<=[0-9]{4})[-/](?=[a-z]|[0-9]{4})| (?:to|until|and) )(.{3,18})"
)


def date_of_parts(year: str, month: str, day: str, *others: str) -> str:
    """The date that a record gives in parts, as numbers or names, in the form "YYYY[-MM[-DD]]", without the parts that
    are not valid; else the first of `others` that is a date by itself; "" if there is none. A day without a month does
    not count."""
    day = day if month else ""
    texts = (f"{year}-{month}-{day}", f"{year}-{month}", f"{year} {month} {day}", f"{year} {month}", year, *others)
    return next((found[0] for text in texts if len(found := readings(text)) == 1), "")


def iso_date(text: str) -> str:
    """`text` if it is a date as YYYY, YYYY-MM or YYYY-MM-DD; else ""."""
    return text if readings(text) == [text] else ""


def readings(text: str, today: datetime.date | None = None) -> list[str]:
    """What `text` can mean as YYYY, YYYY-MM or YYYY-MM-DD: nothing, one date or, if in doubt, two (month first)."""
    text, today = _plain(text), today or current_date()
    if text in _DAYS_BACK:
        return [(today - datetime.timedelta(_DAYS_BACK[text])).isoformat()]
    ago = _AGO.fullmatch(text)
    if ago and not ago["last"] and ago["ago"] and ago["count"]:
        return _before(today, ago)
    text = _AROUND.sub("", text).strip(" ,")
    found = next(filter(None, (form.fullmatch(text) for form in _FORMATS)), None)
    return list(dict.fromkeys(_dates(**found.groupdict()))) if found else []


def period(text: str) -> tuple[str, str] | None:
    """The ends of a period such as "1995-2000", "since 2015" or "last 5 years", "" if open; None if it is not one."""
    text = _plain(text)
    for lead, is_start in ((_SINCE, True), (_UNTIL, False)):
        if (before := lead.match(text)) and len(found := readings(text[before.end() :])) == 1:
            return (found[0], "") if is_start else ("", found[0])
    if (ago := _AGO.fullmatch(text)) and ago["last"] and (found := _before(current_date(), ago)):
        return found[0], ""
    if not (ends := _RANGE.fullmatch(text)):
        return None
    first, last = readings(ends[1]), [""] if is_now(ends[2]) else readings(ends[2])
    return (first[0], last[0]) if len(first) == len(last) == 1 else None


def is_now(text: str) -> bool:
    """Whether `text` is a word for the present."""
    return _DAYS_BACK.get(_plain(text)) == 0


def current_date() -> datetime.date:
    """Today, in UTC."""
    return datetime.datetime.now(datetime.UTC).date()


def _plain(text: str) -> str:
    return " ".join(text[:60].casefold().split()).strip(" \"'`()[],.") if len(text) < 1_000 else ""


def _before(today: datetime.date, ago: re.Match[str]) -> list[str]:
    count = int(ago["count"]) if (ago["count"] or "").isdecimal() else 1
    with suppress(OverflowError):
        return [(today - datetime.timedelta(round(count * _DAYS.get(ago["unit"], 0)))).isoformat()]
    return []


def _dates(year: str, month: str | None = None, day: str | None = None, by: str = "") -> Iterator[str]:
    """The dates that exist; with `by`, month and day are in doubt."""
    if month and not month.isdecimal():
        month = next((str(at) for at in range(1, 13) if _MONTH_NAMES[at].startswith(month)), "0")
    for first, second in ((month, day), *([(day, month)] if by else [])):
        with suppress(ValueError):
            date = datetime.date(int(year), int(first or 1), int(second or 1)).isoformat()
            yield date[: 10 if second else 7 if first else 4]
