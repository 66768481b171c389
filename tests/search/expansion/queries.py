"""What every query for PubMed must be, and which texts it finds."""

from __future__ import annotations

import re

from deepcritical_mcp.search.expansion import pubmed_syntax

_TOKEN = re.compile(r'[()]|"[^"]*"(?:\[[^\]]*\])?|[^\s()"\[\]]+(?:\[[^\]]*\])?')
# As PubMed does it; "with" and its like stand in no text of the tests.
_IGNORED = frozenset({"a", "after", "and", "for", "in", "of", "on", "the", "who", "with", "without"})


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
    """Whether a text has what `query` wants: operators from left to right, words joined by AND, tags ignored."""
    tokens = _TOKEN.findall(query)
    words = f" {text.lower()} "

    def group() -> bool:
        value, operator = True, "AND"
        while tokens:
            token = tokens.pop(0)
            if token == ")":
                break
            if token in {"AND", "OR", "NOT"}:
                operator = token
                continue
            wanted = token.partition("[")[0].strip('"').lower()
            found = group() if token == "(" else wanted in _IGNORED or f" {wanted} " in words
            value = (
                value or found if operator == "OR" else value and found if operator == "AND" else value and not found
            )
            operator = "AND"
        return value

    return group()
