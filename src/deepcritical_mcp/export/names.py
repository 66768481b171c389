"""Authors' names in parts, for formats that ask for family and given names."""

from __future__ import annotations

import re

from deepcritical_mcp.models import AuthorName, Evidence

_INITIALS = re.compile(r"(?:[A-Z]\.?-?){1,4}")
_SUFFIX = re.compile(r"(?:Jr|Sr)\.?|I{2,3}|IV|[2-4](?:nd|rd|th)")
_DEGREE = re.compile(r"(?:M\.?D|Ph\.?D|M\.?Sc|B\.?Sc|M\.?P\.?H|R\.?N|Dr\.?P\.?H)\.?", re.IGNORECASE)
# Words that mark the name of a body; of such a name no part is a person's.
_COLLECTIVE = re.compile(
    r"\b(?:groups?|consorti(?:um|a)|collaborati(?:on|ve)|collaborators|networks?|investigators|committees?|"
    r"organi[sz]ations?|associations?|society|study|studies|trial|trialists|team|project|initiative|program(?:me)?|"
    r"panel|council|board|university|institutes?|college|school|hospital|clinic|cent(?:er|re)s?|agency|ministry|"
    r"departments?|administration|foundation|alliance|federation|academy|force|service|nhs|cdc|fda|nih|ema)\b",
    re.IGNORECASE,
)


def author_names(evidence: Evidence) -> tuple[AuthorName, ...]:
    """The authors' names in parts: as the provider gave them, else as far as they can be told apart."""
    if len(evidence.author_parts) == len(evidence.citation.authors):
        return evidence.author_parts
    return tuple(split_name(name) for name in evidence.citation.authors)


def split_name(name: str) -> AuthorName:
    """The parts of a name that is only known as a whole.

    Only what its spelling gives away is split: "Berg, Jan" and "Berg JA". Anything else, "Jan Berg" included, could be
    in either order or a body's name, and stays whole as the family name.
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
