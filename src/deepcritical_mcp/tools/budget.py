"""Results that fit into a client's context: the same value, cut where it hurts least, and saying so."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from deepcritical_mcp.excerpts import LEAST_GAP, Span, dispensable, without
from deepcritical_mcp.models import AddResult, Evidence, EvidenceList, EvidencePage, SearchResult, with_numbers_shown
from deepcritical_mcp.text import cut_at_sentence
from deepcritical_mcp.tools.render import MOST_SIMILAR, to_markdown

LEAST_CONTENT = 160
PLEASANT = 15_000
"""Characters of the readable form from which abstracts are cut: about eight whole ones."""
SHORT_TEXT = 1_500
"""Characters to which a page or a full text is shortened at most, while other records are shown next to it."""
MOST_NOTES, LONGEST_NOTE = 3, 300
LONGEST_QUERY, LONGEST_TRANSLATION, LONGEST_REMARK, LONGEST_ID = 200, 2_000, 500, 100
MOST_REMARKS = 20
"""Of what a result repeats of its question, when room is short."""
ResultT = TypeVar("ResultT", bound=BaseModel)
Length = Callable[[Any], int]


def structured(result: BaseModel) -> dict[str, Any]:
    """The wire form of a result."""
    return result.model_dump(mode="json")


def wire_length(result: BaseModel) -> int:
    """Characters of the structured form, in JSON's roomiest spelling: clients differ in which they count."""
    return len(json.dumps(structured(result)))


def fit(result: ResultT, limit: int, length: Callable[[ResultT], int]) -> ResultT:
    """`result`, cut until `length(result) <= limit`; both forms of an answer show what this returns.

    In this order: what repeats the question is shortened, then abstracts from the middle (see
    `dispensable`) and pages and full texts from the end, and the last pieces are left for the next page. Each cut is
    named in the result together with the call that returns what is missing. Abstracts of a search in the sources are
    cut from `PLEASANT` characters on.
    """
    if isinstance(result, SearchResult) and result.providers:
        result = cast("ResultT", _pleasant(result))
    if _characters(getattr(result, "evidence", ())) <= limit and length(result) <= limit:
        return result
    if isinstance(result, EvidencePage):
        return _shorter_page(result, limit, length)
    if isinstance(result, AddResult):
        return _fewer_pairs(result, limit, length)
    if isinstance(result, SearchResult):
        return _shorter_search(result, limit, length)
    if isinstance(result, EvidenceList):
        return _shorter_list(result, limit, length)
    return result


def _characters(pieces: Sequence[Evidence]) -> int:
    """The least that these take, known without writing them down."""
    return sum(len(piece.content) for piece in pieces)


def _pleasant(result: SearchResult) -> SearchResult:
    """`result` with abstracts cut in the middle, as few as possible, so that its text is no longer than `PLEASANT`;
    records are not left out for that."""
    if _characters(result.evidence) <= PLEASANT and len(to_markdown(result)) <= PLEASANT:
        return result
    shown = _condensed(
        result.evidence,
        lambda pieces: (
            _characters(pieces) <= PLEASANT and len(to_markdown(_page_of(result, result.evidence, pieces))) <= PLEASANT
        ),
    )
    return _page_of(result, result.evidence, shown)


def _shorter_search(result: SearchResult, limit: int, length: Length) -> Any:
    brief = _brief(result)
    evidence = [_short_notes(piece) for piece in result.evidence]

    def fits(pieces: Sequence[Evidence]) -> bool:
        return _characters(pieces) <= limit and length(_page_of(brief, result.evidence, pieces)) <= limit

    if not fits(evidence):
        evidence = _condensed(evidence, fits)
    if not fits(evidence):
        whole = evidence
        share = _largest(SHORT_TEXT, limit, lambda cap: fits([_beginning(piece, cap) for piece in whole]))
        evidence = [_beginning(piece, share) for piece in whole]
    if not fits(evidence):
        count = _largest(0, len(evidence), lambda kept: fits(evidence[:kept]))
        evidence = evidence[:count] if count else _one_at_least(evidence[0], limit, fits)
    return _page_of(brief, result.evidence, evidence)


