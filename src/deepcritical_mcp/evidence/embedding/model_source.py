"""Which embedding model a process uses, and what every such model offers. Importing this loads no library of weight."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from deepcritical_mcp.errors import EmbeddingError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Kind = Literal["query", "document"]

SHIPPED_FOLDER = Path(__file__).parent / "model"
SHIPPED_TOKENS = 256  # what the original reads of a text, its [CLS] and [SEP] included
MOST_WORKERS = 4


class EmbeddingModel(Protocol):
    """A loaded model. Its method blocks, and any thread may call it."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        ...

    def embed(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        """One unit vector for each text, [texts, dimension]. Some models read queries otherwise than documents.

        Raises:
            EmbeddingError: the model failed on these texts.
        """
        ...


class ModelSource(Protocol):
    """A model that may not be loaded yet."""

    @property
    def name(self) -> str:
        """Identifies the model: two models whose vectors must not meet have two names."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a vector; 0 where only the loaded model knows."""
        ...

    @property
    def workers(self) -> int:
        """How many threads may usefully embed at once."""
        ...

    def load(self) -> EmbeddingModel:
        """Load the model, which takes a fraction of a second to minutes.

        Raises:
            EmbeddingError: it cannot be loaded; the message says what to do.
        """
        ...


@dataclass(frozen=True)
class ShippedModel:
    """all-MiniLM-L6-v2 as int8 ONNX, out of this package.

    Args:
        max_tokens: how much of a text is read; the model knows 512 positions, and was published with 256.
    """

    max_tokens: int = SHIPPED_TOKENS
    folder: Path = SHIPPED_FOLDER
    dimension: int = 384

    @property
    def name(self) -> str:
        return (
            "all-MiniLM-L6-v2-int8" if self.max_tokens == SHIPPED_TOKENS else f"all-MiniLM-L6-v2-int8-{self.max_tokens}"
        )

    @property
    def workers(self) -> int:
        return min(_processors(), MOST_WORKERS)

    def load(self) -> EmbeddingModel:
        try:
            from deepcritical_mcp.evidence.embedding.onnx_model import OnnxModel
        except ImportError as error:
            raise EmbeddingError(
                "The embedding model needs numpy and tokenizers, which cannot be imported. Reinstall deepcritical-mcp."
            ) from error
        return OnnxModel.load(self.folder, max_tokens=self.max_tokens, dimension=self.dimension)


def model_source(setting: str) -> ModelSource:
    """The model that `DEEPCRITICAL_EMBEDDING_MODEL` names: a folder or a hub id; "" is the shipped one."""
    if not setting.strip():
        return ShippedModel()
    from deepcritical_mcp.evidence.embedding.sentence_transformer import SentenceTransformerSource

    return SentenceTransformerSource(setting.strip())


def _processors() -> int:
    """Processors this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
