"""What a place to keep sessions offers: a `Backend`, which opens a `Space` for each session. In memory, sessions end
with the process.

Everything here blocks; call it in a worker thread.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import InvalidInputError, SessionBusyError, SessionNotFoundError
from deepcritical_mcp.evidence.storage.session_file import DamagedFileError, SessionFile
from deepcritical_mcp.evidence.storage.stored_items import KeptItem, KeptSession, Vector, packed, unpacked
from deepcritical_mcp.evidence.storage.vector_table import CollectionIndex

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.storage.chroma_rows import ServerRows

    Rows = SessionFile | ServerRows


class Space:
    """The place of one session. The rows that were written are the truth; the index of its passages is built from them.

    Every method raises SessionNotFoundError if the session is gone, and EvidenceStoreError if the store fails.

    Args:
        session_id: the id of the session.
        create: of a session in which nothing is kept yet: creates its file, which replaces `rows` at the first write.

    Attributes:
        rows: where its rows are written.
        table: its vectors.
        lock: held by the thread that reads or changes the session, because `rows` may be replaced meanwhile.
    """

    def __init__(self, session_id: str, rows: Rows, create: Callable[[KeptSession], SessionFile] | None = None) -> None:
        self.session_id = session_id
        self.lock = threading.RLock()
        self.rows, self._model = rows, rows.info.model
        self._create = create
        self.table = CollectionIndex(session_id)
        self._seen = 0
        """The last change that this process knows."""
        self._state = 0

    @classmethod
    def of_model(cls, session_id: str, rows: Rows, model: str) -> Self:
        """A session that was kept; if its vectors are not from `model`, they are discarded, since those of two models
        cannot be compared."""
        if rows.info.model != model:
            with rows.writing():
                rows.delete("vectors", rows.keys("vectors"))
                rows.record(model=model)
        return cls(session_id, rows)

    def read(self) -> list[KeptItem]:
        """Everything stored, unordered."""
        with self.lock:
            self.table.clear()
            self._state = self.rows.state()
            with self.rows.reading():
                self.rows.refresh()
                self._seen = self.rows.change
                items = [row.value for row in self.rows.changed("item")]
                for row in self.rows.changed("vectors"):
                    self.table.put(row.key, _vectors(row.value))
            return self._known(map(unpacked, items))

    def news(self) -> list[KeptItem]:
        """What other processes have written since the last call, unordered."""
        with self.lock:
            if (state := self.rows.state()) == self._state:
                return []
            with self.rows.reading():
                self.rows.refresh()
                if self.rows.change < self._seen:  # somebody put an earlier copy of the file in its place
                    raise DamagedFileError()
                self._check_model()
                rows = list(self.rows.changed("item", since=self._seen))
                vectors = self.rows.values("vectors", [row.key for row in rows])
                for row in rows:
                    self.table.put(row.key, _vectors(vectors.get(row.key, b"")))
                self._state, self._seen = state, self.rows.change
            return self._known(unpacked(row.value) for row in rows)

    def write(self, items: Sequence[KeptItem], vectors: Mapping[str, Sequence[Vector]]) -> None:
        """Add items, or overwrite those with the same ids. An item says how many vectors it has (`KeptItem.vectors`):
        `vectors` has the last of these, by id; the first ones stay as they are stored, and surplus ones are deleted."""
        if not items:
            return
        firsts = {item.id: item.vectors - len(vectors.get(item.id, ())) for item in items}
        with self._changing() as change:
            # Where there are no transactions, no item may ever stand beside vectors of another text.
            fewer = [id for id, first in firsts.items() if self.table.count(id) > first]
            self._keep_vectors(dict.fromkeys(fewer, ()), firsts)
            self.rows.put("item", [(item.id, packed(item)) for item in items], change)
            self.rows.delete("derived", [item.id for item in items])
            self._keep_vectors({id: vectors[id] for id in firsts if len(vectors.get(id, ()))}, firsts)

    def remove(self, ids: Iterable[str]) -> None:
        """Delete the items with these ids, if they are there."""
        with self._changing():
            gone = list(ids)
            for kind in ("vectors", "derived", "item"):
                self.rows.delete(kind, gone)
            for id in gone:
                self.table.put(id, ())

    @contextlib.contextmanager
    def turn(self) -> Generator[None]:
        """Held while the session is read and the resulting change is written: no other process writes meanwhile."""
        with self.rows.waiting(), self.lock, contextlib.nullcontext() if self._create else self.rows.writing():
            yield

    def vectors(self, counts: Mapping[str, int]) -> dict[str, NDArray[np.float32]]:
        """The first vectors [passages, dimension] of each publication: so many, by id."""
        return {id: some for id, count in counts.items() if (some := self.table.get(id, count)) is not None}

    def keep_derived(self, rows: Mapping[str, bytes]) -> None:
        """Keep what was derived from stored items, by id, until they are written again; it may be lost at any time."""
        self.rows.keep_derived(rows, self._seen)

    def keep_documents(self, contents: Mapping[str, str]) -> None:
        """Keep texts that are no evidence, by name, in place of earlier ones; "" deletes one."""
        with self.lock:
            self._begin()
            kept = [(name, text.encode("utf-8", "surrogatepass")) for name, text in contents.items() if text]
            self.rows.put("document", kept)
            self.rows.delete("document", [name for name, text in contents.items() if not text])

    def documents(self, names: Sequence[str]) -> dict[str, str]:
        """The texts that any process has kept under these names, in their order."""
        found = self.rows.values("document", names)
        return {name: found[name].decode("utf-8", "surrogatepass") for name in names if name in found}

    def close(self) -> None:
        """Stop using the session; one in memory is gone."""
        self.table.clear()
        self.rows.close()

    def _begin(self) -> None:
        if self._create is not None:  # who reads in another thread may still read the empty session
            try:
                self.rows, self._create = self._create(self.rows.info), None
            except InvalidInputError:
                self.rows.record(title="")
                raise
            self._state = self.rows.state()

    @contextlib.contextmanager
    def _changing(self) -> Generator[int]:
        """A transaction, with the number of its change. If it fails, `read` must be called again."""
        with self.rows.waiting(), self.lock:
            self._begin()
            with self.rows.writing():
                self._check_model()
                self.rows.change += 1
                yield (change := self.rows.change)
            if change == self._seen + 1:  # otherwise another process has written, and `news` will say what
                self._seen = change

    def _check_model(self) -> None:
        """Vectors of two models cannot be compared."""
        if self.rows.info.model != self._model:
            raise SessionBusyError(
                "Another window has opened this session with another embedding model (DEEPCRITICAL_EMBEDDING_MODEL). "
                'Close it and restart this server, use one model in both, or pass session_id="new" for a fresh session.'
            )

    def _known(self, items: Iterable[KeptItem]) -> list[KeptItem]:
        """Items that were read, with as many vectors as they have."""
        return [replace(item, vectors=self.table.count(item.id)) for item in items]

    def _keep_vectors(self, vectors: Mapping[str, Sequence[Vector]], firsts: Mapping[str, int]) -> None:
        """Store the vectors of items, by id, after the first ones, which stay."""
        for id, some in vectors.items():
            self.table.put(id, some, firsts[id])
        kept = {id: self.table.get(id) for id in vectors}
        written = ((id, some) for id, some in kept.items() if some is not None)
        self.rows.put("vectors", [(id, len(some).to_bytes(4) + some.astype("<f4").tobytes()) for id, some in written])
        self.rows.delete("vectors", [id for id, some in kept.items() if some is None])


_NONE = np.zeros((0, 0), np.float32)


def _vectors(value: bytes) -> NDArray[np.float32]:
    return np.frombuffer(value, "<f4", offset=4).reshape(int.from_bytes(value[:4]), -1) if value else _NONE


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
        configured: the backend as the settings describe it, None if they do not choose it; connects to nothing yet.
        create: creates a session and opens it; where that costs something, only when something is first kept in it.
            Raises EvidenceStoreError if it cannot be created. If its title `is_only` its own, that write raises
            InvalidInputError if another process has given the owner a session of that title meanwhile.
        open: opens a kept session; if its vectors are not from `model`, they are discarded. Raises
            SessionNotFoundError if there is no such session, SessionBusyError if another process has locked it, and
            EvidenceStoreError if it cannot be read.
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
    def configured(cls, settings: Settings) -> Self | None: ...
    def create(self, session_id: str, info: KeptSession, *, is_only: bool = False) -> Space: ...
    def open(self, session_id: str, model: str) -> Space: ...

    def release(self, space: Space) -> None:
        """Close an open session; in memory, it is gone."""
        space.close()

    def delete(self, space: Space) -> None:
        """Close an open session and delete it; see `restore`."""
        space.close()

    def discard(self, session_id: str, owner: str) -> bool:
        """Delete a session of `owner` that cannot be opened; False if it cannot be found either."""
        return False

    def restore(self, session_id: str, owner: str) -> None:
        """Take back the deletion of a session of `owner`, if it was deleted less than `undo_seconds` ago."""

    def gone(self, owner: str | None, only_expired: bool) -> dict[str, KeptSession]:
        """The sessions of `owner` that `restore` can bring back, and of which text is still on disk: those that the
        user has deleted, and those that nobody has used for their time."""
        return {}

    def erase(self, session_id: str, owner: str) -> None:
        """Delete what is kept of a deleted session of `owner`, if there is something, so that it cannot be restored.

        Raises:
            SessionBusyError: another process has locked it.
        """

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

    def expire(self, now: float, ttl: float) -> None:
        """Delete the closed sessions that have not been used for `ttl` seconds at Unix time `now`; see `gone`."""

    def check(self) -> None:
        """Check that sessions can be kept.

        Raises:
            EvidenceStoreError: they cannot.
        """

    def close(self) -> None:
        """Close shared connections. Call it after every session has been released."""


class MemoryBackend(Backend):
    """Keeps sessions in memory until they are closed."""

    title = "Memory"
    lasting = False
    shared = False

    def __init__(self, *, limit: int) -> None:
        self.limit = limit

    @classmethod
    def configured(cls, settings: Settings) -> Self | None:
        return cls(limit=settings.max_sessions)

    def create(self, session_id: str, info: KeptSession, *, is_only: bool = False) -> Space:
        return Space(session_id, SessionFile.create(None, info))

    def open(self, session_id: str, model: str) -> Space:
        raise SessionNotFoundError()