def _condensed(evidence: Sequence[Evidence], fits: Callable[[Sequence[Evidence]], bool]) -> list[Evidence]:
    """As few abstracts as possible without what they can do without, those first that lose most."""
    short = [_without_middle(piece) for piece in evidence]
    saved = sorted(range(len(short)), key=lambda at: len(short[at].content) - len(evidence[at].content))

    def shortened(count: int) -> list[Evidence]:
        chosen = set(saved[:count])
        return [short[at] if at in chosen else piece for at, piece in enumerate(evidence)]

    most = sum(one is not piece for one, piece in zip(short, evidence, strict=True))
    return shortened(most - _largest(0, most, lambda whole: fits(shortened(most - whole))))


def _without_middle(piece: Evidence) -> Evidence:
    if piece.kind not in ("abstract", "registration") or piece.content_truncated:
        return piece
    gaps = dispensable(piece.content)
    content = without(piece.content, gaps, lambda gap: _mark(piece.id, gap, gap.end)) if gaps else piece.content
    if len(content) >= len(piece.content):
        return piece
    return piece.model_copy(update={"content": content, "content_truncated": True})


def _beginning(piece: Evidence, cap: int, start: int = 0) -> Evidence:
    """`piece`, whose content starts at character `start` of the whole, by its first `cap` characters."""
    if len(piece.content) <= cap + LEAST_GAP or piece.content_truncated:
        return piece
    content = cut_at_sentence(piece.content, cap)
    rest = Span(start + len(content), start + len(piece.content))
    return piece.model_copy(update={"content": f"{content} {_mark(piece.id, rest)}", "content_truncated": True})


def _mark(id: str, gap: Span, end: int | None = None) -> str:
    reading = f"{id}@{gap.start}-{'' if end is None else end}"
    return f'[… {gap.length:,} characters left out: get_evidence ids=["{reading}"] …]'


def _one_at_least(piece: Evidence, limit: int, fits: Callable[[Sequence[Evidence]], bool]) -> list[Evidence]:
    """A single piece too long for an answer, by as much of its text as fits; () if nothing does."""
    whole = piece.model_copy(update={"content_truncated": False})
    cap = _largest(0, limit, lambda cap: fits([_beginning(whole, cap)]))
    cut = [_beginning(whole, max(cap, LEAST_CONTENT))]
    return cut if fits(cut) else []


