"""The search of PubMed: from a checked question to evidence that the session keeps."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import anyio
import structlog

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import InvalidInputError, ProviderError, ProviderTimeoutError
from deepcritical_mcp.models import Citation, Evidence, ProviderReport, PublicationStatus, SearchResult
from deepcritical_mcp.net.client import seconds_left
from deepcritical_mcp.progress import Progress, no_progress
from deepcritical_mcp.search.literature_paging import Page, page_of, reach, size_of
from deepcritical_mcp.search.literature_ranking import Asked, Window, depth_for, window_of_all, window_of_one
from deepcritical_mcp.search.literature_records import Session, advised, gather, keep
from deepcritical_mcp.search.literature_request import (
    MOST_RESULTS,
    LiteratureRequest,
    Question,
    question_of,
)
from deepcritical_mcp.search.literature_result import bare_result
from deepcritical_mcp.sources.pubmed.source import LinkKind, PubMedTool
from deepcritical_mcp.text import clean_line

__all__ = ["LiteratureRequest", "LiteratureSearch"]

logger = structlog.stdlib.get_logger(__name__)

SHARE_FOR_VARIANTS = 0.5
"""Of the time left: a variant that has no answer by then is given up, so that the records can still be fetched."""

_LINKS: dict[LinkKind, str] = {
    "similar": "articles similar to PMID {}",
    "cited_by": "articles that cite PMID {}",
    "references": "references of PMID {}",
}
_STATUS: dict[PublicationStatus, str] = {
    "retracted": "RETRACTED",
    "concern": "with an EXPRESSION OF CONCERN",
    "corrected": "as corrected (ERRATUM)",
}


class LiteratureSearch:
    """Searches PubMed for a question and its variants, and keeps what it finds in the caller's session."""

    def __init__(self, pubmed: PubMedTool, settings: Settings) -> None:
        self._pubmed = pubmed
        self._seconds = settings.deadline

    async def search(
        self, request: LiteratureRequest, store: Session, *, progress: Progress = no_progress
    ) -> SearchResult:
        """At most `max_results` records in PubMed's order, now kept in the session.

        A variant that fails is named in `queries` and `errors`, as is a record that cannot be had; the rest counts.

        Raises:
            InvalidInputError: an argument cannot be right.
            ProviderError: PubMed could not be searched, or its records not be fetched; then `details` hold the count
                and the PMIDs.
        """
        question = question_of(request)
        wordings = len(question.wordings)
        await progress(0.05, "searching PubMed" + (f" for {wordings} wordings" if wordings > 1 else ""))
        asked, window = await self._rank(question, request)
        page = await page_of(window, request, store)
        result = bare_result(question, asked, window, page, store.session_id)
        if not page.pmids:
            return await self._empty(question, request, page, result)
        await progress(0.4, f"fetching {len(page.pmids)} of {window.total:,} records")
        gathered = await gather(page.pmids, store, self._pubmed, count=window.total)
        by = _found_by(asked)
        had = [pmid for pmid in page.pmids if pmid in gathered.records]
        found = [gathered.records[pmid].model_copy(update={"found_by": by[pmid]}) for pmid in had]
        chosen, known, left_out = await _chosen(found, request, store)
        await progress(0.7, f"keeping {len(chosen)} records in the session")
        kept = await keep(chosen, question.wordings[0], store, unrelated=page.pmids)
        await progress(1.0, f"{len(kept.evidence)} records found")
        return result.model_copy(
            update={
                "evidence": kept.evidence,
                "errors": (*result.errors, *gathered.errors, *kept.errors),
                "warnings": _unique(result.warnings, left_out, reach(page, window, request), store.warnings),
                "duplicates_removed": page.known + known + kept.merged,
                "related": kept.related,
            }
        )

    async def related(
        self, pmid: str, kind: LinkKind, max_results: int, store: Session, *, progress: Progress = no_progress
    ) -> SearchResult:
        """Records that PubMed links to `pmid`, now kept in the session; their relevance is that to `pmid`'s title.

        Similar articles come closest first, citing ones newest first.

        Raises:
            InvalidInputError: there is no such PMID.
            ProviderError: the links or their records could not be had.
        """
        pmid = _checked_pmid(pmid)
        if not 1 <= max_results <= MOST_RESULTS:
            raise InvalidInputError(f"max_results: 1 to {MOST_RESULTS}, got {max_results}.")
        query = _LINKS[kind].format(pmid)
        await progress(0.05, f"asking PubMed for {query}")
        try:
            linked = await self._pubmed.linked(pmid, kind)
        except ProviderError as error:
            raise _unsearched(error) from error
        await progress(0.4, f"fetching {min(len(linked), max_results)} of {len(linked):,} records")
        wanted = tuple(linked[:max_results])
        gathered = await gather(wanted, store, self._pubmed, count=len(linked), beside=[pmid])
        if pmid not in gathered.records:
            raise InvalidInputError(f"PubMed has no record with PMID {pmid}: check the number, or search by title.")
        seed = gathered.records[pmid].citation
        found = [gathered.records[one] for one in wanted if one in gathered.records]
        await progress(0.7, f"keeping {len(found)} records in the session")
        found = [piece.model_copy(update={"found_by": (query,)}) for piece in found]
        kept = await keep(found, seed.title, store, unrelated=[pmid])
        await progress(1.0, f"{len(kept.evidence)} records found")
        return SearchResult(
            session_id=store.session_id,
            query=query,
            evidence=kept.evidence,
            sources_searched=("pubmed",),
            total_found=len(linked),
            errors=(*gathered.errors, *kept.errors),
            warnings=_unique(_words_on(seed, kind, len(linked), max_results), store.warnings),
            duplicates_removed=kept.merged,
            related=kept.related,
            providers=(ProviderReport(name=self._pubmed.name, status="ok", results=len(linked)),),
        )

    async def _rank(self, question: Question, request: LiteratureRequest) -> tuple[list[Asked], Window]:
        """What PubMed answered to each wording, and the part of the ranking that the request looks at."""
        size = size_of(request)
        if len(question.wordings) == 1:
            asked = await self._ask(question, request, request.offset, size)
            window = window_of_one(asked[0], request.offset)
        else:
            depth = depth_for(request.offset + size)
            asked = await self._ask(question, request, 0, depth)
            window = window_of_all(asked, request.offset, size, depth)
        if asked[0].error and not window.total:  # an outage must not look like "nothing found"
            raise _unsearched(asked[0].error) from asked[0].error
        return asked, window

    async def _ask(self, question: Question, request: LiteratureRequest, start: int, size: int) -> list[Asked]:
        """Every wording side by side, each with an answer or an error."""
        asked = [Asked(wording, is_direct=not index) for index, wording in enumerate(question.wordings)]

        async def ask(index: int) -> None:
            try:
                answer = await self._pubmed.find(
                    question.term(asked[index].query),
                    offset=start,
                    max_results=size,
                    sort=request.sort,
                    min_date=question.min_date,
                    max_date=question.max_date,
                )
                asked[index] = replace(asked[index], answer=answer)
            except ProviderError as error:
                asked[index] = replace(asked[index], error=error)

        patience = math.inf if len(asked) == 1 else SHARE_FOR_VARIANTS * min(seconds_left(), self._seconds)
        with anyio.move_on_after(patience):
            async with anyio.create_task_group() as tasks:
                for index in range(len(asked)):
                    tasks.start_soon(ask, index)
        late = ProviderTimeoutError(self._pubmed.name, "PubMed did not answer in time. Try again with fewer variants.")
        return [one if one.answer or one.error else replace(one, error=late) for one in asked]

    async def _empty(
        self, question: Question, request: LiteratureRequest, page: Page, result: SearchResult
    ) -> SearchResult:
        """The result of a search without a record to show, with the reason why."""
        warnings: list[str] = []
        if not result.total_found and (spelling := await self._spelling(question.wordings[0])):
            warnings.append(f'Nothing found. Did you mean "{spelling}"?')
        elif page.known:
            further = f" Go on with offset={page.next_offset}." if page.next_offset >= 0 else ""
            warnings.append(f"This session has all {page.known} results that were looked at already.{further}")
        elif result.total_found:
            warnings.append(f"There are {result.total_found:,} results; offset {request.offset:,} is beyond the last.")
        return result.model_copy(update={"warnings": _unique(result.warnings, warnings)})

    async def _spelling(self, query: str) -> str:
        """Another spelling of `query`; "" when there is none, or when nobody says."""
        try:
            spelling = await self._pubmed.spelling(query)
        except ProviderError as error:
            logger.info("no spelling suggestion", code=error.code)
            return ""
        return "" if spelling.casefold() == query.casefold() else spelling


