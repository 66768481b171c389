"""Sessions by their titles: how a call names one, and what it is told if there is no such session."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from difflib import get_close_matches

from deepcritical_mcp.evidence.kept_sessions import MAX_TITLE, KeptSession, folded_title
from deepcritical_mcp.text import clipped, counted

NEW = "new"
MAX_NAMED = 5
MAX_LATEST = 3
MAX_TITLE_SHOWN = 60
NOT_KNOWN = "If an earlier result names another session_id, pass that one."
_CLOSE = 0.6
_SHORTEST_WORD = 3


def opens_new(session_id: str) -> bool:
    """Whether this asks for a new session: "new", or "new: its title"."""
    return session_id.partition(":")[0].strip() == NEW


def same_title(one: str, other: str) -> bool:
    """Whether two titles differ in case, blanks and encoding at most."""
    return folded_title(one) == folded_title(other)


def described(session: KeptSession) -> str:
    """A session's id, size and last use."""
    facts = [session.session_id]
    facts += [counted(session.items, "item")] if session.items >= 0 else []
    facts += [f"last used {minute(session.used)} UTC"] if session.used else []
    return ", ".join(facts)


def unknown_title(title: str, sessions: Sequence[KeptSession]) -> str:
    """That none of the caller's `sessions` has this title, which ones are like it, and how to open it."""
    if len(title) > MAX_TITLE:
        return (
            f"You have no session with this title: a title has at most {MAX_TITLE} characters, and this {len(title)}."
        )
    near = [f'"{one.title}" ({described(one)})' for one in _like(title, sessions)]
    meant = f" Did you mean {'; '.join(near)}?" if near else ""
    return f'You have no session whose title is or begins with "{title}".{meant} session_id="new: {title}" opens one.'


def beginning_note(others: Sequence[KeptSession], *, is_new: bool, is_empty: bool, finds_titles: bool) -> str:
    """That a session is new or empty, and how to continue one of the caller's `others`, the last used first; "" of one
    that gets its first evidence, if there is no other."""
    state = " and ".join(word for word, holds in (("new", is_new), ("empty", is_empty)) if holds)
    fill = "Search first, or use add_evidence." if is_empty else ""
    if not others:
        known = "" if finds_titles else f"{NOT_KNOWN} "
        return f"This session is {state}. {known}{fill}" if is_empty else ""
    latest = others[: MAX_LATEST if is_empty else 1]
    titles = (f'"{clipped(one.title, MAX_TITLE_SHOWN)}", ' if one.title else "" for one in latest)
    named = "; ".join(f"{title}{described(one)}" for title, one in zip(titles, latest, strict=True))
    more = " list_sessions lists all." if len(others) > len(latest) else ""
    return (
        f"This session is {state}. Kept before, last used first: {named}.{more} To continue the first of these, pass "
        f'session_id="{latest[0].session_id}". {f"To stay in this one: {fill.lower()}" if is_empty else ""}'
    ).strip()


def with_words(words: str, sessions: Sequence[KeptSession]) -> list[KeptSession]:
    """The sessions whose titles have all these words, or words that begin so."""
    wanted = folded_title(words).split()
    return [one for one in sessions if all(_has(word, one.title) for word in wanted)]


def minute(at: float) -> str:
    """A time (Unix seconds) as "2026-11-23 04:45" in UTC; "" for 0.0, which is unknown."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M}" if at else ""


def day(at: float) -> str:
    """A time (Unix seconds) as "2026-11-23" in UTC; "" for 0.0, which is unknown."""
    return minute(at)[: len("2026-11-23")]


def _like(title: str, sessions: Sequence[KeptSession]) -> list[KeptSession]:
    titled = {folded_title(one.title): one for one in reversed(sessions) if one.title}
    asked = folded_title(title)
    words = [word for word in asked.split() if len(word) >= _SHORTEST_WORD]
    close = get_close_matches(asked, titled, n=MAX_NAMED, cutoff=_CLOSE)
    sharing = [one for one in reversed(titled) if any(_has(word, one) for word in words)]
    return [titled[one] for one in dict.fromkeys((*close, *sharing))][:MAX_NAMED]


def _has(word: str, title: str) -> bool:
    return any(one.startswith(word) for one in folded_title(title).replace("-", " ").split())
