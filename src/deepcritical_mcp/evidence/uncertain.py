"""Pairs of publications that are alike, but not certainly one: the user decides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from deepcritical_mcp.evidence.catalogue import Catalogue
from deepcritical_mcp.evidence.comparisons import is_one_place, opposite_signs, same_author, same_journal
from deepcritical_mcp.evidence.identity import REGISTERED, identity_of, title_similarity
from deepcritical_mcp.evidence.titles import identifies, is_generic, is_notice, numbers_agree, tokens
from deepcritical_mcp.models import UNKNOWN_DATE, Publication

MAX_COMPARED = 100
"""Publications whose titles begin or end alike that one is compared with."""
ALIKE = 0.93
"""Token sort ratio of titles from which on two publications may be one."""


class UncertainPair(NamedTuple):
    """Two ids, and what differs between them: "year 2014, 2015; DOI 10.1/a, 10.1/b"; "" if nothing does."""

    one: str
    other: str
    differences: str


def uncertain_pairs(catalogue: Catalogue, ids: Iterable[str]) -> list[UncertainPair]:
    """The pairs of one of these ids and any other, each once."""
    found = dict[frozenset[str], UncertainPair]()
    for id in ids:
        for other in islice(catalogue.with_titles_like(id), MAX_COMPARED):
            pair = frozenset((id, other))
            if pair in found:
                continue
            first, second = catalogue.item(id).publication, catalogue.item(other).publication
            if are_alike(first, second):
                found[pair] = UncertainPair(id, other, "; ".join(_differences(first, second)))
    return [*found.values()]


def are_alike(first: Publication, second: Publication) -> bool:
    """Whether two may be one publication: their titles are nearly the same and say enough, and no more than one of what
    else they say is different: the first author, the year by more than one, the journal."""
    one, other = identity_of(first), identity_of(second)
    is_told = is_one_place(one.place, other.place) or (identifies(one.title) and identifies(other.title))
    if one.is_note or other.is_note or not is_told or opposite_signs(one.shown_title, other.shown_title):
        return False
    if (
        is_generic(one.title)
        or is_notice(one.title) != is_notice(other.title)
        or not numbers_agree(one.title, other.title)
    ):
        return False
    if title_similarity(one, other) < ALIKE:
        return False
    authors = same_author(one.authors[0], other.authors[0]) if one.authors and other.authors else True
    years = not one.date or not other.date or abs(int(one.date[:4]) - int(other.date[:4])) <= 1
    journals = same_journal(one.journal, other.journal) is not False
    return (authors, years, journals).count(False) <= 1


def _first_author(publication: Publication) -> str:
    return str(publication.authors[0]) if publication.authors else ""


def _have_same_author(first: Publication, second: Publication) -> bool:
    return bool(first.authors and second.authors) and same_author(first.authors[0], second.authors[0])


def _differences(first: Publication, second: Publication) -> Iterator[str]:
    one, other = identity_of(first), identity_of(second)
    pairs = {
        "title": (first.title, second.title) if tokens(first.title) != tokens(second.title) else ("", ""),
        "year": tuple("" if each.date == UNKNOWN_DATE else each.date[:4] for each in (first, second)),
        "first author": ("", "") if _have_same_author(first, second) else tuple(map(_first_author, (first, second))),
        "journal": (first.journal, second.journal) if same_journal(one.journal, other.journal) is False else ("", ""),
        "volume": (first.volume, second.volume),
        "issue": (first.issue, second.issue),
        "pages": (first.pages, second.pages),
        **{part.upper(): (one.named.get(part, ""), other.named.get(part, "")) for part in REGISTERED},
    }
    for name, (left, right) in pairs.items():
        if left != right and left and right:
            yield f"{name} {left}, {right}"
