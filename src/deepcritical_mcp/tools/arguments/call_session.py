"""The session that a call belongs to, on every transport and in both protocol eras."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import chain
from typing import TYPE_CHECKING, Any

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken, principal_components
from mcp.server.mcpserver import Context
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from deepcritical_mcp.board import BOARD_KEY, META_KEY
from deepcritical_mcp.context import AppContext
from deepcritical_mcp.deadline import Progress
from deepcritical_mcp.errors import (
    ConfigurationError,
    DeepCriticalError,
    SessionNotFoundError,
    SessionRequiredError,
)
from deepcritical_mcp.evidence.storage.stored_items import (
    ID_PREFIX,
    MAX_TITLE,
    UNREAD_TITLE,
    described,
    folded_title,
    minute,
)
from deepcritical_mcp.models import Evidence, QueryReport, split_text_id, with_numbers_shown
from deepcritical_mcp.text import clean_line, clipped

if TYPE_CHECKING:
    from starlette.requests import Request

    from deepcritical_mcp.evidence.sessions import SessionRegistry
    from deepcritical_mcp.evidence.storage.stored_items import KeptSession
    from deepcritical_mcp.evidence.store import EvidenceStore
    from deepcritical_mcp.search.pipeline import SourceSearch

Numbered = tuple[tuple[Evidence, ...], tuple[QueryReport, ...]]

MAX_NAMED = 5
MAX_LATEST = 3
MAX_TITLE_SHOWN = 60
NOT_KNOWN = "If an earlier result names another session_id, pass that one."


def opens_new(session_id: str) -> bool:
    """Whether this asks for a new session: "new", or "new: its title"."""
    return session_id.partition(":")[0].strip() == "new"


def has_word(title: str, word: str) -> bool:
    """Whether a word of a folded title begins with `word`."""
    return f" {word}" in f" {title}".replace("-", " ")


def unknown_title(title: str, sessions: Sequence[KeptSession]) -> str:
    """That none of the caller's `sessions` has this title, which ones are like it, and how to open it."""
    if len(title) > MAX_TITLE:
        return (
            f"You have no session with this title: a title has at most {MAX_TITLE} characters, and this {len(title)}."
        )
    titled = {folded_title(one.title): one for one in reversed(sessions) if one.title}
    words = [word for word in folded_title(title).split() if len(word) >= len("Lee")]
    like = get_close_matches(folded_title(title), titled, n=MAX_NAMED)
    like += [one for one in reversed(titled) if any(has_word(one, word) for word in words)]
    near = [f'"{titled[one].title}" ({described(titled[one])})' for one in dict.fromkeys(like)][:MAX_NAMED]
    meant = f" Did you mean {'; '.join(near)}?" if near else ""
    meant += " Some titles cannot be read now: try again." if any(one.title == UNREAD_TITLE for one in sessions) else ""
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
    stay = f" To stay in this one: {fill.lower()}" if is_empty else ""
    return (
        f"This session is {state}. Kept before, last used first: {named}.{more} To continue the first of "
        f'these, pass session_id="{latest[0].session_id}".{stay}'
    )


def day(at: float) -> str:
    """A time (Unix seconds) as "2026-11-23" in UTC; "" for 0.0, which is unknown."""
    return minute(at)[: len("2026-11-23")]


SSE_MESSAGES_PATH = "/messages"
CALLER_KEY = "caller:"
ONE_USER = "one_user"
"""The member of an HTTP request's state that says whether only this machine's user can have sent it."""
STRANGER = "(through a proxy)"
"""The owner of what callers open through a proxy on a server that is otherwise this machine's user's alone."""
is_stranger: ContextVar[bool] = ContextVar("is_stranger", default=False)
BESIDE = "Calls without session_id continue another session."
MAX_FOUND_BY = 3
"""An item of evidence names the latest queries that found it, at most this many."""

ToolContext = Context[AppContext, Any]


@dataclass(frozen=True)
class CallSession:
    """The session of a call.

    Attributes:
        announce: whether the client must pass the id to continue it.
        is_new: whether it was opened because the call named none.
        is_empty: whether the call reads, and there is nothing to read.
        others: if it is new or empty, that it is, and which other sessions there are.
    """

    store: EvidenceStore
    announce: bool
    is_new: bool = False
    is_empty: bool = False
    others: str = ""

    def next_step(self, *steps: str) -> str:
        """What the model can do next: how to continue this session, if it must be told, or others; then `steps`."""
        hint = f'Pass session_id="{self.store.session_id}" to continue in this session.' if self.announce else ""
        return " ".join(filter(None, (hint, self.others, *steps)))

    async def query_numbers(self) -> Callable[[Iterable[Evidence]], Numbered]:
        """Gives evidence the numbers of the latest queries that found it, and these queries."""
        kept = await self.store.publications(await self.store.ids())
        totals = Counter(query for one in kept.values() for query in one.found_by)

        def numbered(evidence: Iterable[Evidence]) -> Numbered:
            items = list(evidence)
            owners = [item.id if item.id in kept else split_text_id(item.id)[0] for item in items]
            latest = [kept[id].found_by[-MAX_FOUND_BY:] if id in kept else () for id in owners]
            numbers = {query: at for at, query in enumerate(dict.fromkeys(chain.from_iterable(latest)), start=1)}
            found = tuple(
                item.but(found_by=tuple(sorted(map(numbers.__getitem__, queries))))
                for item, queries in zip(items, latest, strict=True)
            )
            told = [QueryReport(index=at, query=one, status="ok", results=totals[one]) for one, at in numbers.items()]
            return found, with_numbers_shown(told, found)

        return numbered


