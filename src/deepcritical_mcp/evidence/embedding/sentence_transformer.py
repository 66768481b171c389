"""Any other embedding model, through the extra `[sentence-transformers]`."""

from __future__ import annotations

import hashlib
import importlib
import threading
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepcritical_mcp.errors import EmbeddingError
from deepcritical_mcp.evidence.embedding import Kind
from deepcritical_mcp.evidence.embedding.calibration import CALIBRATIONS, Calibration

BATCH = 16
DEFAULT_TOKENS = 8192
"""Token limit of a model that states none."""
CHARACTERS_PER_TOKEN = 16
"""More than any real text has; a longer text is cut before it is tokenized."""
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
