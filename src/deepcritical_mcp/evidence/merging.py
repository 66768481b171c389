"""What becomes of two records of one publication: the kept one, completed by what the other knew."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from rapidfuzz import fuzz

from deepcritical_mcp.models import NO_TITLE, Citation, Evidence, PublicationStatus

SAYS_THE_SAME = 90
"""Partial ratio from which a text is taken to be contained in another."""

OWN_WORDS = "NOTE, not part of the source: "
"""Stands before the user's own words about a publication, so that nobody cites them as its abstract."""

MUCH_LONGER = 1.5
COMPARABLE = 50_000_000
"""Product of two texts' lengths up to which they are compared letter by letter."""

_GRAVITY: tuple[PublicationStatus, ...] = ("ok", "corrected", "concern", "retracted")

T = TypeVar("T")


def complete(kept: Evidence, other: Evidence) -> Evidence:
    """`kept` under its own id, with the gaps in its citation filled from `other`, the fuller content and the graver
    publication status of the two, and the queries that found either.

    A PubMed record knows a publication best: its citation goes before one from elsewhere.
    """
    first, second = (other, kept) if _is_record(other) and not _is_record(kept) else (kept, other)
    return kept.model_copy(
        update={
            "content": _content(kept, other),
            "content_truncated": kept.content_truncated and other.content_truncated,
            "citation": _citation(first.citation, second.citation),
            "provider": first.provider or second.provider,
            "found_by": _united(kept.found_by, other.found_by),
            "keywords": _united(first.keywords, second.keywords),
            "author_parts": first.author_parts if first.citation.authors else second.author_parts,
            "volume": first.volume or second.volume,
            "issue": first.issue or second.issue,
            "pages": first.pages or second.pages,
            "similar": kept.similar,
        }
    )


def _is_record(evidence: Evidence) -> bool:
    return evidence.provider == "pubmed"  # the source alone is what a user may say, too


def _citation(first: Citation, second: Citation) -> Citation:
    return first.model_copy(
        update={
            "title": second.title if first.title == NO_TITLE else first.title,
            "url": first.url or second.url,
            "date": second.date if first.date == "Unknown" or second.date.startswith(first.date) else first.date,
            "authors": first.authors or second.authors,
            "pmid": first.pmid or second.pmid,
            "doi": first.doi or second.doi,
            "pmcid": first.pmcid or second.pmcid,
            "journal": first.journal or second.journal,
            "publication_types": _united(first.publication_types, second.publication_types),
            "mesh_terms": _united(first.mesh_terms, second.mesh_terms),
            "status": max(first.status, second.status, key=_GRAVITY.index),
            "status_notices": _united(first.status_notices, second.status_notices),
        }
    )


def _content(kept: Evidence, other: Evidence) -> str:
    """The fuller text; both, where they differ and one is the user's own words, which are marked as such."""
    old, new = kept.content, other.content
    if new in old:
        return old
    if old in new:
        return new
    own = [piece.provider == "user" for piece in (kept, other)]
    if any(own):
        source, words = (new, old) if own == [True, False] else (old, new)
        return f"{source}\n\n{words}" if all(own) else f"{source}\n\n{OWN_WORDS}{words}"
    if new == other.citation.title:
        return old
    if old == kept.citation.title:
        return new
    if _is_record(other) and not _is_record(kept):
        return new
    fuller = len(new) > len(old) and (len(new) >= MUCH_LONGER * len(old) or _nearly_contains(new, old))
    return new if fuller else old


def _nearly_contains(text: str, part: str) -> bool:
    if len(part) * len(text) > COMPARABLE:
        return False
    return fuzz.partial_ratio(part, text, score_cutoff=SAYS_THE_SAME) >= SAYS_THE_SAME


def _united(first: Iterable[T], second: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys([*first, *second]))