async def session_for(ctx: ToolContext, session_id: str, *, may_open: bool = True, about: str = "") -> CallSession:
    """The session with that id or title, or a new one for "new" or "new: its title", else the default session, else a
    new one. The last session that a call named or opened is the default for the next. A session without a title takes
    `about`, what the call is about, as its title. A call that only reads has `may_open` False.

    Raises:
        SessionNotFoundError: `session_id` is unknown, expired or someone else's.
        AmbiguousSessionError: it is the beginning of several titles.
        InvalidInputError: it asks for a new session with a title that the caller has already, or that cannot be one.
        SessionRequiredError: no id was given, there is no default session, and `may_open` is False.
    """
    if session_id:
        session = await _named_session(ctx, session_id)
    else:
        registry, key = (await application(ctx).services()).sessions, _default_key(ctx)
        if not key and not may_open:
            raise SessionRequiredError()
        before = registry.defaults.get((key, caller()), "")
        store = await (registry.default(key, owner=caller()) if key else registry.open(owner=caller()))
        session = CallSession(store, _must_be_named(registry, key), is_new=store.session_id != before)
    if about:
        await session.store.set_title_if_none(about)
    is_empty = not may_open and not await session.store.count()
    if not (is_empty or session.is_new):
        return session
    finds = finds_titles(ctx)
    others: list[KeptSession] = []
    with suppress(DeepCriticalError):
        own = await own_sessions(ctx) if finds else ()
        others = [one for one in own if one.session_id != session.store.session_id and one.items]
    # Not new is what was searched, or what everything was removed from: that is kept as documents.
    is_new = session.is_new or not await session.store.documents("")
    note = beginning_note(others, is_new=is_new, is_empty=is_empty, finds_titles=finds)
    return replace(session, is_empty=is_empty, others=note)


async def continued(ctx: ToolContext, store: EvidenceStore) -> CallSession:
    """That session, which the next call without an id continues."""
    registry, key = (await application(ctx).services()).sessions, _default_key(ctx)
    if key:
        registry.defaults[key, caller()] = store.session_id
    return CallSession(store, announce=_must_be_named(registry, key))


async def read_session(ctx: ToolContext, session_id: str) -> EvidenceStore:
    """The session with that id or title, for what is no call of its own; raises as `session_for` does."""
    registry, owner = (await application(ctx).services()).sessions, caller()
    is_id = session_id.startswith(ID_PREFIX)
    if not is_id and not finds_titles(ctx):
        raise SessionNotFoundError(
            "On this server, which does not ask who calls, a session is found by its id only: pass the "
            "session_id exactly as an earlier result shows it."
        )
    try:
        return await (registry.get if is_id else registry.find)(session_id, owner=owner)
    except SessionNotFoundError as error:
        if not is_id:
            raise SessionNotFoundError(unknown_title(session_id, await registry.sessions(owner=owner))) from error
        days = f"{registry.keeps_for / 86_400:.3g}"
        kept = f"Sessions are kept for {days} days after their last use. " if registry.backend.lasting else ""
        raise SessionNotFoundError(f"{SessionNotFoundError().message} {kept}".strip()) from error


async def _named_session(ctx: ToolContext, session_id: str) -> CallSession:
    if not opens_new(session_id):
        return replace(await continued(ctx, await read_session(ctx, session_id)), announce=False)
    registry = (await application(ctx).services()).sessions
    title = session_id.partition(":")[2].strip()
    is_only = bool(title) and finds_titles(ctx)
    return await continued(ctx, await registry.open(owner=caller(), title=title, is_only=is_only))


def _must_be_named(registry: SessionRegistry, key: str) -> bool:
    """Whether the next call must name its session: it may reach another replica, which has defaults of its own."""
    return not key or (key.startswith(CALLER_KEY) and registry.backend.remote)


