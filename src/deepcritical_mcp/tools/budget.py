"""Results that fit into a client's context: the same value, cut where it hurts least, and saying so."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from deepcritical_mcp.models import AddResult, Evidence, EvidenceList, EvidencePage, SearchResult
from deepcritical_mcp.text import cut_at_sentence
from deepcritical_mcp.tools.render import MOST_SIMILAR

LEAST_CONTENT = 160
FEWEST_AUTHORS = 10
LATEST_QUERIES = 3
MOST_NOTES, LONGEST_NOTE = 3, 300
LONGEST_QUERY, LONGEST_TRANSLATION, LONGEST_REMARK, LONGEST_ID = 200, 2_000, 500, 100
MOST_REMARKS = 20
"""Of what a result repeats of its question, when room is short."""
ResultT = TypeVar("ResultT", bound=BaseModel)


def structured(result: BaseModel) -> dict[str, Any]:
    """The wire form of a result."""
    return result.model_dump(mode="json")


def wire_length(result: BaseModel) -> int:
    """Characters of the structured form, in JSON's roomiest spelling: clients differ in which they count."""
    return len(json.dumps(structured(result)))


def fit(result: ResultT, limit: int, length: Callable[[ResultT], int]) -> ResultT:
    """`result`, cut until `length(result) <= limit`.

    In this order: what repeats the question is shortened, contents are cut at a sentence end (long ones first), author
    lists are shortened, and the last pieces are left out. Each cut is named in the result; the whole stays in the
    session.
    """
    if length(result) <= limit:
        return result
    if isinstance(result, EvidencePage):
        return _shorter_page(result, limit, length)
    if isinstance(result, AddResult):
        return _fewer_pairs(result, limit, length)
    if isinstance(result, SearchResult | EvidenceList):
        return _shorter_evidence(result, limit, length)
    return result


def _shorter_evidence(result: ResultT, limit: int, length: Callable[[ResultT], int]) -> ResultT:
    whole = cast(SearchResult | EvidenceList, result).evidence
    brief = _brief(result)
    evidence = [with_latest_queries(piece) for piece in whole]

    def with_evidence(pieces: Sequence[Evidence]) -> ResultT:
        return _note(brief, whole, pieces)

    longest = max((len(piece.content) for piece in evidence), default=0)
    share = _largest(
        LEAST_CONTENT, longest, lambda cap: length(with_evidence([_cut(piece, cap) for piece in evidence])) <= limit
    )
    pieces = [_cut(piece, share) for piece in evidence]
    if length(with_evidence(pieces)) > limit:
        pieces = [_fewer_authors(piece) for piece in pieces]
    if length(with_evidence(pieces)) > limit:
        count = _largest(0, len(pieces), lambda kept: length(with_evidence(pieces[:kept])) <= limit)
        pieces = pieces[:count]
    return with_evidence(pieces)


def _brief(result: ResultT) -> ResultT:
    """`result` without the length of what it repeats: queries, what was made of them, remarks, ids."""
    if isinstance(result, EvidenceList):
        return result.model_copy(update={"missing": tuple(_clip(id, LONGEST_ID) for id in result.missing)})
    if not isinstance(result, SearchResult):
        return result
    queries = [
        report.model_copy(
            update={"query": _clip(report.query, LONGEST_QUERY), "detail": _clip(report.detail, LONGEST_REMARK)}
        )
        for report in result.queries
    ]
    return result.model_copy(
        update={
            "query": _clip(result.query, LONGEST_QUERY),
            "queries": tuple(queries),
            "query_translation": _clip(result.query_translation, LONGEST_TRANSLATION),
            "errors": _few(result.errors),
            "warnings": _few(result.warnings),
        }
    )


def with_latest_queries(piece: Evidence) -> Evidence:
    """`piece`, found by no more than the latest few queries, none of them long, with few that say the same and few
    notes, cut at a sentence end."""
    latest = tuple(_clip(query, LONGEST_QUERY) for query in piece.found_by[-LATEST_QUERIES:])
    notes = tuple(cut_at_sentence(note, LONGEST_NOTE) for note in piece.notes[:MOST_NOTES])
    return piece.model_copy(update={"found_by": latest, "similar": piece.similar[:MOST_SIMILAR], "notes": notes})