def _checked_pmid(text: str) -> str:
    pmid = text.strip().lower().removeprefix("pubmed:").removeprefix("pmid:").strip()
    if not re.fullmatch(r"0*[1-9]\d{0,8}", pmid):
        raise InvalidInputError(f'pmid "{clean_line(text)[:40]}" is none: it is a number such as 31978945.')
    return pmid.lstrip("0")


def _words_on(seed: Citation, kind: LinkKind, count: int, shown: int) -> Iterator[str]:
    """What must be known about a paper whose neighbours are shown."""
    if seed.status != "ok":
        yield f"PMID {seed.pmid} itself is marked {_STATUS[seed.status]}."
    if not count:
        yield f"PubMed lists no {_LINKS[kind].format(seed.pmid)}."
    elif count > shown:
        yield f"These are {shown} of {count:,}."


def _unsearched(error: ProviderError) -> ProviderError:
    message = f"PubMed could not be searched: {advised(error)}"
    return type(error)(error.provider, message, retry_after=error.retry_after, details=error.details)


async def _chosen(
    found: Sequence[Evidence], request: LiteratureRequest, store: Session
) -> tuple[list[Evidence], int, list[str]]:
    """What of `found` the request wants, how much of it the session knew otherwise, and a word on what is left out."""
    chosen, known, warnings = list(found), 0, list[str]()
    if not request.include_retracted:
        retracted = [piece.citation.pmid for piece in found if piece.citation.status == "retracted"]
        chosen = [piece for piece in found if piece.citation.status != "retracted"]
        if retracted:
            papers = "1 retracted paper was" if len(retracted) == 1 else f"{len(retracted)} retracted papers were"
            warnings.append(f"{papers} left out of this page: PMID {', '.join(retracted)}.")
    if request.only_new:
        new = [piece for piece, id in zip(chosen, await store.known(chosen), strict=True) if not id]
        chosen, known = new, len(chosen) - len(new)
    return chosen, known, warnings


def _found_by(asked: Sequence[Asked]) -> dict[str, tuple[str, ...]]:
    """The wordings that found each PMID."""
    found: dict[str, tuple[str, ...]] = {}
    for one in asked:
        for pmid in one.ids:
            found[pmid] = (*found.get(pmid, ()), one.query)
    return found


def _unique(*texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for some in texts for text in some))
