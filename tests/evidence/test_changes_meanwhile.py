"""What other calls and processes do while one is waiting: nothing is lost, and nothing is said of another text."""

from collections.abc import Sequence
from typing import Any

import anyio
import numpy as np
import pytest
from numpy.typing import NDArray

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import EmbeddingError
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import Publication, ScreeningMark
from tests.evidence.stand_ins import HashingModel, HeldModel, Registries, piece
from tests.publications import published

TITLE = "Zinc and wounds"


class BusyModel(HashingModel):
    """Embeds queries, but is busy with documents."""

    async def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise EmbeddingError("The embedding model is busy with other calls.")

    async def query_vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return await super().vectors(texts)


def page(content: str, number: int = 1, title: str = TITLE) -> Publication:
    return piece(content, title, source="web", url=f"https://example.org/{number}", provider="web")


@pytest.mark.parametrize("what", ["longer", "removed", "excluded", "retracted"])
async def test_what_another_process_writes_while_a_text_is_embedded_stays(
    registries: Registries, lasting_place: Settings, what: str
) -> None:
    model, other = HeldModel(64), HashingModel(dimension=64)
    store = await registries(lasting_place, model).open()
    await store.add_evidence([page("A short page.")])
    (id,) = await store.ids()
    elsewhere = await registries(lasting_place, other).get(store.session_id)
    model.holds = lambda texts: any("longer" in text for text in texts)
    async with anyio.create_task_group() as group:
        group.start_soon(store.add_evidence, [page("A longer page than that.")])
        await model.asked.wait()
        if what == "longer":
            await elsewhere.add_evidence([page("The longest page of all, than which there is none longer.")])
        elif what == "removed":
            await elsewhere.remove([id])
        elif what == "excluded":
            await elsewhere.decide([ScreeningMark(id=id, verdict="excluded", reason="animals")])
        else:
            (known,) = (await elsewhere.publications([id])).values()
            await elsewhere.set_statuses([known.model_copy(update={"status": "retracted"})])
        model.let.set()
    for one in (store, elsewhere):
        found = [*(await one.publications(await one.ids())).values()]
        assert len(found) == (what != "removed")
        for publication in found:
            assert (publication.status == "retracted") == (what == "retracted")
            assert (publication.screening == "excluded") == (what == "excluded")
            content = publication.texts[0].content
            assert ("longest" in content) == (what == "longer")
            (shown,) = await one.search_similar(f"{TITLE}. {content}")
            assert shown.relevance == pytest.approx(1.0, abs=1e-5)


async def test_without_documents_vectors_relevance_measures_words(registries: Registries) -> None:
    store = await registries(Settings(), BusyModel()).open()
    pages = [page("Zinc heals wounds."), page("Copper.", 2)]
    await store.add_evidence(pages)
    first, second = await store.relevance("zinc heals", pages)
    assert first > second
    await store.related("zinc", exclude=())
    assert any("words only, and relevance" in one for one in store.warnings())


ENDS = ("cancelled", "no model", "asleep", "removed")
NUMBERS = range(3)


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
async def test_no_text_keeps_the_vector_of_an_earlier_one(
    registries: Registries, lasting_place: Settings, end: str
) -> None:
    model = HeldModel()
    model.holds = lambda texts: any("longer" in text for text in texts)
    registry = registries(lasting_place, model)
    store = await registry.open()
    await store.add_evidence(pages("A short page."))
    async with anyio.create_task_group() as group:
        group.start_soon(store.add_evidence, pages("A longer page."))
        await model.asked.wait()
        group.cancel_scope.cancel()
    model.holds = lambda _: False
    model.missing = True
    if end == "removed":
        await store.remove(await store.ids())
        assert await store.ids() == []
        await store.restore()
    elif end != "cancelled":
        (first, *_) = await store.search_similar("a longer page about zinc")
        assert (first.content, first.relevance < 1.0) == ("A longer page.", True)
    if end == "asleep":
        await registry.aclose()
        store = await registries(lasting_place, model).get(store.session_id)
    model.missing = False
    assert len(await store.ids()) == len(NUMBERS)
    await store.search_similar("zinc")
    assert await is_right(store, model)
