"""Limits of publication dates, as search requests take them."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator

from deepcritical_mcp.dates import readings
from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.text import clean_line

_DATE = re.compile(r"\d{4}(-\d\d){0,2}")


def checked_limits(min_date: str, max_date: str) -> tuple[str, str]:
    """Both limits as "YYYY[-MM[-DD]]", "" if open; InvalidInputError if one is not a date, or they are the wrong way
    round."""
    earliest, latest = _checked_date("min_date", min_date), _checked_date("max_date", max_date)
    if latest and earliest > f"{latest}~":  # "2020-05" is within "2020"
        raise InvalidInputError(f"min_date {earliest} is after max_date {latest}: swap them.")
    return earliest, latest


def dates_in_words(min_date: str, max_date: str, what: str = "published") -> Iterator[str]:
    """The limits for the log of searches: "published from 2020 to 2021-05"; nothing if both are open."""
    limits = (
        f"from {min_date.strip()}" if min_date.strip() else "",
        f"to {max_date.strip()}" if max_date.strip() else "",
    )
    if any(limits):
        yield " ".join(filter(None, (what, *limits)))


def _checked_date(name: str, text: str) -> str:
    text = text.strip()
    if not text or readings(text) == [text]:
        return text
    if not _DATE.fullmatch(text):
        raise InvalidInputError(f'{name} "{clean_line(text)[:40]}" is not a date: write YYYY, YYYY-MM or YYYY-MM-DD.')
    days = calendar.monthrange(int(text[:4]), int(text[5:7]))[1] if readings(text[:7]) else 0
    told = f"that month has {days} days" if days else "write YYYY, YYYY-MM or YYYY-MM-DD"
    raise InvalidInputError(f'{name} "{text}" does not exist: {told}.')
