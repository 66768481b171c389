"""Dates of publication as PubMed writes them, down to "1998 Dec-1999 Jan" and "Spring"."""

from __future__ import annotations

import calendar
import re

from deepcritical_mcp.models import UNKNOWN_DATE
from deepcritical_mcp.sources.pubmed.xml.element import Element

_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
_YEAR = re.compile(r"(?<!\d)(1[4-9]|20|21)\d\d(?!\d)")
_MONTH = re.compile(rf"\b({'|'.join(_MONTHS)})[a-z]*\b", re.IGNORECASE)


def date_of(*elements: Element) -> str:
    """The date in the first of `elements` that has a year: "YYYY[-MM[-DD]]", or "Unknown"."""
    return next((date for date in map(_date, elements) if date), UNKNOWN_DATE)


def _date(element: Element) -> str:
    said = " ".join(element.first(name).text for name in ("Year", "Month", "Day", "Season", "MedlineDate"))
    year = _YEAR.search(element.first("Year").text or said)
    if not year:
        return ""
    month = _month(element.first("Month").text) or _month_named(said)
    day = element.first("Day").text
    if not month:
        return year[0]
    if element.first("Month").text and day.isdecimal() and _exists(int(year[0]), month, int(day)):
        return f"{year[0]}-{month:02}-{int(day):02}"
    return f"{year[0]}-{month:02}"


def _month(text: str) -> int:
    return int(text) if text.isdecimal() and 1 <= int(text) <= 12 else 0


def _month_named(text: str) -> int:
    """The first month that a text names, 0 when it names none: 11 for "Nov-Dec"."""
    found = _MONTH.search(text)
    return _MONTHS[found[1].lower()] if found else 0


def _exists(year: int, month: int, day: int) -> bool:
    return 1 <= day <= calendar.monthrange(year, month)[1]
