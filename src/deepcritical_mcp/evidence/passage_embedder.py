"""Vectors for publications and queries; without a model there are none, and a warning says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from anyio.to_thread import run_sync
from numpy.typing import NDArray

from deepcritical_mcp.errors import EmbeddingError
from deepcritical_mcp.evidence.chunking import passages
from deepcritical_mcp.evidence.embedding.calibration import UNCALIBRATED, Calibration
from deepcritical_mcp.evidence.storage.rows import Vector
from deepcritical_mcp.models import Publication


class Embedder(Protocol):
    """What a session needs of `EmbeddingService`."""

    @property
    def name(self) -> str:
        """Names the model: vectors of two models are never compared."""
        ...

    @property
    def calibration(self) -> Calibration | None:
        """What was measured with the model; None when nothing was."""
        ...

    async def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of documents, [texts, dimension]; raises EmbeddingError."""
        ...

    async def query_vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of queries, [texts, dimension]; raises EmbeddingError."""
        ...


class PassageEmbedder:
    """Embeds for one session. A model that fails is no error: evidence is then found by its words alone."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.failure = ""

    @property
    def calibration(self) -> Calibration | None:
        """What was measured with the model; None when nothing was."""
        return self._embedder.calibration

    @property
    def warning(self) -> str:
        """What answers must say about the model; "" when it works and is calibrated."""
        if not self.failure:
            return "" if self.calibration else UNCALIBRATED
        return (
            f"{self.failure} Evidence is found by its words alone, and relevance counts the words shared with the "
            "query, not the meaning."
        )

    async def queries(self, queries: Sequence[str]) -> NDArray[np.float32] | None:
        """The vectors of queries, None without a model."""
        try:
            vectors = await self._embedder.query_vectors(queries)
        except EmbeddingError as error:
            self.failure = error.message
            return None
        self.failure = ""
        return vectors

    async def sentences(self, texts: Sequence[str]) -> NDArray[np.float32] | None:
        """The vectors of sentences, None without a model."""
        try:
            return await self._embedder.vectors(texts)
        except EmbeddingError as error:
            self.failure = error.message
            return None

    async def publications(self, publications: Sequence[Publication]) -> list[Sequence[Vector]]:
        """The vectors of each publication's passages, none without a model."""
        texts = await run_sync(_texts, publications, abandon_on_cancel=True)
        flat = [text for some in texts for text in some]
        if not flat:
            return [() for _ in publications]
        try:
            vectors = iter(await self._embedder.vectors(flat))
        except EmbeddingError as error:
            self.failure = error.message
            return [() for _ in publications]
        self.failure = ""
        return [[next(vectors) for _ in some] for some in texts]


def _texts(publications: Sequence[Publication]) -> list[list[str]]:
    return [[passage.content for passage in passages(publication)] for publication in publications]
