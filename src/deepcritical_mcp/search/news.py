"""Watch: the searches of a session run again, and the status of all its records asked for, for what is new."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import TYPE_CHECKING, cast

import anyio
from pydantic import Field, ValidationError

from deepcritical_mcp.data_files import data_table
from deepcritical_mcp.dates import current_date
from deepcritical_mcp.deadline import TO_KEEP_RESULTS, Progress, no_progress, seconds_before
from deepcritical_mcp.errors import DeepCriticalError, InvalidInputError, ProviderError
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.models import (
    NEWS_LABELS,
    NOTICE_LABELS,
    Evidence,
    LoggedSearch,
    News,
    NewsItem,
    NewsKind,
    NoticeKind,
    Publication,
    SearchResult,
    StatusNotice,
    Value,
    gravest,
    united,
    vancouver,
)
from deepcritical_mcp.models.search_log import WATCH_TOOL
from deepcritical_mcp.net.fields import mapping_of, texts_of
from deepcritical_mcp.search.documents import DocumentId, LinkKind, Round
from deepcritical_mcp.search.pipeline import SourceSearch
from deepcritical_mcp.search.snowballing import follow
from deepcritical_mcp.search.witness import OutageRemark, Witness, has_askable_status, status_fields
from deepcritical_mcp.text import clipped, counted

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.store import EvidenceStore

MARGIN = timedelta(days=2)
"""Sources name the day on which they added a record; it can be found a little later, and days begin elsewhere."""
_OF_ONE_RUN = ("offset", "max_results", "only_new", "since", "sort", "min_date", "max_date")
"""Arguments that do not make another search."""
_ALERTS = ("cited_by", "similar")
"""Links to a paper that come to be later; its references do not."""


_Run = tuple[LoggedSearch, Mapping[str, object]]
"""An entry of the log, and the arguments that it was asked for with."""


@dataclass(frozen=True)
class WatchedSearch:
    """A search of the log: its latest arguments; from which day ("YYYY-MM-DD") on new records may have been added, ""
    if it never succeeded; and the arguments of runs that missed something, which are to be repeated as they were."""

    key: str
    source: str
    title: str
    is_search: bool
    arguments: Mapping[str, object]
    since: str
    missed: Sequence[Mapping[str, object]] = ()

    @property
    def name(self) -> str:
        """For people: the source and the query."""
        if self.is_search:
            return self.name_of(self.queries[:1])
        linked = "papers that cite" if self.arguments.get("kind") == "cited_by" else "papers similar to"
        paper = str(self.arguments.get("pmid", ""))
        return f"{self.title}: {linked} {paper if '/' in paper else f'PMID {paper}'}"

    @property
    def queries(self) -> Sequence[str]:
        """Its query and the variants of it."""
        return [str(self.arguments.get("query", "")), *texts_of(self.arguments.get("variants"))]

    def name_of(self, queries: Sequence[str]) -> str:
        """For people: the source and some of its queries; its name if there are none."""
        quoted = ", ".join(f'"{one}"' for one in queries)
        return f"{self.title}: {quoted}" if self.is_search and queries else self.name


def watched_searches(log: Sequence[LoggedSearch], *, web: bool) -> list[WatchedSearch]:
    """Each search of the log once, in the order of the log; of the same with several date limits the one that reaches
    furthest, and of these the last. Look-ups cannot be run again, and web searches only with `web`."""
    runs: dict[str, list[_Run]] = {}
    for entry in log:
        arguments: Mapping[str, object] = {}
        with suppress(ValueError):
            arguments = mapping_of(json.loads(entry.request))
        if entry.kind == "citations":
            can_be_repeated = arguments.get("kind") in _ALERTS and "pmid" in arguments
        else:
            can_be_repeated = entry.kind == "search" and bool(arguments) and (web or entry.source != "web")
        if can_be_repeated:
            lasting = {name: value for name, value in arguments.items() if name not in _OF_ONE_RUN}
            key = f"{entry.source} {entry.kind} {json.dumps(lasting, sort_keys=True)}"
            runs.setdefault(key, []).append((entry, arguments))
    return [_watched(key, entries) for key, entries in runs.items()]


def _watched(key: str, runs: Sequence[_Run]) -> WatchedSearch:
    asked = [run for run in runs if "since" not in run[1]] or runs
    entry, arguments = max(asked, key=lambda run: (str(run[1].get("max_date") or "9999"), run[0].at))
    # A repetition must have looked at every result, and have missed none.
    reached = [
        one.at
        for one, given in runs
        if all(query.status == "ok" for query in one.queries)
        and ("since" not in given or (one.is_whole and _end(one) >= one.total))
    ]
    since = str(date.fromisoformat(max(reached)[:10]) - MARGIN) if reached else ""
    title, _, _ = entry.title.partition(" (")
    return WatchedSearch(key, entry.source, title, entry.kind == "search", arguments, since, _missed(asked))


def _missed(runs: Sequence[_Run]) -> list[Mapping[str, object]]:
    """The arguments of each run with errors, unless another one without errors looked at as many results."""
    alike = [{name: value for name, value in given.items() if name != "only_new"} for _, given in runs]
    whole = [(one, again) for (one, _), again in zip(runs, alike, strict=True) if one.is_whole]
    missed: list[Mapping[str, object]] = []
    for (entry, _), again in zip(runs, alike, strict=True):
        made_good = any(
            other == again or (one.first <= entry.first and _end(one) >= _end(entry)) for one, other in whole
        )
        if not made_good and again not in missed:
            missed.append(again)
    return missed


def _end(entry: LoggedSearch) -> int:
    return entry.first - 1 + entry.examined


_KINDS = cast("Mapping[NoticeKind, NewsKind]", data_table(__file__, "news_kinds.txt"))
_MAX_REFERENCE = 300


def _news(old: Publication, new: Publication) -> Iterator[NewsItem]:
    """One item for each kind of news."""
    notices: dict[NewsKind, list[StatusNotice]] = {}
    for notice in new.status_notices:
        if notice.kind in _KINDS and not any(_is_same(notice, one) for one in old.status_notices):
            notices.setdefault(_KINDS[notice.kind], []).append(notice)
    grave = new.status if new.status != old.status and gravest((old.status, new.status)) == new.status else ""
    if grave in ("retracted", "concern", "superseded", "corrected"):
        notices.setdefault(grave, [])
    for kind, some in notices.items():
        named = "; ".join(map(_named, some))
        yield NewsItem(kind=kind, id=new.id, text=f"{_reference(new)}{f' {named}.' if named else ''}")


def _is_same(notice: StatusNotice, other: StatusNotice) -> bool:
    """Whether both are one: of a kind, with a number in common, or without numbers and with the same words."""
    if notice.kind != other.kind:
        return False
    if (notice.pmid and notice.pmid == other.pmid) or (notice.doi and notice.doi.lower() == other.doi.lower()):
        return True
    return notice.reference == other.reference and not ((notice.pmid and other.pmid) or (notice.doi and other.doi))


def _named(notice: StatusNotice) -> str:
    number = f"PMID {notice.pmid}" if notice.pmid else notice.own_doi
    return f"{NOTICE_LABELS[notice.kind]}: {' '.join(filter(None, (notice.reference, number)))}"


def _reference(publication: Publication) -> str:
    return clipped(vancouver(publication), _MAX_REFERENCE)


SECONDS = 900.0
"""How long it takes at most where no deadline is set around it."""
FOR_SEARCHES = 0.5
"""The share of the time in which searches are begun; the rest is for the status of the records."""
AT_A_TIME = 200
"""Records whose status is asked for together."""
MAX_PAGES = 10
MAX_ERRORS = 10
_STATE = "news"


class _State(Value):
    """How far the watch of a session has come, kept in it, so that nothing is lost when a call is interrupted.

    Attributes:
        items: found and not told yet.
        after: the last id of the session before searches began, "" if none have; what a search that was interrupted
            has added stands after it.
        day: when the round began that is not complete; "" if the last one is.
        searched: keys of the searches that were repeated in this round.
        begun: the last id whose status was asked for before this round, which goes on from there and around.
        checked: the last id whose status was asked for.
        trials: what was told about trials, by number.
    """

    items: tuple[NewsItem, ...] = ()
    after: str = ""
    day: str = ""
    searched: tuple[str, ...] = ()
    begun: str = ""
    checked: str = ""
    trials: dict[str, tuple[str, ...]] = Field(default_factory=dict[str, tuple[str, ...]])


async def gather_news(
    store: EvidenceStore,
    searches: Mapping[str, SourceSearch],
    witness: Witness,
    *,
    web: bool = False,
    seconds: float = SECONDS,
    progress: Progress = no_progress,
) -> News:
    """Run the searches of a session's log again, for what their sources have added since, keep what is new, and ask for
    the status of all records again. Each piece of news is told once; what there is no time for is done the next time.

    `searches` are the sources by name; web searches are repeated only with `web`.

    Raises the errors of `EvidenceStore`; an outage is no error, but among those of the news.
    """
    seconds = seconds_before(TO_KEEP_RESULTS, cap=seconds)
    return await _Watch(store, searches, witness, progress, seconds).gather(web=web)


@dataclass
class _Watch:
    """One call's watch of a session."""

    _store: EvidenceStore
    _searches: Mapping[str, SourceSearch]
    _witness: Witness
    _progress: Progress
    _seconds: float
    _begun: float = field(default_factory=anyio.current_time)
    _state: _State = field(default_factory=_State)
    _errors: dict[str, None] = field(default_factory=dict[str, None])
    _checked: int = 0
    _unanswered: list[str] = field(default_factory=list[str])

    async def gather(self, *, web: bool) -> News:
        with suppress(ValidationError):
            self._state = _State.model_validate_json(await self._store.document(_STATE) or "{}")
        watched = watched_searches(await self._store.search_log(), web=web)
        await self._recover(watched)
        if self._state.day != (today := current_date().isoformat()):
            await self._save(day=today, searched=(), begun=self._state.checked)
        repeated = await self._search(watched)
        ids = await self._store.ids()
        is_round_complete = await self._check(ids)
        searches_left = [one for one in watched if one.key not in self._state.searched]
        items = self._state.items
        done = {"items": (), "after": ""}
        if not searches_left and is_round_complete:
            done |= {"day": "", "searched": ()}
        await self._save(**done)
        left = [counted(len(searches_left), "search", "searches")] if searches_left else []
        left += [] if is_round_complete else ["the status of other records"]
        errors = list(self._errors)
        more = len(errors) - MAX_ERRORS
        order = list(NEWS_LABELS)
        return News(
            session_id=self._store.session_id,
            items=tuple(sorted(items, key=lambda one: order.index(one.kind))),
            searches=len(watched),
            repeated=repeated,
            checked=self._checked,
            unanswered=tuple(self._unanswered),
            errors=(*errors[:MAX_ERRORS], *([f"{counted(more, 'more problem')} of this kind."] if more > 0 else [])),
            left=f"Left for the next time: {' and '.join(left)}." if left else "",
        )

    def _is_late(self, share: float = 1.0) -> bool:
        return anyio.current_time() >= self._begun + share * self._seconds

    async def _save(self, **fields: object) -> None:
        self._state = self._state.model_copy(update=fields)
        await self._store.keep_document(_STATE, self._state.model_dump_json(exclude_defaults=True))

    async def _tell(self, items: Sequence[NewsItem]) -> None:
        await self._save(items=tuple(dict.fromkeys((*self._state.items, *items))))

    async def _recover(self, watched: Sequence[WatchedSearch]) -> None:
        """Take up what a watch that was interrupted had added to the session, but not told."""
        ids = await self._store.ids()
        if self._state.after in ids:
            added = ids[ids.index(self._state.after) + 1 :]
            queries = {query: one for one in watched for query in one.queries}
            told = {one.id for one in self._state.items}
            kept = await self._store.publications([id for id in added if id not in told])
            found = [(one, [query for query in one.found_by if query in queries]) for one in kept.values()]
            items = [_new(one.id, vancouver(one), queries[by[0]], by) for one, by in found if by]
            await self._tell(items)
        await self._save(after=ids[-1] if ids else "")

    async def _search(self, watched: Sequence[WatchedSearch]) -> int:
        """Repeat the searches that were not repeated in this round; gives how many were."""
        done, down = 0, set[str]()
        open_ones = [one for one in watched if one.key not in self._state.searched]
        for number, one in enumerate(open_ones):
            if self._is_late(FOR_SEARCHES):
                break
            await self._progress(0.5 * number / len(open_ones), f"searching again: {clipped(one.name, 60)}")
            if one.source in down:
                continue
            try:
                await self._repeat(one)
            except DeepCriticalError as error:
                self._errors[f"{clipped(one.name, 120)} could not be searched again: {error.message}"] = None
                if isinstance(error, ProviderError) and error.retryable:
                    down.add(one.source)
                if not isinstance(error, InvalidInputError):
                    continue
            done += 1
            await self._save(searched=(*self._state.searched, one.key))
        return done

    async def _repeat(self, one: WatchedSearch) -> None:
        if (search := self._searches.get(one.source)) is None:
            raise InvalidInputError(f"{one.title} is switched off on this server.")
        if not one.is_search:
            held = {*await self._store.ids()}
            named, kind, most = (one.arguments.get(name) for name in ("pmid", "kind", "max_results"))
            ids = RecordIds(doi=str(named)) if "/" in str(named) else RecordIds(pmid=str(named))
            asked = Round([DocumentId(str(named), ids=ids)], cast("LinkKind", kind), int(str(most)), is_round=False)
            result = await follow(search, asked, self._store, tool=WATCH_TOOL)
            await self._note(one, result, [item for item in result.evidence if item.id not in held], ())
            return
        # What earlier runs missed; then what was added since, or, if the source cannot tell, the search itself.
        kind = search.source.request
        kept = {name: value for name, value in one.arguments.items() if name not in ("offset", "since")}
        runs = [*one.missed]
        if one.since and "since" in kind.model_fields:
            runs.append({**kept, "since": one.since, "max_results": kind.MAX_RESULTS})
        elif not one.missed:
            runs.append(kept)
        for arguments in runs:
            await self._ask(one, search, {**arguments, "only_new": True})

    async def _ask(self, one: WatchedSearch, search: SourceSearch, arguments: Mapping[str, object]) -> None:
        """Search with these arguments; if they ask for what was added since, all pages of it."""
        for _ in range(MAX_PAGES):
            try:
                request = search.source.request.model_validate(arguments)
            except ValidationError as error:
                raise InvalidInputError("its entry in the log cannot be read.") from error
            result = await search.search(request, self._store, tool=WATCH_TOOL)
            await self._note(one, result, result.evidence, request.queries)
            if result.next_offset < 0 or "since" not in arguments:
                return
            arguments = {**arguments, "offset": result.next_offset}
        told = f"more than {MAX_PAGES} pages are new; refresh again for the rest."
        self._errors[f"{clipped(one.name, 120)}: {told}"] = None

    async def _note(
        self, one: WatchedSearch, result: SearchResult, new: Sequence[Evidence], queries: Sequence[str]
    ) -> None:
        """Tell what a search found; the evidence says by number which of the `queries` found it."""
        self._errors |= dict.fromkeys(f"{clipped(one.name, 120)}: {error}" for error in result.errors)
        found = [(item, [queries[number - 1] for number in item.found_by] if queries else []) for item in new]
        items = [_new(item.id, item.citation.reference, one, by) for item, by in found]
        await self._tell(items)

    async def _check(self, ids: Sequence[str]) -> bool:
        """Ask for the status of the records left in this round; whether there was time for all of them."""
        # From the last id checked to the end, and from the beginning to where the round began.
        first = ids.index(self._state.checked) + 1 if self._state.checked in ids else 0
        left = ids[first:]
        if self._state.begun in ids:
            around = [*left, *ids[:first]]
            left = around[: around.index(self._state.begun) + 1]
        for start in range(0, len(left), AT_A_TIME):
            if self._is_late():
                return False
            some = left[start : start + AT_A_TIME]
            await self._progress(0.5 + 0.5 * start / len(left), f"asking for the status of {len(left):,} records")
            told = await self._ask_status(list((await self._store.publications(some)).values()))
            await self._save(checked=some[-1], trials={**self._state.trials, **told})
        return True

    async def _ask_status(self, held: Sequence[Publication]) -> Mapping[str, tuple[str, ...]]:
        """Ask again for the status of publications, however lately it was read, and keep what is new of it; gives what
        the registry says now about each trial that changed, by number."""
        asked = await self._witness.rechecked(held)
        answered = set(asked.answered)
        self._errors |= dict.fromkeys(one for one in asked.remarks if isinstance(one, OutageRemark))
        numbers = [one.nct for one in held if one.nct and one.source == "trial" and one.is_record]
        registry, trials = self._searches.get("trials") if numbers else None, dict[str, Publication]()
        if registry:
            try:
                trials |= (await registry.source.fetch(numbers, within=0.0)).records
            except ProviderError as error:
                told = f"{registry.source.title} could not be asked about {len(numbers)} trials: {error}"
                self._errors[told] = None
        changed, items, says = list[Publication](), list[NewsItem](), dict[str, tuple[str, ...]]()
        for place, (old, new) in enumerate(zip(held, asked.publications, strict=True)):
            if fresh := trials.get(old.nct) if old.source == "trial" else None:
                answered.add(place)
                new = new.but(status_notices=united(new.status_notices, fresh.status_notices))
                before = self._state.trials.get(old.nct, old.publication_types)
                if gained := [word for word in fresh.publication_types if word not in before]:
                    items.append(NewsItem(kind="trial", id=old.id, text=f"now {', '.join(gained)}: {_reference(old)}"))
                    says[old.nct] = fresh.publication_types
            items += _news(old, new)
            changed += [new] if status_fields(new) != status_fields(old) else []
        # First the news: if it were lost, the changed status would never be told.
        await self._tell(items)
        if changed:
            await self._store.set_statuses(changed)
        silent = (one for place, one in enumerate(held) if place not in answered)
        self._checked += len(answered)
        self._unanswered += [one.id for one in silent if has_askable_status(one) or (registry and one.nct in numbers)]
        return says


def _new(id: str, reference: str, one: WatchedSearch, queries: Sequence[str]) -> NewsItem:
    """`queries` are those of the search that found it."""
    return NewsItem(kind="new", id=id, text=clipped(reference, _MAX_REFERENCE), search=one.name_of(queries))
