"""The shipped model on onnxruntime.

Each text runs alone, on one thread: dynamic quantisation finds its scales over all that runs together, so that a text's
vector would otherwise depend on its neighbours (measured: cosine 0.994 to the vector found alone, least 0.987). Alone
there is no padding either, and threads side by side, each with its own text, are as fast as batches.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, cast
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from deepcritical_mcp.errors import EmbeddingError
from deepcritical_mcp.evidence.embedding.model_source import Kind

CHARACTERS_PER_TOKEN = 16  # of the piece of a text that is read first; ordinary text has 4 to 6
FATAL = 4


class Session(Protocol):
    """What we use of `onnxruntime.InferenceSession`, which comes without types."""

    def run(self, output_names: Sequence[str], inputs: dict[str, NDArray[np.int64]]) -> list[NDArray[np.float32]]: ...


class OnnxModel:
    """A loaded model and its tokenizer. `load` makes it."""

    def __init__(self, session: Session, tokenizer: Tokenizer, *, max_tokens: int, dimension: int) -> None:
        self.dimension = dimension
        self._session = session
        self._tokenizer = tokenizer
        self._max_tokens = max_tokens

    @classmethod
    def load(cls, folder: Path, *, max_tokens: int, dimension: int) -> OnnxModel:
        """Load `model.onnx` and `tokenizer.json` from a folder.

        Raises:
            EmbeddingError: a file is missing or broken.
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
        return cls(session, tokenizer, max_tokens=max_tokens, dimension=dimension)

    def embed(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        """One unit vector a text; queries and documents are read alike. A blank text has a vector too."""
        vectors = np.empty((len(texts), self.dimension), np.float32)
        try:
            for row, tokens in enumerate(self.tokenise(texts)):
                ids = np.array([tokens], np.int64)
                inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
                vectors[row] = self._session.run(["sentence_embedding"], inputs)[0][0]
        except Exception as error:  # bare Exceptions again
            raise EmbeddingError(f"The embedding model failed on a text ({type(error).__name__}).") from error
        return vectors

    def tokenise(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of each text, at most `max_tokens`, as if the whole text had been tokenised."""
        length = self._max_tokens * CHARACTERS_PER_TOKEN
        found = self._encode([_start(text, length) for text in texts])
        for row, text in enumerate(texts):
            reach = length
            while len(found[row]) < self._max_tokens and reach < len(text):
                reach *= 8
                found[row] = self._encode([_start(text, reach)])[0]
        return found

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        # Unlike `encode`, `encode_batch_fast` lets other threads run. Lone surrogates are no text for it, and the
        # vocabulary lacks the small letters and digits of IC₅₀ or Ca²⁺.
        readable = [normalize("NFKC", text.encode("utf-8", "ignore").decode("utf-8")) for text in texts]
        return [encoding.ids for encoding in self._tokenizer.encode_batch_fast(readable)]


def _start(text: str, length: int) -> str:
    """The first `length` characters, less the word that this cuts in two."""
    if len(text) <= length:
        return text
    head = text[:length]
    return head[: max(head.rfind(" "), head.rfind("\n")) + 1] or head


def _open_session(path: Path) -> Session:
    # Its telemetry writes to the home folder and sends to its maker from the import on; only this keeps it from both.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    onnxruntime: Any = importlib.import_module("onnxruntime")  # without types
    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # the run stays in the calling thread: no pool, no spinning
    options.inter_op_num_threads = 1
    options.log_severity_level = FATAL
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return cast(Session, session)
