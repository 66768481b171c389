"""The steps of a search: ask all variants, fuse the answers into one ranking and fetch the records, which `pipeline`
keeps; and its entry in the session's log, begun before anybody is asked, written when the search ends, however it ends.
"""

from __future__ import annotations

import logging
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

import anyio

from deepcritical_mcp._version import __version__
from deepcritical_mcp.dates import current_date
from deepcritical_mcp.deadline import TO_FETCH_RECORDS, TO_KEEP_RESULTS, Progress, no_progress, seconds_before
from deepcritical_mcp.errors import (
    AllProvidersFailedError,
    DeepCriticalError,
    ProviderError,
    ProviderResponseError,
    ProviderTimeoutError,
)
from deepcritical_mcp.models import (
    Evidence,
    LoggedQuery,
    LoggedSearch,
    ProviderReport,
    Publication,
    RelatedEvidence,
    SearchResult,
    Text,
    merged,
)
from deepcritical_mcp.models.screening import WITHOUT_DECISION
from deepcritical_mcp.search.documents import FoundRecord, FoundText
from deepcritical_mcp.sources.base import Answer, SearchRequest, Source
from deepcritical_mcp.text import clean_line, clipped, counted
from deepcritical_mcp.urls import without_secrets

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.store import EvidenceStore

RANK_CONSTANT = 60
"""k of reciprocal rank fusion, as Cormack, Clarke and Büttcher (SIGIR 2009) chose it."""

QUERY_WEIGHT = 3.0
"""Weight of the query itself; each variant has 1. With equal weights, variants do more harm than good. More than
`evidence.searching.QUESTION_WEIGHT`, because the first ranks count alike however little a variant fits."""

ONLY_NEW_LOOKAHEAD = 200
"""With `only_new`, how many ids beyond `max_results` are checked."""

_NOT_A_LETTER = re.compile(r"[\W_]+")
_MIN_TITLE_LENGTH, _MIN_CONTENT_LENGTH = 25, 100
_NO_ANSWER = Answer((), 0)
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Outcome:
    """A query or variant with the source's answer; with an error, the answer is empty."""

    query: str
    answer: Answer = _NO_ANSWER
    error: DeepCriticalError | None = None


@dataclass(frozen=True)
class Ranking:
    """The part of a ranking that a request examines: `ids` from its offset on, best first.

    `total` counts all results (with several variants, those known to exist), `ends` says whether nothing follows,
    `records` came with the answers, `duplicates` of them more than once, with `scores` if the provider gave any;
    `found_by` has the variants that found an id, of all `queries`.
    """

    ids: tuple[str, ...]
    total: int
    ends: bool
    records: Mapping[str, Publication]
    scores: Mapping[str, float]
    duplicates: int
    found_by: Mapping[str, tuple[str, ...]]
    queries: tuple[str, ...] = ()


NOTHING_FOUND = Ranking((), 0, True, {}, {}, 0, {})


async def ask_source(
    source: Source, request: SearchRequest, *, max_seconds: float, progress: Progress
) -> tuple[list[Outcome], Ranking]:
    """The source's answer to each variant, or an error, and their combined ranking. All are asked concurrently.

    Raises:
        ProviderError, AllProvidersFailedError: all variants failed, or the query itself failed and the others
            found nothing: an outage must not look like an empty result.
    """
    ahead = ONLY_NEW_LOOKAHEAD if source.two_step else request.max_results
    wanted = request.max_results + (ahead if request.only_new else 0)
    size = min(wanted, request.LAST_RESULT - request.offset)
    found, queries = dict[str, Outcome](), request.queries
    start, limit = (0, depth(source, request.offset + size)) if len(queries) > 1 else (request.offset, size)

    async def ask(query: str) -> None:
        try:
            found[query] = Outcome(query, await source.ask(query, request, offset=start, limit=limit))
        except DeepCriticalError as error:
            found[query] = Outcome(query, error=error)
        done, count = len(found), len(queries)
        if count > 1:
            await progress(0.05 + 0.35 * done / count, f"{done} of {count} queries answered")

    reserved = TO_FETCH_RECORDS if source.two_step else TO_KEEP_RESULTS
    with anyio.move_on_after(seconds_before(reserved, cap=max_seconds)):
        async with anyio.create_task_group() as tasks:
            for query in queries:
                tasks.start_soon(ask, query)
    late = f"{source.title} did not answer in time. Try again with fewer variants."
    outcomes = [found.get(one) or Outcome(one, error=ProviderTimeoutError(source.name, late)) for one in queries]
    ranking = rank(source, outcomes, offset=request.offset, start=start, size=size, limit=limit)
    if outcomes[0].error and not ranking.total:
        raise search_failure(source, outcomes[0].error)
    return outcomes, ranking


