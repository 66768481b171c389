"""What became of each wording of a question, told in one way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from deepcritical_mcp.errors import AllProvidersFailedError, DeadlineExceededError, DeepCriticalError
from deepcritical_mcp.models import ProviderReport, QueryReport
from deepcritical_mcp.sources.web.chain import ChainAnswer


@dataclass(frozen=True)
class Outcome:
    """One wording: answered, failed with an error, or neither, because time ran out."""

    query: str
    answer: ChainAnswer | None = None
    error: AllProvidersFailedError | None = None

    @property
    def problem(self) -> str:
        """Why there is no answer; "" when there is one."""
        if self.answer is not None:
            return ""
        return self.error.message if self.error else "There was no time left for this query."


def query_reports(outcomes: Sequence[Outcome]) -> tuple[QueryReport, ...]:
    """One line for each wording: who answered it, or what went wrong."""
    return tuple(_query_report(outcome) for outcome in outcomes)


def _query_report(outcome: Outcome) -> QueryReport:
    if outcome.answer is None:
        return QueryReport(query=outcome.query, status="failed", detail=outcome.problem)
    last = outcome.answer.reports[-1].name if outcome.answer.evidence else ""
    detail = f"answered by {last}" if last else "found nothing"
    return QueryReport(query=outcome.query, status="ok", results=len(outcome.answer.evidence), detail=detail)


def provider_reports(outcomes: Sequence[Outcome]) -> tuple[ProviderReport, ...]:
    """What each provider did for all wordings together, in the order of the chain."""
    by_name: dict[str, list[ProviderReport]] = {}
    for outcome in sorted(outcomes, key=lambda outcome: -len(_reports(outcome))):
        for report in _reports(outcome):
            by_name.setdefault(report.name, []).append(report)
    return tuple(_united(reports, of=len(outcomes)) for reports in by_name.values())


def _reports(outcome: Outcome) -> Sequence[ProviderReport]:
    if outcome.answer is not None:
        return outcome.answer.reports
    causes = outcome.error.causes if outcome.error else ()
    return [
        ProviderReport(name=getattr(cause, "provider", ""), status="failed", detail=cause.message) for cause in causes
    ]


def _united(reports: Sequence[ProviderReport], *, of: int) -> ProviderReport:
    failed = [report for report in reports if report.status == "failed"]
    answered = [report for report in reports if report.status == "ok"]
    if not failed or not answered:
        return reports[0].model_copy(update={"results": sum(report.results for report in reports)})
    detail = f"failed for {len(failed)} of {of} queries: {failed[0].detail}"
    return answered[0].model_copy(update={"detail": detail, "results": sum(report.results for report in answered)})


def errors_of(outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """What is missing: wordings that failed, and, where nothing was found, the providers that could not be heard."""
    failed = [f'"{outcome.query}": {outcome.problem}' for outcome in outcomes if outcome.answer is None]
    if any(outcome.answer.evidence for outcome in outcomes if outcome.answer):
        return tuple(failed)
    return (*failed, *dict.fromkeys(_unheard(outcomes)))


def _unheard(outcomes: Sequence[Outcome]) -> Iterator[str]:
    for outcome in outcomes:
        if outcome.answer is not None:
            yield from (report.detail for report in outcome.answer.reports if report.status == "failed")


def failure_of(outcomes: Sequence[Outcome]) -> DeepCriticalError:
    """The error of a search in which no wording was answered: every provider's first cause, in order."""
    errors = [outcome.error for outcome in outcomes if outcome.error]
    if not errors:
        return DeadlineExceededError("No provider answered in time. Try again, or with fewer variants.")
    causes = {getattr(cause, "provider", ""): cause for error in reversed(errors) for cause in error.causes}
    longest = max(errors, key=lambda error: len(error.causes))
    order = [getattr(cause, "provider", "") for cause in longest.causes]
    ordered = sorted(causes, key=lambda name: order.index(name) if name in order else len(order))
    return AllProvidersFailedError(longest.message, [causes[name] for name in ordered], retry_after=longest.retry_after)
