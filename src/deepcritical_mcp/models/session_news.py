"""What is new about a session since it was last asked: records, statuses, and what could not be learned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Literal

from deepcritical_mcp.models.publication import Value
from deepcritical_mcp.text import counted

NewsKind = Literal["retracted", "concern", "superseded", "corrected", "published", "trial", "new"]
NEWS_LABELS: Mapping[NewsKind, str] = {
    "retracted": "RETRACTED",
    "concern": "EXPRESSION OF CONCERN",
    "superseded": "SUPERSEDED",
    "corrected": "CORRECTED",
    "published": "PUBLISHED",
    "trial": "TRIAL",
    "new": "NEW",
}
"""How each kind of news begins, in the order in which it is shown."""
_NAMES: Mapping[NewsKind, str] = {
    "retracted": "retracted",
    "concern": "under concern",
    "superseded": "superseded",
    "corrected": "corrected",
    "published": "published",
    "trial": "changed in the registry",
    "new": "new",
}


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
        told = ", ".join(f"{counts[kind]} {name}" for kind, name in _NAMES.items() if counts[kind]) or "nothing new"
        of = f" of {self.searches}" if self.repeated < self.searches else ""
        searches = f"{self.repeated}{of} {'search' if self.searches == 1 else 'searches'} repeated"
        asked = f"the status of {counted(self.checked + len(self.unanswered), 'record')} asked for"
        if self.unanswered:
            more = len(self.unanswered) - _MAX_NAMED
            named = f"{', '.join(self.unanswered[:_MAX_NAMED])}{f' and {more:,} more' if more > 0 else ''}"
            asked = f"{asked}, but nobody answered about {len(self.unanswered):,} of them ({named})"
        return " ".join(filter(None, (f"{told[:1].upper()}{told[1:]}: {searches}, {asked}.", self.left)))