def _shorter_list(result: EvidenceList, limit: int, length: Length) -> Any:
    """As many whole texts as fit; a single one that does not is cut at its end, and read on from there."""
    brief = result.model_copy(update={"missing": tuple(_clip(id, LONGEST_ID) for id in result.missing)})
    evidence = [_short_notes(piece) for piece in result.evidence]

    def fits(pieces: Sequence[Evidence]) -> bool:
        return _characters(pieces) <= limit and length(_list_of(brief, result.evidence, pieces)) <= limit

    count = _largest(0, len(evidence), lambda kept: fits(evidence[:kept]))
    shown = evidence[:count]
    if count < len(evidence) and (not count or len(evidence[count].content) > limit // 2):
        start = result.starts[count] if result.starts else result.offset
        room = min(limit, len(evidence[count].content))
        cap = _largest(
            SHORT_TEXT if count else 0, room, lambda cap: fits([*shown, _beginning(evidence[count], cap, start)])
        )
        cut = _beginning(evidence[count], max(cap, LEAST_CONTENT), start)
        if fits([*shown, cut]):
            shown.append(cut)
    return _list_of(brief, result.evidence, shown)


def _list_of(result: EvidenceList, whole: Sequence[Evidence], shown: Sequence[Evidence]) -> EvidenceList:
    notes = _remarks(whole, shown)
    if left := [piece.id for piece in whole[len(shown) :]]:
        notes.append(f"{len(left)} more do not fit here: get_evidence ids={json.dumps(left)}.")
    return result.model_copy(
        update={
            "evidence": tuple(shown),
            "queries": tuple(query for query in with_numbers_shown(result.queries, shown) if query.shown),
            "next_step": f"{' '.join(notes)} {result.next_step}".strip(),
        }
    )


def _page_of(result: SearchResult, whole: Sequence[Evidence], shown: Sequence[Evidence]) -> SearchResult:
    """`result` with only the pieces `shown`; the next page starts after the last of them."""
    notes, update = _remarks(whole, shown), dict[str, object]()
    if left := [piece.id for piece in whole[len(shown) :]]:
        if result.offsets and shown:
            update = _paged(result, result.offsets[len(shown) - 1])
            notes.append(f"{len(left)} more results do not fit here: continue with offset={update['next_offset']}.")
        else:
            notes.append(
                f"{len(left)} more results are kept in the session but do not fit here: get_evidence "
                f"ids={json.dumps(left)}."
            )
    update |= {
        "evidence": tuple(shown),
        "queries": with_numbers_shown(result.queries, shown),
        "warnings": (*result.warnings, *notes),
    }
    return result.model_copy(update=update)


def _paged(result: SearchResult, offset: int) -> dict[str, object]:
    """What changes when the next page starts earlier, at `offset`."""
    more, before = f"More: offset={offset}.", f"More: offset={result.next_offset}."
    step = result.next_step
    step = step.replace(before, more) if before in step else f"{more} {step}".strip()
    return {"next_offset": offset, "next_step": step}


def _remarks(whole: Sequence[Evidence], shown: Sequence[Evidence]) -> list[str]:
    """What was shortened next to the contents, which are marked where they are cut."""
    pairs = list(zip(shown, whole, strict=False))
    remarks: list[str] = []
    if any(one.similar != piece.similar for one, piece in pairs):
        remarks.append(f"similar is shortened to {MOST_SIMILAR} ids.")
    if any(one.notes != piece.notes for one, piece in pairs):
        remarks.append('Notes are shortened: semantic_search with source="user" finds them whole.')
    return remarks


def _brief(result: SearchResult) -> SearchResult:
    """`result` without the length of what it repeats: queries, what was made of them, remarks."""
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


def _short_notes(piece: Evidence) -> Evidence:
    """`piece` with few that say the same and few notes, cut at a sentence end."""
    notes = tuple(cut_at_sentence(note, LONGEST_NOTE) for note in piece.notes[:MOST_NOTES])
    return piece.model_copy(update={"similar": piece.similar[:MOST_SIMILAR], "notes": notes})


def _clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _few(remarks: Sequence[str]) -> tuple[str, ...]:
    more = (f"And {len(remarks) - MOST_REMARKS} more remarks.",) if len(remarks) > MOST_REMARKS else ()
    return (*(_clip(remark, LONGEST_REMARK) for remark in remarks[:MOST_REMARKS]), *more)


def _fewer_pairs(result: AddResult, limit: int, length: Length) -> Any:
    """An addition that names fewer of the pieces that say nearly the same."""

    def start(count: int) -> AddResult:
        left_out = len(result.similar) - count
        note = f"{left_out:,} more pairs of pieces that say nearly the same are not listed here. " if left_out else ""
        return result.model_copy(update={"similar": result.similar[:count], "next_step": note + result.next_step})

    return start(_largest(0, len(result.similar), lambda count: length(start(count)) <= limit))


def _shorter_page(page: EvidencePage, limit: int, length: Length) -> Any:
    """A page of fewer items, which says where the next one starts."""
    first = (page.next_offset if page.next_offset >= 0 else page.matching or page.total) - len(page.items)

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
