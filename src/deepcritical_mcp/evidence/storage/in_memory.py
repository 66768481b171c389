"""Sessions in memory, which end with the process.

A session that is written is a collection of an in-process Chroma of its own (4 MB, 3 threads, 4 descriptors), because
Chroma frees a deleted collection only when it stops. A session at rest is compressed (0.2 MB for 50 items), without a
Chroma. One that is only read since has none either: starting it takes 50 ms in which no other thread runs.
"""

from __future__ import annotations

import ctypes
import pickle
import sys
import threading
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Self

from chromadb import Collection
from chromadb.api.client import Client
from chromadb.config import System

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import SessionNotFoundError
from deepcritical_mcp.evidence.storage.backend import Backend, Space
from deepcritical_mcp.evidence.storage.chroma_failures import translated
from deepcritical_mcp.evidence.storage.chroma_space import chroma_settings
from deepcritical_mcp.evidence.storage.local_space import LOCAL_BATCH, LocalSpace
from deepcritical_mcp.evidence.storage.rows import KeptItem, SessionInfo, Vector
from deepcritical_mcp.evidence.storage.vector_table import VectorTable

_starting = threading.Lock()
"""Chroma finds the instance of a new client in a table that has one place for all in memory."""


class MemoryBackend(Backend):
    """Keeps sessions until they are closed."""

    title = "Memory"
    lasting = False
    shared = False
    batch = LOCAL_BATCH
    max_awake = 32

    def __init__(self, *, limit: int) -> None:
        self.limit = limit

    @classmethod
    def configured(cls, settings: Settings) -> Self | None:
        return cls(limit=settings.max_sessions)

    def create(self, session_id: str, info: SessionInfo) -> Space:
        return MemorySpace(session_id, info)

    def open(self, session_id: str, model: str) -> Space:
        raise SessionNotFoundError()

    def release(self, space: Space) -> None:
        self.delete(space)


class MemorySpace(LocalSpace):
    """One session's evidence, at rest until it is read, and without a Chroma until it is written."""

    def __init__(self, session_id: str, info: SessionInfo) -> None:
        self._turn, self._packed = threading.RLock(), _NOTHING
        self._system: System | None = None
        self._vectors = self._words = None
        self._documents: dict[str, bytes] = {}
        self.session_id, self.info, self._table = session_id, info, VectorTable()

    def read(self, since: int = 0) -> Iterator[list[KeptItem]]:
        with self._turn:
            if self._system is not None:
                return super().read(since)
            rows = self._rows_at_rest()
            for item, vectors in rows:
                self._table.set_source(item.publication.id, item.publication.source)
                self._table.put(item.publication.id, 0, vectors)
            self._table.complete = True
        return iter([[item for item, _ in rows]] if rows else [])

    @property
    def _main(self) -> Collection:
        if self._vectors is None:
            with self._turn:
                self._start()
        return super()._main

    def _completed(self) -> VectorTable:
        if not self._table.complete:
            with self._turn:
                if self._system is None:
                    self.read()
        return self._table if self._table.complete else super()._completed()

    def _rows_at_rest(self) -> list[tuple[KeptItem, Sequence[Vector]]]:
        if not self._packed:
            raise SessionNotFoundError()
        return pickle.loads(zlib.decompress(self._packed))

    def _start(self) -> None:
        if self._system is not None:
            return
        rows = self._rows_at_rest()
        system = System(chroma_settings())
        with translated("open the session"):
            with _starting:
                system.start()
                client = Client.from_system(system)
            self._client = client
        try:
            with translated("open the session"):
                self._vectors = self._create(self.session_id)
            for start in range(0, len(rows), LOCAL_BATCH):
                super().write(rows[start : start + LOCAL_BATCH])
        except BaseException:
            self._stop(system)
            raise
        self._table.complete, self._system = True, system

    def _words_collection(self) -> Collection:
        _ = self._main  # starts Chroma
        return super()._words_collection()

    def keep_document(self, name: str, content: str) -> None:
        with self._turn:
            if not self._packed:
                raise SessionNotFoundError()
            self._documents[name] = zlib.compress(content.encode(), 1)

    def document(self, name: str) -> str:
        with self._turn:
            return zlib.decompress(self._documents[name]).decode() if name in self._documents else ""

    def documents(self, prefix: str) -> dict[str, str]:
        with self._turn:
            names = sorted(name for name in self._documents if name.startswith(prefix))
            return {name: self.document(name) for name in names}

    def count_documents(self, prefix: str, *, but: str) -> int:
        with self._turn:
            return sum(name.startswith(prefix) and not name.endswith(but) for name in self._documents)

    def _record(self, info: SessionInfo) -> None:
        self.info = info

    def set_title(self, title: str, *, replacing: bool) -> None:
        if replacing or not self.info.title:
            self.info = replace(self.info, title=title)

    def rest(self) -> None:
        with self._turn:
            if self._system is not None:
                items = [item for page in self.read() for item in page]
                vectors = self.vectors({item.publication.id: item.parts for item in items if item.vector_count})
                self._packed = _packed([(item, list(vectors.get(item.publication.id, ()))) for item in items])
                self._stop(self._system)
            self._table.clear()

    def delete(self) -> None:
        with self._turn:
            self._packed = b""
            self._documents.clear()
            if self._system is not None:
                self._stop(self._system)

    def _stop(self, system: System) -> None:
        system.stop()
        self._system = self._vectors = self._words = None
        self._table.clear()
        if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
            trim(0)  # otherwise glibc keeps half of what Chroma has freed


def _packed(rows: Sequence[tuple[KeptItem, Sequence[Vector]]]) -> bytes:
    return zlib.compress(pickle.dumps(rows), 1)


_NOTHING = _packed([])
