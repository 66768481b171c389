"""The vectors of one session in memory, and its ChromaDB collection, which is built from them and queried for nearest
neighbors.

A small session is compared vector by vector, which is exact and takes less time than Chroma needs to start.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from chromadb.api.client import Client
from chromadb.config import Settings as ChromaSettings
from chromadb.config import System
from numpy.typing import NDArray

from deepcritical_mcp.evidence.storage.stored_items import NearPassage, Vector

if TYPE_CHECKING:
    from chromadb import Collection
    from chromadb.api.collection_configuration import CreateHNSWConfiguration

logger = logging.getLogger(__name__)

_PART = "\n"
"""Between the id of a publication and the number of its passage."""
BLOCK = 16
"""Rows that are compared with up to 32 queries in one product. OpenBLAS computes so small a product in the calling
thread; for a larger one it starts threads that wait busily for the next for 25 ms, and take that from the model
(measured with 10,000 vectors: 18 ms of processor time a query, 5 ms in blocks)."""
MAX_QUERIES = 32
FEW_QUERIES = 4
"""Queries that are compared row by row, in this thread too: of 17,000 vectors, one in 0.6 ms instead of 1.3, eight in
3.7 instead of 2.9."""
SMALL = 20_000
"""Vectors up to which all are compared. Measured: 0.6 ms for 5,000 and 1.5 ms for 20,000, while the collection takes
2.4 and 4 ms, and 0.5 to 1.4 ms to enter one, during which searches wait for the GIL."""
AT_ONCE = 16
"""Vectors that are entered at once. Chroma holds the GIL meanwhile: 15 ms on a busy machine."""
# Measured: recall@50 1.0 with 6,000 passages of full texts, 0.9998 with 20,000 vectors in clusters. With every add,
# Chroma rereads its log since the last sync, so the log is kept short.
HNSW: CreateHNSWConfiguration = {
    "space": "cosine",
    "max_neighbors": 16,
    "ef_construction": 100,
    "ef_search": 800,
    "batch_size": 20,
    "sync_threshold": 40,
}
_starting = threading.Lock()
"""Chroma keeps its clients' instances in a table with a single slot for all those in memory."""


def chroma_settings() -> ChromaSettings:
    """Settings for any Chroma client: no .env file from the working directory, no telemetry."""
    return ChromaSettings(_env_file=None, anonymized_telemetry=False)  # pyright: ignore[reportCallIssue]


class _Stack(NamedTuple):
    """All vectors in one matrix, with rows of zeros at its end.

    Attributes:
        matrix: [rows, dimension].
        ids: the publications.
        owners, parts: of each row, its publication (a number in `ids`) and its passage.
    """

    matrix: NDArray[np.float32]
    ids: list[str]
    owners: NDArray[np.intp]
    parts: NDArray[np.intp]


