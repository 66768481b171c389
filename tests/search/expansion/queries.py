"""What every query for PubMed must be."""

from __future__ import annotations

from deepcritical_mcp.search.expansion import pubmed_syntax


def is_well_formed(query: str) -> bool:
    """Balanced quotes and parentheses, operators between operands, known tags; nothing that would have to be mended."""
    outside = "".join(query.split('"')[::2])
    depth = 0
    for character in outside:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return False
    return bool(query) and depth == 0 and query.count('"') % 2 == 0 and pubmed_syntax.repair(query) == query
