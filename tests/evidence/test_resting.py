"""Which sessions stay awake: those in use, and so many others."""

from collections.abc import AsyncGenerator, Sequence

import anyio
import numpy as np
import pytest
from numpy.typing import NDArray

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import EmbeddingError
from deepcritical_mcp.evidence.sessions import REST_AFTER, STAYS_AWAKE, SessionRegistry
from deepcritical_mcp.evidence.storage.backend import MemoryBackend
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import ScreeningMark
from tests.evidence.stand_ins import Clock, HashingModel, piece

SESSIONS = 5
AWAKE = 2


class SlowModel(HashingModel):
    """Answers a query about something slow only when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.go_on = anyio.Event(), anyio.Event()

    async def query_vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if list(texts) == ["slow"]:
            self.asked.set()
            await self.go_on.wait()
        return await super().vectors(texts)


@pytest.fixture
def model() -> SlowModel:
    return SlowModel()


@pytest.fixture
async def registry(model: SlowModel, clock: Clock) -> AsyncGenerator[SessionRegistry]:
    backend = MemoryBackend(limit=100)
    backend.max_awake = AWAKE
    registry = SessionRegistry(Settings(), model, backend, clock=clock)
    yield registry
    await registry.aclose()


async def filled(registry: SessionRegistry) -> list[EvidenceStore]:
    stores = [await registry.open() for _ in range(SESSIONS)]
    for number, store in enumerate(stores):
        await store.add_evidence([piece(f"Finding number {number}.", f"Title {number}", pmid=str(number))])
    return stores


def awake(stores: list[EvidenceStore]) -> list[int]:
    return [number for number, store in enumerate(stores) if store.awake]


async def test_of_idle_sessions_the_last_used_ones_stay_awake(registry: SessionRegistry, clock: Clock) -> None:
    stores = await filled(registry)
    clock.now += STAYS_AWAKE + 1
    await registry.get(stores[1].session_id)
    await registry.sweep()
    assert awake(stores) == [1, 4]
    clock.now += STAYS_AWAKE + 1
    await (await registry.get(stores[0].session_id)).count()
    clock.now += STAYS_AWAKE + 1
    await registry.sweep()
    assert awake(stores) == [0, 1]
    clock.now += REST_AFTER
    await registry.sweep()
    assert awake(stores) == []
    assert [await store.ids() for store in stores] == [[f"pubmed:{number}"] for number in range(SESSIONS)]


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