def depth(source: Source, last: int) -> int:
    """How many results of each variant are needed to rank the first `last`: whole blocks."""
    return min(source.request.LAST_RESULT, math.ceil(last / source.block) * source.block) if source.block else last


def rank(source: Source, outcomes: Sequence[Outcome], *, offset: int, start: int, size: int, limit: int) -> Ranking:
    """The window of `size` results from `offset` on; each variant was asked for `limit` results from `start` on.

    The first outcome is that of the query itself.
    """
    answers = [outcome.answer for outcome in outcomes]
    rankings, records, scores = _unite(answers)
    found_by: dict[str, dict[str, None]] = {}
    for outcome, ids in zip(outcomes, rankings, strict=True):
        for id in ids:
            found_by.setdefault(id, {})[outcome.query] = None
    weights, block = [QUERY_WEIGHT, *[1.0] * (len(outcomes) - 1)], source.block or limit
    # Block after block of each ranking: going deeper never changes what came before, so that pages of one search
    # neither repeat nor miss an item.
    ends = range(block, max(map(len, rankings)) + block, block)
    order = [*dict.fromkeys(id for end in ends for id in fuse([ranking[:end] for ranking in rankings], weights))]
    counts = [answer.total for answer in answers]
    ids = tuple(order[offset - start : offset - start + size] if source.block else order)
    known = len(order) if len(outcomes) > 1 else counts[0]
    exhausted = len(outcomes) == 1 or max(counts) <= limit
    return Ranking(
        ids,
        total=max(len(order), *counts),
        ends=not source.block or (exhausted and offset + len(ids) >= known),
        records=records,
        scores=scores,
        duplicates=0 if source.block else sum(len(answer.records) for answer in answers) - len(records),
        found_by={id: tuple(queries) for id, queries in found_by.items()},
        queries=tuple(outcome.query for outcome in outcomes),
    )


def _unite(answers: Sequence[Answer]) -> tuple[list[list[str]], dict[str, Publication], dict[str, float]]:
    """The rankings of the answers, by score if there are scores; the records that came with them, each once; and their
    best scores.

    Two results are one record when they have the same id, or are pages with identical titles and texts that are long
    enough to identify them; it is then listed under the id that was found first.
    """
    records, scores, by_text = dict[str, Publication](), dict[str, float](), dict[str, str]()
    rankings: list[list[str]] = []
    for answer in answers:
        ids = sorted(answer.ids, key=lambda id: -answer.scores.get(id, 0.0))
        names: dict[str, str] = {}
        for id in (id for id in ids if id in answer.records):
            record = answer.records[id]
            texts = (_NOT_A_LETTER.sub(" ", text).strip().casefold() for text in (record.title, record.text.content))
            title, content = texts
            is_long = len(title) >= _MIN_TITLE_LENGTH and len(content) >= _MIN_CONTENT_LENGTH
            key = f"{title}\n{content}" if is_long and record.source == "web" else id
            name = names[id] = id if id in records else by_text.setdefault(key, id)
            records[name] = merged(records[name], record) if name in records else record
            if id in answer.scores:
                scores[name] = max(answer.scores[id], scores.get(name, 0.0))
        rankings.append([names.get(id, id) for id in ids])
    return rankings, records, scores


def fuse(rankings: Sequence[Sequence[str]], weights: Sequence[float] = ()) -> list[str]:
    """One ranking out of several by reciprocal rank: an item scores the sum of weight / (k + rank) over the rankings.

    Without `weights` all rankings count the same. Items of equal score keep the order in which they first appear; an
    item that occurs twice in a ranking counts once, at its better rank. ValueError if `weights` are not one for each.
    """
    scores: dict[str, float] = {}
    for ranking, weight in zip(rankings, weights or [1.0] * len(rankings), strict=True):
        for rank, item in enumerate(dict.fromkeys(ranking), start=1):
            scores[item] = scores.get(item, 0.0) + weight / (RANK_CONSTANT + rank)
    return sorted(scores, key=lambda item: -scores[item])