class CollectionIndex:
    """The vectors of a session by publication and passage. Thread-safe.

    They are stacked when something near is looked for; those of a publication are rows of that matrix then. Of many,
    changes are copied to a Chroma collection in memory by a thread, which ends when it has caught up. Until then, and
    after a failure, `nearest` compares all vectors itself.
    """

    def __init__(self, session_id: str) -> None:
        self._lock = threading.RLock()
        self._vectors: dict[str, NDArray[np.float32]] = {}
        self._stack: _Stack | None = None
        self._session_id = session_id
        self._starting = threading.Lock()
        self._system: System | None = None
        self._collection: Collection | None = None
        self._changed: dict[str, None] | None = None
        """The publications that the collection does not have as they are; None if it has none."""
        self._parts: dict[str, int] = {}
        """How many vectors of each publication the collection has."""
        self._thread: threading.Thread | None = None
        self._is_closing = self._has_failed = False

    def __len__(self) -> int:
        with self._lock:
            return sum(map(len, self._vectors.values()))

    def put(self, id: str, vectors: Sequence[Vector] | NDArray[np.float32], first: int = 0) -> None:
        """Replace the vectors of a publication from passage `first` on. If it has fewer than `first` vectors, so that
        there would be a gap, the new ones are dropped."""
        with self._lock:
            left = self._vectors[id][:first] if first and id in self._vectors else None
            if len(vectors) and first == (0 if left is None else len(left)):
                new = np.asarray(vectors, np.float32)
                left = new if left is None else np.concatenate((left, new))
            if left is not None:
                self._vectors[id] = left
            else:
                self._vectors.pop(id, None)
            self._stack = None
            if self._changed is not None:
                self._changed[id] = None

    def count(self, id: str) -> int:
        """How many vectors of a publication are here."""
        return len(self._vectors.get(id, ()))

    def get(self, id: str, count: int | None = None) -> NDArray[np.float32] | None:
        """The first vectors [passages, dimension] of a publication, at most `count`; None if there are none."""
        found = self._vectors.get(id)
        return None if found is None else found[:count]

    def nearest(self, vectors: Sequence[Vector], limit: int, least: float = -1.0) -> list[list[NearPassage]]:
        """For each vector, at most `limit` passages with at least that cosine, nearest first."""
        # What is nearly identical must not be missed.
        if least <= -1.0 and len(self) > SMALL and not self._has_failed and (collection := self._caught_up()):
            try:
                return _asked(collection, vectors, min(limit, len(self)))
            except Exception as error:  # whatever Chroma raises, the vectors are here
                self._fail(error)
        queries = np.asarray(vectors, np.float32)
        with self._lock:
            stack = self._stacked()
        used = len(stack.owners)
        found: list[list[NearPassage]] = []
        for start in range(0, len(queries) if used else 0, MAX_QUERIES):
            block = queries[start : start + MAX_QUERIES]
            if len(block) <= FEW_QUERIES:
                cosines = np.vecdot(stack.matrix[:, None], block)
            else:
                cosines = (stack.matrix.reshape(-1, BLOCK, block.shape[1]) @ block.T).reshape(-1, len(block))
            for row in np.ascontiguousarray(cosines[:used].T):
                some = np.flatnonzero(row >= least)
                if limit < len(some):
                    some = some[row[some] >= np.partition(row[some], -limit)[-limit]]
                order = some[np.argsort(-row[some], kind="stable")][:limit]
                best = zip(stack.owners[order].tolist(), stack.parts[order].tolist(), row[order].tolist(), strict=True)
                found.append([NearPassage(stack.ids[owner], part, cosine) for owner, part, cosine in best])
        return found or [[] for _ in queries]

    def _stacked(self) -> _Stack:
        if self._stack is None:
            counts = np.asarray([*map(len, self._vectors.values())], np.intp)
            used, dimension = int(counts.sum()), next((one.shape[1] for one in self._vectors.values()), 0)
            matrix = np.zeros((-(-used // BLOCK) * BLOCK, dimension), np.float32)
            start = 0
            for id, some in self._vectors.items():
                rows = matrix[start : start + len(some)]
                rows[:] = some
                self._vectors[id], start = rows, start + len(rows)
            owners = np.repeat(np.arange(len(counts)), counts)
            parts = np.arange(used) - np.repeat(counts.cumsum() - counts, counts)
            self._stack = _Stack(matrix, list(self._vectors), owners, parts)
        return self._stack

    def wait(self) -> None:
        """Wait until the collection has all vectors."""
        if (thread := self._thread) is not None:
            thread.join()

    def clear(self) -> None:
        """Remove everything; a later search builds the collection again."""
        self._is_closing = True
        self.wait()
        with self._starting:
            self._collection, self._changed, self._parts, self._thread = None, None, {}, None
            system, self._system = self._system, None
        if system is not None:
            system.stop()
        self._is_closing = False
        with self._lock:
            self._vectors, self._stack = {}, None

    def _caught_up(self) -> Collection | None:
        """The collection if it has all vectors; otherwise the work goes on."""
        with self._starting:
            is_working = self._thread is not None and self._thread.is_alive()
            if not is_working and self._collection is not None and not self._changed:
                return self._collection
            if not is_working and not self._is_closing:
                self._thread = threading.Thread(target=self._work, name="index", daemon=True)
                self._thread.start()
        return None

    def _work(self) -> None:
        try:
            if (collection := self._collection) is None:
                self._system = system = System(chroma_settings())
                with _starting:
                    system.start()
                    client = Client.from_system(system)
                collection = client.create_collection(
                    self._session_id, configuration={"hnsw": HNSW}, embedding_function=None
                )
            with self._lock:
                changed = self._changed = dict.fromkeys(self._vectors) if self._changed is None else self._changed
            while not self._is_closing and changed:
                with self._lock:
                    id = next(iter(changed))
                    del changed[id]
                self._enter(collection, id)
            self._collection = collection
        except Exception as error:
            self._fail(error)

    def _enter(self, collection: Collection, id: str) -> None:
        """Copy a publication's vectors to the collection."""
        vectors = self.get(id)
        count = 0 if vectors is None else len(vectors)
        for start in range(0, count, AT_ONCE):
            some = np.asarray(vectors)[start : start + AT_ONCE]
            collection.upsert(ids=[f"{id}{_PART}{start + part}" for part in range(len(some))], embeddings=some)
        if gone := range(count, self._parts.get(id, 0)):
            collection.delete(ids=[f"{id}{_PART}{part}" for part in gone])
        self._parts[id] = count

    def _fail(self, error: Exception) -> None:
        self._has_failed = True
        logger.warning("the index of a session failed, its vectors are compared one by one: %s", type(error).__name__)


def _asked(collection: Collection, vectors: Sequence[Vector], limit: int) -> list[list[NearPassage]]:
    """What a collection says is nearest to each vector, see `CollectionIndex.nearest`."""
    queries = np.asarray(vectors, np.float32)
    found: Any = collection.query(query_embeddings=queries, n_results=limit, include=["distances"])
    rows = (zip(*some, strict=True) for some in zip(found["ids"], found["distances"], strict=True))
    return [
        [NearPassage(id, int(part), 1.0 - far) for key, far in some for id, _, part in [key.rpartition(_PART)]]
        for some in rows
    ]
