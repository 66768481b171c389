"""What a place to keep sessions offers: a `Backend`, which opens a `Space` for each session.

Everything here blocks; call it in a worker thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from deepcritical_mcp.config import Settings
from deepcritical_mcp.evidence.storage.rows import KeptItem, NearPassage, SessionInfo, Vector, new_session_id


class Space(Protocol):
    """The place of one session.

    Every method raises SessionNotFoundError if the session is gone, and EvidenceStoreError if the store fails.
    """

    session_id: str
    info: SessionInfo
    usable: bool
    """False after a failure that only opening the session again repairs."""

    def read(self, since: int = 0) -> Iterator[list[KeptItem]]:
        """Everything stored, or only what was written `since` (Unix milliseconds), page by page, unordered."""
        ...

    def write(self, rows: Sequence[tuple[KeptItem, Sequence[Vector]]]) -> None:
        """Add items with their vectors, or overwrite earlier ones with the same id; each is written atomically."""
        ...

    def extend(self, item: KeptItem, vectors: Sequence[Vector]) -> None:
        """Add these vectors of a stored item's last passages; until all are there, it stays as it was."""
        ...

    def rewrite(self, *items: KeptItem) -> None:
        """Overwrite stored items; their vectors stay."""
        ...

    def remove_parts(self, id: str, parts: Sequence[int]) -> None:
        """Delete passages that a shorter content no longer has; with its first passage, a publication is deleted."""
        ...

    def turn(self) -> AbstractContextManager[None]:
        """Held from a look at the session until what follows from it is written: no other process writes meanwhile."""
        ...

    def nearest(
        self, vectors: Sequence[Vector], limit: int, source: str | None = None, least: float = -1.0
    ) -> list[list[NearPassage]]:
        """For each vector, at most `limit` passages (of this source, if given) with at least that cosine, nearest
        first."""
        ...

    def vectors(self, parts: Mapping[str, int]) -> dict[str, NDArray[np.float32]]:
        """The vectors [passages, dimension] by id; `parts` has the number of passages of each."""
        ...

    def forget_vectors(self, ids: Iterable[str]) -> None:
        """Drop cached vectors, because another process may have changed them."""
        ...

    def index(self) -> Mapping[str, NDArray[Any]]:
        """What `keep_index` kept; {} where nothing is kept, or if it cannot be read."""
        ...

    def keep_index(self, index: Mapping[str, NDArray[Any]]) -> None:
        """Keep what was derived from the session, in place of what was kept earlier, if this place can; it may be
        lost at any time."""
        ...

    def load_vectors(self, known: Mapping[str, NDArray[np.float32]], others: Mapping[str, int]) -> None:
        """Cache vectors that need not be read again; `others` has the number of passages of each other publication
        that has vectors."""
        ...

    def keep_document(self, name: str, content: str) -> None:
        """Keep a text that is no evidence, in place of an earlier one with that name; atomically."""
        ...

    def document(self, name: str) -> str:
        """The text kept under that name, by any process; "" if there is none."""
        ...

    def documents(self, prefix: str) -> dict[str, str]:
        """All texts kept under names that begin with `prefix`, by any process, in the order of their names."""
        ...

    def count_documents(self, prefix: str, *, but: str) -> int:
        """How many texts are kept under names that begin with `prefix` and do not end with `but`, by any process."""
        ...

    def touch(self, now: float) -> None:
        """Record that the session was used at `now` (Unix seconds)."""
        ...

    def set_counts(self, items: int, searches: int) -> None:
        """Record how many publications and entries of the log the session has, for `Backend.sessions`."""
        ...

    def set_title(self, title: str, *, replacing: bool) -> None:
        """Record a title; if not `replacing`, only if the session has none. `info` has it then."""
        ...

    def rest(self) -> None:
        """Give back memory until it is used again; no other call may use the space meanwhile."""

    def delete(self) -> None:
        """Delete the session with all its evidence."""
        ...


class Backend(Protocol):
    """A place to keep sessions. A subclass overrides what it does differently.

    Attributes:
        title: name for people, e.g. "Chroma server".
        advice: what to do if it cannot be reached or written to.
        lasting: whether a closed session can be opened again.
        shared: whether other processes may change an open session.
        batch: publications per write.
        limit: how many sessions may be open at once.
        max_awake: how many of them may be awake besides those in use; the others rest.
        max_memory: how many bytes their indexes may take together; those of one session may take more.
        undo_seconds: for how long a deleted session can be restored; 0.0 if it cannot.
        ttl: seconds for which an unused session is kept, unless a setting says otherwise.
        warning: what every result must say about where sessions are kept; "" = nothing.
    """

    title: str
    advice: str = ""
    lasting: bool
    shared: bool
    batch: int
    limit: int
    max_awake: int = 1_000
    max_memory: int = 500_000_000
    undo_seconds: float = 0.0
    ttl: float = 86_400.0
    warning: str = ""

    @classmethod
    def configured(cls, settings: Settings) -> Self | None:
        """The backend as the settings describe it, None if they do not choose it. Connects to nothing yet."""
        ...

    def prepare(self) -> None:
        """Do ahead of time what the next session costs; `next_id` hands it out. A failure shows when it is used."""

    def next_id(self) -> str:
        """The id for the next session."""
        return new_session_id()

    def create(self, session_id: str, info: SessionInfo) -> Space:
        """Create a session and open it; where that costs something, only when something is first kept in it.

        Raises:
            EvidenceStoreError: it cannot be created.
        """
        ...

    def open(self, session_id: str, model: str) -> Space:
        """Open a kept session. If its vectors are not from `model`, they are discarded.

        Raises:
            SessionNotFoundError: there is no such session.
            SessionBusyError: another process has it open.
            EvidenceStoreError: it cannot be read.
        """
        ...

    def release(self, space: Space) -> None:
        """Close an open session; if the backend is not lasting, delete it."""

    def delete(self, space: Space) -> None:
        """Close an open session and delete it; see `restore`."""
        space.delete()

    def discard(self, session_id: str, owner: str) -> bool:
        """Delete a session of `owner` that cannot be opened; False if it cannot be found either."""
        return False

    def restore(self, session_id: str, owner: str) -> None:
        """Take back the deletion of a session of `owner`, if it was deleted less than `undo_seconds` ago."""

    def has(self, session_id: str) -> bool:
        """Whether an open session is still where it was, as far as that can be told at once."""
        return True

    def is_elsewhere(self, session_id: str) -> bool:
        """Whether another process has a session open which only one can have open."""
        return False

    def is_begun(self, session_id: str) -> bool:
        """Whether an open session lasts; False until something is kept in it, where an empty one leaves nothing."""
        return True

    def sessions(self, owner: str | None) -> dict[str, SessionInfo]:
        """The kept sessions of `owner` (None = of all) by id, opened by any process, expired ones too; opens none.

        Raises:
            EvidenceStoreError: the place cannot be read.
        """
        return {}

    def now(self, clock: float) -> float:
        """The time (Unix seconds) to judge by what is unused: `clock`, unless the place itself knows better."""
        return clock

    def touch(self, space: Space, now: float) -> None:
        """Record that an open session was used at `now` (Unix seconds)."""
        space.touch(now)

    def delete_unused(self, since: float) -> None:
        """Delete the closed sessions that were last used before `since` (Unix seconds)."""

    def check(self) -> None:
        """Check that sessions can be kept.

        Raises:
            EvidenceStoreError: they cannot.
        """

    def close(self) -> None:
        """Close shared connections. Call it after every session has been released."""
