"""The entry of a search in its session's log: begun before anybody is asked, written when the search ends, however it
ends."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

from deepcritical_mcp._version import __version__
from deepcritical_mcp.deadline import Progress, no_progress
from deepcritical_mcp.errors import DeepCriticalError
from deepcritical_mcp.models import LoggedQuery, LoggedSearch, SearchResult
from deepcritical_mcp.search.citing import Listing
from deepcritical_mcp.search.documents import FoundRecord, FoundText
from deepcritical_mcp.search.search_steps import Outcome, ReadingSession
from deepcritical_mcp.text import clean_line, clipped, counted
from deepcritical_mcp.urls import without_secrets

CUT_SHORT = "The call ended before the search did: it was cancelled, or its time was up."
LOOKUP = "Look-up by identifier or reference"
NOT_LOGGED = "This search is missing in the session's log of searches"

_SHOWN, _NAMED = 200, 30
"""Characters of a reference that is looked up; records that the check of a draft names."""
logger = logging.getLogger(__name__)


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

    def listed(self, asked: Sequence[Listing]) -> None:
        """What each service says about the papers linked to one, instead of the only query."""
        query, queries = self.entry.queries[0], list[LoggedQuery]()
        for one in asked:
            told = {**_OK, "results": one.found.total, "detail": f"answered by {one.title}"}
            told = {"detail": f"{one.title}: {one.error.message}"} if one.error else told
            queries.append(query.model_copy(update=told))
        title = " and ".join(one.title for one in asked if not one.error) or self.entry.title
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


_OK = {"status": "ok"}
