"""What is nearly identical to what follows from what the session holds now, however it came there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import EmbeddingError
from deepcritical_mcp.evidence.embedding.calibration import MINILM
from deepcritical_mcp.evidence.embedding.service import EmbeddingService
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.storage import open_backend
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import Publication
from tests.evidence.stand_ins import piece

ASPIRIN = "Aspirin lowered the risk of colorectal adenoma in a trial of 600 adults over three years."
VITAMIN = "Vitamin D had no effect on falls among 900 older women in nursing homes, whatever they had had before it."


class Busy:
    """The shipped model, which can be busy with documents."""

    def __init__(self, model: EmbeddingService) -> None:
        self._model = model
        self.name, self.calibration, self.is_busy = "busy", MINILM, False

    async def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.is_busy:
            raise EmbeddingError("The embedding model is busy with other calls.")
        return await self._model.vectors(texts)

    async def query_vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return await self._model.query_vectors(texts)


async def opened(model: EmbeddingService | Busy) -> EvidenceStore:
    return await SessionRegistry(Settings(), model, open_backend(Settings())).open()


def page(number: int, content: str) -> Publication:
    return piece(content, f"Site {number}", source="web", url=f"https://example.org/{number}", provider="web")


async def links(store: EvidenceStore) -> list[tuple[str, ...]]:
    ids = await store.ids()
    return [one.similar for one in (await store.publications(ids)).values()]


async def test_a_text_that_changed_is_not_like_what_the_earlier_one_was_like(embedder: EmbeddingService) -> None:
    store = await opened(embedder)
    await store.add_evidence([page(1, ASPIRIN), page(2, ASPIRIN)])
    first, second = await store.ids()
    assert await links(store) == [(second,), (first,)]
    await store.add_evidence([page(1, VITAMIN)])
    assert await links(store) == [(), ()]
    await store.add_evidence([page(3, VITAMIN)])
    assert await links(store) == [((await store.ids())[2],), (), (first,)]
