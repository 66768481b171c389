"""Vectors for publications and queries; none, with a warning, if the model fails."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from contextvars import ContextVar
from itertools import islice
from typing import Protocol

import anyio
import numpy as np
from anyio.to_thread import run_sync
from numpy.typing import NDArray

from deepcritical_mcp.deadline import TO_EMBED_FOR_ANSWER, seconds_for
from deepcritical_mcp.errors import EmbeddingError
from deepcritical_mcp.evidence.chunking import long_passages, short_passages
from deepcritical_mcp.evidence.embedding.calibration import UNCALIBRATED, Calibration
from deepcritical_mcp.evidence.embedding.service import BUSY
from deepcritical_mcp.evidence.storage.stored_items import Vector
from deepcritical_mcp.models import Publication

_failure: ContextVar[str] = ContextVar("failure", default="")
_loss: ContextVar[str] = ContextVar("loss", default="")


class Embedder(Protocol):
    """What a session needs of `EmbeddingService`."""

    @property
    def name(self) -> str:
        """Identifies the model: vectors of different models are never compared."""
        ...

    @property
    def calibration(self) -> Calibration | None:
        """The thresholds and weights measured with the model; None if there are none."""
        ...

    async def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of documents, [texts, dimension]; raises EmbeddingError."""
        ...

    async def query_vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of queries, [texts, dimension]; raises EmbeddingError."""
        ...


class PassageEmbedder:
    """Embeds for one session. If the model fails, evidence is found by words only, without an error."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.calibration = embedder.calibration

    @property
    def failure(self) -> str:
        """Why the model failed when the present call last asked it; "" if it did not. Failures in the background, in
        other calls, and in `beside` do not count."""
        return _failure.get()

    @property
    def warning(self) -> str:
        """A warning about the model for results; "" if it works and is calibrated."""
        if self.failure:
            return (
                f"{self.failure} Evidence is found by words only, and relevance measures words shared with the "
                "query, not meaning."
            )
        return _loss.get() or ("" if self.calibration else UNCALIBRATED)

    async def queries(self, texts: Sequence[str]) -> NDArray[np.float32] | None:
        """The vectors of queries; None without a model."""
        _loss.set("")
        return await _or_none(self._embedder.query_vectors(texts), _failure)

    async def sentences(self, texts: Sequence[str]) -> NDArray[np.float32] | None:
        """The vectors of sentences; None without a model."""
        return await _or_none(self._embedder.vectors(texts), _failure)

    async def beside(self, texts: Sequence[str], loss: str) -> NDArray[np.float32] | None:
        """The vectors of what an answer can do without; None without a model, or if there is no time: then `warning`
        says why, and `loss`, what came of it."""
        return await _in_time(self._embedder.vectors(texts), loss)

    async def cosines(self, question: str, texts: Sequence[str], loss: str) -> list[float]:
        """The cosines of such texts to a question; [] without them."""
        vectors = await self.beside(texts, loss)
        query = None if vectors is None else await _in_time(self._embedder.query_vectors([question]), loss)
        return [] if vectors is None or query is None else (vectors @ query[0]).tolist()

    async def publications(self, publications: Sequence[Publication], room: int = 0) -> list[Sequence[Vector]]:
        """The vectors of each publication's first passages, at least one; () without a model.

        These are all passages, as long as those of long texts are at most `room` in all; else only those of its texts
        without parts.
        """
        texts = await run_sync(_texts, publications, room, abandon_on_cancel=True)
        vectors = await self.sentences([text for some in texts for text in some]) if texts else None
        if vectors is None:
            return [() for _ in publications]
        rows = iter(vectors)
        return [[next(rows) for _ in some] for some in texts]


async def _in_time(vectors: Awaitable[NDArray[np.float32]], loss: str) -> NDArray[np.float32] | None:
    _loss.set(f"{BUSY} {loss}")
    with anyio.move_on_after(seconds_for(TO_EMBED_FOR_ANSWER)):
        return await _or_none(vectors, _loss, loss)
    return None


async def _or_none(
    vectors: Awaitable[NDArray[np.float32]], failure: ContextVar[str], loss: str = ""
) -> NDArray[np.float32] | None:
    try:
        found = await vectors
    except EmbeddingError as error:
        failure.set(f"{error.message} {loss}".rstrip())
        return None
    failure.set("")
    return found


def _texts(publications: Sequence[Publication], room: int) -> list[list[str]]:
    texts: list[list[str]] = []
    for publication in publications:
        whole = short_passages(publication)
        long = [*islice(long_passages(publication), room + 1)]
        if len(long) <= room:
            whole, room = whole + long, room - len(long)
        texts.append([passage.content for passage in whole or long[:1]])
    return texts