def finds_titles(ctx: ToolContext) -> bool:
    """Whether it is known whose sessions the caller may see: on stdio, of authenticated callers, and where a server
    without authentication is this machine's user's alone."""
    return ctx.request_context.request is None or get_access_token() is not None or _is_users(ctx)


async def own_sessions(ctx: ToolContext) -> list[KeptSession]:
    """The caller's sessions, the last used first; of callers without a name only the connection's default session."""
    sessions = await (await application(ctx).services()).sessions.sessions(owner=caller())
    if finds_titles(ctx):
        return sessions
    own = await current_id(ctx)
    return [one for one in sessions if one.session_id == own]


async def current_id(ctx: ToolContext) -> str:
    """The id of the connection's default session; "" if none has been opened yet."""
    return (await application(ctx).services()).sessions.defaults.get((_default_key(ctx), caller()), "")


async def existing_session(ctx: ToolContext) -> EvidenceStore | None:
    """The connection's default session if it has been opened already, else None."""
    if session_id := await current_id(ctx):
        with suppress(SessionNotFoundError):
            return await (await application(ctx).services()).sessions.get(session_id, owner=caller())
    return None


async def session_note(ctx: ToolContext, session_id: str) -> str:
    """The title of an open session, until when it is kept (of an empty one, from when on), and whether a call without
    its id continues another one; if it ends with the process, why, or "" if that was chosen."""
    registry = (await application(ctx).services()).sessions
    beside = BESIDE if await current_id(ctx) not in ("", session_id) else ""
    if not session_id:
        return ""
    if registry.backend.lasting:
        with suppress(DeepCriticalError):
            title = (await registry.get(session_id, owner=caller())).title
            named = f' ("{clipped(title, MAX_TITLE_SHOWN)}")' if title else ""
            until = registry.kept_until(session_id)
            when = f"until {day(until)}" if until else "once there is something in it"
            return f"This session{named} is kept {when}. {beside}".strip()
    return registry.backend.warning or beside


async def search_of(ctx: ToolContext, source: str) -> SourceSearch:
    """The search of the source with that name.

    Raises:
        ConfigurationError: this server was built without it.
    """
    searches = (await application(ctx).services()).searches
    if source not in searches:
        raise ConfigurationError(f"This server does not search {source}; it has {', '.join(searches) or 'no source'}.")
    return searches[source]


def application(ctx: ToolContext) -> AppContext:
    """The process's context."""
    return ctx.request_context.lifespan_context


def is_local(ctx: ToolContext) -> bool:
    """Whether the client runs on this machine for this user, over stdio, so that files can be shared with it."""
    return ctx.request_context.request is None


def progress_of(ctx: ToolContext) -> Progress:
    """Reports progress to the client; does nothing for clients that did not ask for it."""

    async def report(fraction: float, message: str) -> None:
        await ctx.report_progress(fraction, 1.0, message)

    return report


def decider(ctx: ToolContext) -> str:
    """Who decides in a call, and through which client: "alice, a person at the board, through Claude 1.2"; "a model
    through Claude 1.2" if nothing tells that it was a person. A call of the board bears its key, which models do not
    see."""
    client = ctx.session.client_params.client_info if ctx.session.client_params else None
    through = f" through {_name(client.name)} {_name(client.version)}".rstrip() if client else ""
    is_person = (ctx.request_context.meta or {}).get(META_KEY) == BOARD_KEY
    return ", ".join(filter(None, (caller(), f"{'a person at the board' if is_person else 'a model'}{through}")))


def _name(given: str) -> str:
    """A name from outside without what separates the parts of a decision."""
    return clipped(clean_line(given).replace(": ", " ").replace(",", ""), MAX_TITLE_SHOWN)


def caller() -> str:
    """The name of the authenticated caller, whose sessions are found by nobody else; without authentication "", or
    `STRANGER`."""
    token = get_access_token()
    return caller_of(token) if token else STRANGER if is_stranger.get() else ""


def caller_of(token: AccessToken) -> str:
    """The name of the caller that `token` belongs to; with OAuth made of client, issuer and user."""
    return "|".join(part for part in principal_components(token) if part)


def _default_key(ctx: ToolContext) -> str:
    """The key of the default session; "" if nothing about the connection is safe from forgery."""
    request: Request | None = ctx.request_context.request
    if request is None:
        return "process"
    if request.url.path.startswith(SSE_MESSAGES_PATH):
        # The SSE transport has already checked that this connection belongs to the caller.
        return f"sse:{request.query_params.get('session_id', '')}"
    if ctx.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
        header = request.headers.get("mcp-session-id", "")
        return f"http:{header}" if header else ""
    return f"{CALLER_KEY}{caller()}" if get_access_token() or _is_users(ctx) else ""


def _is_users(ctx: ToolContext) -> bool:
    request: Request | None = ctx.request_context.request
    return request is not None and bool(request.scope.get("state", {}).get(ONE_USER))