def search_failure(source: Source, error: DeepCriticalError) -> DeepCriticalError:
    """`error`, as the failure of a whole search; that of all providers names them itself."""
    if not isinstance(error, ProviderError):
        return error
    message = f"{source.title} could not be searched: {with_advice(error)}"
    return type(error)(error.provider, message, retry_after=error.retry_after, details=error.details)


def with_advice(error: ProviderError) -> str:
    """The message of `error`, followed by advice if it has none."""
    if not error.retryable or "ry again" in error.message:
        return error.message
    return f"{error.message} Try again in a minute; semantic_search still works on the session's evidence."


def provider_reports(source: Source, outcomes: Sequence[Outcome], total: int) -> tuple[ProviderReport, ...]:
    """The outcome for each provider over all variants, in the order in which they are asked."""
    by_name: dict[str, list[ProviderReport]] = {}
    told: list[Sequence[ProviderReport]] = []
    for one in outcomes:
        causes = one.error.causes if isinstance(one.error, AllProvidersFailedError) else ()
        named = [(getattr(cause, "provider", ""), cause.message) for cause in causes]
        failed = (ProviderReport(name=name, status="failed", detail=why) for name, why in named)
        told.append((*one.answer.reports, *failed))
    for reports in sorted(told, key=len, reverse=True):
        for report in reports:
            by_name.setdefault(report.name, []).append(report)
    if not by_name:
        count = sum(outcome.error is not None for outcome in outcomes)
        detail = f"failed for {count} of {len(outcomes)} queries" if count else ""
        return (ProviderReport(name=source.name, status="ok", detail=detail, results=total),)
    merged_reports: list[ProviderReport] = []
    for reports in by_name.values():
        failed = [report for report in reports if report.status == "failed"]
        answered = [report for report in reports if report.status == "ok"]
        update: dict[str, object] = {"results": sum(report.results for report in reports)}
        if failed and answered:
            update["detail"] = f"failed for {len(failed)} of {len(outcomes)} queries: {failed[0].detail}"
        merged_reports.append((answered if failed and answered else reports)[0].model_copy(update=update))
    return tuple(merged_reports)


MAX_LISTED_IDS = 10


class KeptPublication(Protocol):
    """A publication as a session has it."""

    @property
    def publication(self) -> Publication: ...


class ReadingSession(Protocol):
    """The part of `EvidenceStore` that reading and asking for statuses need."""

    async def publications(self, ids: Sequence[str]) -> dict[str, Publication]: ...
    async def known(self, publications: Sequence[Publication]) -> list[str]: ...
    async def add_evidence(self, publications: Sequence[Publication]) -> Sequence[KeptPublication]: ...
    async def text(self, id: str) -> tuple[Publication, Text] | None: ...
    async def set_statuses(self, publications: Sequence[Publication]) -> None: ...
    async def log_search(self, search: LoggedSearch) -> None: ...


@dataclass(frozen=True)
class Kept:
    """Evidence as the session holds it now, each once; `ids` has the id of each record's evidence, in order. `new` of
    it was not in the session. `counters`: services asked for citation counts; `problems`: why counts are missing."""

    evidence: tuple[Evidence, ...]
    ids: tuple[str, ...]
    new: int = 0
    related: tuple[RelatedEvidence, ...] = ()
    errors: tuple[str, ...] = ()
    counters: tuple[ProviderReport, ...] = ()
    problems: tuple[str, ...] = ()


async def known_ids(
    source: Source, ids: Sequence[str], records: Mapping[str, Publication], session: EvidenceStore
) -> dict[str, str]:
    """The session's id of a publication, for each of the source's ids that the session knows."""
    known = await session.known([records[id] if id in records else source.stub(id) for id in ids])
    return {id: one for id, one in zip(ids, known, strict=True) if one}


