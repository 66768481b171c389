"""The search of one source (ask all variants, fuse, page, fetch, keep, report), and that of several at once."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

from deepcritical_mcp.config import variable_name
from deepcritical_mcp.deadline import TO_KEEP_RESULTS, Progress, for_each, no_progress, seconds_before
from deepcritical_mcp.errors import (
    AllProvidersFailedError,
    ConfigurationError,
    DeepCriticalError,
    EvidenceStoreError,
    ProviderError,
    SessionBusyError,
    SessionFullError,
)
from deepcritical_mcp.evidence.comparisons import copies
from deepcritical_mcp.models import (
    Evidence,
    ProviderReport,
    Publication,
    QueryReport,
    RelatedEvidence,
    SearchResult,
    with_numbers_shown,
)
from deepcritical_mcp.search.citing import with_counts
from deepcritical_mcp.search.documents import Round
from deepcritical_mcp.search.linking import LinkIndexes
from deepcritical_mcp.search.paging import Page, page_of, remarks_on_reach
from deepcritical_mcp.search.search_steps import (
    NOTHING_FOUND,
    Kept,
    Outcome,
    Ranking,
    Recording,
    ask_source,
    fuse,
    gather,
    new_entry,
    provider_reports,
)
from deepcritical_mcp.search.snowballing import follow
from deepcritical_mcp.search.witness import Witness
from deepcritical_mcp.sources.base import SearchRequest, Source
from deepcritical_mcp.sources.lookup import CitationCounter
from deepcritical_mcp.text import counted

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.store import EvidenceStore

Records = Sequence[Publication]
logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class SourceSearch:
    """Searches a source for a query and its variants, and keeps the results in the caller's session.

    A search takes at most `seconds` where no deadline is set around it. `links` are asked for the papers
    that are linked to others, and `counter` how often those have been cited; with `counts`, also those of every search.
    """

    source: Source
    seconds: float = 45.0
    witness: Witness = field(default_factory=Witness)
    links: LinkIndexes = field(default_factory=LinkIndexes)
    counter: CitationCounter | None = None
    counts: bool = False

    async def search(
        self, request: SearchRequest, session: EvidenceStore, *, tool: str = "", progress: Progress = no_progress
    ) -> SearchResult:
        """At most `max_results` records, best first, kept in the session; the search is in its log, however it ends.

        `queries` and `errors` name variants that failed and records that could not be fetched. `tool` is what was
        called, if not the tool of the source.

        Raises:
            ProviderError: the source could not be searched, or no record could be fetched; then `details`
                contain the count and the ids.
            AllProvidersFailedError: no provider behind the source answered.
        """
        source = self.source
        entry = new_entry(
            tool or source.tool,
            [(query, source.sent(query, request)) for query in request.queries],
            source=source.name,
            title=f"{source.title} (preprints)" if source.kind == "preprints" else source.title,
            filters=tuple(request.limits()),
            first=request.offset + 1,
            request=request.model_dump_json(exclude_defaults=True),
        )
        async with Recording(entry, session, progress) as recording:
            result = await self._search(request, session, recording)
        return recording.with_problem(result)

    async def follow(self, asked: Round, session: EvidenceStore, *, progress: Progress = no_progress) -> SearchResult:
        """The papers linked to some papers: see `snowballing.follow`."""
        return await follow(self, asked, session, progress=progress)

    async def _search(self, request: SearchRequest, session: EvidenceStore, recording: Recording) -> SearchResult:
        source, queries, progress = self.source, request.queries, recording.progress
        await progress(0.05, f"{source.title}: asking {counted(len(queries), 'query', 'queries')}")
        outcomes, ranking = await ask_source(source, request, max_seconds=self.seconds, progress=progress)
        recording.answered(outcomes)
        page = await page_of(source, ranking, request, session)
        result = self._report(outcomes, ranking, page, session.session_id)
        recording.note(examined=page.examined)
        recording.ended(result, new=0, known=page.known)
        if not page.ids:
            why = filter(None, [await self._why_empty(request, page, result.total_found)])
            return result.but(warnings=_unique(result.warnings, why, session.warnings()))
        if source.two_step:
            await progress(0.4, f"fetching {len(page.ids)} of {ranking.total:,} records")
        records, missing = await gather(source, ranking, page.ids, session)
        found = [records[id].but(found_by=ranking.found_by[id]) for id in page.ids if id in records]
        contested: tuple[str, ...] = ()
        if source.needs_status_check:
            found, contested, _ = await self.witness.completed(found)
        chosen, left_out = request.leave_out(found, ranking.scores)
        unwanted = len(found) - len(chosen)
        held = list[str]()
        if request.only_new:
            held = await session.known(chosen)
            chosen = [one for one, id in zip(chosen, held, strict=True) if not id]
        known = len(found) - unwanted - len(chosen)
        unrelated = [records[id] if id in records else source.stub(id) for id in page.ids]
        kept = await self.keep(chosen, queries[0], ranking, session, recording, unrelated)
        reach = remarks_on_reach(page, ranking, request)
        places, offsets = {records[id].id: place for place, id in enumerate(ranking.ids, 1) if id in records}, ()
        # With `only_new` the next page leaves out what this one has kept, so that it must not start earlier.
        if source.block and not source.scored and not request.only_new:
            of_kept = [chosen[kept.ids.index(item.id)].id for item in kept.evidence]
            offsets = tuple(request.offset + places[id] for id in of_kept)
        fused = ", the rankings of all queries fused" if len(queries) > 1 else ""
        order = f"{source.title} order ({request.order}){fused}"
        if source.scored:
            order = "" if all(one.id in ranking.scores for one in chosen) else "the provider's ranking"
        result = result.but(
            evidence=kept.evidence,
            providers=(*result.providers, *kept.counters),
            queries=with_numbers_shown(result.queries, kept.evidence),
            already_known=result.already_known + known,
            left_out=result.left_out + unwanted,
            ordered_by=order,
            offsets=offsets,
            errors=(*result.errors, *missing, *kept.errors),
            warnings=_unique(result.warnings, contested, left_out, kept.problems, reach, session.warnings()),
            duplicates_removed=result.duplicates_removed + known + len(kept.ids) - len(kept.evidence),
            related=kept.related,
        )
        recording.ended(result, new=kept.new, known=[*page.known, *filter(None, held)])
        return result

    async def keep(
        self, found: Records, query: str, ranking: Ranking, session: EvidenceStore, call: Recording, omitted: Records
    ) -> Kept:
        """Publications kept in the session, in their order, and scored against `query` (those of a source that is
        scored have the source's scores, or none). The log has what was kept, besides what it has already.

        If the session cannot keep the publications, they are returned anyway, with an error. The `found_by` of the
        evidence refers to the positions of the ranking's queries. What was `omitted` on purpose must
        not appear as related evidence.
        """
        await call.progress(0.7, f"keeping {counted(len(found), 'result')} in the session")
        given, errors = [ranking.scores.get(one.id, 0.0) for one in found], list[str]()
        items = [Evidence.of(one, relevance=score) for one, score in zip(found, given, strict=True)]
        related, new = tuple[RelatedEvidence, ...](), 0
        try:
            outcomes = await session.add_evidence(found)
            new = sum(outcome.status == "added" for outcome in outcomes)
            if not self.source.scored:
                given = await session.relevance(query, [outcome.publication for outcome in outcomes])
            items = list[Evidence]()
            for outcome, score in zip(outcomes, given, strict=True):
                similar = dict.fromkeys((*outcome.evidence.similar, *(id for id, _ in outcome.folds)))
                items.append(outcome.evidence.but(similar=tuple(similar), relevance=score))
            others = await session.known(omitted)
            related = await session.related(query, exclude={*(item.id for item in items), *filter(None, others)})
        except (SessionFullError, SessionBusyError, EvidenceStoreError) as error:
            errors.append(f"The results were found, but not all could be kept: {error.message}")
        by_id: dict[str, Evidence] = {}
        for item, publication in zip(items, found, strict=True):
            same = by_id.get(item.id, item.but(found_by=()))
            numbers = {*same.found_by, *(ranking.queries.index(one) + 1 for one in publication.found_by)}
            by_id[item.id] = same.but(found_by=tuple(sorted(numbers)))
        kept = Kept(tuple(by_id.values()), tuple(item.id for item in items), new, related, tuple(errors))
        call.note(ids=tuple(dict.fromkeys((*kept.ids, *call.entry.ids))), new=kept.new)
        if self.counter and (self.counts or call.entry.kind == "citations"):
            kept = await with_counts(self.counter, kept, seconds=self.seconds)
        await call.progress(1.0, f"{counted(len(kept.evidence), 'result')} found")
        return kept

    async def verified(
        self, claims: Sequence[tuple[str, Publication]], session: EvidenceStore
    ) -> list[tuple[Publication, str]]:
        """For each id with what a user says is its record: the source's record if it has the same text, else what the
        user said, and why it is not the record. Costs at most one request, and none for records in the session."""
        outage, found = f"{self.source.title} did not answer in time", dict[str, Publication]()
        also = [id for id, _ in claims if id]
        with anyio.move_on_after(seconds_before(TO_KEEP_RESULTS, cap=self.seconds)):
            try:
                found, _ = await gather(self.source, NOTHING_FOUND, (), session, also=also)
                outage = ""
            except ProviderError as error:
                outage = f"{self.source.title} could not be asked"
                logger.info("claims not checked: %s", error)
        verified: list[tuple[Publication, str]] = []
        for id, claim in claims:
            record, problem = found.get(id), ""
            texts = (record.text.content, f"{record.title} {record.text.content}") if record else ()
            if not id:
                problem = f"it has no {self.source.id_name}"
            elif record is None:
                problem = outage or f"{self.source.title} has no record of {self.source.named(id)}"
            elif not any(copies(claim.text.content, text) == "same" for text in texts):
                problem = f"the {self.source.title} record of {self.source.named(id)} has another text"
            verified.append((claim if problem or not record else record, problem))
        return verified

    def _report(self, outcomes: Sequence[Outcome], ranking: Ranking, page: Page, session_id: str) -> SearchResult:
        """The result so far, before records are fetched; failed variants and, if nothing was found, failed providers
        are its errors. Remarks on a variant are told where they differ from those on the query."""
        errors = [f'"{one.query}": {one.error.message}' for one in outcomes if one.error]
        if not any(one.answer.ids for one in outcomes):
            reports = (report for one in outcomes for report in one.answer.reports)
            errors += (report.detail for report in reports if report.status == "failed")
        queries: list[QueryReport] = []
        for index, one in enumerate(outcomes, start=1):
            # All that the source has, or what a provider behind it sent.
            results = 0 if one.error else len(one.answer.ids) if one.answer.reports else one.answer.total
            status, detail = ("failed", one.error.message) if one.error else ("ok", one.answer.detail)
            queries.append(QueryReport(index=index, query=one.query, status=status, results=results, detail=detail))
        first = outcomes[0].answer
        others = ((one.query, remark) for one in outcomes[1:] for remark in one.answer.remarks)
        remarks = (f'Variant "{query}": {remark}' for query, remark in others if remark not in first.remarks)
        return SearchResult(
            session_id=session_id,
            query=outcomes[0].query,
            # Without pages every result is accounted for, also one that several queries found.
            total_found=ranking.total + (0 if self.source.block else ranking.duplicates),
            queries=tuple(queries),
            errors=_unique(errors),
            warnings=_unique(first.remarks, remarks, page.left_out),
            duplicates_removed=len(page.known) + ranking.duplicates,
            already_known=len(page.known),
            left_out=page.unwanted,
            providers=provider_reports(self.source, outcomes, ranking.total),
            query_translation=first.translation,
            next_offset=page.next_offset,
            from_cache=any(outcome.answer.from_cache for outcome in outcomes),
        )

    async def _why_empty(self, request: SearchRequest, page: Page, total: int) -> str:
        """Why a search has no records to show."""
        if page.known and total:
            more = f"Continue with offset={page.next_offset}, or pass" if page.next_offset >= 0 else "Pass"
            checked = f"This session already has the {counted(len(page.known), 'result')} that were checked."
            return f"{checked} {more} only_new=false to see them again."
        if total:
            is_beyond = request.offset >= total
            return f"There are {total:,} results; offset {request.offset:,} is beyond the last." if is_beyond else ""
        try:
            spelling, query = await self.source.spelling(request.queries[0]), request.queries[0]
        except ProviderError as error:
            logger.info("no spelling suggestion: %s", error.code)
            return ""
        is_other = spelling and spelling.casefold() != query.casefold()
        return f'Nothing found. Did you mean "{spelling}"?' if is_other else ""


def _unique(*texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for some in texts for text in some))


class SearchHandler:
    """Searches all sources concurrently, for at most `seconds` where no deadline is set around it.

    Equally ranked results appear in the order of `sources`.
    """

    def __init__(self, sources: Sequence[Source], *, seconds: float = 45.0, witness: Witness | None = None) -> None:
        witness = witness or Witness()
        self._searches = [SourceSearch(source, seconds=seconds, witness=witness) for source in sources]

    async def search(
        self, query: str, max_results: int, session: EvidenceStore, *, progress: Progress = no_progress
    ) -> SearchResult:
        """The results of all sources, fused by rank, each record once; `errors` and `providers` name those that failed.

        Raises:
            InvalidInputError: the query is blank.
            ConfigurationError: every source is switched off.
            AllProvidersFailedError: no source answered; it contains the error of each, in order.
        """
        if not self._searches:
            raise ConfigurationError(f"Nothing can be searched: {variable_name('off')} switches every source off.")
        requests = [search.source.request(query=query, max_results=max_results) for search in self._searches]
        outcomes: dict[SourceSearch, SearchResult | DeepCriticalError] = {}

        async def run(search: SourceSearch, request: SearchRequest) -> None:
            try:
                outcomes[search] = await search.search(request, session, tool="search", progress=progress)
            except DeepCriticalError as error:
                outcomes[search] = error

        await for_each(run, self._searches, requests)
        outcomes = {search: outcomes[search] for search in self._searches}  # in their order
        causes = [one for one in outcomes.values() if isinstance(one, DeepCriticalError)]
        results = [one for one in outcomes.values() if isinstance(one, SearchResult)]
        if not results:
            message = "No source could answer: " + " ".join(cause.message for cause in causes)
            raise AllProvidersFailedError(message, causes)
        reports = [
            ProviderReport(name=search.source.name, status="failed", detail=one.message)
            if isinstance(one, DeepCriticalError)
            else ProviderReport(name=search.source.name, status="ok", results=len(one.evidence))
            for search, one in outcomes.items()
        ]
        rankings = [[item.id for item in result.evidence] for result in results]
        # Of the same record from several sources, the first is shown.
        by_id = {item.id: item for result in reversed(results) for item in result.evidence}
        count = sum(map(len, rankings))
        return SearchResult(
            session_id=session.session_id,
            query=query,
            evidence=tuple(by_id[id] for id in fuse(rankings)),
            total_found=count,
            queries=(QueryReport(query=query, status="ok", results=len(by_id)),),
            errors=(*(cause.message for cause in causes), *(text for result in results for text in result.errors)),
            duplicates_removed=count - len(by_id),
            providers=tuple(reports),
        )
