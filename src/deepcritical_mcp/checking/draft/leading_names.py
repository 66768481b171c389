"""The names with initials that a reference begins with.

Every regular expression here is linear in the length of the text.
"""

from __future__ import annotations

import re

from deepcritical_mcp.search.references.guesses import ET_AL

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
_NAMES_AT_MOST = 200


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
