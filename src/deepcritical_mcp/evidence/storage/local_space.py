"""A session in a Chroma of this process, which keeps it; what is near is found among all vectors, in memory."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from deepcritical_mcp.evidence.storage.chroma_space import HNSW, MAX_READ, ChromaSpace
from deepcritical_mcp.evidence.storage.rows import NearPassage, Vector
from deepcritical_mcp.evidence.storage.upgrade import PAGE
from deepcritical_mcp.evidence.storage.vector_table import VectorTable, stacked

if TYPE_CHECKING:
    from chromadb import Collection
    from chromadb.api.collection_configuration import CreateHNSWConfiguration
    from chromadb.types import Where

LOCAL_BATCH = 32
"""Publications per write: all are compared with what the session holds at once."""
RECORDS_AT_ONCE = 16
"""Records that are written at once. Chroma holds the GIL meanwhile: of 32 up to 50 ms on a slow machine."""
LISTED_AT_ONCE = 2_000
"""Ids that are read at once, with the GIL held for 15 ms."""
LOADED_AT_ONCE = 250
"""Vectors that are read at once, with the GIL held for 10 ms."""


class LocalSpace(ChromaSpace):
    """One session's collections, which no other process changes; see `Space`."""

    batch = RECORDS_AT_ONCE
    # Nothing asks Chroma's own index, which it always builds: the smallest takes a constant time for each vector. Of
    # unit vectors the inner product is the cosine, but Chroma keeps them as they are: normalized again, they would
    # differ in their last bits when the session is opened again, and its answers with them.
    hnsw: ClassVar[CreateHNSWConfiguration] = {**HNSW, "space": "ip", "ef_construction": 4, "max_neighbors": 4}

    def _rows(self, collection: Collection, since: int) -> Iterator[Sequence[Mapping[str, Any]]]:
        # Most records are of further passages, which say nothing: of a session of full texts, 99 of 100.
        ids: list[str] = []
        while len(ids) % LISTED_AT_ONCE == 0:
            with self._using("read the session"):
                where: Where = {"written": {"$gte": since}}
                found = collection.get(include=[], where=where, limit=LISTED_AT_ONCE, offset=len(ids))["ids"]
            ids += found
            if not found:
                break
        for start in range(0, len(ids), PAGE):
            with self._using("read the session"):
                yield collection.get(ids=ids[start : start + PAGE], include=["metadatas"])["metadatas"] or []

    def turn(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def nearest(
        self, vectors: Sequence[Vector], limit: int, source: str | None = None, least: float = -1.0
    ) -> list[list[NearPassage]]:
        return self._completed().nearest(vectors, limit, source, least)

    def load_vectors(self, known: Mapping[str, NDArray[np.float32]], others: Mapping[str, int]) -> None:
        if not known or sum(others.values()) > MAX_READ:
            return  # they are read together, when somebody searches
        with self._table.lock:
            super().load_vectors(known, others)
            self.vectors(others)
            self._table.complete = True

    def _completed(self) -> VectorTable:
        main, table = self._main, self._table  # in this order: what is at rest gets a new table
        if table.complete:
            return table
        with table.lock:
            ids: list[str] = []
            rows: list[Any] = []
            is_last = table.complete
            while not is_last:
                with self._using("search the session"):
                    found = main.get(include=["embeddings"], limit=LOADED_AT_ONCE, offset=len(ids))
                ids += found["ids"]
                rows += list(found["embeddings"] if found["embeddings"] is not None else ())
                is_last = len(found["ids"]) < LOADED_AT_ONCE
            for id, some in stacked(ids, rows).items():
                table.put(id, 0, some)
            table.complete = True
        return table

    @contextlib.contextmanager
    def _writing(self) -> Generator[None]:
        try:
            with super()._writing():
                yield
        except BaseException:
            self._table.clear()  # what was written is not known
            raise
