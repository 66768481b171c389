"""What every query for PubMed must be, and which texts it finds."""

from __future__ import annotations

import re
from collections.abc import Sequence

from deepcritical_mcp.search.expansion import pubmed_syntax

_TOKEN = re.compile(r'[()]|"[^"]*"(?:\[[^\]]*\])?|[^\s()"\[\]]+(?:\[[^\]]*\])?')
# As PubMed does it; "with" and its like stand in no text of the tests.
_IGNORED = frozenset({"a", "after", "and", "for", "in", "of", "on", "the", "who", "with", "without"})
# What a paper need not say, since "all[sb]" is one of the alternatives.
_RANKING = re.compile(r" AND \((?P<words>(?:[^()]|\([^()]*\))*) OR all\[sb\]\)$")


def is_well_formed(query: str) -> bool:
    """Balanced quotes and parentheses, operators between operands, known tags; nothing that needs a repair."""
    outside = "".join(query.split('"')[::2])
    depth = 0
    for character in outside:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return False
    return bool(query) and depth == 0 and query.count('"') % 2 == 0 and pubmed_syntax.repair(query) == query


def finds(query: str, text: str) -> bool:
    """Whether a text has what `query` wants: operators from left to right, words joined by AND, tags ignored, but for
    words near each other."""
    tokens = _TOKEN.findall(query)
    words = f" {text.lower()} "

    def has(token: str) -> bool:
        wanted, _, tag = token.partition("[")
        wanted = wanted.strip('"').lower()
        if token == "all[sb]" or wanted in _IGNORED:
            return True
        if ":~" in tag:
            return all(f" {word} " in words for word in wanted.split())
        return f" {wanted.rstrip('*')}" in words if wanted.endswith("*") else f" {wanted} " in words

    def group() -> bool:
        value, operator = True, "AND"
        while tokens:
            token = tokens.pop(0)
            if token == ")":
                break
            if token in {"AND", "OR", "NOT"}:
                operator = token
                continue
            found = group() if token == "(" else has(token)
            value = (
                value or found if operator == "OR" else value and found if operator == "AND" else value and not found
            )
            operator = "AND"
        return value

    return group()


def requires(query: str, subjects: Sequence[str]) -> bool:
    """Whether `query` finds what is about all of `subjects`, and nothing that lacks one: they are all that it wants."""
    without = (" ; ".join(other for other in subjects if other is not one) for one in subjects)
    return finds(query, " ; ".join(subjects)) and not any(finds(query, text) for text in without)


def ranking(query: str) -> str:
    """What `query` only ranks by."""
    found = _RANKING.search(query)
    return found["words"] if found else ""
