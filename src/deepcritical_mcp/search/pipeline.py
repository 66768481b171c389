"""The search of one source: ask all variants, fuse, page, fetch, keep, report."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from deepcritical_mcp.errors import InvalidInputError, ProviderError
from deepcritical_mcp.models import (
    Evidence,
    ProviderReport,
    Publication,
    QueryReport,
    SearchResult,
    status_label,
    with_numbers_shown,
)
from deepcritical_mcp.progress import Progress, no_progress
from deepcritical_mcp.search.asking import (
    Outcome,
    Ranking,
    ask_source,
    errors_of,
    provider_reports,
    remarks_of,
    unsearched,
)
from deepcritical_mcp.search.gathering import Kept, SearchSession, gather, keep, known_ids
from deepcritical_mcp.sources.base import Hit, SearchRequest, Source

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Page:
    """The part of a ranking that answers a request.

    Attributes:
        ids: to be shown, best first.
        next_offset: where the next page begins, -1 at the end.
        known: how many were passed over because the session has them, by their ids there.
        left_out: remarks on records that the request does not want.
        unwanted: how many these are.
    """

    ids: tuple[str, ...]
    next_offset: int
    known: int
    left_out: tuple[str, ...] = ()
    unwanted: int = 0


class SourceSearch:
    """Searches a source for a question and its variants, and keeps what it finds in the caller's session.

    Args:
        seconds: longest time for a search where no deadline is set around it.
    """

    def __init__(self, source: Source, *, seconds: float = 45.0) -> None:
        self.source = source
        self._seconds = seconds

    async def search(
        self, request: SearchRequest, session: SearchSession, *, progress: Progress = no_progress
    ) -> SearchResult:
        """At most `max_results` records, best first, now kept in the session.

        A variant that fails is named in `queries` and `errors`, as is a record that could not be fetched; the rest
        counts.

        Raises:
            ProviderError: the source could not be searched, or its records not be fetched; then `details` hold the
                count and the ids.
            AllProvidersFailedError: no provider behind the source answered.
        """
        source, variants = self.source, len(request.queries)
        await progress(0.05, f"{source.title}: asking {variants} quer{'y' if variants == 1 else 'ies'}")
        outcomes, ranking = await ask_source(source, request, most_seconds=self._seconds, progress=progress)
        page = await self._page(ranking, request, session)
        result = self._report(request, outcomes, ranking, page, session)
        if not page.ids:
            return await self._empty(request, page, result, session)
        if source.two_step:
            await progress(0.4, f"fetching {len(page.ids)} of {ranking.total:,} records")
        gathered = await gather(source, page.ids, session, records=ranking.records, count=ranking.total)
        found = [_found(gathered.records[id], ranking.found_by[id]) for id in page.ids if id in gathered.records]
        chosen, known, left_out = await self._chosen(found, request, session)
        await progress(0.7, f"keeping {_count(len(chosen))} in the session")
        kept = await keep(source, chosen, request.queries[0], session, unrelated=page.ids, records=gathered.records)
        await progress(1.0, f"{_count(len(kept.evidence))} found")
        numbers = {query: number for number, query in enumerate(request.queries, start=1)}
        by = {hit.id: [numbers[one] for one in hit.publication.found_by] for hit in chosen}
        shown = _numbered(kept, chosen, by)
        places = {gathered.records[id].id: place for place, id in enumerate(ranking.ids) if id in gathered.records}
        return result.model_copy(
            update={
                "evidence": shown,
                "queries": with_numbers_shown(result.queries, shown),
                "already_known": result.already_known + known,
                "left_out": result.left_out + len(found) - len(chosen) - known,
                "ordered_by": self._order(request),
                "offsets": self._offsets(request, kept, chosen, places),
                "errors": (*result.errors, *gathered.errors, *kept.errors),
                "warnings": _unique(result.warnings, left_out, _reach(page, ranking, request), session.warnings),
                "duplicates_removed": result.duplicates_removed + known + kept.merged,
                "related": kept.related,
            }
        )

    async def related(
        self, id: str, kind: str, max_results: int, session: SearchSession, *, progress: Progress = no_progress
    ) -> SearchResult:
        """Records that the source links to `id`, now kept in the session; their relevance is that to its title.

        Args:
            kind: one of `source.links`.

        Raises:
            InvalidInputError: there is no such record.
            ProviderError: the links or their records could not be fetched.
        """
        source, most = self.source, self.source.request.MOST_RESULTS
        id = source.known_id(id)
        if not 1 <= max_results <= most:
            raise InvalidInputError(f"max_results: 1 to {most}, got {max_results}.")
        query = f"{source.links[kind]} {source.id_name} {id}"
        await progress(0.05, f"asking {source.title} for {query}")
        try:
            linked = await source.related(id, kind)
        except ProviderError as error:
            raise unsearched(source, error) from error
        wanted = tuple(linked[:max_results])
        await progress(0.4, f"fetching {len(wanted)} of {len(linked):,} records")
        gathered = await gather(source, wanted, session, records={}, count=len(linked), besides=[id])
        if id not in gathered.records:
            raise InvalidInputError(
                f"{source.title} has no record with {source.id_name} {id}: check the number, or search by title."
            )
        seed = gathered.records[id].publication
        found = [_found(gathered.records[one], (query,)) for one in wanted if one in gathered.records]
        await progress(0.7, f"keeping {_count(len(found))} in the session")
        kept = await keep(source, found, seed.title, session, unrelated=[id], records=gathered.records)
        await progress(1.0, f"{_count(len(kept.evidence))} found")
        return SearchResult(
            session_id=session.session_id,
            query=query,
            evidence=tuple(piece.model_copy(update={"found_by": (1,)}) for piece in kept.evidence),
            queries=(QueryReport(query=query, status="ok", results=len(linked), shown=len(kept.evidence)),),
            sources_searched=(source.cited_as,),
            total_found=len(linked),
            errors=(*gathered.errors, *kept.errors),
            warnings=_unique(self._about(seed, id, query, len(linked), max_results), session.warnings),
            duplicates_removed=kept.merged,
            ordered_by=f"{source.title}'s order of {query}",
            related=kept.related,
            providers=(ProviderReport(name=source.name, status="ok", results=len(linked)),),
        )

    async def _page(self, ranking: Ranking, request: SearchRequest, session: SearchSession) -> Page:
        """The first `max_results` wanted records of a ranking; with `only_new`, of those that the session lacks."""
        delivered = {id: ranking.records[id] for id in ranking.ids if id in ranking.records}
        wanted, left_out = request.leave_out(list(delivered.values()))
        good = {item.id for item in wanted}
        ids = [id for id in ranking.ids if id not in delivered or delivered[id].id in good]
        known = await known_ids(self.source, ids, ranking.records, session) if request.only_new else {}
        chosen: list[str] = []
        looked_at = 0
        while looked_at < len(ids) and len(chosen) < request.max_results:
            if ids[looked_at] not in known:
                chosen.append(ids[looked_at])
            looked_at += 1
        passed = looked_at - len(chosen)
        following = request.offset + (ranking.ids.index(ids[looked_at - 1]) + 1 if looked_at else len(ranking.ids))
        ends = (ranking.ends and looked_at == len(ids)) or following >= request.LAST_RESULT
        if self.source.scored:
            chosen.sort(key=lambda id: -ranking.records[id].score)
        next_offset = -1 if ends or not self.source.block or not ranking.ids else following
        return Page(tuple(chosen), next_offset, passed, left_out, len(delivered) - len(wanted))

    def _report(
        self,
        request: SearchRequest,
        outcomes: Sequence[Outcome],
        ranking: Ranking,
        page: Page,
        session: SearchSession,
    ) -> SearchResult:
        """What is known of a search before its records are fetched."""
        answers = [outcome.answer for outcome in outcomes if outcome.answer]
        return SearchResult(
            session_id=session.session_id,
            query=request.queries[0],
            sources_searched=(self.source.cited_as,),
            total_found=ranking.total,
            queries=tuple(
                outcome.report.model_copy(update={"index": index}) for index, outcome in enumerate(outcomes, start=1)
            ),
            errors=_unique(errors_of(outcomes)),
            warnings=_unique(remarks_of(outcomes), page.left_out),
            duplicates_removed=page.known + ranking.duplicates,
            already_known=page.known,
            left_out=page.unwanted,
            providers=provider_reports(self.source, outcomes, ranking.total),
            query_translation=outcomes[0].answer.translation if outcomes[0].answer else "",
            next_offset=page.next_offset,
            from_cache=any(answer.from_cache for answer in answers),
        )

    async def _empty(
        self, request: SearchRequest, page: Page, result: SearchResult, session: SearchSession
    ) -> SearchResult:
        """The result of a search without a record to show, with the reason why."""
        warnings: list[str] = []
        if not result.total_found and (spelling := await self._spelling(request.queries[0])):
            warnings.append(f'Nothing found. Did you mean "{spelling}"?')
        elif page.known:
            more = f"Continue with offset={page.next_offset}, or pass" if page.next_offset >= 0 else "Pass"
            warnings.append(
                f"This session already has all {_count(page.known)} that were looked at. {more} only_new=false to see "
                "them again."
            )
        elif result.total_found and request.offset >= result.total_found:
            warnings.append(f"There are {result.total_found:,} results; offset {request.offset:,} is beyond the last.")
        return result.model_copy(update={"warnings": _unique(result.warnings, warnings, session.warnings)})

    def _order(self, request: SearchRequest) -> str:
        """What the results are ordered by; "" if it is their relevance."""
        if self.source.scored:
            return ""
        order = getattr(request, "sort", "relevance")
        ranked = "newest first" if order == "date" else "best match"
        return f"{self.source.title}'s order ({ranked})" + (
            ", the rankings of all queries fused" if len(request.queries) > 1 else ""
        )

    def _offsets(
        self, request: SearchRequest, kept: Kept, chosen: Sequence[Hit], places: Mapping[str, int]
    ) -> tuple[int, ...]:
        """See `SearchResult.offsets`. With `only_new` the next page leaves out what this one has kept, so that it must
        not start earlier."""
        if not self.source.block or self.source.scored or request.only_new:
            return ()
        first: dict[str, int] = {}
        for id, hit in zip(kept.ids, chosen, strict=False):
            first.setdefault(id, request.offset + places[hit.id] + 1)
        return tuple(first[piece.id] for piece in kept.evidence)

    async def _spelling(self, query: str) -> str:
        """Another spelling of `query`; "" when there is none, or when the source does not answer."""
        try:
            spelling = await self.source.spelling(query)
        except ProviderError as error:
            logger.info("no spelling suggestion: %s", error.code)
            return ""
        return "" if spelling.casefold() == query.casefold() else spelling

    async def _chosen(
        self, found: Sequence[Hit], request: SearchRequest, session: SearchSession
    ) -> tuple[list[Hit], int, tuple[str, ...]]:
        """What of the fetched records the request wants, how many of them the session knew after all, and remarks."""
        chosen, left_out = request.leave_out(found)
        if not request.only_new:
            return chosen, 0, left_out
        known = await session.known([hit.publication for hit in chosen])
        new = [item for item, id in zip(chosen, known, strict=True) if not id]
        return new, len(chosen) - len(new), left_out

    def _about(self, seed: Publication, id: str, query: str, count: int, shown: int) -> Iterator[str]:
        """What must be known about a record whose neighbours are shown."""
        if seed.status != "ok":
            yield f"{self.source.id_name} {id} itself is marked {status_label(seed.status)}."
        if not count:
            yield f"{self.source.title} lists no {query}."
        elif count > shown:
            yield f"These are {shown} of {count:,}."


def _numbered(kept: Kept, chosen: Sequence[Hit], found_by: Mapping[str, Sequence[int]]) -> tuple[Evidence, ...]:
    """The kept evidence, each piece with the numbers of the queries that found it."""
    numbers: dict[str, set[int]] = {}
    for id, hit in zip(kept.ids, chosen, strict=False):
        numbers.setdefault(id, set()).update(found_by.get(hit.id, ()))
    return tuple(
        piece.model_copy(update={"found_by": tuple(sorted(numbers.get(piece.id, ())))}) for piece in kept.evidence
    )


def _found(hit: Hit, queries: tuple[str, ...]) -> Hit:
    return hit.model_copy(update={"publication": hit.publication.model_copy(update={"found_by": queries})})


def _reach(page: Page, ranking: Ranking, request: SearchRequest) -> Iterator[str]:
    """A remark on results that cannot be paged to."""
    last = request.LAST_RESULT
    left = last - page.next_offset
    if page.next_offset < 0 and ranking.total > last <= request.offset + len(page.ids) + page.known:
        yield f"These are the last results that can be shown of {ranking.total:,}. {request.NARROWING}"
    elif page.next_offset >= 0 and left < request.max_results and ranking.total > last:
        yield f"Only {left} more results can be shown: continue with max_results={left}. {request.NARROWING}"


def _count(results: int) -> str:
    return "1 result" if results == 1 else f"{results:,} results"


def _unique(*texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for some in texts for text in some))
