"""The tools `list_sessions` and `clear_session`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field

from deepcritical_mcp.errors import EvidenceStoreError, InvalidInputError, SessionNotFoundError
from deepcritical_mcp.evidence.storage.stored_items import ID_PREFIX, folded_title, minute
from deepcritical_mcp.models import (
    CitationSource,
    ClearResult,
    EvidencePage,
    Publication,
    SessionList,
    SessionSummary,
    split_text_id,
)
from deepcritical_mcp.text import counted
from deepcritical_mcp.tools.arguments.call_session import (
    ToolContext,
    application,
    caller,
    continued,
    current_id,
    day,
    finds_titles,
    has_word,
    is_local,
    opens_new,
    own_sessions,
    read_session,
)
from deepcritical_mcp.tools.arguments.params import GivenId, Offset, OneLine, OtherSession, evidence_id
from deepcritical_mcp.tools.arguments.schemas import NO_ID
from deepcritical_mcp.tools.kept_evidence import page_of
from deepcritical_mcp.tools.spec import ToolSpec

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.sessions import SessionRegistry
    from deepcritical_mcp.evidence.storage.stored_items import KeptSession
    from deepcritical_mcp.evidence.store import EvidenceStore

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
    ctx: ToolContext, query: Annotated[OneLine, Field(description="title words")] = "", offset: Offset = 0
) -> SessionList:
    """List your kept sessions (earlier, previous research projects) to continue or resume one, last used first."""
    own = await own_sessions(ctx)
    words = folded_title(query).split()
    matching = [one for one in own if all(has_word(folded_title(one.title), word) for word in words)]
    page = matching[offset : offset + PAGE]
    following = offset + len(page)
    registry = (await application(ctx).services()).sessions
    expired = await registry.gone(owner=caller(), only_expired=True) if finds_titles(ctx) else []
    chosen = "" if registry.backend.lasting or not own else "Sessions are kept in memory and end with the server."
    warnings = [
        f"offset {offset} is beyond the last session." if offset >= len(matching) > 0 else "",
        KEPT_LATER if registry.backend.lasting and not all(one.expires for one in page) else "",
        registry.backend.warning or chosen,
        "" if finds_titles(ctx) else ONLY_THIS,
        *(f"{one.session_id}: {one.damage}" for one in page if one.damage),
        *(
            f'"{one.title}" has not been used for its time, and is deleted within a month; to take it back, run: '
            f"deepcritical-mcp sessions undo {one.session_id}"
            for one in expired[:MAX_EXPIRED]
        ),
    ]
    return SessionList(
        session_id=await current_id(ctx),
        total=len(own),
        matching=len(matching),
        sessions=tuple(map(_summary, page)),
        next_offset=following if following < len(matching) else -1,
        warnings=tuple(filter(None, warnings)),
        next_step=_next_step(query, own, page) if own or finds_titles(ctx) else NONE_HERE,
    )


def _next_step(query: str, own: list[KeptSession], page: list[KeptSession]) -> str:
    if not own:
        return NO_SESSIONS
    if not page:
        return f'No title has all words of "{query}": use fewer, or none to list all.' if query else "Use offset=0."
    return f'To continue one, pass its title or id: list_evidence session_id="{page[0].session_id}" shows what it has.'


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


LIST_SESSIONS = ToolSpec(list_sessions, "List kept sessions", "🗂", read_only=True)


BROUGHT_BACK = "They are at the end of list_evidence."
MAX_NAMED = 5
"""Ids that a sentence repeats."""


def _some_ids(ids: list[str]) -> list[str]:
    """`ids` as given; an empty list, which may only mean that there is nothing to remove, differs from none."""
    return [id for id in ids if id.strip()] or [""]


async def clear_session(
    ctx: ToolContext,
    session_id: Annotated[OtherSession, Field(description="as a result shows it")],
    ids: Annotated[
        list[GivenId], AfterValidator(_some_ids), Field(max_length=10_000, description="remove only these")
    ] = [],  # noqa: B006  # pydantic copies it
    undo: Annotated[bool, Field(description="within a day")] = False,
) -> ClearResult:
    """Delete (forget) a session with all its evidence, or remove single items, papers (`ids`); `undo` restores."""
    if opens_new(session_id) or not any(map(str.isalnum, session_id)):
        raise InvalidInputError(NO_ID)
    if ids == [""]:
        if not undo:
            raise InvalidInputError(
                "ids is empty, so nothing was deleted: pass the ids of what to remove, or leave ids out to "
                "delete the whole session."
            )
        ids = []
    registry = (await application(ctx).services()).sessions
    if not session_id.startswith(ID_PREFIX):
        session_id = await _titled(ctx, session_id, may_delete=not (ids or undo))
    if ids:
        store = (await continued(ctx, await registry.get(session_id, owner=caller()))).store
        return await (_restored(store, ids) if undo else _removed(store, ids))
    return await (_session_restored if undo else _session_deleted)(ctx, registry, session_id)


async def _session_deleted(ctx: ToolContext, registry: SessionRegistry, session_id: str) -> ClearResult:
    held, damaged = EvidencePage(session_id=session_id, total=0), False
    try:
        held = await page_of(await registry.get(session_id, owner=caller()), 0, 0)
    except EvidenceStoreError:
        damaged = True
    await registry.drop(session_id, owner=caller())
    step = "The next search or add_evidence opens a new session."
    if registry.backend.undo_seconds:
        step += (
            f" The text stays on disk for {registry.backend.undo_seconds / 3_600:g} hours. To undo this until then: "
            f'clear_session session_id="{session_id}" undo=true.'
        )
        if is_local(ctx):  # the user has the folder
            step += (
                " To delete it for good now, in a shell (with this server's DEEPCRITICAL_DATA_DIR, if that is set): "
                f"deepcritical-mcp sessions delete --now {session_id}"
            )
    return ClearResult(session_id=session_id, removed=held.total, damaged=damaged, sources=held.sources, next_step=step)


async def _session_restored(ctx: ToolContext, registry: SessionRegistry, session_id: str) -> ClearResult:
    """A deleted session or, if it was not deleted, what was removed from it."""
    with suppress(SessionNotFoundError, EvidenceStoreError):  # another process may have deleted it
        store = await registry.get(session_id, owner=caller())
        if back := await (await continued(ctx, store)).store.restore():
            return _of_items(store, back, BROUGHT_BACK, undone=True)
        raise InvalidInputError(
            "There is nothing to undo: this session is not deleted, and nothing was removed from it within a "
            f'day. Nothing has changed. list_evidence session_id="{session_id}" shows what it has.'
        )
    if not registry.backend.undo_seconds:
        raise InvalidInputError("undo is unavailable: this server does not keep deleted sessions.")
    session = await continued(ctx, await registry.restore(session_id, owner=caller()))
    held, step = await page_of(session.store, 0, 0), session.next_step()
    return ClearResult(session_id=session_id, removed=held.total, undone=True, sources=held.sources, next_step=step)


async def _titled(ctx: ToolContext, title: str, *, may_delete: bool) -> str:
    """The id of the session with that title, which is not enough to delete all of it."""
    try:
        store = await read_session(ctx, title)
    except SessionNotFoundError as error:
        if may_delete:
            raise InvalidInputError(NO_ID) from error
        raise SessionNotFoundError(
            "You have no session with this title. Pass the id, rs_…, as results show it: by that a deleted "
            "session can be brought back too."
        ) from error
    if may_delete:
        size = counted(await store.count(), "item")
        raise InvalidInputError(
            f'Deleting a whole session needs its id, and nothing was deleted: session_id="{store.session_id}" '
            f'deletes "{store.title}" with {size}.'
        )
    return store.session_id


async def _removed(store: EvidenceStore, ids: Sequence[str]) -> ClearResult:
    """Remove single publications, if each id can only mean a whole one."""
    wanted = list(dict.fromkeys(map(evidence_id, ids)))
    if parts := [id for id in wanted if split_text_id(id)[1] > 1]:
        whole = split_text_id(parts[0])[0]
        raise InvalidInputError(
            f"{parts[0]} is one text of {whole}, and texts cannot be removed alone: nothing was removed. Pass "
            f'ids=["{whole}"] to remove the publication with all its texts; your own notes on it stay.'
        )
    known = await store.publications(wanted)
    unknown = [id for id in wanted if id not in known]
    if not known:
        raise InvalidInputError(
            f"{_named(unknown)}: not in this session, so nothing was removed. list_evidence has the ids."
        )
    had_notes = [one.id for one in (await store.get(list(known))).values() if one.notes]
    gone = await store.remove(list(known))
    missed = f"Not in this session: {_named(unknown)}. " if unknown else ""
    notes = f'Your notes on {_named(had_notes)} stay (list_evidence source="user"). ' if had_notes else ""
    undo = (
        f'To undo this within a day: clear_session session_id="{store.session_id}" undo=true. A search may find them '
        'again: to set evidence aside for good, mark it by add_evidence with decision="excluded".'
    )
    return _of_items(store, gone, missed + notes + undo)


async def _restored(store: EvidenceStore, ids: Sequence[str]) -> ClearResult:
    wanted = list(dict.fromkeys(map(evidence_id, ids)))
    back = await store.restore(wanted)
    if not back:
        raise InvalidInputError(
            f"{_named(wanted)}: not removed from this session within a day, so nothing has changed. "
            "list_evidence lists what it holds."
        )
    return _of_items(store, back, BROUGHT_BACK, undone=True)


def _of_items(store: EvidenceStore, items: Sequence[Publication], step: str, *, undone: bool = False) -> ClearResult:
    sources: Counter[CitationSource] = Counter(one.source for one in items)
    return ClearResult(
        session_id=store.session_id,
        removed=len(items),
        ids=tuple(one.id for one in items),
        undone=undone,
        sources=dict(sources.most_common()),
        next_step=step,
    )


def _named(ids: Sequence[str]) -> str:
    more = f" and {counted(len(ids) - MAX_NAMED, 'other')}" if len(ids) > MAX_NAMED else ""
    return ", ".join(id[:100] for id in ids[:MAX_NAMED]) + more


CLEAR_SESSION = ToolSpec(clear_session, "Clear a session", "🗑", destructive=True, changes_session=True)