async def gather(
    source: Source, ranking: Ranking, ids: Sequence[str], session: EvidenceStore, also: Sequence[str] = ()
) -> tuple[dict[str, Publication], tuple[str, ...]]:
    """The records of `ids` and, if they exist, of `also`: from the ranking, from the session, and the others in one
    request; and errors that name those that are missing, because they do not exist or that request failed.

    Raises:
        ProviderError: there is no record for any of `ids`, or those of `also` could not be asked for; its `details`
            contain the count of all results and the ids.
    """
    wanted = list(dict.fromkeys((*ids, *also)))
    found = {id: ranking.records[id] for id in wanted if id in ranking.records}
    if source.two_step:
        known = await known_ids(source, [id for id in wanted if id not in found], {}, session)
        held = await session.publications(list(known.values()))
        for id, record in ((id, held[kept]) for id, kept in known.items() if kept in held):
            # A note or a web page about a publication is not its record, and much may happen to a preprint later.
            is_current = not source.needs_status_check or record.status_checked == current_date().isoformat()
            if record.is_record and is_current:
                # What the user decides meanwhile holds.
                found[id] = record.model_copy(update=dict(WITHOUT_DECISION))
    missing = [id for id in wanted if id not in found]
    if not missing or not source.two_step:
        return found, ()
    try:
        fetched = await source.fetch(missing)
    except ProviderError as error:
        if found.keys().isdisjoint(ids) or not found.keys() >= {*also}:
            raise _fetch_failure(source, error, ids, ranking.total) from error
        return found, (f"{_listed(source, missing)} could not be fetched: {with_advice(error)}",)
    found |= fetched.records
    absent = [id for id in ids if id not in found]
    lost = (*(fetched.losses[id] for id in absent if id in fetched.losses), *fetched.unnamed)
    if unexplained := [id for id in absent if id not in fetched.losses]:
        lost = (*lost, f"{source.title} sent no record for {_listed(source, unexplained)}.")
    if ids and found.keys().isdisjoint(ids):
        raise _fetch_failure(source, ProviderResponseError(source.name, " ".join(lost)), ids, ranking.total)
    return found, lost


def _fetch_failure(source: Source, error: ProviderError, ids: Sequence[str], count: int) -> ProviderError:
    """`error`, for a search that found ids but could not fetch their records."""
    if not ids:
        return error
    found, listed = counted(count, "record"), _listed(source, ids)
    message = f"{source.title} found {found}, but could not deliver them: {with_advice(error)} Their ids: {listed}."
    details = {**error.details, "count": count, f"{source.id_name.lower()}s": list(ids)}
    return type(error)(error.provider, message, retry_after=error.retry_after, details=details)


def _listed(source: Source, ids: Sequence[str]) -> str:
    more = f" and {len(ids) - MAX_LISTED_IDS} more" if len(ids) > MAX_LISTED_IDS else ""
    return source.named(f"{', '.join(ids[:MAX_LISTED_IDS])}{more}")


CUT_SHORT = "The call ended before the search did: it was cancelled, or its time was up."
LOOKUP = "Look-up by identifier or reference"
NOT_LOGGED = "This search is missing in the session's log of searches"

_SHOWN, _NAMED = 200, 30
"""Characters of a reference that is looked up; records that the check of a draft names."""
_OK = {"status": "ok"}


