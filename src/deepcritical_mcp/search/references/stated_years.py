"""The year of a work among the years in its reference: that of its place, not that of a comment or a visit.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import calendar
import re
from itertools import islice

_NUMBER = r"(?:1[5-9]\d\d|20\d\d)"
_IN_BRACKETS = re.compile(
    rf"\(\s{{0,2}}(?:[A-Z][a-z]{{2,8}}\.? )?({_NUMBER})[a-z]?\b(?!\s?[-–—]\s?{_NUMBER})[^()]{{0,20}}\)"
)
"""But no period: "(1980-2012)"."""
_ALONE = re.compile(rf"(?<![\w./:–-])({_NUMBER})[a-z]?(?![\w–-])")
_OF_JOURNAL = re.compile(
    r"(?<!\d )\((?:[A-Z][A-Za-z ]{0,20} )?(?:1[89]|20)\d\d\)"
    r"(?=[.,]?\s{0,2}(?:1[89]|20)\d\d\b|(?:[^()a-z]|[a-z]{1,2}(?![a-z])){1,60}\((?:1[89]|20)\d\d)"
    r"|\([A-Z][^()\d:]{1,60} : (?:1[89]|20)\d\d\)"
)
"""In a journal's name: "J Appl Physiol (1985). 2002;93:1563", "Spine (Phila Pa 1976)";
with a colon, as PubMed writes it, "(Phila. : 1976)", anywhere; else no volume stands before it, and
no comment between it and the work's own year."""
_NOTICE = re.compile(
    r"\s?[(\[](?:published |an? |see |with |has been |was )?"
    r"(?:retract|withdrawn|errat|correct|corrigend|addend|expression of concern|concern in|republished|update in|"
    r"comments? in)"
    r"[^\[\]()]{0,160}(?:\([^()]{0,40}\)[^\[\]()]{0,80}){0,3}[)\]]",
    re.IGNORECASE,
)
"""What became of the work: "[retracted in: Lancet. 2010;375(9713):445]"."""
_OF_VISIT = re.compile(
    rf"\b(?:accessed|cited|retrieved|viewed|visited|consulted|abgerufen|Zugriff|consulté|consultado)\b[^;\])]{{0,40}}?"
    rf"\b{_NUMBER}\b",
    re.IGNORECASE,
)
PAGE = r"[A-Za-z]{0,5}\d{1,8}[A-Za-z]?"
PAGES = rf"{PAGE}(?:\s{{0,2}}[-–—‐−]{{1,2}}\s{{0,2}}{PAGE})?"
"""A page or a range of pages, for a pattern."""

_PLACE = re.compile(
    rf"(?<![\w.–-])[A-Za-z]?\d{{1,4}}(?:\s{{0,2}}\([^()]{{0,30}}\))?\s{{0,2}}[:,]\s{{0,2}}(?:pp?\.?\s{{0,2}})?{PAGES}"
    rf"|\({_NUMBER}\)[:,]?\s{{0,2}}(?:pp?\.?\s{{0,2}})?{PAGES}|\b(?:[Pp][Pp]?|S)\.\s{{0,2}}{PAGES}"
)
MONTHS = "|".join((*calendar.month_name[1:], *calendar.month_abbr[1:], "Sept", "Winter", "Spring", "Summer", "Autumn"))
"""The names of months and seasons, for a pattern."""

_BEHIND_PLACE = re.compile(
    rf"(?:[\s,.;:()\[\]–—-]{{1,4}}(?:{MONTHS}|e-?pub|published|online|print|in|on|ahead|of|\d{{1,3}}(?!\d))\b){{0,8}}"
    rf"[\s,.;:()\[\]]{{0,6}}{_NUMBER}",
    re.IGNORECASE,
)
"""The year that follows a place: "373:2117–28 (26 November 2015)"."""
_MOST_PLACES = 8
"""Numbers in a title may look like a place, too: "1,4-dichlorobenzene"."""


def without_notices(text: str) -> str:
    """A text without the years that belong to names of journals, and without the places of notices in brackets."""
    return _NOTICE.sub("", _OF_JOURNAL.sub("", text))


def stated_year(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Where the year of the work stands whose title stands between `start` and `end`; None if it does not say one.

    Behind the title, that is the year in front of volume and pages, or right behind them. A year further on is that of
    a comment, and the day of a visit is none of the work.
    """
    if found := _first(_without(text[:start], _OF_VISIT)):
        return found
    after = _without(text[end:], _OF_JOURNAL, _NOTICE, _OF_VISIT)
    places = [one.end() for one in islice(_PLACE.finditer(after), _MOST_PLACES)]
    behind = [found.end() if (found := _BEHIND_PLACE.match(after, place)) else place for place in places]
    ends = [stop for pair in zip(places, behind, strict=True) for stop in pair] or [len(after)]
    found = next((found for stop in ends if (found := _first(after[:stop]))), None)
    return (found[0] + end, found[1] + end) if found else None


def _without(text: str, *patterns: re.Pattern[str]) -> str:
    """A text of the same length without what these find."""
    for pattern in patterns:
        text = pattern.sub(lambda found: " " * len(found[0]), text)
    return text


def _first(text: str) -> tuple[int, int] | None:
    found = _IN_BRACKETS.search(text) or _ALONE.search(text)
    return found.span(1) if found else None
