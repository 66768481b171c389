"""The first half of a search: every variant asked side by side, and one ranking out of the answers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import anyio

from deepcritical_mcp.deadline import TO_FETCH_RECORDS, TO_KEEP_RESULTS, seconds_before
from deepcritical_mcp.errors import AllProvidersFailedError, DeepCriticalError, ProviderError, ProviderTimeoutError
from deepcritical_mcp.models import ProviderReport, QueryReport
from deepcritical_mcp.progress import Progress
from deepcritical_mcp.search.fusion import QUERY_WEIGHT, fuse_in_blocks, unite
from deepcritical_mcp.sources.base import Answer, Hit, SearchRequest, Source

LOOKED_THROUGH = 200
"""With `only_new`, so many ids are looked through beyond `max_results`."""


@dataclass(frozen=True)
class Outcome:
    """A variant with the source's answer, or the reason why there is none. `is_query`: it is the query itself."""

    query: str
    is_query: bool
    answer: Answer | None = None
    error: DeepCriticalError | None = None

    @property
    def report(self) -> QueryReport:
        """For the result; `results` counts the records that came with the answer, else all that the source has."""
        if self.answer:
            results = len(self.answer.records) or self.answer.total
            return QueryReport(query=self.query, status="ok", results=results, detail=self.answer.detail)
        return QueryReport(query=self.query, status="failed", detail=self.error.message if self.error else "")


@dataclass(frozen=True)
class Ranking:
    """The part of a ranking that a request looks at.

    Attributes:
        ids: from the request's offset on, best first.
        total: results in all; of several variants, as many as are known to exist.
        ends: whether nothing follows `ids`.
        records: the records that came with the answers.
        duplicates: how many of them came more than once.
        found_by: the variants that found each id.
    """

    ids: tuple[str, ...]
    total: int
    ends: bool
    records: Mapping[str, Hit]
    duplicates: int
    found_by: Mapping[str, tuple[str, ...]]


async def ask_source(
    source: Source, request: SearchRequest, *, most_seconds: float, progress: Progress
) -> tuple[list[Outcome], Ranking]:
    """What the source answered to each variant, and the ranking they make together.

    Raises:
        ProviderError, AllProvidersFailedError: no variant was answered; or the query itself was not, and the others
            found nothing: an outage must not look like an empty result.
    """
    size = _size(source, request)
    together = len(request.queries) > 1
    start = 0 if together else request.offset
    limit = depth(source, request.offset + size) if together else size
    outcomes = await _ask_all(source, request, start, limit, most_seconds=most_seconds, progress=progress)
    ranking = rank(source, outcomes, offset=request.offset, start=start, size=size, limit=limit)
    if outcomes[0].error and not ranking.total:
        raise failure_of(source, outcomes)
    return outcomes, ranking


def _size(source: Source, request: SearchRequest) -> int:
    """How many results are looked at from the request's offset on."""
    extra = LOOKED_THROUGH if source.two_step else request.max_results
    wanted = request.max_results + (extra if request.only_new else 0)
    return min(wanted, request.LAST_RESULT - request.offset)


def depth(source: Source, last: int) -> int:
    """How many results of each variant are needed to rank the first `last`: whole blocks."""
    if not source.block:
        return last
    return min(source.request.LAST_RESULT, math.ceil(last / source.block) * source.block)


async def _ask_all(
    source: Source, request: SearchRequest, start: int, limit: int, *, most_seconds: float, progress: Progress
) -> list[Outcome]:
    """Every variant side by side, each with an answer or an error."""
    outcomes = [Outcome(query, is_query=not index) for index, query in enumerate(request.queries)]
    done = 0

    async def ask(index: int) -> None:
        nonlocal done
        query = outcomes[index].query
        try:
            answer = await source.ask(query, request, offset=start, limit=limit)
            outcomes[index] = replace(outcomes[index], answer=answer)
        except DeepCriticalError as error:
            outcomes[index] = replace(outcomes[index], error=error)
        done += 1
        if len(outcomes) > 1:
            await progress(0.05 + 0.35 * done / len(outcomes), f"{done} of {len(outcomes)} queries answered")

    kept = TO_FETCH_RECORDS if source.two_step and len(outcomes) > 1 else TO_KEEP_RESULTS
    with anyio.move_on_after(seconds_before(kept, most=most_seconds)):
        async with anyio.create_task_group() as tasks:
            for index in range(len(outcomes)):
                tasks.start_soon(ask, index)
    late = ProviderTimeoutError(source.name, f"{source.title} did not answer in time. Try again with fewer variants.")
    return [one if one.answer or one.error else replace(one, error=late) for one in outcomes]


