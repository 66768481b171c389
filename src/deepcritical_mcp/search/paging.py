"""Which results of a ranking are on the page that a request asks for, and where the next page begins."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deepcritical_mcp.search.search_steps import Ranking, known_ids
from deepcritical_mcp.sources.base import SearchRequest, Source
from deepcritical_mcp.text import counted

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.store import EvidenceStore


@dataclass(frozen=True)
class Page:
    """The part of a ranking that answers a request: `ids` to show, best first, and where the next page begins (or -1).

    `known` are the ids of results that are in the session already, `unwanted` ones do not match the request; `left_out`
    says which. `examined` results of the ranking were looked at.
    """

    ids: tuple[str, ...]
    next_offset: int
    known: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    unwanted: int = 0
    examined: int = 0


async def page_of(source: Source, ranking: Ranking, request: SearchRequest, session: EvidenceStore) -> Page:
    """The first `max_results` matching records of a ranking; with `only_new`, only those new to the session."""
    matching = _without_excluded(ranking, request)
    known = await known_ids(source, matching, ranking.records, session) if request.only_new else {}
    on_page = _until_enough_are_new(matching, known, request.max_results)
    chosen = [id for id in on_page if id not in known]
    if source.scored:
        chosen.sort(key=lambda id: -ranking.scores.get(id, 0.0))
    is_last = ranking.ends and len(on_page) == len(matching)
    # Excluded results that follow the last one shown are counted on the next page, if there is one.
    follow = source.block and on_page and not is_last
    examined = ranking.ids.index(on_page[-1]) + 1 if follow else len(ranking.ids)
    records = [ranking.records[id] for id in ranking.ids[:examined] if id in ranking.records]
    wanted, left_out = request.leave_out(records, ranking.scores)
    unwanted = len(records) - len(wanted)
    beyond = len(matching) - len(on_page)
    if beyond and not source.block:
        unwanted += beyond
        left_out += (f"{counted(beyond, 'result')} beyond max_results {request.max_results} omitted.",)
    next_offset = -1 if is_last else _next_offset(source, ranking, request, examined)
    held = tuple(known[id] for id in on_page if id in known)
    return Page(tuple(chosen), next_offset, held, left_out, unwanted, examined)


def _without_excluded(ranking: Ranking, request: SearchRequest) -> list[str]:
    """The ids of a ranking without those that the request excludes, as far as their records came with the ranking."""
    records = {id: ranking.records[id] for id in ranking.ids if id in ranking.records}
    wanted = {one.id for one in request.leave_out(list(records.values()), ranking.scores)[0]}
    return [id for id in ranking.ids if id not in records or records[id].id in wanted]


def _until_enough_are_new(ids: Sequence[str], known: Collection[str], count: int) -> Sequence[str]:
    """`ids` up to the one with which `count` are not `known`, or all. What follows is left for the next page, even if
    the session knows it."""
    places_of_new = [place for place, id in enumerate(ids) if id not in known]
    return ids[: places_of_new[count - 1] + 1] if len(places_of_new) >= count else ids


def _next_offset(source: Source, ranking: Ranking, request: SearchRequest, examined: int) -> int:
    """Where the next page begins if results follow this one; -1 if the source cannot give them."""
    following = request.offset + examined
    return following if source.block and ranking.ids and following < request.LAST_RESULT else -1


def remarks_on_reach(page: Page, ranking: Ranking, request: SearchRequest) -> Iterator[str]:
    """A remark on results that paging cannot reach."""
    last = request.LAST_RESULT
    left = last - page.next_offset
    if page.next_offset < 0 and ranking.total > last <= request.offset + len(page.ids) + len(page.known):
        yield f"These are the last results that can be shown of {ranking.total:,}. {request.NARROWING}"
    elif page.next_offset >= 0 and left < request.max_results and ranking.total > last:
        yield f"Only {left} more results can be shown: continue with max_results={left}. {request.NARROWING}"
