"""Publication dates as web providers write them."""

from __future__ import annotations

import datetime
import email.utils
import re

UNKNOWN = "Unknown"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ISO = re.compile(r"(\d{4})-(\d\d)(?:-(\d\d))?(?!\d)")
_AMERICAN = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")
_MONTH_FIRST = re.compile(r"([a-z]{3,9})\.? +(?:(\d{1,2})(?:st|nd|rd|th)?,? +)?(\d{4})\b", re.IGNORECASE)
_DAY_FIRST = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?\.? +([a-z]{3,9})\.?,? +(\d{4})\b", re.IGNORECASE)
_YEAR = re.compile(r"(\d{4})")
_AGO = re.compile(r"(\d+|an?|one) +(second|sec|minute|min|hour|day|week|month|year)s?\.? +ago", re.IGNORECASE)


def current_date() -> datetime.date:
    """Today, in UTC."""
    return datetime.datetime.now(datetime.UTC).date()


def publication_date(text: str, today: datetime.date) -> str:
    """ "YYYY-MM-DD", "YYYY-MM" or "YYYY", as precise as `text` is; "Unknown" for what is not a date.

    Reads ISO 8601, RFC 2822, "March 4, 2021", "4 Mar 2021", "Mar 2021", "03/04/2021" (month first) and "3 days ago",
    which is counted from `today`: weeks and months give a month, years a year.
    """
    text = text.strip()
    if found := _ISO.match(text):
        return _date(found[1], found[2], found[3], today)
    if found := _AMERICAN.match(text):
        return _date(found[3], found[1], found[2], today)
    if found := _DAY_FIRST.search(text):
        return _date(found[3], _month(found[2]), found[1], today)
    if found := _MONTH_FIRST.match(text):
        return _date(found[3], _month(found[1]), found[2], today)
    if found := _AGO.match(text):
        return _ago(int(found[1]) if found[1].isdecimal() else 1, found[2].lower(), today)
    if text.lower() in ("today", "yesterday"):
        return (today - datetime.timedelta(days=text.lower() == "yesterday")).isoformat()
    if found := _YEAR.fullmatch(text):
        return _date(found[1], "", "", today)
    return _mail_date(text, today)


def _month(name: str) -> str:
    short = name[:3].lower()
    return str(_MONTHS.index(short) + 1) if short in _MONTHS else "0"


def _date(year: str, month: str, day: str | None, today: datetime.date) -> str:
    if not 1500 <= int(year) <= today.year + 1:
        return UNKNOWN
    if not month:
        return year
    if not 1 <= int(month) <= 12:
        return UNKNOWN
    if not day:
        return f"{year}-{int(month):02}"
    try:
        return datetime.date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return UNKNOWN


def _ago(count: int, unit: str, today: datetime.date) -> str:
    days = {"day": 1, "week": 7, "month": 30.44, "year": 365.25}.get(unit, 0) * count
    if days > 200_000:
        return UNKNOWN
    date = (today - datetime.timedelta(days=days)).isoformat()
    return {"week": date[:7], "month": date[:7], "year": date[:4]}.get(unit, date)


def _mail_date(text: str, today: datetime.date) -> str:
    try:
        date = email.utils.parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError, IndexError):
        return UNKNOWN
    return _date(str(date.year), str(date.month), str(date.day), today)
