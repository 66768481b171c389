"""What a place to keep sessions offers: a `Backend`, which opens a `Space` for each session.

Everything here blocks; call it in a worker thread.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from deepcritical_mcp.config import Settings
from deepcritical_mcp.evidence.storage.stored_items import KeptItem, KeptSession, NearPassage, Vector


class Space(Protocol):
    """The place of one session. A subclass overrides what it does differently.

    Every method raises SessionNotFoundError if the session is gone, and EvidenceStoreError if the store fails.

    Attributes:
        lock: held by the thread that changes the session.
    """

    session_id: str
    lock: threading.RLock

    @property
    def info(self) -> KeptSession:
        """The session's metadata."""
        ...

    def read(self) -> Iterator[list[KeptItem]]:
        """Everything stored, page by page, unordered."""
        ...

    def news(self) -> Iterator[list[KeptItem]]:
        """What other processes have written since the last call, page by page, unordered."""
        ...

    def write(self, items: Sequence[KeptItem], vectors: Mapping[str, Sequence[Vector]]) -> None:
        """Add items, or overwrite those with the same ids, each atomically. `vectors` by id are an item's last ones;
        those before them stay as they are, and what is stored beyond them goes."""
        ...

    def remove(self, ids: Iterable[str]) -> None:
        """Delete the items with these ids, if they are there."""
        ...

    def turn(self) -> AbstractContextManager[None]:
        """Held while the session is read and the resulting change is written: no other process writes meanwhile."""
        ...

    def nearest(self, vectors: Sequence[Vector], limit: int, least: float = -1.0) -> list[list[NearPassage]]:
        """For each vector, at most `limit` passages with at least that cosine, nearest first."""
        ...

    def vectors(self, counts: Mapping[str, int]) -> dict[str, NDArray[np.float32]]:
        """The first vectors [passages, dimension] of each publication: so many, by id."""
        ...

    def derived(self) -> dict[str, bytes]:
        """What `keep_derived` stored of items that have not been written since, by id."""
        return {}

    def keep_derived(self, rows: Mapping[str, bytes]) -> None:
        """Keep what was derived from stored items, by id, if this place can; it may be lost at any time."""

    def keep_documents(self, contents: Mapping[str, str]) -> None:
        """Keep texts that are no evidence, by name, in place of earlier ones; "" deletes one."""
        ...

    def documents(self, names: Sequence[str]) -> dict[str, str]:
        """The texts that any process has kept under these names, in their order."""
        ...

    def document_names(self, prefix: str) -> list[str]:
        """The names that begin with `prefix` under which any process has kept a text, in order."""
        ...

    def record(self, **changes: float) -> None:
        """Record when the session was `used` (Unix seconds), and how many `items` and `searches` it has, for
        `Backend.sessions`."""
        ...

    def set_title(self, title: str, *, replacing: bool) -> None:
        """Record a title; if not `replacing`, only if the session has none. `info` has it then."""
        ...

    def rest(self) -> None:
        """Release memory until it is used again; no other call may use the space meanwhile."""

    def close(self) -> None:
        """Stop using the session; one in memory is gone."""

    def delete(self) -> None:
        """Delete the session with all its evidence."""
        self.close()


class Backend(Protocol):
    """A place to keep sessions. A subclass overrides what it does differently.

    Attributes:
        title: name for people, e.g. "Chroma server".
        advice: what to do if it cannot be reached or written to.
        lasting: whether a closed session can be opened again.
        shared: whether other processes may change an open session.
        remote: whether these may be on other machines.
        limit: how many sessions may be open at once.
        max_awake: how many of them may be awake besides those in use; the others rest.
        undo_seconds: for how long a deleted session can be restored; 0.0 if it cannot.
        ttl: seconds for which an unused session is kept, unless a setting says otherwise.
        expires_by_use: whether a session is gone as soon as it has not been used for `ttl`; else `expire` decides.
        warning: what every result must say about where sessions are kept; "" = nothing.
    """

    title: str
    advice: str = ""
    lasting: bool
    shared: bool
    remote: bool = False
    expires_by_use: bool = True
    limit: int
    max_awake: int = 32
    undo_seconds: float = 0.0
    ttl: float = 86_400.0
    warning: str = ""

    @classmethod
    def configured(cls, settings: Settings) -> Self | None:
        """The backend as the settings describe it, None if they do not choose it. Connects to nothing yet."""
        ...

    def create(self, session_id: str, info: KeptSession) -> Space:
        """Create a session and open it; where that costs something, only when something is first kept in it.

        Raises:
            EvidenceStoreError: it cannot be created.
        """
        ...

    def open(self, session_id: str, model: str) -> Space:
        """Open a kept session. If its vectors are not from `model`, they are discarded.

        Raises:
            SessionNotFoundError: there is no such session.
            SessionBusyError: another process has locked it.
            EvidenceStoreError: it cannot be read.
        """
        ...

    def release(self, space: Space) -> None:
        """Close an open session; in memory, it is gone."""
        space.close()

    def delete(self, space: Space) -> None:
        """Close an open session and delete it; see `restore`."""
        space.delete()

    def discard(self, session_id: str, owner: str) -> bool:
        """Delete a session of `owner` that cannot be opened; False if it cannot be found either."""
        return False

    def restore(self, session_id: str, owner: str) -> None:
        """Take back the deletion of a session of `owner`, if it was deleted less than `undo_seconds` ago."""

    def state(self, session_id: str) -> Literal["here", "replaced", "gone"]:
        """Whether an open session is still in its place and has not been replaced, as far as a quick check can tell."""
        return "here"

    def is_begun(self, session_id: str) -> bool:
        """Whether an open session lasts; False until something is kept in it, where an empty one leaves nothing."""
        return True

    def sessions(self, owner: str | None) -> dict[str, KeptSession]:
        """The kept sessions of `owner` (None = of all) by id, opened by any process; opens and deletes none.

        Raises:
            EvidenceStoreError: the place cannot be read.
        """
        return {}

    def expired(self, owner: str | None) -> dict[str, KeptSession]:
        """Those that nobody has used for their time, and that can be restored."""
        return {}

    def expire(self, now: float, ttl: float) -> None:
        """Delete the closed sessions that have not been used for `ttl` seconds at Unix time `now`; see `expired`."""

    def check(self) -> None:
        """Check that sessions can be kept.

        Raises:
            EvidenceStoreError: they cannot.
        """

    def close(self) -> None:
        """Close shared connections. Call it after every session has been released."""
