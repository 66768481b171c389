"""Sessions: opened, found by their id, closed or deleted when idle or when there are too many."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from weakref import WeakValueDictionary

import anyio
from anyio.to_thread import run_sync

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import EvidenceStoreError, SessionFullError, SessionNotFoundError
from deepcritical_mcp.evidence.session_access import Embedder, SessionAccess
from deepcritical_mcp.evidence.storage.backend import Backend, Space
from deepcritical_mcp.evidence.storage.stored_items import (
    KeptSession,
    check_title_is_free,
    is_session_id,
    new_session_id,
    session_title,
    with_title,
)
from deepcritical_mcp.evidence.store import EvidenceStore

logger = logging.getLogger(__name__)

WRITES_PER_TTL = 100
RECORD_EVERY = 60.0
"""A session's last use is recorded to within a hundredth of its time to live, and to within so many seconds."""
SWEEPS_PER_TTL = 24
SWEEP_EVERY = 21_600.0
"""How often expired sessions are looked for, at least; seconds."""

REST_AFTER = 300.0
"""Seconds after which an idle session releases the memory of its indexes."""
STAYS_AWAKE = 1.0
"""Seconds for which a session stays awake after a call, however many others are awake: otherwise, clients that call in
quick succession would have to wake their session at every call."""
RETURNS_WITHIN = 30.0
"""Seconds of rest after which its user is not expected back soon. A session that was woken earlier stays awake for that
long after each call; otherwise, many callers in turn would wake all sessions over and over."""
MAX_RETURNING = 8
"""The factor by which more sessions may be awake because of that."""
IN_USE = 120.0
"""Seconds after a call during which a session is put to rest for its size only if all sessions exceed twice their
memory limit: otherwise, large sessions in use at the same time would put one another to rest at every call, and waking
one takes seconds."""

MAX_MEMORY = 500_000_000
"""Bytes that the indexes of all sessions may take together; those of one session may take more."""


