"""Which part of a ranking answers a request, and what lies beyond it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from deepcritical_mcp.search.literature_ranking import Window
from deepcritical_mcp.search.literature_records import Session, known_pmids
from deepcritical_mcp.search.literature_request import SLICING, LiteratureRequest
from deepcritical_mcp.sources.pubmed.eutils import LAST_RESULT

LOOKED_THROUGH = 200
"""So many results are looked through for `max_results` new ones, beyond those."""


@dataclass(frozen=True)
class Page:
    """The part of a ranking that answers a request.

    Attributes:
        pmids: to be shown, best first.
        next_offset: where the next page begins, -1 at the end.
        known: how many were passed over because the session has them.
    """

    pmids: tuple[str, ...]
    next_offset: int
    known: int = 0


def size_of(request: LiteratureRequest) -> int:
    """How many results are looked at from the request's offset on."""
    wanted = request.max_results + (LOOKED_THROUGH if request.only_new else 0)
    return min(wanted, LAST_RESULT - request.offset)


async def page_of(window: Window, request: LiteratureRequest, store: Session) -> Page:
    """The first `max_results` of a window; with `only_new`, of those that the session does not know."""
    known = await known_pmids(window.pmids, store) if request.only_new else {}
    chosen: list[str] = []
    looked_at = 0
    while looked_at < len(window.pmids) and len(chosen) < request.max_results:
        pmid = window.pmids[looked_at]
        looked_at += 1
        if pmid not in known:
            chosen.append(pmid)
    following = request.offset + looked_at
    ends = (window.ends and looked_at == len(window.pmids)) or following >= LAST_RESULT
    return Page(tuple(chosen), -1 if ends or not window.pmids else following, looked_at - len(chosen))


def reach(page: Page, window: Window, request: LiteratureRequest) -> Iterator[str]:
    """A word on results that cannot be paged to."""
    left = LAST_RESULT - page.next_offset
    if (
        page.next_offset < 0
        and window.total > LAST_RESULT
        and request.offset + len(page.pmids) + page.known >= LAST_RESULT
    ):
        yield f"These are the last results that can be shown of {window.total:,}. {SLICING}"
    elif page.next_offset >= 0 and left < request.max_results and window.total > LAST_RESULT:
        yield f"Only {left} more results can be shown: go on with max_results={left}. {SLICING}"
