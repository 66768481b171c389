"""Texts into vectors: one model in a process, asked in worker threads, with a memory.

Importing this module imports no library of weight; the model is loaded by the first text, or by `warm_up`.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from deepcritical_mcp.errors import EmbeddingError
from deepcritical_mcp.evidence.embedding.model_source import EmbeddingModel, Kind, ModelSource, model_source
from deepcritical_mcp.evidence.embedding.vector_cache import FileCache, MemoryCache, cache_key

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from deepcritical_mcp.config import Settings

logger = logging.getLogger(__name__)

CACHE_FILE = "embeddings.sqlite3"
SLICE = 4  # texts that a worker takes at a time: about 50 ms
QUERY_WORKERS = 2
LAST_WAIT = 2.0  # seconds; the shipped model takes 0.3
RETRY_SECONDS = 60.0  # a model that could not be loaded is not tried again before


class EmbeddingService:
    """Vectors of unit length for documents and for queries; the dot product of two is their similarity.

    Documents are cut into small pieces of work that share a few threads, so that calls get in between each other, and
    queries have threads of their own, so that they never wait for documents. The event loop is never blocked, and a
    cancelled call ends at once. Every method raises EmbeddingError when the model cannot be loaded or run.

    Args:
        settings: which model, and where vectors are kept; the shipped model, in memory, without them.
        source: the model, if not the settings'.
        clock: seconds from any start, for the time between two attempts to load.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        source: ModelSource | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = source or model_source(settings.embedding_model if settings else "")
        self._loader = _Loader(self._source, clock)
        self._memory = MemoryCache()
        folder = settings.data_dir if settings else None
        self._file = FileCache(folder / CACHE_FILE) if folder else None
        self._document_workers = anyio.CapacityLimiter(self._source.workers)
        self._query_workers = anyio.CapacityLimiter(QUERY_WORKERS)

    @property
    def name(self) -> str:
        """Identifies the model: vectors of two names must never be compared."""
        return self._source.name

    @property
    def dimension(self) -> int:
        """Length of a vector; 0 while a model other than the shipped one is not loaded."""
        return self._loader.dimension

    async def embed(self, text: str) -> list[float]:
        """The vector of one document."""
        return (await self.vectors([text]))[0].tolist()

    async def embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors of documents, in their order."""
        return (await self.vectors(texts)).tolist()

    async def embed_query(self, text: str) -> list[float]:
        """The vector of one query; some models read queries otherwise than documents."""
        return (await self.query_vectors([text]))[0].tolist()

    async def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of documents, [texts, dimension], in their order. Equal texts are embedded once."""
        return await self._vectors(texts, "document")

    async def query_vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of a few queries, [texts, dimension]; they go before all documents."""
        return await self._vectors(texts, "query")

    def warm_up(self) -> None:
        """Begin to load the model in the background; a failure shows in the first call.

        In a daemon thread: an executor's thread would hold up the process's end. But an interpreter that ends by itself
        in mid-load aborts in onnxruntime (seen), so it waits for a moment.
        """
        thread = threading.Thread(target=self._warm_up, name="embedding-warm-up", daemon=True)
        thread.start()
        atexit.register(thread.join, LAST_WAIT)

    def close(self) -> None:
        """Close the file of kept vectors."""
        if self._file is not None:
            self._file.close()

    def _warm_up(self) -> None:
        try:
            self._loader.model()
        except EmbeddingError:
            logger.debug("warming up failed")  # the loader has said why

    async def _vectors(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        keys = [cache_key(self.name, kind, text) for text in texts]
        found = self._memory.get(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if missing and kind == "query":
            found.update(await self._in_thread(missing, kind, self._query_workers))
        elif missing:
            found.update(await self._share_out(missing))
        import numpy as np  # loaded by now, in a worker thread

        joined = bytearray().join(found[key] for key in keys)
        return np.frombuffer(joined, np.float32).reshape(len(keys), -1 if keys else self.dimension)

    async def _share_out(self, missing: Mapping[bytes, str]) -> dict[bytes, bytes]:
        """Embed documents on all workers, longest first, so that all end together."""
        workers = self._source.workers
        pieces = _cut(missing, min(SLICE, -(-len(missing) // workers)))
        found: dict[bytes, bytes] = {}
        failures: list[EmbeddingError] = []

        async def work() -> None:
            try:
                for piece in pieces:
                    found.update(await self._in_thread(piece, "document", self._document_workers))
            except EmbeddingError as error:
                failures.append(error)
                tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            for _ in range(min(workers, len(missing))):
                tasks.start_soon(work)
        if failures:
            raise failures[0]
        return found

    async def _in_thread(
        self, texts: Mapping[bytes, str], kind: Kind, limiter: anyio.CapacityLimiter
    ) -> dict[bytes, bytes]:
        return await anyio.to_thread.run_sync(self._find, texts, kind, limiter=limiter, abandon_on_cancel=True)

    def _find(self, texts: Mapping[bytes, str], kind: Kind) -> dict[bytes, bytes]:
        """The vectors of `texts`, from the file or the model, and kept from now on."""
        import numpy  # noqa: F401  # pyright: ignore[reportUnusedImport]  # for `_vectors`, which must not wait

        found = self._file.get(texts) if self._file else {}
        missing = [key for key in texts if key not in found]
        if missing:
            rows = self._loader.model().embed([texts[key] for key in missing], kind)
            fresh = {key: row.tobytes() for key, row in zip(missing, rows, strict=True)}
            if self._file:
                self._file.put(fresh)
            found.update(fresh)
        self._memory.put(found)
        return found


class _Loader:
    """Loads a model once, by whoever comes first, while the others wait; and remembers a failure for a while."""

    def __init__(self, source: ModelSource, clock: Callable[[], float]) -> None:
        self._source = source
        self._clock = clock
        self._loading = threading.Lock()
        self._model: EmbeddingModel | None = None
        self._failure = ""
        self._next_attempt = 0.0

    @property
    def dimension(self) -> int:
        return self._model.dimension if self._model else self._source.dimension

    def model(self) -> EmbeddingModel:
        """The loaded model.

        Raises:
            EmbeddingError: it cannot be loaded, now or at the last attempt, less than `RETRY_SECONDS` ago.
        """
        if self._model is not None:
            return self._model
        with self._loading:
            if self._model is None:
                self._model = self._load()
            return self._model

    def _load(self) -> EmbeddingModel:
        if self._failure and self._clock() < self._next_attempt:
            raise EmbeddingError(self._failure)
        try:
            return self._source.load()
        except EmbeddingError as error:
            logger.warning("the embedding model cannot be loaded: %s", error.__cause__ or error)
            self._failure = error.message
            self._next_attempt = self._clock() + RETRY_SECONDS
            raise


def _cut(texts: Mapping[bytes, str], size: int) -> Iterator[dict[bytes, str]]:
    """`texts` in pieces of `size`, longest first."""
    order = sorted(texts, key=lambda key: len(texts[key]), reverse=True)
    for start in range(0, len(order), size):
        yield {key: texts[key] for key in order[start : start + size]}