@dataclass
class Recording:
    """A search under way: the log's `entry` for it, in whose session, and who is told of its progress. The entry is
    written when the block ends; `problem` says why it could not be, "" if it was."""

    entry: LoggedSearch
    session: ReadingSession
    progress: Progress = no_progress
    problem: str = ""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write the entry. An error is no reason to fail: it is the `problem`."""
        if error is not None:
            self._failed(error.message if isinstance(error, DeepCriticalError) else CUT_SHORT)
        if self.entry.kind == "lookup":  # of addresses, which may have keys in them
            queries = (
                one.model_copy(update={"query": without_secrets(one.query), "detail": without_secrets(one.detail)})
                for one in self.entry.queries
            )
            self.note(queries=tuple(queries), errors=tuple(map(without_secrets, self.entry.errors)))
        try:
            await self.session.log_search(self.entry)
        except DeepCriticalError as problem:
            self.problem = f"{NOT_LOGGED}: {problem.message}"
            logger.warning("a search was not logged: %s", problem.code)

    def note(self, **fields: object) -> None:
        """Fill in fields of the entry that are known now."""
        self.entry = self.entry.model_copy(update=fields)

    def answered(self, outcomes: Sequence[Outcome]) -> None:
        """What the source answered to each query."""
        by = dict.fromkeys(one.answer.answered_by for one in outcomes if one.answer.answered_by)
        title = f"{self.entry.title} ({'; '.join(by)})" if by else self.entry.title
        queries: list[LoggedQuery] = []
        for query, one in zip(self.entry.queries, outcomes, strict=True):
            answer = one.answer
            failed = [f"{each.name} failed: {each.detail}" for each in answer.reports if each.status == "failed"]
            told = {**_OK, "sent": answer.sent, "results": answer.total}
            told["translation"] = answer.translation if answer.translation != answer.sent else ""
            told["detail"] = "; ".join(filter(None, (answer.detail, *failed)))
            queries.append(query.model_copy(update={"detail": one.error.message} if one.error else told))
        self.note(queries=tuple(queries), title=title)

    def ended(self, result: SearchResult, *, new: int, known: Sequence[str] = ()) -> None:
        """What came of it: `new` items of evidence; `known` ones were found again, but are not in the result."""
        self.note(
            total=result.total_found,
            ids=tuple(dict.fromkeys((*(one.id for one in result.evidence), *known))),
            new=new,
            duplicates=result.duplicates_removed - result.already_known,
            left_out=result.left_out,
            errors=result.errors,
        )

    def looked_up(self, found: Sequence[FoundRecord], ids: Sequence[str], *, new: int) -> None:
        """What was found for each document; `ids` are those of the evidence, `new` of them were not in the session."""
        queries: list[LoggedQuery] = []
        for query, one in zip(self.entry.queries, found, strict=True):
            detail = f"{one.verdict.replace('_', ' ')}: {one.reason}"
            told: dict[str, object] = {"status": "failed" if one.verdict == "outage" else "ok", "detail": detail}
            if one.publication:
                provider = one.publication.text.provider
                told = {**_OK, "results": 1, "detail": f"record of {provider}" if provider else ""}
            queries.append(query.model_copy(update=told))
        self.note(
            queries=tuple(queries),
            total=len(ids),
            examined=len(ids),
            ids=tuple(dict.fromkeys(ids)),
            new=new,
            duplicates=len(ids) - len({*ids}),
        )

    def read(self, found: FoundText, *, is_new: bool) -> None:
        """What was found of the only document."""
        ids, query = (found.publication.id,) if found.publication and found.id else (), self.entry.queries[0]
        told = query.model_copy(update={**_OK, "results": len(ids), "detail": found.status.replace("_", " ")})
        new = int(is_new and bool(ids))
        self.note(queries=(told,), total=len(ids), examined=len(ids), ids=ids, new=new, errors=found.errors)

    def checked(self, verdicts: Sequence[str], records: Sequence[str], *, errors: Sequence[str]) -> None:
        """What became of a draft's references, and the ids of the records that they led to, which are no evidence."""
        count = len(verdicts)
        counts = [f"{times} {verdict.replace('_', ' ')}" for verdict, times in Counter(verdicts).items()]
        more = [f"and {len(records) - _NAMED} more records"] if len(records) > _NAMED else []
        told = LoggedQuery(
            query=counted(count, "reference of a draft", "references of a draft"),
            status="failed" if count and {*verdicts} == {"outage"} else "ok",
            results=len(records),
            detail=", ".join((*counts, *records[:_NAMED], *more)),
        )
        self.note(queries=(told,), total=count, examined=count, errors=tuple(errors))

    def _failed(self, message: str) -> None:
        """Why the search did not come to its end. If it has added nothing to the session, it failed as a whole."""
        if not self.entry.new:
            # A query that failed for a reason of its own keeps it.
            whys = ((one.detail if one.status == "failed" else "") or message for one in self.entry.queries)
            queries = [
                one.model_copy(update={"status": "failed", "results": 0, "detail": why})
                for one, why in zip(self.entry.queries, whys, strict=True)
            ]
            self.note(queries=tuple(queries), total=0, examined=0, ids=(), duplicates=0, left_out=0)
        self.note(errors=tuple(dict.fromkeys((*self.entry.errors, message))))

    def with_problem(self, result: SearchResult) -> SearchResult:
        """`result`, with the problem among its warnings if there is one."""
        return result.model_copy(update={"warnings": (*result.warnings, self.problem)}) if self.problem else result


def lookup_entry(tool: str, names: Sequence[str]) -> LoggedSearch:
    """The entry of a look-up of documents by what they are called."""
    queries = [(clipped(clean_line(one), _SHOWN), "") for one in names]
    return new_entry(tool, queries, kind="lookup", source="lookup", title=LOOKUP)


def new_entry(tool: str, queries: Iterable[tuple[str, str]], **fields: Any) -> LoggedSearch:
    """An entry that begins now, of queries and what is sent for each; they count as failed until they are answered."""
    asked = tuple(LoggedQuery(query=one, sent=sent, status="failed") for one, sent in queries)
    began = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    return LoggedSearch(at=began, tool=tool, queries=asked, version=__version__, **fields)
