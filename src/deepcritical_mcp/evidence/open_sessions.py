"""Which open sessions release the memory of their indexes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from deepcritical_mcp.evidence.storage.backend import Space
from deepcritical_mcp.evidence.store import EvidenceStore

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


@dataclass
class OpenSession:
    """An open session.

    Attributes:
        used: when it was last used (all times are in Unix seconds).
        recorded: the last use that the backend has recorded.
        rested: when it was put to rest; 0.0 if it has been woken since.
        returns: whether it was woken soon after that.
    """

    store: EvidenceStore
    space: Space
    used: float
    recorded: float
    rested: float = 0.0
    returns: bool = False

    def note_waking(self) -> None:
        """Call this when it is awake."""
        if self.rested:
            self.returns, self.rested = self.used - self.rested < RETURNS_WITHIN, 0.0

    async def rest(self, now: float) -> None:
        await self.store.rest()
        self.rested = now if not self.store.awake else 0.0


class Resting:
    """A task that lets sessions rest, so that no call waits until those of others do."""

    def __init__(
        self,
        sessions: Callable[[], Iterable[OpenSession]],
        clock: Callable[[], float],
        *,
        max_awake: int,
        max_memory: int,
    ) -> None:
        self._sessions, self._clock = sessions, clock
        self._max_awake, self._max_memory = max_awake, max_memory
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Start the task, unless it runs; it outlives the call, and is started again as long as a session is awake."""
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._rest([*self._sessions()], self._clock()))
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(1.01 * REST_AFTER, self._start_again)

    async def wait(self) -> None:
        """Wait until the task has ended."""
        if self._task is not None:
            await asyncio.wait({self._task})

    async def aclose(self) -> None:
        """Wait for the task; do not start it again by itself."""
        if self._timer is not None:
            self._timer.cancel()
        await self.wait()

    def _start_again(self) -> None:
        self._timer = None
        if any(session.store.awake for session in self._sessions()):
            self.start()

    async def _rest(self, sessions: Sequence[OpenSession], now: float) -> None:
        """Let those of `sessions` rest that have not been used for long, or are too many or too large together. The
        last one stays awake however large it is."""
        awake = size = 0
        for session in [session for session in reversed(sessions) if session.store.awake]:
            session.note_waking()
            stays = RETURNS_WITHIN if session.returns and awake < MAX_RETURNING * self._max_awake else STAYS_AWAKE
            awake, size = awake + 1, size + session.store.memory
            too_many = awake > self._max_awake and session.used < now - stays
            largest = self._max_memory if session.used < now - IN_USE else 2 * self._max_memory
            if too_many or (awake > 1 and size > largest) or session.used < now - REST_AFTER:
                await session.rest(now)
