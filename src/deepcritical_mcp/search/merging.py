"""What several wordings of a question found, as one list of pages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from deepcritical_mcp.models import Evidence
from deepcritical_mcp.search.fusion import fuse

WEIGHT_OF_THE_QUERY = 3.0
"""Of the query itself against 1 for each variant, in reciprocal rank fusion."""

_NOT_A_LETTER = re.compile(r"[\W_]+")
_LEAST_TITLE, _LEAST_CONTENT = 25, 100


@dataclass(frozen=True)
class Merged:
    """Each page once, in fused order; `duplicates` counts what was found more than once."""

    evidence: tuple[Evidence, ...]
    duplicates: int


def merge(findings: Sequence[Sequence[Evidence]]) -> Merged:
    """Fuse the findings of a query (the first) and its variants; each is sorted by relevance first.

    Two results are one page when they have the same id (publication or normalised address), or word for word the same
    title and text, if these are long enough to tell.
    """
    sorted_findings = [sorted(found, key=lambda item: -item.relevance) for found in findings]
    pages: dict[str, Evidence] = {}
    by_text: dict[str, str] = {}
    rankings: list[list[str]] = []
    for found in sorted_findings:
        ranking: list[str] = []
        for item in found:
            page = item.id if item.id in pages else by_text.setdefault(_text_key(item) or item.id, item.id)
            pages[page] = _united(pages[page], item) if page in pages else item
            ranking.append(page)
        rankings.append(ranking)
    order = fuse(rankings, [WEIGHT_OF_THE_QUERY] + [1.0] * (len(rankings) - 1)) if rankings else []
    return Merged(tuple(pages[page] for page in order), sum(map(len, rankings)) - len(pages))


def _text_key(item: Evidence) -> str:
    title, content = (_NOT_A_LETTER.sub(" ", text).strip().casefold() for text in (item.citation.title, item.content))
    return f"{title}\n{content}" if len(title) >= _LEAST_TITLE and len(content) >= _LEAST_CONTENT else ""


def _united(page: Evidence, other: Evidence) -> Evidence:
    """`page` with the better score, the longer text and all the queries that found it."""
    best = max(page, other, key=lambda item: item.relevance)
    return best.model_copy(
        update={
            "id": page.id,
            "citation": page.citation,
            "content": max(page.content, other.content, key=len),
            "found_by": tuple(dict.fromkeys((*page.found_by, *other.found_by))),
        }
    )
