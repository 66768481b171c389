"""A session in a Chroma of this process, which keeps it; what is near is found among all vectors, in memory."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from deepcritical_mcp.evidence.storage.chroma_space import HNSW, ChromaSpace
from deepcritical_mcp.evidence.storage.rows import NearPassage, Vector
from deepcritical_mcp.evidence.storage.vector_table import VectorTable, stacked

if TYPE_CHECKING:
    from chromadb.api.collection_configuration import CreateHNSWConfiguration

LOCAL_BATCH = 32
"""Records per write: Chroma holds the GIL meanwhile, 8 ms in memory and 20 ms in a folder. Of 8 it takes nearly as
long."""
LOADED_AT_ONCE = 250
"""Vectors that are read at once, with the GIL held for 10 ms."""


class LocalSpace(ChromaSpace):
    """One session's collections, which no other process changes; see `Space`."""

    batch = LOCAL_BATCH
    # Nothing asks Chroma's own index, which it always builds: the smallest takes a constant time for each vector. Of
    # unit vectors the inner product is the cosine, but Chroma keeps them as they are: normalized again, they would
    # differ in their last bits when the session is opened again, and its answers with them.
    hnsw: ClassVar[CreateHNSWConfiguration] = {**HNSW, "space": "ip", "ef_construction": 4, "max_neighbors": 4}

    def nearest(self, vectors: Sequence[Vector], limit: int, source: str | None = None) -> list[list[NearPassage]]:
        return self._completed().nearest(vectors, limit, source)

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