def rank(source: Source, outcomes: Sequence[Outcome], *, offset: int, start: int, size: int, limit: int) -> Ranking:
    """The window of `size` results from `offset` on, where each variant was asked for `limit` from `start` on."""
    answered = [(one, one.answer) for one in outcomes if one.answer]
    answers = [answer for _, answer in answered]
    listed = [_best_first(source, answer) for answer in answers]
    united = unite([_delivered(answer, ids) for answer, ids in zip(answers, listed, strict=True)])
    rankings = [[names.get(id, id) for id in ids] for ids, names in zip(listed, united.names, strict=True)]
    found_by: dict[str, tuple[str, ...]] = {}
    for (outcome, _), ids in zip(answered, rankings, strict=True):
        for id in dict.fromkeys(ids):
            found_by[id] = (*found_by.get(id, ()), outcome.query)
    weights = [QUERY_WEIGHT if outcome.is_query else 1.0 for outcome, _ in answered]
    order = fuse_in_blocks(rankings, weights, source.block or limit)
    counts = [answer.total for answer in answers]
    ids = tuple(order[offset - start : offset - start + size] if source.block else order)
    known = len(order) if len(outcomes) > 1 else max(counts, default=0)
    exhausted = len(outcomes) == 1 or all(count <= limit for count in counts)
    ends = not source.block or (exhausted and offset + len(ids) >= known)
    return Ranking(ids, max(len(order), *counts, 0), ends, united.records, united.duplicates, found_by)


def _best_first(source: Source, answer: Answer) -> list[str]:
    """The ids of an answer in rank order; the scores decide where there are any."""
    return sorted(answer.ids, key=lambda id: -answer.records[id].score) if source.scored else list(answer.ids)


def _delivered(answer: Answer, ids: Sequence[str]) -> dict[str, Hit]:
    """The records that came with an answer, in the order of `ids`."""
    return {id: answer.records[id] for id in ids if id in answer.records}


def failure_of(source: Source, outcomes: Sequence[Outcome]) -> DeepCriticalError:
    """The error of a search that was not answered.

    For a source of several providers it holds every provider's first cause, in order.
    """
    errors = [outcome.error for outcome in outcomes if outcome.error]
    chains = [error for error in errors if isinstance(error, AllProvidersFailedError)]
    if not chains:
        return unsearched(source, errors[0])
    causes = {getattr(cause, "provider", ""): cause for error in reversed(chains) for cause in error.causes}
    longest = max(chains, key=lambda error: len(error.causes))
    order = [getattr(cause, "provider", "") for cause in longest.causes]
    ordered = sorted(causes, key=lambda name: order.index(name) if name in order else len(order))
    return AllProvidersFailedError(longest.message, [causes[name] for name in ordered], retry_after=longest.retry_after)


def unsearched(source: Source, error: DeepCriticalError) -> DeepCriticalError:
    """What `error` means for a search that found nothing because of it."""
    if not isinstance(error, ProviderError):
        return error
    message = f"{source.title} could not be searched: {advised(error)}"
    return type(error)(error.provider, message, retry_after=error.retry_after, details=error.details)


def advised(error: ProviderError) -> str:
    """The message of `error`, and what to do about it."""
    if not error.retryable or "ry again" in error.message:
        return error.message
    return f"{error.message} Try again in a minute; semantic_search still answers from what the session holds."


def provider_reports(source: Source, outcomes: Sequence[Outcome], total: int) -> tuple[ProviderReport, ...]:
    """What each provider did for all variants together, in the order in which they are asked."""
    by_name: dict[str, list[ProviderReport]] = {}
    for reports in sorted(map(_reports, outcomes), key=len, reverse=True):
        for report in reports:
            by_name.setdefault(report.name, []).append(report)
    if by_name:
        return tuple(_merged(reports, of=len(outcomes)) for reports in by_name.values())
    failed = sum(outcome.error is not None for outcome in outcomes)
    detail = f"failed for {failed} of {len(outcomes)} queries" if failed else ""
    return (ProviderReport(name=source.name, status="ok", detail=detail, results=total),)


def _reports(outcome: Outcome) -> Sequence[ProviderReport]:
    if outcome.answer:
        return outcome.answer.reports
    causes = outcome.error.causes if isinstance(outcome.error, AllProvidersFailedError) else ()
    return [
        ProviderReport(name=getattr(cause, "provider", ""), status="failed", detail=cause.message) for cause in causes
    ]


def _merged(reports: Sequence[ProviderReport], *, of: int) -> ProviderReport:
    failed = [report for report in reports if report.status == "failed"]
    answered = [report for report in reports if report.status == "ok"]
    results = sum(report.results for report in reports)
    if not failed or not answered:
        return reports[0].model_copy(update={"results": results})
    detail = f"failed for {len(failed)} of {of} queries: {failed[0].detail}"
    return answered[0].model_copy(update={"detail": detail, "results": results})


def errors_of(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """What is missing: variants that failed and, where nothing was found, the providers that did not answer."""
    yield from (f'"{outcome.query}": {outcome.error.message}' for outcome in outcomes if outcome.error)
    answers = [outcome.answer for outcome in outcomes if outcome.answer]
    if not any(answer.ids for answer in answers):
        yield from (report.detail for answer in answers for report in answer.reports if report.status == "failed")


def remarks_of(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """What the source left out of each variant, or said about it."""
    said: set[str] = set()
    for outcome in outcomes:
        for remark in outcome.answer.remarks if outcome.answer else ():
            if outcome.is_query:
                said.add(remark)
                yield remark
            elif remark not in said:
                yield f'Variant "{outcome.query}": {remark}'
