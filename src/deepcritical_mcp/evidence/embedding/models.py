"""The models: the shipped one, all-MiniLM-L6-v2 as int8 ONNX, on onnxruntime, and any other, through the extra
`[sentence-transformers]`.

The shipped model embeds each text alone, on one thread. Dynamic quantization computes its scales over the whole batch,
so in a batch a text's vector would depend on its neighbors (measured: mean cosine 0.994 to the vector computed alone,
lowest 0.987). Single texts need no padding either, and several threads with one text each are as fast as batches.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from deepcritical_mcp.errors import EmbeddingError
from deepcritical_mcp.evidence.embedding import Kind
from deepcritical_mcp.evidence.embedding.calibration import (
    CALIBRATIONS,
    SHIPPED_CALIBRATION,
    SHIPPED_DIMENSION,
    SHIPPED_NAME,
    SHIPPED_TOKENS,
    Calibration,
)
from deepcritical_mcp.text import normalized

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
    calibration: Calibration | None = SHIPPED_CALIBRATION

    @property
    def workers(self) -> int:
        # The CPUs that this process may use, as far as the system tells.
        available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return min(available, MAX_WORKERS)

    def load(self) -> OnnxModel:
        return OnnxModel.load(self.folder, max_tokens=SHIPPED_TOKENS)


class OnnxModel:
    """A loaded model and its tokenizer, made by `load`."""

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
            session = _open_session(folder / "model.onnx")
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


def _open_session(path: Path) -> Any:
    """An `onnxruntime.InferenceSession`, which has no type hints."""
    # From its import on, onnxruntime's telemetry writes to the home folder and sends data; only this prevents both.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    onnxruntime: Any = importlib.import_module("onnxruntime")  # heavy, and without type hints
    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # run in the calling thread: no thread pool, no spinning
    options.inter_op_num_threads = 1
    options.log_severity_level = FATAL
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


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
        load = _loader()
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


def _loader() -> Callable[[str], Any]:
    try:
        importlib.import_module("transformers.utils.logging").disable_progress_bar()
        return importlib.import_module("sentence_transformers").SentenceTransformer
    except Exception as error:  # not installed, or a broken torch, which raises many kinds
        raise EmbeddingError(
            "DEEPCRITICAL_EMBEDDING_MODEL needs an extra that is not installed, or cannot be imported "
            f"({type(error).__name__}): pip install 'deepcritical-mcp[sentence-transformers]'. "
            "Or unset it to use the model that comes with deepcritical-mcp."
        ) from error


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
