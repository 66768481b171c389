"""Any other embedding model, through the extra `[sentence-transformers]`."""

from __future__ import annotations

import hashlib
import importlib
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from deepcritical_mcp.errors import EmbeddingError
from deepcritical_mcp.evidence.embedding.model_source import Kind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BATCH = 16
MOST_TOKENS = 8192  # read by a model that names no limit
CHARACTERS_PER_TOKEN = 16  # more than any text has; what lies beyond is not even tokenised
SAMPLE = 1024 * 1024  # bytes read at either end of a file to tell two models apart


class Encoder(Protocol):
    """What we use of `sentence_transformers.SentenceTransformer`, since version 5."""

    max_seq_length: int | None

    def encode_query(self, inputs: list[str], **options: Any) -> NDArray[np.float32]: ...

    def encode_document(self, inputs: list[str], **options: Any) -> NDArray[np.float32]: ...


class Library(Protocol):
    """What we use of the package `sentence_transformers`, which may not be installed."""

    def SentenceTransformer(self, model: str) -> Encoder: ...


class SentenceTransformerSource:
    """A local folder or a hub id, e.g. "BAAI/bge-small-en-v1.5"; its prompts for queries and documents are its own."""

    dimension = 0
    workers = 1

    def __init__(self, model: str) -> None:
        self._model = model
        self._folder = Path(model).expanduser()

    @property
    def name(self) -> str:
        """The hub id, or the folder's name with a hash of what is in it."""
        return self._name

    @cached_property
    def _name(self) -> str:
        if self._folder.is_dir():
            return f"{self._folder.resolve().name}-{_digest(self._folder)}"
        return self._model

    def load(self) -> SentenceTransformerModel:
        """Load the model; a hub id is downloaded the first time.

        Raises:
            EmbeddingError: the extra is not installed, or there is no such model, or it cannot be read.
        """
        if not self._folder.is_dir() and _is_path(self._model):
            raise EmbeddingError(
                "DEEPCRITICAL_EMBEDDING_MODEL names a folder that does not exist. "
                "Correct it, or unset it to use the model that comes with deepcritical-mcp."
            )
        library = _library()
        try:
            return SentenceTransformerModel(
                library.SentenceTransformer(str(self._folder) if self._folder.is_dir() else self._model)
            )
        except Exception as error:  # a border: torch, transformers, the hub and the network raise of all kinds
            raise EmbeddingError(
                f"The model that DEEPCRITICAL_EMBEDDING_MODEL names cannot be loaded ({type(error).__name__}). "
                "It must be a sentence-transformers folder or hub id; a hub id needs the internet the first time."
            ) from error


class SentenceTransformerModel:
    """A loaded model. Its tokenizer is not safe between threads, so one text batch runs at a time."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._running = threading.Lock()
        self._longest = (encoder.max_seq_length or MOST_TOKENS) * CHARACTERS_PER_TOKEN
        self.dimension = int(self.embed([""], "document").shape[1])

    def embed(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        """One unit vector for each text, read with the model's own prompt for queries or for documents."""
        readable = [text[: self._longest].encode("utf-8", "ignore").decode("utf-8") for text in texts]
        encode = self._encoder.encode_query if kind == "query" else self._encoder.encode_document
        try:
            with self._running:
                return encode(readable, batch_size=BATCH, normalize_embeddings=True, show_progress_bar=False)
        except Exception as error:  # as above
            raise EmbeddingError(f"The embedding model failed on a text ({type(error).__name__}).") from error


def _library() -> Library:
    try:
        importlib.import_module("transformers.utils.logging").disable_progress_bar()
        return cast(Library, importlib.import_module("sentence_transformers"))
    except Exception as error:  # absent, or a broken torch, which raises of all kinds
        raise EmbeddingError(
            "DEEPCRITICAL_EMBEDDING_MODEL needs an extra that is not installed, or cannot be imported "
            f"({type(error).__name__}): pip install 'deepcritical-mcp[sentence-transformers]'. "
            "Or unset it to use the model that comes with deepcritical-mcp."
        ) from error


def _is_path(model: str) -> bool:
    """Whether a name can only be a folder: hub ids have one slash at most, and none at either end."""
    return (
        model.startswith((".", "~", "/")) or model.endswith("/") or model.count("/") > 1 or bool({"\\", ":"} & {*model})
    )


def _digest(folder: Path) -> str:
    """Tells two models apart by their files' names, sizes and ends, without reading gigabytes."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        size = path.stat().st_size
        digest.update(f"{path.relative_to(folder).as_posix()}\0{size}\0".encode("utf-8", "replace"))
        with path.open("rb") as file:
            digest.update(file.read(SAMPLE))
            file.seek(max(0, size - SAMPLE))
            digest.update(file.read(SAMPLE))
    return digest.hexdigest()[:12]
