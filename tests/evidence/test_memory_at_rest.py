"""A session in memory that has rested answers as before, and what is written then is complete."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import EmbeddingError
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.storage.sqlite_space import MemoryBackend
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import ScreeningMark
from tests.evidence.stand_ins import HashingModel, piece

ITEMS = 60


class Model(HashingModel):
    async def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if any("Copper" in text for text in texts):
            raise EmbeddingError("The model fails.")
        return await super().vectors(texts)


async def rested() -> EvidenceStore:
    """A session at rest, of which the last item has no vector."""
    store = await SessionRegistry(Settings(), Model(dimension=64), MemoryBackend(limit=9)).open()
    await store.add_evidence([piece(f"Finding {n} in mice.", f"Title {n}", pmid=str(n)) for n in range(1, ITEMS)])
    await store.add_evidence([piece("Copper in rats.", "Copper", pmid="99")])
    await store.rest()
    return store


@pytest.mark.parametrize("id", ["pubmed:7", "pubmed:99"])
async def test_what_is_written_after_it_was_read_is_kept(id: str) -> None:
    store = await rested()
    await store.decide([ScreeningMark(id=id, verdict="included")])
    await store.remove(["pubmed:8"])
    for _ in range(2):
        found = await store.publications([id, "pubmed:8"])
        assert {one.id: one.screening for one in found.values()} == {id: "included"}
        assert await store.count() == ITEMS - 1
        await store.rest()