def _clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _few(remarks: Sequence[str]) -> tuple[str, ...]:
    more = (f"And {len(remarks) - MOST_REMARKS} more remarks.",) if len(remarks) > MOST_REMARKS else ()
    return (*(_clip(remark, LONGEST_REMARK) for remark in remarks[:MOST_REMARKS]), *more)


def _fewer_pairs(result: AddResult, limit: int, length: Callable[[Any], int]) -> Any:
    """An addition that names fewer of the pieces that say nearly the same."""

    def start(count: int) -> AddResult:
        left_out = len(result.similar) - count
        note = f"{left_out:,} more pairs of pieces that say nearly the same are not listed here. " if left_out else ""
        return result.model_copy(update={"similar": result.similar[:count], "next_step": note + result.next_step})

    return start(_largest(0, len(result.similar), lambda count: length(start(count)) <= limit))


def _shorter_page(page: EvidencePage, limit: int, length: Callable[[Any], int]) -> Any:
    """A page of fewer items, which says where the next one starts."""
    first = (page.next_offset if page.next_offset >= 0 else page.total) - len(page.items)

    def start(count: int) -> EvidencePage:
        return page.model_copy(update={"items": page.items[:count], "next_offset": first + count})

    return start(_largest(1, len(page.items), lambda count: length(start(count)) <= limit))


def _largest(least: int, most: int, fits: Callable[[int], bool]) -> int:
    """The largest number in least..most that fits; `least` when none does."""
    while least < most:
        middle = (least + most + 1) // 2
        if fits(middle):
            least = middle
        else:
            most = middle - 1
    return least


def _cut(piece: Evidence, cap: int) -> Evidence:
    if len(piece.content) <= cap:
        return piece
    return piece.model_copy(update={"content": cut_at_sentence(piece.content, cap), "content_truncated": True})


def _fewer_authors(piece: Evidence) -> Evidence:
    authors = piece.citation.authors
    if len(authors) <= FEWEST_AUTHORS:
        return piece
    citation = piece.citation.model_copy(update={"authors": authors[:FEWEST_AUTHORS]})
    return piece.model_copy(update={"citation": citation, "content_truncated": True})


def _note(result: ResultT, before: Sequence[Evidence], after: Sequence[Evidence]) -> ResultT:
    notes: list[str] = []
    if any(one.found_by != whole.found_by for one, whole in zip(after, before, strict=False)):
        notes.append(f"found_by is shortened to the latest {LATEST_QUERIES} queries.")
    if any(one.similar != whole.similar for one, whole in zip(after, before, strict=False)):
        notes.append(f"similar is shortened to {MOST_SIMILAR} ids.")
    if any(one.notes != whole.notes for one, whole in zip(after, before, strict=False)):
        notes.append('Notes are shortened: semantic_search with source="user" finds them whole.')
    short = [
        one.id for one, whole in zip(after, before, strict=False) if one.citation.authors != whole.citation.authors
    ]
    if short:
        notes.append(f"Only the first {FEWEST_AUTHORS} authors are shown of {', '.join(short)}.")
    left_out = [piece.id for piece in before[len(after) :]]
    if left_out:
        notes.append(
            f"{len(left_out)} more results are kept in the session but do not fit here: get_evidence (at most 50 at "
            f"once) with {', '.join(left_out)}."
        )
    update: dict[str, object] = {"evidence": tuple(after)}
    if isinstance(result, SearchResult) and notes:
        update["warnings"] = (*result.warnings, *notes)
    if isinstance(result, EvidenceList):
        notes += [
            f'To read on: get_evidence ids=["{one.id}"] offset={result.offset + len(one.content)}.'
            for one, whole in zip(after, before, strict=False)
            if len(one.content) < len(whole.content)
        ]
        update["next_step"] = f"{' '.join(notes)} {result.next_step}".strip()
    return result.model_copy(update=update)
