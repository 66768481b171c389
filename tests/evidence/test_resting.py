"""Which sessions stay awake: those in use, and so many others."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Sequence

import anyio
import numpy as np
import pytest
from anyio.to_thread import run_sync
from numpy.typing import NDArray

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import EmbeddingError
from deepcritical_mcp.evidence import sessions
from deepcritical_mcp.evidence.session_access import PASSAGE_BYTES, PUBLICATION_BYTES
from deepcritical_mcp.evidence.sessions import IN_USE, REST_AFTER, STAYS_AWAKE, SessionRegistry
from deepcritical_mcp.evidence.storage.backend import Space
from deepcritical_mcp.evidence.storage.session_file import SessionFile
from deepcritical_mcp.evidence.storage.sqlite_space import MemoryBackend, SqliteSpace
from deepcritical_mcp.evidence.storage.stored_items import SessionInfo
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


@pytest.mark.parametrize(("most", "in_use", "late"), [(4, [0, 1, 2, 3, 4], [1, 2, 3, 4]), (2, [1, 2, 3, 4], [3, 4])])
async def test_large_sessions_in_use_at_the_same_time_do_not_put_one_another_to_rest(
    model: SlowModel, clock: Clock, most: int, in_use: list[int], late: list[int]
) -> None:
    backend = MemoryBackend(limit=100)
    backend.max_memory = most * (PUBLICATION_BYTES + PASSAGE_BYTES)
    registry = SessionRegistry(Settings(), model, backend, clock=clock)
    stores = await filled(registry)
    await registry.sweep()
    assert awake(stores) == in_use
    clock.now += IN_USE + 1
    await registry.sweep()
    assert awake(stores) == late
    await registry.aclose()


class SlowToRest(SqliteSpace):
    """Rests when it is told to."""

    def __init__(self, session_id: str, info: SessionInfo) -> None:
        super().__init__(session_id, SessionFile.create(None, info))
        self.resting, self.go_on = threading.Event(), threading.Event()
        self.go_on.set()

    def rest(self) -> None:
        self.resting.set()
        assert self.go_on.wait(30)
        super().rest()


class SlowToRestBackend(MemoryBackend):
    """Sessions that rest when they are told to."""

    def __init__(self) -> None:
        super().__init__(limit=100)
        self.spaces: list[SlowToRest] = []

    def create(self, session_id: str, info: SessionInfo) -> Space:
        self.spaces.append(SlowToRest(session_id, info))
        return self.spaces[-1]


async def test_the_last_session_rests_without_a_further_call(
    model: SlowModel, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "REST_AFTER", 0.1)
    backend = SlowToRestBackend()
    registry = SessionRegistry(Settings(), model, backend, clock=clock)
    store = await registry.open()
    await store.add_evidence([piece("A finding.", "Title", pmid="1")])
    assert store.awake
    backend.spaces[-1].resting.clear()
    clock.now += 1
    assert await run_sync(backend.spaces[-1].resting.wait, 30)
    assert await store.ids() == ["pubmed:1"]
    await registry.aclose()


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
