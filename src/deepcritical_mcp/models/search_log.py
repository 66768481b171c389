"""The log of a session's searches, as PRISMA-S asks for it, and what is new about a session since it was last asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Literal, get_args

from deepcritical_mcp.models.publication import STATUSES, Value
from deepcritical_mcp.text import counted

LoggedKind = Literal["search", "citations", "lookup", "file"]
"""A search of a source; a look for papers that cite or are like one; records fetched by their identifiers; records of a
file, which the user exported from the database `title`."""


WATCH_TOOL = "refresh"
"""The tool of an entry in which a watch ran a search of the log again."""
CHECK_TOOL = "check_citations"
"""The tool of an entry in which the references of a draft were checked."""


class LoggedQuery(Value):
    """One wording of a logged search: as it was asked for, as it was sent, and as the source says it read it.

    `results` counts what the source has; `detail` says who answered, or why nobody did.
    """

    query: str
    sent: str = ""
    translation: str = ""
    status: Literal["ok", "failed"] = "ok"
    results: int = 0
    detail: str = ""


class LoggedSearch(Value):
    """One search of a session.

    Attributes:
        at: when it began (UTC), "2026-11-23T04:45:10Z".
        tool: what was called, e.g. "pubmed_search".
        source: the name of the source, e.g. "pubmed"; `title` is its name for people, with the provider that answered.
        filters: each limit of the request in words, e.g. "from 2020-01-01", "only Randomized Controlled Trial".
        total: what the source has for all queries together.
        first: the position of the first result that was looked at, from 1; `examined` so many from there on.
        ids: the evidence that it led to, old and new, best first.
        new: how many of these the session did not have.
        duplicates: results that were the same as others of this search.
        left_out: results that the filters left out after the source had answered.
        errors: what could not be searched or fetched, and why; with no `ids` and a failed query, the search failed.
        version: of the server that searched; "" if that was not recorded.
        request: what asks the same again: the arguments of the tool that are not at their defaults, as JSON.
    """

    at: str
    tool: str
    kind: LoggedKind = "search"
    source: str
    title: str
    queries: tuple[LoggedQuery, ...] = ()
    filters: tuple[str, ...] = ()
    total: int = 0
    first: int = 1
    examined: int = 0
    ids: tuple[str, ...] = ()
    new: int = 0
    duplicates: int = 0
    left_out: int = 0
    errors: tuple[str, ...] = ()
    version: str = ""
    request: str = "{}"

    @property
    def failed(self) -> bool:
        """Whether nobody answered."""
        return bool(self.queries) and all(one.status == "failed" for one in self.queries)

    @property
    def is_whole(self) -> bool:
        """Whether every query was answered and nothing was missed."""
        return not self.errors and all(one.status == "ok" for one in self.queries)

    @property
    def is_watch(self) -> bool:
        """Whether a watch asked, not a tool."""
        return self.tool == WATCH_TOOL

    @property
    def is_own(self) -> bool:
        """Whether it is a search of the user's own."""
        return self.tool != WATCH_TOOL and not self.is_check

    @property
    def is_check(self) -> bool:
        """Whether references of a draft were looked up, which led to no evidence (before version 0.3 it did)."""
        return self.tool == CHECK_TOOL and not self.ids


NewsKind = Literal["retracted", "concern", "superseded", "corrected", "published", "trial", "new"]
NEWS_LABELS: Mapping[NewsKind, str] = {kind: STATUSES.get(kind, kind.upper()) for kind in get_args(NewsKind)}
"""How each kind of news begins, in the order in which it is shown."""
_NAMES: Mapping[NewsKind, str] = {"concern": "under concern", "trial": "changed in the registry"}
"""What has a name of its own in a summary."""


_MAX_NAMED = 5


class NewsItem(Value):
    """One piece of news about a publication of the session, on one line; `search` found a new one."""

    kind: NewsKind
    id: str
    text: str
    search: str = ""

    @property
    def line(self) -> str:
        """As it is printed."""
        found = f" (found by {self.search})" if self.search else ""
        return f"{NEWS_LABELS[self.kind]}: {self.text}{found}"


class News(Value):
    """What is new in a session.

    Attributes:
        items: the gravest first; each is told once.
        searches: distinct searches of the log that can be run again, `repeated` of them were.
        checked: publications about whose status somebody answered.
        unanswered: ids of those whose status can be asked for, and about which nobody answered this time.
        errors: who could not be asked, and why.
        left: what there was no time for; the next time goes on with it.
    """

    session_id: str
    items: tuple[NewsItem, ...] = ()
    searches: int = 0
    repeated: int = 0
    checked: int = 0
    unanswered: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    left: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether everybody answered, and there was time for everything."""
        return not self.errors and not self.left

    @property
    def summary(self) -> str:
        """What was done and found, in a sentence or two."""
        counts = Counter(one.kind for one in self.items)
        found = (f"{counts[kind]} {_NAMES.get(kind, kind)}" for kind in NEWS_LABELS if counts[kind])
        told = ", ".join(found) or "nothing new"
        of = f" of {self.searches}" if self.repeated < self.searches else ""
        searches = f"{self.repeated}{of} {'search' if self.searches == 1 else 'searches'} repeated"
        asked = f"the status of {counted(self.checked + len(self.unanswered), 'record')} asked for"
        if self.unanswered:
            more = len(self.unanswered) - _MAX_NAMED
            named = f"{', '.join(self.unanswered[:_MAX_NAMED])}{f' and {more:,} more' if more > 0 else ''}"
            asked = f"{asked}, but nobody answered about {len(self.unanswered):,} of them ({named})"
        return " ".join(filter(None, (f"{told[:1].upper()}{told[1:]}: {searches}, {asked}.", self.left)))
