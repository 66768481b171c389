"""The searches of a log that can be run again, each once, for what its source has added since."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import cast

from deepcritical_mcp.models import LoggedSearch

MARGIN = timedelta(days=2)
"""Sources name the day on which they added a record; it can be found a little later, and days begin elsewhere."""
_OF_ONE_RUN = ("offset", "max_results", "only_new", "since", "sort", "min_date", "max_date")
"""Arguments that do not make another search."""
_ALERTS = ("cited_by", "similar")
"""Links to a paper that come to be later; its references do not."""


@dataclass(frozen=True)
class WatchedSearch:
    """A search of the log: its latest arguments, and from which day ("YYYY-MM-DD") on new records may have been added,
    "" if it never succeeded."""

    key: str
    source: str
    title: str
    is_search: bool
    arguments: Mapping[str, object]
    since: str

    @property
    def name(self) -> str:
        """For people: the source and the query."""
        if self.is_search:
            return f'{self.title}: "{self.arguments.get("query", "")}"'
        linked = "papers that cite" if self.arguments.get("kind") == "cited_by" else "papers similar to"
        return f"{self.title}: {linked} PMID {self.arguments.get('pmid', '')}"


def watched_searches(log: Sequence[LoggedSearch], *, web: bool) -> list[WatchedSearch]:
    """Each search of the log once, in the order of the log; of the same with several date limits the one that reaches
    furthest, and of these the last. Look-ups cannot be run again, and web searches only with `web`."""
    runs: dict[str, list[tuple[LoggedSearch, Mapping[str, object]]]] = {}
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


def _watched(key: str, runs: Sequence[tuple[LoggedSearch, Mapping[str, object]]]) -> WatchedSearch:
    asked = [run for run in runs if "since" not in run[1]] or runs
    entry, arguments = max(asked, key=lambda run: (str(run[1].get("max_date") or "9999"), run[0].at))
    complete = [one.at for one, given in runs if _is_complete(one, is_repetition="since" in given)]
    since = str(date.fromisoformat(max(complete)[:10]) - MARGIN) if complete else ""
    title, _, _ = entry.title.partition(" (")
    return WatchedSearch(key, entry.source, title, entry.kind == "search", arguments, since)


def _is_complete(entry: LoggedSearch, *, is_repetition: bool) -> bool:
    """Whether all queries were answered and, of a repetition, every result was looked at."""
    answered = all(one.status == "ok" for one in entry.queries)
    if not is_repetition:
        return answered
    return answered and not entry.errors and entry.first - 1 + entry.examined >= entry.total


def repetition(search: WatchedSearch, *, since: bool, most: int, offset: int = 0) -> dict[str, object]:
    """The arguments that ask for what is new from `offset` on; with `since`, for all that was added, else for what the
    search asked for."""
    kept = {name: value for name, value in search.arguments.items() if name not in ("offset", "since")}
    limits = {"since": search.since, "max_results": most, "offset": offset} if since and search.since else {}
    return {**kept, **limits, "only_new": True}
