"""Ranges of pages as a citation style writes them."""

from __future__ import annotations

import re

_RANGE = re.compile(r"([A-Za-z]{0,9})([0-9]{1,12})\s?[-–]\s?([A-Za-z]{0,9})([0-9]{1,12})")
_BREAK = re.compile(r"([,;&]\s?(?:[a-z]{1,9}\s){0,3})")
_DASH = re.compile(r"(?<=\w)\s?-\s?(?=\w)")


def page_ranges(pages: str, how: str, dash: str) -> str:
    """Pages such as "321-328, 401" with the last page of each range as `how` says: "expanded", "minimal",
    "minimal-two", "chicago", "chicago-15" or "chicago-16"; "" leaves it as it is."""
    return "".join(_one(part, how, dash) if place % 2 == 0 else part for place, part in enumerate(_BREAK.split(pages)))


def _one(pages: str, how: str, dash: str) -> str:
    match = _RANGE.fullmatch(pages)
    if not match:
        return _DASH.sub(dash, pages) if _is_two(pages) else pages
    prefix, first, other, last = match.groups()
    if prefix and not other:
        return f"{prefix}{first}{dash}{last}" if int(last) > int(first) else pages  # e01611-19 is one location
    if other != prefix or not how:
        return f"{prefix}{first}{dash}{other}{last}"
    if len(last) < len(first):
        last = first[: len(first) - len(last)] + last
    return f"{prefix}{first}{dash}{_last(prefix, first, last, how)}"


def _is_two(pages: str) -> bool:
    """Whether these are two pages such as xii-xx, and not one electronic location such as 10-1038."""
    return pages.count("-") == 1 and not any(map(str.isdigit, pages))


def _last(prefix: str, first: str, last: str, how: str) -> str:
    if how.startswith("chicago"):
        return _chicago(prefix, first, last, how)
    if how == "expanded" or len(first) != len(last):
        return prefix + last
    least = 2 if how == "minimal-two" else 1
    same = next((place for place in range(len(first)) if first[place] != last[place]), len(first))
    return last[min(same, len(last) - least) :] if len(last) > least else last


def _chicago(prefix: str, first: str, last: str, how: str) -> str:
    """The Chicago Manual's rule (9.63): 3-10, 71-72, 100-104, 101-8, 321-25, 1087-89, 1496-1500."""
    number, same_length = int(first), len(first) == len(last)
    if number < 100 or number % 100 == 0 or not same_length:
        return prefix + last
    least = 1 if number % 100 < 10 else 2
    same = next((place for place in range(len(first)) if first[place] != last[place]), len(first))
    if how != "chicago-16" and len(first) == 4 and len(first) - same > 2:
        return prefix + last
    return last[min(same, len(last) - least) :]