class SessionRegistry:
    """All sessions of the process. Constructing it opens nothing.

    Args:
        settings: how many sessions there may be, how large, and how long they live.
        embedder: the model, shared by all sessions.
        backend: where sessions are kept; closed with the registry.
        clock: Unix seconds.

    Attributes:
        backend: where sessions are kept.
        keeps_for: seconds for which a session is kept after its last use.
        defaults: the ids of default sessions, by key and owner, see `default`.
    """

    def __init__(
        self, settings: Settings, embedder: Embedder, backend: Backend, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._settings = settings
        self._embedder = embedder
        self.backend = backend
        self._clock = clock
        self._sessions: dict[str, EvidenceStore] = {}
        self._resting: asyncio.Task[None] | None = None
        """Lets sessions rest, so that no call waits until those of others do."""
        self.defaults: dict[tuple[str, str], str] = {}
        self._stores: WeakValueDictionary[str, EvidenceStore] = WeakValueDictionary()
        # One for each session and for each default: a lock for all would make every call wait for a slow backend.
        self._locks: WeakValueDictionary[str | tuple[str, str], anyio.Lock] = WeakValueDictionary()
        self._next_sweep = 0.0
        self.keeps_for = settings.session_ttl or backend.ttl

    async def open(self, *, owner: str = "", title: str = "", is_only: bool = False) -> EvidenceStore:
        """Open a fresh session that belongs to `owner`, with a title that nobody can take for an id. If it `is_only`,
        no other session of the owner may have that title.

        Raises:
            InvalidInputError: this cannot be a title, see `session_title`, or another session has it.
            SessionFullError: the owner's open sessions hold as much evidence as they may.
            EvidenceStoreError: it cannot be created.
        """
        title, digest = session_title(title) if title else "", _digest(owner)
        naming = self._lock(("titles of", owner)) if is_only else contextlib.nullcontext()
        async with naming:  # two calls at once do not open two with the same title
            if is_only:
                check_title_is_free(title, await self.sessions(owner=owner))
            if digest:  # opening many must not push out other owners' sessions
                own = [session for session in self._sessions.values() if session.space.rows.info.owner == digest]
                if sum(session.size for session in own) >= self._settings.max_evidence_per_caller:
                    raise SessionFullError(
                        f"Your open sessions together hold {self._settings.max_evidence_per_caller:,} items of "
                        "evidence, which is the limit. Continue in one of them."
                    )
                await self._end(own, len(own) - self._settings.max_sessions_per_caller + 1)
            session_id, now = new_session_id(), self._clock()
            info = KeptSession(title=title, created=now, used=now, owner=digest, model=self._embedder.name)
            async with self._lock(session_id):
                return await self._opened(session_id, lambda: self.backend.create(session_id, info, is_only=is_only))

    async def get(self, session_id: str, *, owner: str = "") -> EvidenceStore:
        """The session with this id, opened if it is not open.

        Raises:
            SessionNotFoundError: it is unknown, expired, deleted, or another owner's.
            SessionBusyError: another process has locked it.
            EvidenceStoreError: it cannot be read.
        """
        lock = self._lock(session_id)
        await self._drop_idle()
        async with lock:
            return await self._find(session_id, _digest(owner))

    async def sessions(self, *, owner: str = "") -> list[KeptSession]:
        """All sessions of `owner` that can be opened and are not empty, the last used first.

        Raises:
            EvidenceStoreError: the place where they are kept cannot be read.
        """
        await self._drop_idle(expire=False)  # a caller that only looks deletes nothing
        digest = _digest(owner)
        infos = await run_sync(self.backend.sessions, digest, abandon_on_cancel=True)
        for id, session in self._sessions.items():
            ours = session.space.rows.info
            if ours.owner == digest:  # on a server, another process may have named it since
                infos[id] = replace(infos.get(id, ours) if self.backend.shared else ours, used=session.used)
        listed = [self._listed(id, info) for id, info in infos.items() if info.title or info.items or info.searches]
        since = self._clock() - self.keeps_for if self.backend.expires_by_use else -math.inf
        return sorted((one for one in listed if one.used >= since), key=lambda one: one.used, reverse=True)

    async def find(self, title: str, *, owner: str = "") -> EvidenceStore:
        """The session of `owner` with that title, else the only one whose title begins so. Case and blanks do not
        matter.

        Raises:
            AmbiguousSessionError: there are several; the message lists them.
            SessionNotFoundError: there is none.

        and what `get` raises.
        """
        found = with_title(await self.sessions(owner=owner), title)
        if found is None:
            raise SessionNotFoundError()
        return await self.get(found.session_id, owner=owner)

    def kept_until(self, session_id: str) -> float:
        """When an open session is deleted if nobody uses it (Unix seconds); 0.0 if it is not kept, or not yet."""
        session = self._sessions.get(session_id)
        return self._expiry(session_id, session.used) if session is not None else 0.0

    async def default(self, key: str, *, owner: str = "") -> EvidenceStore:
        """The default session of `key` (a connection or a process) and `owner`; a fresh one if there is none."""
        name = (key, owner)
        async with self._lock(name):
            known = self.defaults.get(name)
            if known is not None:
                try:
                    return await self.get(known, owner=owner)
                except SessionNotFoundError:
                    logger.info("the default session is gone, opening a fresh one")
            store = await self.open(owner=owner)
            if self.defaults.get(name) in (None, known):  # else another call has named one meanwhile
                self.defaults[name] = store.session_id
            return store

    async def drop(self, session_id: str, *, owner: str = "") -> None:
        """Delete a session with all its evidence, even one that cannot be read. It can be restored for `undo_seconds`.

        Raises:
            SessionNotFoundError: it is unknown, expired, deleted, or another owner's.
        """
        lock = self._lock(session_id)
        await self._drop_idle()
        async with lock:
            try:
                session = await self._find(session_id, _digest(owner))
            except (EvidenceStoreError, SessionNotFoundError):
                if not await run_sync(self.backend.discard, session_id, _digest(owner)):
                    raise
            else:
                await self._close(session, to_stay=False)
            self.defaults = {name: id for name, id in self.defaults.items() if id != session_id}

    async def gone(self, *, owner: str = "", only_expired: bool = False) -> list[KeptSession]:
        """The deleted and expired sessions of `owner` that `restore` can bring back and `erase` deletes for good."""
        infos = await run_sync(self.backend.gone, _digest(owner), only_expired, abandon_on_cancel=True)
        return [replace(self._listed(id, info), expires=0.0) for id, info in infos.items()]

    async def erase(self, session_id: str, *, owner: str = "") -> None:
        """Delete what is still kept of a session that was dropped; raises SessionBusyError if that is not possible."""
        async with self._lock(session_id):
            await run_sync(self.backend.erase, session_id, _digest(owner))

    async def restore(self, session_id: str, *, owner: str = "") -> EvidenceStore:
        """A session that was dropped less than `undo_seconds` ago, as it was; otherwise like `get`."""
        async with self._lock(session_id):
            await run_sync(self.backend.restore, session_id, _digest(owner))
            session = await self._find(session_id, _digest(owner))
            await run_sync(lambda: session.space.rows.record(used=session.used))
            return session

    @property
    def open_sessions(self) -> int:
        """How many sessions are open in this process."""
        return len(self._sessions)

    async def check(self) -> None:
        """Check that sessions can be kept; raises EvidenceStoreError if they cannot."""
        await run_sync(self.backend.check, abandon_on_cancel=True)

    async def sweep(self) -> None:
        """Drop expired sessions, and let idle ones rest. Every call does so too; this is for times without calls."""
        await self._drop_idle()
        for _ in range(2):  # one may have begun earlier
            self._start_resting()
            if self._resting is not None:
                await asyncio.wait({self._resting})
        if not self.backend.lasting:
            self.defaults = {name: id for name, id in self.defaults.items() if id in self._sessions}

    async def aclose(self) -> None:
        """Close all sessions and the backend. If the backend is lasting, they can be opened again."""
        if self._resting is not None:
            await asyncio.wait({self._resting})
        for id in list(self._sessions):
            async with self._lock(id):
                if id in self._sessions:
                    await self._close(self._sessions[id])
        await run_sync(self.backend.close)

    def _start_resting(self) -> None:
        """Start the task, unless it runs; it outlives the call."""
        if self._resting is None or self._resting.done():
            work = self._rest([*self._sessions.values()], self._clock())
            self._resting = asyncio.get_running_loop().create_task(work)

    async def _rest(self, sessions: Sequence[EvidenceStore], now: float) -> None:
        """Let those of `sessions` rest that have not been used for long, or are too many or too large together. The
        last one stays awake however large it is."""
        awake, size = 0, 0
        for session in [session for session in reversed(sessions) if session.awake]:
            if session.rested:
                session.returns, session.rested = session.used - session.rested < RETURNS_WITHIN, 0.0
            stays = session.returns and awake < MAX_RETURNING * self.backend.max_awake
            awake, size = awake + 1, size + session.memory
            idle = now - session.used
            too_many = awake > self.backend.max_awake and idle > (RETURNS_WITHIN if stays else STAYS_AWAKE)
            too_large = awake > 1 and size > (MAX_MEMORY if idle > IN_USE else 2 * MAX_MEMORY)
            if too_many or too_large or idle > REST_AFTER:
                await session.rest()
                session.rested = now if not session.awake else 0.0

    def _lock(self, name: str | tuple[str, str]) -> anyio.Lock:
        """The lock of a session's id (SessionNotFoundError if it is none), of a default, or of an owner's titles."""
        if isinstance(name, str) and not is_session_id(name):
            raise SessionNotFoundError()
        return self._locks.setdefault(name, anyio.Lock())

    async def _find(self, session_id: str, owner: str) -> EvidenceStore:
        session = self._sessions.get(session_id)
        state = await run_sync(self.backend.state, session_id) if session is not None else "here"
        if session is not None and (session.lost or state == "replaced"):
            await self._close(session)
            session = None
        if session is not None and state == "gone":
            await self._close(session)
            raise EvidenceStoreError(
                "The files of this session have been deleted or moved. If it was cleared, perhaps in another window, "
                "clear_session with undo=true brings it back within a day. The next call without session_id opens a "
                "new session."
            )
        found = session or await self._reopen(session_id)
        if found.space.rows.info.owner != owner:
            if session is None:
                await self._close(found)
            raise SessionNotFoundError()
        session = found
        now = self._clock()
        self._mark_used(session, now)
        self._start_resting()
        if now - session.recorded >= min(self.keeps_for / WRITES_PER_TTL, RECORD_EVERY):
            await session.record_use()
        return session

    async def _reopen(self, session_id: str) -> EvidenceStore:
        session = await self._opened(session_id, lambda: self.backend.open(session_id, self._embedder.name))
        if self.backend.expires_by_use and session.space.rows.info.used < self._clock() - self.keeps_for:
            await self._close(session)  # the sweep deletes it, if the place where it is kept agrees about the time
            raise SessionNotFoundError()
        return session

    async def _opened(self, session_id: str, work: Callable[[], Space]) -> EvidenceStore:
        space = await run_sync(work)
        session = self._stores.get(session_id) or EvidenceStore(
            session_id, self._embedder, self._attach, self._settings, self.backend
        )
        self._stores[session_id] = session
        session.attach(space, self._clock())
        self._sessions[session_id] = session
        await self._drop_idle()
        await self._end(self._sessions.values(), len(self._sessions) - self.backend.limit)
        self._start_resting()
        return session

    async def _attach(self, store: SessionAccess) -> None:
        """Open a session again, which was closed while a call still held it."""
        async with self._lock(store.session_id):
            if store.lost and store.session_id in self._sessions:
                await self._close(self._sessions[store.session_id])
            if store.session_id not in self._sessions:
                await self._reopen(store.session_id)

    def _mark_used(self, session: EvidenceStore, now: float) -> None:
        session.used = now
        self._sessions[session.session_id] = self._sessions.pop(session.session_id)  # the latest goes last

    async def _drop_idle(self, *, expire: bool = True) -> None:
        now = self._clock()
        since = now - self.keeps_for
        for session in [session for session in self._sessions.values() if session.users]:
            self._mark_used(session, now)
        for session in list(self._sessions.values()):
            if session.used >= since:
                break
            # A lasting session may have been used by another process: the sweep below checks its recorded use.
            await self._end([session], to_stay=self.backend.lasting)
        if expire and now >= self._next_sweep:
            self._next_sweep = now + min(self.keeps_for / SWEEPS_PER_TTL, SWEEP_EVERY)
            try:
                await run_sync(self.backend.expire, now, self.keeps_for)
            except EvidenceStoreError as error:
                logger.warning("cannot delete expired sessions: %s", error)

    def _expiry(self, session_id: str, used: float) -> float:
        return used + self.keeps_for if self.backend.lasting and self.backend.is_begun(session_id) else 0.0

    def _listed(self, session_id: str, info: KeptSession) -> KeptSession:
        used = info.used or self._clock()  # a session without a known date counts as used now
        return replace(info, session_id=session_id, used=used, expires=self._expiry(session_id, used))

    async def _end(self, sessions: Iterable[EvidenceStore], count: int = 1, *, to_stay: bool = True) -> None:
        """Close or delete the first `count` of `sessions` that no call is using."""
        for session in list(sessions):
            lock = self._lock(session.session_id)
            is_open = self._sessions.get(session.session_id) is session
            if count > 0 and is_open and not session.users and not lock.locked():
                count -= 1
                lock.acquire_nowait()  # and not `async with`, which lets other tasks run
                try:
                    await self._close(session, to_stay=to_stay)
                finally:
                    lock.release()

    async def _close(self, session: EvidenceStore, *, to_stay: bool = True) -> None:
        """Close a session, and delete it unless it is `to_stay`."""
        if to_stay and self.backend.lasting and not self.backend.remote:
            await session.record_use()
        await session.settle(to_stay=to_stay)
        space = session.detach()
        del self._sessions[session.session_id]
        with anyio.CancelScope(shield=True):
            await run_sync(self.backend.release if to_stay else self.backend.delete, space)


def _digest(owner: str) -> str:
    return hashlib.sha256(owner.encode()).hexdigest() if owner else ""
