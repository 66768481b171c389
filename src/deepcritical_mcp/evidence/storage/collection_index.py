"""The index of a session in this process: its ChromaDB collection, built from the session's vectors and asked what is
near. A small session is compared vector by vector, which is exact and takes less time than Chroma needs to start."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from chromadb.api.client import Client
from chromadb.config import Settings as ChromaSettings
from chromadb.config import System

from deepcritical_mcp.evidence.storage.rows import NearPassage, Vector
from deepcritical_mcp.evidence.storage.vector_table import VectorTable, id_and_part, part_id

if TYPE_CHECKING:
    from chromadb import Collection
    from chromadb.api.collection_configuration import CreateHNSWConfiguration

logger = logging.getLogger(__name__)

SMALL = 200
"""Vectors up to which all are compared: less than 0.1 ms."""
AT_ONCE = 16
"""Vectors that are entered at once. Chroma holds the GIL meanwhile: 15 ms on a busy machine."""
# Measured with 6,000 passages of full texts: recall@50 1.0 at 1 ms a query; 0.3 ms to enter one. With every add, Chroma
# rereads its log since the last sync, so the log is kept short.
HNSW: CreateHNSWConfiguration = {
    "space": "cosine",
    "max_neighbors": 16,
    "ef_construction": 100,
    "ef_search": 800,
    "batch_size": 20,
    "sync_threshold": 40,
}
_starting = threading.Lock()
"""Chroma finds the instance of a new client in a table that has one place for all in memory."""


def chroma_settings() -> ChromaSettings:
    """Settings for any Chroma client: no .env file from the working directory, no telemetry."""
    return ChromaSettings(_env_file=None, anonymized_telemetry=False)  # pyright: ignore[reportCallIssue]


class CollectionIndex:
    """Keeps a collection in memory like `table`, in a thread of its own that ends when it has caught up. Meanwhile, and
    after a failure, all vectors are compared."""

    def __init__(self, session_id: str, table: VectorTable) -> None:
        self._session_id = session_id
        self._table = table
        self._lock = threading.Lock()
        self._system: System | None = None
        self._collection: Collection | None = None
        self._parts: dict[str, int] = {}
        """How many vectors of each publication the collection has."""
        self._thread: threading.Thread | None = None
        self._is_closing = self._has_failed = False

    def nearest(self, vectors: Sequence[Vector], limit: int, source: str | None) -> list[list[NearPassage]]:
        """See `Space.nearest`. With a source, all vectors are compared: Chroma takes ten times as long to leave out
        others."""
        is_asked = source is None and len(self._table) > SMALL and not self._has_failed
        if is_asked and (collection := self._caught_up()) is not None:
            try:
                return _asked(collection, vectors, min(limit, len(self._table)))
            except Exception as error:  # whatever Chroma raises, the table has the same vectors
                self._fail(error)
        return self._table.nearest(vectors, limit, source)

    def wait(self) -> None:
        """Wait until the collection has all vectors."""
        if (thread := self._thread) is not None:
            thread.join()

    def close(self) -> None:
        """Free the collection; a later search builds it again."""
        self._is_closing = True
        self.wait()
        with self._lock:
            self._collection, self._parts, self._thread = None, {}, None
            system, self._system = self._system, None
        if system is not None:
            system.stop()
        self._is_closing = False

    def _caught_up(self) -> Collection | None:
        """The collection if it has all vectors; otherwise the work goes on."""
        with self._lock:
            is_working = self._thread is not None and self._thread.is_alive()
            if not is_working and self._collection is not None and not self._table.has_changed:
                return self._collection
            if not is_working and not self._is_closing:
                self._thread = threading.Thread(target=self._work, name="index", daemon=True)
                self._thread.start()
        return None

    def _work(self) -> None:
        try:
            collection = self._collection or self._started()
            while not self._is_closing and (ids := self._table.take_changed(AT_ONCE)):
                for id in ids:
                    self._enter(collection, id)
            self._collection = collection
        except Exception as error:
            self._fail(error)

    def _started(self) -> Collection:
        system = System(chroma_settings())
        with _starting:
            system.start()
            client = Client.from_system(system)
        self._system = system
        return client.create_collection(self._session_id, configuration={"hnsw": HNSW}, embedding_function=None)

    def _enter(self, collection: Collection, id: str) -> None:
        """Let the collection have the vectors that the table has of a publication."""
        vectors = self._table.get(id)
        count = 0 if vectors is None else len(vectors)
        for start in range(0, count, AT_ONCE):
            parts = range(start, min(start + AT_ONCE, count))
            some = np.asarray(vectors)[parts.start : parts.stop]
            collection.upsert(ids=[part_id(id, part) for part in parts], embeddings=some)
        if gone := range(count, self._parts.get(id, 0)):
            collection.delete(ids=[part_id(id, part) for part in gone])
        self._parts[id] = count

    def _fail(self, error: Exception) -> None:
        self._has_failed = True
        logger.warning("the index of a session failed, its vectors are compared one by one: %s", type(error).__name__)


def _asked(collection: Collection, vectors: Sequence[Vector], limit: int) -> list[list[NearPassage]]:
    asked = np.asarray(vectors, np.float32)
    found: Any = collection.query(query_embeddings=asked, n_results=limit, include=["distances"])
    return [
        [NearPassage(*id_and_part(key), 1.0 - distance) for key, distance in zip(keys, distances, strict=True)]
        for keys, distances in zip(found["ids"], found["distances"], strict=True)
    ]
