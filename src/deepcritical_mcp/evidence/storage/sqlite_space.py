"""A session in an SQLite database, in a file or in memory. The database is the truth; the index of its passages is
built from it. In memory, sessions end with the process."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import SessionBusyError, SessionNotFoundError
from deepcritical_mcp.evidence.storage.backend import Backend, Space
from deepcritical_mcp.evidence.storage.session_file import SessionFile
from deepcritical_mcp.evidence.storage.stored_items import KeptItem, KeptSession, NearPassage, Vector, packed, unpacked
from deepcritical_mcp.evidence.storage.vector_table import CollectionIndex


class SqliteSpace(Space):
    """A session in a database.

    Args:
        session_id: the session's.
        file: the session's.
        create: creates the file that takes its place when something is first kept; it is empty until then.

    Attributes:
        lock: held while the file is read or written, since another may take its place.
    """

    def __init__(
        self,
        session_id: str,
        file: SessionFile,
        create: Callable[[KeptSession], SessionFile] | None = None,
    ) -> None:
        self.session_id = session_id
        self.lock = threading.RLock()
        self._file, self._model = file, file.info.model
        self._create = create
        self._table = CollectionIndex(session_id)
        self._seen = 0
        """The last change that this process knows."""
        self._state = 0

    @property
    def info(self) -> KeptSession:
        return self._file.info

    def read(self) -> Iterator[list[KeptItem]]:
        with self.lock:
            self.rest()
            self._state = self._file.state()
            with self._file.reading():
                self._file.refresh()
                self._seen = self._file.change
                items = [row.value for row in self._file.changed("item")]
                for row in self._file.changed("vectors"):
                    self._table.put(row.key, _vectors(row.value))
            return iter([self._known(map(unpacked, items))])

    def news(self) -> Iterator[list[KeptItem]]:
        with self.lock:
            if (state := self._file.state()) == self._state:
                return iter(())
            with self._file.reading():
                self._file.refresh()
                self._check_model()
                rows = list(self._file.changed("item", since=self._seen))
                for row in rows:
                    self._table.put(row.key, _vectors(self._file.value("vectors", row.key) or b""))
                self._state, self._seen = state, self._file.change
            return iter([self._known(unpacked(row.value) for row in rows)])

    def write(self, items: Sequence[KeptItem], vectors: Mapping[str, Sequence[Vector]]) -> None:
        with self._changing() as change:
            self._file.put("item", [(item.id, packed(item)) for item in items], change)
            self._file.delete("derived", [item.id for item in items])
            for item in items:
                new = vectors.get(item.id, ())
                if len(new) or self._table.count(item.id) > item.vectors:
                    self._table.put(item.id, new, item.vectors - len(new))
                    self._keep_vectors(item.id)

    def remove(self, ids: Iterable[str]) -> None:
        with self._changing():
            for id in ids:
                self._table.put(id, ())
                self._keep_vectors(id)
                self._file.delete("derived", [id])
                self._file.delete("item", [id])

    @contextlib.contextmanager
    def turn(self) -> Generator[None]:
        with self.lock, contextlib.nullcontext() if self._create else self._file.writing():
            yield

    def nearest(self, vectors: Sequence[Vector], limit: int, least: float = -1.0) -> list[list[NearPassage]]:
        return self._table.nearest(vectors, limit, least)

    def vectors(self, counts: Mapping[str, int]) -> dict[str, NDArray[np.float32]]:
        return {id: some for id, count in counts.items() if (some := self._table.get(id, count)) is not None}

    def derived(self) -> dict[str, bytes]:
        return {row.key: row.value for row in self._file.changed("derived")}

    def keep_derived(self, rows: Mapping[str, bytes]) -> None:
        with self._file.writing():
            if self._file.change == self._seen:  # otherwise another process may have written some of these items since
                self._file.put("derived", rows.items())

    def keep_documents(self, contents: Mapping[str, str]) -> None:
        with self.lock:
            self._begin()
            with self._file.writing():
                kept = [(name, text.encode("utf-8", "surrogatepass")) for name, text in contents.items() if text]
                self._file.put("document", kept)
                self._file.delete("document", [name for name, text in contents.items() if not text])

    def documents(self, names: Sequence[str]) -> dict[str, str]:
        found = {name: self._file.value("document", name) for name in names}
        return {name: text.decode("utf-8", "surrogatepass") for name, text in found.items() if text}

    def document_names(self, prefix: str) -> list[str]:
        return self._file.keys("document", prefix)

    def record(self, **changes: Any) -> None:
        with self._file.writing():
            self._file.set_info(replace(self._file.info, **changes))

    def set_title(self, title: str, *, replacing: bool) -> None:
        with self._file.writing():
            if replacing or not self.info.title:
                self.record(title=title)

    def rest(self) -> None:
        self._table.clear()

    def close(self) -> None:
        self.rest()
        self._file.close()

    def _begin(self) -> None:
        if self._create is not None:  # who reads in another thread may still read the empty session
            self._file, self._create = self._create(self.info), None
            self._state = self._file.state()

    @contextlib.contextmanager
    def _changing(self) -> Generator[int]:
        """A transaction, with the number of its change. If it fails, `read` must be called again."""
        with self.lock:
            self._begin()
            with self._file.writing():
                self._check_model()
                self._file.change += 1
                yield (change := self._file.change)
            if change == self._seen + 1:  # otherwise another process has written, and `news` will say what
                self._seen = change

    def _check_model(self) -> None:
        """Vectors of two models cannot be compared."""
        if self.info.model != self._model:
            raise SessionBusyError(
                "This session is open in another window, with another embedding model (DEEPCRITICAL_EMBEDDING_MODEL). "
                'Use the same in both, or pass "new" as session_id to open a fresh session.'
            )

    def _known(self, items: Iterable[KeptItem]) -> list[KeptItem]:
        """Items that were read, with as many vectors as they have."""
        return [replace(item, vectors=self._table.count(item.id)) for item in items]

    def _keep_vectors(self, id: str) -> None:
        """Store the vectors of an item as the table has them."""
        if (found := self._table.get(id)) is None:
            self._file.delete("vectors", [id])
        else:
            self._file.put("vectors", [(id, len(found).to_bytes(4) + found.astype("<f4").tobytes())])


def _vectors(value: bytes) -> NDArray[np.float32]:
    return np.frombuffer(value, "<f4", offset=4).reshape(int.from_bytes(value[:4]), -1) if value else _NONE


_NONE = np.zeros((0, 0), np.float32)


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

    def create(self, session_id: str, info: KeptSession) -> Space:
        return SqliteSpace(session_id, SessionFile.create(None, info))

    def open(self, session_id: str, model: str) -> Space:
        raise SessionNotFoundError()
