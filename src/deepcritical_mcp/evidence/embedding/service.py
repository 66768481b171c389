"""The embedding service: one model per process, called in worker threads, with a cache.

The first text loads the model, or `warm_up` does.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import importlib
import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import anyio
import numpy as np
from anyio.to_thread import run_sync
from numpy.typing import NDArray
from tokenizers import Tokenizer

from deepcritical_mcp.deadline import TO_EMBED, seconds_for
from deepcritical_mcp.errors import EmbeddingError
from deepcritical_mcp.evidence.embedding.calibration import (
    CALIBRATIONS,
    MINILM,
    SHIPPED_DIMENSION,
    SHIPPED_NAME,
    SHIPPED_TOKENS,
    Calibration,
)
from deepcritical_mcp.memory import SizedCache
from deepcritical_mcp.net.cache import Cache, cache_key
from deepcritical_mcp.net.pacing import Slots, turn_of
from deepcritical_mcp.text import batches, normalized

if TYPE_CHECKING:
    from deepcritical_mcp.config import Settings

logger = logging.getLogger(__name__)

Kind = Literal["query", "document"]


class EmbeddingModel(Protocol):
    """A loaded model: the length of its vectors, and one unit vector per text, [texts, dimension], or EmbeddingError.
    `embed` blocks and is thread-safe; some models embed queries and documents differently."""

    @property
    def dimension(self) -> int: ...
    def embed(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]: ...


class KnownModel(Protocol):
    """What is known of a model.

    Attributes:
        name: identifies the model. Vectors of models with different names must never be compared.
        calibration: the thresholds and weights measured with this model; None if there are none.
    """

    @property
    def name(self) -> str: ...
    @property
    def calibration(self) -> Calibration | None: ...


class ModelSource(KnownModel, Protocol):
    """A model that can be loaded.

    Attributes:
        dimension: length of a vector; 0 if unknown before the model is loaded.
        workers: how many threads can usefully embed at once.
        load: takes from a fraction of a second to minutes; raises EmbeddingError, whose message says what to do.
    """

    @property
    def dimension(self) -> int: ...
    @property
    def workers(self) -> int: ...
    def load(self) -> EmbeddingModel: ...


SLICE = 4
"""Texts that a worker takes at a time: about 50 ms of work."""
TURN = 4
"""Slices that a small call embeds in a row: such calls finish one after the other, since all would be late together."""
BUSY = "The embedding model is busy with other calls."
CACHE_FILE = "vectors-2.sqlite3"
CACHE_BYTES = 200 * 1024 * 1024  # about 100,000 vectors of the shipped model
CACHE_TIMEOUT = 0.25  # seconds: queries must not wait long for a file that only saves time
QUERY_WORKERS = 2
EXIT_WAIT = 2.0
"""Seconds that a process waits at exit for a model that is loading; the shipped one takes 0.3."""
RETRY_SECONDS = 60.0
"""Pause after a failed load before the next attempt."""
MEMORY_LIMIT = 8 * 1024 * 1024
"""Bytes of vectors kept in memory: about 5,000 of the shipped model."""


def model_source(setting: str) -> ModelSource:
    """The model that `DEEPCRITICAL_EMBEDDING_MODEL` names, a folder or a hub id; the shipped one if it is empty."""
    name = setting.strip()
    return SentenceTransformerSource(name) if name else ShippedModel()


class EmbeddingService:
    """Unit vectors for documents and queries; the dot product of two is their similarity.

    Documents are split into small batches that take turns on a few threads, callers by turns (`turn_of`), so that no
    call and no caller shuts others out; a call that cannot be finished in time is refused. Queries have their own
    threads and never wait for documents. The event loop is never blocked, and a cancelled call ends at once. Every
    embedding method raises EmbeddingError if the model cannot be loaded or run.

    Args:
        settings: the model, and the folder that caches vectors; by default the shipped model, cached in memory only.
        source: the model, instead of the one that the settings name.
        clock: monotonic seconds, for the pause between two attempts to load.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        source: ModelSource | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = source or model_source(settings.embedding_model if settings else "")
        self.calibration = self._source.calibration
        """The thresholds and weights measured with the model; None if there are none (see `UNCALIBRATED`)."""
        self._clock = clock
        self._loading = threading.Lock()
        self._model: EmbeddingModel | None = None
        self._failure, self._next_attempt = "", 0.0
        self._memory = SizedCache[bytes, bytes](MEMORY_LIMIT)
        folder = settings.data_dir if settings else None
        self._file = Cache(folder / CACHE_FILE, max_bytes=CACHE_BYTES, timeout=CACHE_TIMEOUT) if folder else None
        self._workers = self._source.workers
        self._document_threads = anyio.CapacityLimiter(self._workers)
        self._turns = Slots(self._workers)
        self._queued, self._pace = Counter[str](), 0.0  # characters by caller; seconds for one of them
        self._query_threads = anyio.CapacityLimiter(QUERY_WORKERS)
        self._query_turns = Slots(QUERY_WORKERS)

    @property
    def name(self) -> str:
        """Identifies the model. Vectors of models with different names must never be compared."""
        return self._source.name

    @property
    def dimension(self) -> int:
        """Length of a vector; 0 for a model other than the shipped one until it is loaded."""
        return self._model.dimension if self._model else self._source.dimension

    async def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The unit vectors of documents, [texts, dimension], in the same order. Equal texts are embedded once."""
        return await self._vectors(texts, "document")

    async def query_vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of a few queries, [texts, dimension]; they never wait for documents."""
        return await self._vectors(texts, "query")

    def warm_up(self) -> None:
        """Start loading the model in the background. A failure shows in the first call.

        The thread is a daemon, because an executor's thread would delay the end of the process. But onnxruntime aborts
        an interpreter that exits in the middle of a load (seen), so the exit waits for a moment.
        """

        def load() -> None:
            with contextlib.suppress(EmbeddingError):  # it is logged
                self._loaded()

        thread = threading.Thread(target=load, name="embedding-warm-up", daemon=True)
        thread.start()
        atexit.register(thread.join, EXIT_WAIT)

    def close(self) -> None:
        """Close the cache file."""
        if self._file is not None:
            self._file.close()

    async def _vectors(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        keys = [cache_key(self.name, kind, text) for text in texts]
        found = self._memory.get(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if missing and kind == "query":
            async with self._query_turns.slot():
                threads = self._query_threads
                found.update(await run_sync(self._find, missing, kind, limiter=threads, abandon_on_cancel=True))
        elif missing:
            found.update(await self._embed_documents(missing))
        joined = bytearray().join(found[key] for key in keys)
        return np.frombuffer(joined, np.float32).reshape(len(keys), -1 if keys else self.dimension)

    async def _embed_documents(self, missing: Mapping[bytes, str]) -> dict[bytes, bytes]:
        """Embed documents on all workers, longest first, so that they finish at about the same time."""
        caller, length, seconds = turn_of.get(), sum(map(len, missing.values())), seconds_for(TO_EMBED)
        own = self._queued[caller] + length
        # Of another caller's, only as much has its turn before this is done.
        ahead = sum(min(own, queued) for other, queued in self._queued.items() if other != caller)
        if (own + ahead) * self._pace > seconds:
            raise EmbeddingError(BUSY)
        turn = TURN if len(missing) <= TURN * SLICE * self._workers else 1
        order = sorted(missing, key=lambda key: len(missing[key]), reverse=True)
        size = min(SLICE, -(-len(missing) // self._workers))
        left = batches(order, size)
        found: dict[bytes, bytes] = {}
        failures: list[EmbeddingError] = []
        in_thread = partial(run_sync, self._find, limiter=self._document_threads, abandon_on_cancel=True)

        async def work() -> None:
            try:
                while some := [*islice(left, turn)]:
                    async with self._turns.slot():
                        for keys in some:
                            found.update(await in_thread({key: missing[key] for key in keys}, "document"))
            except EmbeddingError as error:
                failures.append(error)
                tasks.cancel_scope.cancel()

        self._queued[caller] += length
        try:
            with anyio.move_on_after(seconds) as scope:
                async with anyio.create_task_group() as tasks:
                    for _ in range(min(self._workers, len(missing))):
                        tasks.start_soon(work)
        finally:
            self._queued -= Counter({caller: length})  # drops what reaches zero
        if failures or scope.cancelled_caught:
            raise failures[0] if failures else EmbeddingError(BUSY)
        return found

    def _find(self, texts: Mapping[bytes, str], kind: Kind) -> dict[bytes, bytes]:
        """The vectors of `texts`, from the cache file or the model; both caches have them afterward."""
        length = self.dimension * np.dtype(np.float32).itemsize  # 0 if it is not known yet
        kept = self._file.get(texts) if self._file else {}
        found = {key: vector for key, vector in kept.items() if len(vector) == (length or len(vector))}
        missing = [key for key in texts if key not in found]
        if missing:
            model, began = self._loaded(), time.monotonic()
            rows = model.embed([texts[key] for key in missing], kind)
            if kind == "document":
                spent = (time.monotonic() - began) / sum(len(texts[key]) + 1 for key in missing) / self._workers
                self._pace += (spent - self._pace) / 8
            fresh = {key: row.tobytes() for key, row in zip(missing, rows, strict=True)}
            if self._file:
                self._file.put(fresh)
            found.update(fresh)
        for key, vector in found.items():
            self._memory.put(key, vector, len(vector))
        return found

    def _loaded(self) -> EmbeddingModel:
        """The model: the first caller loads it, the others wait.

        Raises:
            EmbeddingError: it cannot be loaded, or could not be less than `RETRY_SECONDS` ago.
        """
        if self._model is not None:
            return self._model
        with self._loading:
            if self._model is None:
                if self._failure and self._clock() < self._next_attempt:
                    raise EmbeddingError(self._failure)
                try:
                    self._model = self._source.load()
                except EmbeddingError as error:
                    logger.warning("the embedding model cannot be loaded: %s", error.__cause__ or error)
                    self._failure, self._next_attempt = error.message, self._clock() + RETRY_SECONDS
                    raise
            return self._model


SHIPPED_FOLDER = Path(__file__).parent / "model"
MAX_WORKERS = 4
CHARACTERS_PER_TOKEN = 16
"""How much of a text is tokenized; ordinary text has 4 to 6 characters per token."""
FATAL = 4
"""onnxruntime's log level."""


@dataclass(frozen=True)
class ShippedModel:
    """The model in this package; see `ModelSource`."""

    folder: Path = SHIPPED_FOLDER
    name: str = SHIPPED_NAME
    dimension: int = SHIPPED_DIMENSION
    calibration: Calibration | None = MINILM

    @property
    def workers(self) -> int:
        # The CPUs that this process may use, as far as the system tells.
        available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return min(available, MAX_WORKERS)

    def load(self) -> OnnxModel:
        return OnnxModel.load(self.folder, max_tokens=SHIPPED_TOKENS)


class OnnxModel:
    """A loaded model and its tokenizer, made by `load`: all-MiniLM-L6-v2 as int8 ONNX.

    Each text is embedded alone: dynamic quantization computes its scales over the whole batch, in which a text's vector
    would depend on its neighbors (measured: mean cosine 0.994 to the vector computed alone, lowest 0.987).
    """

    dimension = SHIPPED_DIMENSION

    def __init__(self, session: Any, tokenizer: Tokenizer, *, max_tokens: int) -> None:
        self._session = session
        self._tokenizer = tokenizer
        self._max_tokens = max_tokens

    @classmethod
    def load(cls, folder: Path, *, max_tokens: int) -> OnnxModel:
        """Load `model.onnx` and `tokenizer.json` from a folder.

        Raises:
            EmbeddingError: a file is missing or damaged, or onnxruntime cannot be imported.
        """
        try:
            tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            tokenizer.no_padding()
            tokenizer.enable_truncation(max_tokens)  # pyright: ignore[reportUnknownMemberType]  # its **kwargs
            # From its import on, onnxruntime's telemetry writes to the home folder and sends data; only this prevents
            # both.
            os.environ["ORT_DISABLE_TELEMETRY"] = "1"
            onnxruntime: Any = importlib.import_module("onnxruntime")  # heavy, and without type hints
            onnxruntime.disable_telemetry_events()
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = 1  # run in the calling thread: no thread pool, no spinning
            options.inter_op_num_threads = 1
            options.log_severity_level = FATAL
            path, providers = str(folder / "model.onnx"), ["CPUExecutionProvider"]
            session = onnxruntime.InferenceSession(path, options, providers=providers)
        except Exception as error:  # both libraries raise bare Exceptions
            raise EmbeddingError(
                f"The embedding model that comes with deepcritical-mcp cannot be loaded ({type(error).__name__}). "
                "Reinstall the package: pip install --force-reinstall --no-deps deepcritical-mcp"
            ) from error
        return cls(session, tokenizer, max_tokens=max_tokens)

    def embed(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        """One unit vector per text, blank texts included; queries and documents are embedded alike."""
        vectors = np.empty((len(texts), self.dimension), np.float32)
        try:
            for row, tokens in enumerate(self.tokenize(texts)):
                ids = np.array([tokens], np.int64)
                inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
                vectors[row] = self._session.run(["sentence_embedding"], inputs)[0][0]
        except Exception as error:  # onnxruntime raises bare Exceptions too
            raise EmbeddingError(f"The embedding model failed on a text ({type(error).__name__}).") from error
        return vectors

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """The token ids of the beginning of each text, at most `max_tokens`."""
        # `encode_batch_fast` releases the GIL, unlike `encode`. It rejects lone surrogates. NFKC because the vocabulary
        # lacks the subscripts and superscripts of IC₅₀ and Ca²⁺.
        starts = [text[: self._max_tokens * CHARACTERS_PER_TOKEN].encode("utf-8", "ignore") for text in texts]
        readable = [normalized("NFKC", start.decode("utf-8")) for start in starts]
        return [encoding.ids for encoding in self._tokenizer.encode_batch_fast(readable)]


BATCH = 16
DEFAULT_TOKENS = 8192
"""Token limit of a model that states none."""
SAMPLE = 1024 * 1024
"""Bytes read at each end of a file to tell two models apart."""


class SentenceTransformerSource:
    """A local folder or a hub id, e.g. "BAAI/bge-small-en-v1.5", with the model's own prompts for queries and
    documents; see `ModelSource`."""

    dimension = 0
    workers = 1

    def __init__(self, model: str) -> None:
        self._model = model
        self._folder = Path(model).expanduser()

    @property
    @cache  # noqa: B019  # there is one for each process
    def name(self) -> str:
        """The hub id, or the folder's name with a hash of its contents."""
        return f"{self._folder.resolve().name}-{_digest(self._folder)}" if self._folder.is_dir() else self._model

    @property
    def calibration(self) -> Calibration | None:
        return None if self._folder.is_dir() else CALIBRATIONS.get(self._model)

    def load(self) -> SentenceTransformerModel:
        """Load the model; a hub id is downloaded the first time.

        Raises:
            EmbeddingError: the extra is not installed, or the model does not exist or cannot be read.
        """
        try:
            importlib.import_module("transformers.utils.logging").disable_progress_bar()
            load = importlib.import_module("sentence_transformers").SentenceTransformer
        except Exception as error:  # not installed, or a broken torch, which raises many kinds
            raise EmbeddingError(
                "DEEPCRITICAL_EMBEDDING_MODEL needs an extra that is not installed, or cannot be imported "
                f"({type(error).__name__}): pip install 'deepcritical-mcp[sentence-transformers]'. "
                "Or unset it to use the model that comes with deepcritical-mcp."
            ) from error
        try:
            return SentenceTransformerModel(load(str(self._folder) if self._folder.is_dir() else self._model))
        except Exception as error:  # torch, transformers, the hub and the network each raise their own
            raise EmbeddingError(
                f"The model that DEEPCRITICAL_EMBEDDING_MODEL names cannot be loaded ({type(error).__name__}). "
                "It must be an existing sentence-transformers folder, or a hub id, which needs the internet the first "
                "time."
            ) from error


class SentenceTransformerModel:
    """A loaded `SentenceTransformer`, version 5 or later. Its tokenizer is not thread-safe, so one batch runs at a
    time."""

    def __init__(self, encoder: Any) -> None:
        self._encoder = encoder
        self._running = threading.Lock()
        self._max_characters = (encoder.max_seq_length or DEFAULT_TOKENS) * CHARACTERS_PER_TOKEN
        self.dimension = int(self.embed([""], "document").shape[1])

    def embed(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        """One unit vector per text, with the model's own prompt for queries or for documents."""
        readable = [text[: self._max_characters].encode("utf-8", "ignore").decode("utf-8") for text in texts]
        encode = self._encoder.encode_query if kind == "query" else self._encoder.encode_document
        try:
            with self._running:
                return encode(readable, batch_size=BATCH, normalize_embeddings=True, show_progress_bar=False)
        except Exception as error:  # see `load`
            raise EmbeddingError(f"The embedding model failed on a text ({type(error).__name__}).") from error


def _digest(folder: Path) -> str:
    """A hash of the names, sizes and both ends of the files, so that gigabytes need not be read."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        size = path.stat().st_size
        digest.update(f"{path.relative_to(folder).as_posix()}\0{size}\0".encode("utf-8", "replace"))
        with path.open("rb") as file:
            digest.update(file.read(SAMPLE))
            file.seek(max(0, size - SAMPLE))
            digest.update(file.read(SAMPLE))
    return digest.hexdigest()[:12]
