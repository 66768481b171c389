"""The searches of a log that can be run again, each once, for what its source has added since."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta

from deepcritical_mcp.models import LoggedSearch
from deepcritical_mcp.net.json_fields import mapping_of, texts_of

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
        return f"{self.title}: {linked} PMID {self.arguments.get('pmid', '')}"

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
            can_be_repeated = arguments.get("kind") in _ALERTS
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
