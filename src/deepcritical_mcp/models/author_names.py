"""Authors' names that are only known as a whole, taken apart as far as their spelling allows."""

from __future__ import annotations

import re

from deepcritical_mcp.models.publication import AuthorName

_INITIALS = re.compile(r"(?:[A-Z]\.?-?){1,4}")
_SUFFIX = re.compile(r"(?:Jr|Sr)\.?|I{2,3}|IV|[2-4](?:nd|rd|th)")
_DEGREE = re.compile(r"(?:M\.?D|Ph\.?D|M\.?Sc|B\.?Sc|M\.?P\.?H|R\.?N|Dr\.?P\.?H)\.?", re.IGNORECASE)
# Words that mark the name of an organization.
_COLLECTIVE = re.compile(
    r"\b(?:groups?|consorti(?:um|a)|collaborati(?:on|ve)|collaborators|networks?|investigators|committees?|"
    r"organi[sz]ations?|associations?|society|study|studies|trial|trialists|team|project|initiative|program(?:me)?|"
    r"panel|council|board|university|institutes?|college|school|hospital|clinic|cent(?:er|re)s?|agency|ministry|"
    r"departments?|administration|foundation|alliance|federation|academy|force|service|nhs|cdc|fda|nih|ema)\b",
    re.IGNORECASE,
)


def split_name(name: str) -> AuthorName:
    """The parts of a name that is only known as a whole.

    "Berg, Jan" and "Berg JA" are split. Anything else, "Jan Berg" included, could be in either order or the name of an
    organization, and stays whole as the family name.
    """
    if _COLLECTIVE.search(name):
        return AuthorName(name)
    if "," in name:
        return _split_at_comma(name)
    words = name.split()
    suffix = words.pop() if len(words) > 2 and _SUFFIX.fullmatch(words[-1]) else ""
    if len(words) > 1 and _INITIALS.fullmatch(words[-1]) and not name.isupper():
        return AuthorName(" ".join(words[:-1]), words[-1], suffix)
    return AuthorName(name)


def _split_at_comma(name: str) -> AuthorName:
    family, *rest = [part.strip() for part in name.split(",")]
    if not family or not rest or len(rest) > 2 or not all(rest) or any(_DEGREE.fullmatch(part) for part in rest):
        return AuthorName(name)
    suffix = next((part for part in rest if _SUFFIX.fullmatch(part)), "")
    given = [part for part in rest if part != suffix]
    return AuthorName(family, given[0], suffix) if len(given) == 1 else AuthorName(name)
