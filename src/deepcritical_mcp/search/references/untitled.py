"""References without a title, as chemists and physicists write them, and people on slides.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re

from deepcritical_mcp.search.references.statements import ET_AL

_CAPITAL = r"[^\W\d_a-z][\w'’-]{1,40}"
_PARTICLES = r"(?:(?:van|von|der|den|de|del|la|le|di|da|al|el|bin|ten|ter) ){0,3}"
_NAME = re.compile(
    rf"(?:(?:[A-Z]\.[ -]?){{1,4}}{_PARTICLES}{_CAPITAL}(?: {_CAPITAL})?(?![\w.])|"
    rf"{_PARTICLES}{_CAPITAL}(?: {_CAPITAL})?,? [A-Z]\.?(?:[ -]?[A-Z]\.?){{0,3}}(?!\w))"
    r"(?= ?[,;:]| (?:and|und|y|et|e|&) |(?<=\.) |\.? ?\Z)"
)
_BETWEEN = re.compile(r" ?[,;]? ?(?:(?:and|und|y|et|e|&) )?")
_NUMBERED = re.compile(r"[\W\d]{0,12}")
_WHOLE = r"(?![\w'’-])"
_NAMES_AND_OTHERS = re.compile(
    rf"(?:{_PARTICLES}{_CAPITAL}{_WHOLE}[ ,;&.]{{0,3}}|[A-Z](?:\.|{_WHOLE})[ ,;-]{{0,2}}|(?:and|und|y|et) ){{1,12}}\Z"
)
"""Whole words only: "AAAA" can be read in one way."""
_GROUP = re.compile(
    r"[ .,]{0,3}[(\[][^()\[\]\d]{0,60}\b(?:collaborations?|consortium|group|investigators|team)[)\]]", re.IGNORECASE
)
_YEAR = re.compile(r"[\s.,;:]{0,3}\(? ?(?:1[5-9]|20)[0-9]{2}[a-z]? ?\)?[\s.,:;]{0,3}")
_JOURNAL = re.compile(r"[^\d;:\[]{0,120}(?<![\w-])(?=[\d;:\[]|\Z)|[^\d;:\[]{0,120}(?=[;:\[]|\Z)|")
_JOINING = frozenset("of the and in for on de la der und des et e a & part section series".split())
_MOST_WORDS, _MOST_WORDS_BEFORE_STOP, _MOST_OTHERS = 8, 2, 3
_NAMES_AT_MOST = 200


def start_of_journal(text: str) -> int:
    """Where the journal begins that follows the names in a reference without a title, or the end of the text if there
    is none; -1 if there may be a title."""
    names = end_of_names(text)
    if names < 0:
        return -1
    names = group.end() if (group := _GROUP.match(text, names)) else names
    year = _YEAR.match(text, names)
    start = year.end() if year else names
    while start < len(text) and text[start] in " .,;:*_(“":
        start += 1
    found = _JOURNAL.match(text, start)
    end = found.end() if found else start
    if end == start and start < len(text) and not text[start].isdigit():
        return -1
    others = [word for word in re.findall(r"[^\W\d_]{4,}", text[end:]) if word.islower()]
    return start if len(others) <= _MOST_OTHERS and _can_be_journal(text[start:end]) else -1


def end_of_names(text: str) -> int:
    """Where the names with initials end that a text begins with; -1 if it does not begin with such names."""
    lead = _NUMBERED.match(text)
    at = lead.end() if lead else 0
    if (others := ET_AL.search(text[:_NAMES_AT_MOST])) and _NAMES_AND_OTHERS.match(text[at : others.start()]):
        return others.end()
    end = -1
    while name := _NAME.match(text, at):
        end = name.end()
        between = _BETWEEN.match(text, end)
        at = between.end() if between else end
    return end


def _can_be_journal(name: str) -> bool:
    """Whether it is short, in capitals or abbreviated, and one name: no title and a journal."""
    words = re.findall(r"[^\W\d_]+", name)
    *parts, _ = re.split(r"\. ", name.strip(" .,*_()“”"))
    return (
        len(words) <= _MOST_WORDS
        and "," not in name.strip(" ,.*_")
        and all(word[0].isupper() or word in _JOINING for word in words)
        and all(len(part.split()) <= _MOST_WORDS_BEFORE_STOP for part in parts)
    )
