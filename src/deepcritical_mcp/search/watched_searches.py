"""The searches of a log that can be run again, each once, for what its source has added since."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import cast

from deepcritical_mcp.models import LoggedSearch

MARGIN = timedelta(days=2)
"""Sources name the day on which they added a record; it can be found a little later, and days begin elsewhere."""
_OF_ONE_RUN = ("offset", "max_results", "only_new", "since", "sort", "min_date", "max_date")
"""Arguments that do not make another search."""
_DAYS_OF_AN_OUTAGE = 3
"""Records that a source does not deliver on so many days, with the same words, are not asked for again."""
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
        return f"{self.title}: {linked} PMID {self.arguments.get('pmid', '')}"

    @property
    def queries(self) -> Sequence[str]:
        """Its query and the variants of it."""
        variants = self.arguments.get("variants")
        more = cast("Sequence[object]", variants) if isinstance(variants, list) else ()
        return [str(self.arguments.get("query", "")), *map(str, more)]

    def name_of(self, queries: Sequence[str]) -> str:
        """For people: the source and some of its queries; its name if there are none."""
        quoted = ", ".join(f'"{one}"' for one in queries)
        return f"{self.title}: {quoted}" if self.is_search and queries else self.name


def watched_searches(log: Sequence[LoggedSearch], *, web: bool) -> list[WatchedSearch]:
    """Each search of the log once, in the order of the log; of the same with several date limits the one that reaches
    furthest, and of these the last. Look-ups cannot be run again, and web searches only with `web`."""
    runs: dict[str, list[_Run]] = {}
    for entry in log:
        arguments = _arguments(entry)
        if _can_be_repeated(entry, arguments, web=web):
            lasting = {name: value for name, value in arguments.items() if name not in _OF_ONE_RUN}
            key = f"{entry.source} {entry.kind} {json.dumps(lasting, sort_keys=True)}"
            runs.setdefault(key, []).append((entry, arguments))
    return [_watched(key, entries) for key, entries in runs.items()]


def _arguments(entry: LoggedSearch) -> Mapping[str, object]:
    try:
        read: object = json.loads(entry.request)
    except ValueError:
        return {}
    return cast("Mapping[str, object]", read) if isinstance(read, dict) else {}


def _can_be_repeated(entry: LoggedSearch, arguments: Mapping[str, object], *, web: bool) -> bool:
    if entry.kind == "citations":
        return arguments.get("kind") in _ALERTS
    return entry.kind == "search" and bool(arguments) and (web or entry.source != "web")


def _watched(key: str, runs: Sequence[_Run]) -> WatchedSearch:
    asked = [run for run in runs if not _is_repetition(run)] or runs
    entry, arguments = max(asked, key=lambda run: (str(run[1].get("max_date") or "9999"), run[0].at))
    reached = [run[0].at for run in runs if _is_answered(run[0]) and (not _is_repetition(run) or _saw_all(run[0]))]
    since = str(date.fromisoformat(max(reached)[:10]) - MARGIN) if reached else ""
    title, _, _ = entry.title.partition(" (")
    return WatchedSearch(key, entry.source, title, entry.kind == "search", arguments, since, _missed(asked))


def _missed(runs: Sequence[_Run]) -> list[Mapping[str, object]]:
    """The arguments of each run with errors, unless another one without errors looked at as many results."""
    whole = [run for run in runs if run[0].is_whole]
    missed: list[Mapping[str, object]] = []
    for entry, arguments in runs:
        again = _alike(arguments)
        made_good = any(
            _alike(given) == again or (one.first <= entry.first and _end(one) >= _end(entry)) for one, given in whole
        )
        days = {one.at[:10] for one, given in runs if _alike(given) == again and one.errors == entry.errors}
        is_final = _is_answered(entry) and len(days) >= _DAYS_OF_AN_OUTAGE
        if not made_good and not is_final and again not in missed:
            missed.append(again)
    return missed


def _alike(arguments: Mapping[str, object]) -> Mapping[str, object]:
    return {name: value for name, value in arguments.items() if name != "only_new"}


def _end(entry: LoggedSearch) -> int:
    return entry.first - 1 + entry.examined


def _is_repetition(run: _Run) -> bool:
    return "since" in run[1]


def _is_answered(entry: LoggedSearch) -> bool:
    return all(one.status == "ok" for one in entry.queries)


def _saw_all(entry: LoggedSearch) -> bool:
    """Whether nothing was missed, and every result was looked at."""
    return entry.is_whole and _end(entry) >= entry.total


def repetitions_of(search: WatchedSearch, *, has_since: bool, most: int) -> Iterator[Mapping[str, object]]:
    """The arguments that ask again for what earlier runs missed; then, if the source `has_since`, those that ask for
    at most `most` results that were added since, else those of the search."""
    only_new = {"only_new": True}
    yield from ({**one, **only_new} for one in search.missed)
    kept = {name: value for name, value in search.arguments.items() if name not in ("offset", "since")}
    if has_since and search.since:
        yield {**kept, "since": search.since, "max_results": most, **only_new}
    elif not search.missed:
        yield {**kept, **only_new}
