"""The tool `list_sessions`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from deepcritical_mcp.evidence.kept_sessions import folded_title
from deepcritical_mcp.models import SessionList, SessionSummary
from deepcritical_mcp.tools.arguments.call_session import (
    ToolContext,
    application,
    caller,
    current_id,
    day,
    finds_titles,
    has_word,
    minute,
    own_sessions,
)
from deepcritical_mcp.tools.arguments.params import OneLine
from deepcritical_mcp.tools.spec import ToolSpec, hints

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.storage.stored_items import KeptSession

PAGE = 20
NO_SESSIONS = (
    "There is no session yet. A search opens one by itself, and takes its first query as the title; "
    'session_id="new: a title" opens one with a title of your own.'
)
ONLY_THIS = (
    "This server does not ask who calls, so it lists only the session of this connection. Others are found by the "
    "session_id that their results show."
)
MAX_EXPIRED = 5
KEPT_LATER = "A session without a date is empty: it is kept once there is something in it."
NONE_HERE = "A search opens one; to continue it, pass the session_id that its result shows."


async def list_sessions(
    ctx: ToolContext,
    query: Annotated[OneLine, Field(description="title words")] = "",
    offset: Annotated[int, Field(ge=0)] = 0,
) -> SessionList:
    """List your kept sessions (earlier, previous research projects) to continue or resume one, last used first."""
    own = await own_sessions(ctx)
    words = folded_title(query).split()
    matching = [one for one in own if all(has_word(folded_title(one.title), word) for word in words)]
    page = matching[offset : offset + PAGE]
    following = offset + len(page)
    registry = (await application(ctx).services()).sessions
    expired = await registry.expired(owner=caller()) if finds_titles(ctx) else []
    beyond = [f"offset {offset} is beyond the last session."] if offset >= len(matching) > 0 else []
    empty = KEPT_LATER if registry.lasting and not all(one.expires for one in page) else ""
    chosen = "" if registry.lasting or not own else "Sessions are kept in memory and end with the server."
    return SessionList(
        session_id=await current_id(ctx),
        total=len(own),
        matching=len(matching),
        sessions=tuple(map(_summary, page)),
        next_offset=following if following < len(matching) else -1,
        warnings=tuple(
            filter(
                None,
                (
                    *beyond,
                    empty,
                    registry.warning or chosen,
                    "" if finds_titles(ctx) else ONLY_THIS,
                    *(f"{one.session_id}: {one.damage}" for one in page if one.damage),
                    *map(_expired, expired[:MAX_EXPIRED]),
                ),
            )
        ),
        next_step=_next_step(query, own, page) if own or finds_titles(ctx) else NONE_HERE,
    )


def _next_step(query: str, own: list[KeptSession], page: list[KeptSession]) -> str:
    if not own:
        return NO_SESSIONS
    if not page:
        return f'No title has all words of "{query}": use fewer, or none to list all.' if query else "Use offset=0."
    return f'To continue one, pass its title or id: list_evidence session_id="{page[0].session_id}" shows what it has.'


def _expired(session: KeptSession) -> str:
    return (
        f'"{session.title}" has not been used for its time, and is deleted within a month; to take it back, run: '
        f"deepcritical-mcp sessions undo {session.session_id}"
    )


def _summary(session: KeptSession) -> SessionSummary:
    return SessionSummary(
        session_id=session.session_id,
        title=session.title,
        created=minute(session.created),
        last_used=minute(session.used),
        kept_until=day(session.expires),
        evidence=session.items,
        searches=session.searches,
    )


TOOL = ToolSpec(list_sessions, "List kept sessions", "🗂", SessionList, hints(read_only=True))
