"""A publication whose text has changed is found by words until it is embedded again, whatever comes in between."""

from collections.abc import Sequence
from typing import Any

import anyio
import numpy as np
import pytest
from numpy.typing import NDArray

from deepcritical_mcp.config import Settings
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.storage import open_backend
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import Publication
from tests.evidence.stand_ins import Clock, HashingModel
from tests.publications import published

ENDS = ("cancelled", "no model", "asleep", "removed")
NUMBERS = range(3)


class Held(HashingModel):
    """A model that embeds longer texts only when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.is_held = anyio.Event(), True

    async def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.is_held and any("longer" in text for text in texts):
            self.asked.set()
            await anyio.sleep_forever()
        return await super().vectors(texts)


def pages(content: str) -> list[Publication]:
    fields: dict[str, Any] = {"source": "web", "pmid": "", "doi": ""}
    return [
        published(content, title=f"Zinc and wounds, page {number}", url=f"https://example.org/{number}", **fields)
        for number in NUMBERS
    ]


async def is_right(store: EvidenceStore, model: HashingModel) -> bool:
    """Whether every text is found by its own vector, with a cosine of 1."""
    found = [await store.search_similar(f"Zinc and wounds, page {number}. A longer page.") for number in NUMBERS]
    return all(one[0].relevance == pytest.approx(1.0, abs=1e-5) for one in found)


@pytest.mark.parametrize("end", ENDS)
async def test_no_text_keeps_the_vector_of_an_earlier_one(lasting_place: Settings, clock: Clock, end: str) -> None:
    model = Held()
    registry = SessionRegistry(lasting_place, model, open_backend(lasting_place), clock=clock)
    store = await registry.open()
    await store.add_evidence(pages("A short page."))
    async with anyio.create_task_group() as group:
        group.start_soon(store.add_evidence, pages("A longer page."))
        await model.asked.wait()
        group.cancel_scope.cancel()
    model.is_held, model.missing = False, True
    if end == "removed":
        await store.remove(await store.ids())
        assert await store.ids() == []
        await store.restore()
    elif end != "cancelled":
        (first, *_) = await store.search_similar("a longer page about zinc")
        assert (first.content, first.relevance < 1.0) == ("A longer page.", True)
    if end == "asleep":
        await registry.aclose()
        registry = SessionRegistry(lasting_place, model, open_backend(lasting_place), clock=clock)
        store = await registry.get(store.session_id)
    model.missing = False
    assert len(await store.ids()) == len(NUMBERS)
    await store.search_similar("zinc")
    assert await is_right(store, model)
    await registry.aclose()
