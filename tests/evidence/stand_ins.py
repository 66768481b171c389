"""Evidence, clocks and models for the tests of the evidence store."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from deepcritical_mcp.errors import EmbeddingError
from deepcritical_mcp.models import Citation, Evidence, PublicationStatus, Source


def piece(
    content: str,
    title: str = "",
    *,
    source: Source = "pubmed",
    pmid: str = "",
    doi: str = "",
    pmcid: str = "",
    url: str = "",
    date: str = "Unknown",
    authors: Sequence[str] = (),
    journal: str = "",
    status: PublicationStatus = "ok",
    found_by: Sequence[str] = (),
    keywords: Sequence[str] = (),
) -> Evidence:
    """Evidence with only what a test cares about."""
    citation = Citation(
        source=source,
        title=title,
        url=url,
        date=date,
        authors=tuple(authors),
        pmid=pmid,
        doi=doi,
        pmcid=pmcid,
        journal=journal,
        status=status,
    )
    return Evidence.of(citation, content, provider="test", found_by=found_by, keywords=keywords)


class Clock:
    """Unix seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


class HashingModel:
    """Vectors from the letters of the text: another model, and one that can be taken away."""

    def __init__(self, name: str = "hashing", dimension: int = 16) -> None:
        self.name = name
        self.missing = False
        self.embedded: list[str] = []
        self._dimension = dimension

    async def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.missing:
            raise EmbeddingError("The embedding model cannot be loaded.")
        self.embedded += texts
        vectors = np.stack([np.random.default_rng(crc32(text.encode())).normal(size=self._dimension) for text in texts])
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)

    async def query_vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return await self.vectors(texts)
