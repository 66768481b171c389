"""The log of a session's searches, as PRISMA-S asks for it: what was asked where and when, and what came of it."""

from __future__ import annotations

from typing import Literal

from deepcritical_mcp.models.publication import Value

LoggedKind = Literal["search", "citations", "lookup"]
"""A search of a source; a look for papers that cite or are like one; records fetched by their identifiers."""


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
    def is_check(self) -> bool:
        """Whether references of a draft were looked up, which led to no evidence (before version 0.3 it did)."""
        return self.tool == CHECK_TOOL and not self.ids
