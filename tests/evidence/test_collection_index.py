"""The collection of a session: asked once it has all vectors, right after every change, and never needed."""

from collections.abc import Generator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import SessionBusyError
from deepcritical_mcp.evidence.storage import vector_table
from deepcritical_mcp.evidence.storage.stored_items import NearPassage
from deepcritical_mcp.evidence.storage.vector_table import CollectionIndex
from tests.evidence.stand_ins import HashingModel, Registries, piece

RANDOM = np.random.default_rng(7)
SMALL = 200


class Exact(CollectionIndex):
    """Vectors that are compared one by one, also where others must not be."""

    _stacked = CollectionIndex._stacked


def unasked(*_: object, **__: object) -> None:
    raise AssertionError("the collection was not asked")


def unit_vectors(count: int, dimension: int = 96) -> NDArray[np.float32]:
    centers = RANDOM.normal(size=(20, dimension))
    vectors = centers[RANDOM.integers(0, 20, count)] + 0.6 * RANDOM.normal(size=(count, dimension))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def filled(index: CollectionIndex, vectors: NDArray[np.float32]) -> None:
    for number in range(0, len(vectors), 2):  # two passages each
        index.put(f"pubmed:{number}", vectors[number : number + 2])


def failing(*_: object, **__: object) -> None:
    raise RuntimeError("no collection today")


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_table, "SMALL", SMALL)


@pytest.fixture
def index() -> Generator[CollectionIndex]:
    index = CollectionIndex("rs_test")
    yield index
    index.clear()


def caught_up(index: CollectionIndex, vectors: NDArray[np.float32], monkeypatch: pytest.MonkeyPatch) -> Exact:
    """What all vectors compared one by one give, where from now on only the collection may be asked."""
    index.nearest([vectors[0]], 1)
    index.wait()
    exact = Exact("rs_exact")
    for id in [f"pubmed:{number}" for number in range(0, len(vectors), 2)] + ["doi:new"]:
        if (some := index.get(id)) is not None:
            exact.put(id, some)
    monkeypatch.setattr(CollectionIndex, "_stacked", unasked)
    return exact


def keys(found: list[NearPassage]) -> list[tuple[str, int]]:
    return [(one.id, one.part) for one in found]


@pytest.mark.long
def test_the_collection_is_asked_and_finds_what_is_nearest(
    index: CollectionIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = unit_vectors(3_000)
    filled(index, vectors)
    queries = list(unit_vectors(40))
    exact = caught_up(index, vectors, monkeypatch)
    found, best = index.nearest(queries, 50), exact.nearest(queries, 50, -0.99)
    shared = [len({*keys(one)} & {*keys(other)}) for one, other in zip(found, best, strict=True)]
    assert sum(shared) >= 0.995 * 50 * len(queries)
    assert [one[0].cosine for one in found] == pytest.approx([one[0].cosine for one in best], abs=1e-5)


def test_what_was_changed_is_found_as_it_is_now(index: CollectionIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = unit_vectors(600)
    filled(index, vectors)
    index.nearest([vectors[0]], 1)
    index.wait()
    index.put("pubmed:0", ())
    index.put("pubmed:2", (), 1)
    index.put("pubmed:4", vectors[10:12])
    index.put("doi:new", vectors[:1])
    exact = caught_up(index, vectors, monkeypatch)
    for number in (0, 3, 4, 10):
        assert keys(index.nearest([vectors[number]], 3)[0]) == keys(exact.nearest([vectors[number]], 3, -0.99)[0])
    assert index.nearest([vectors[0]], 1)[0][0].id == "doi:new"


def test_while_vectors_are_missing_in_it_all_are_compared(
    index: CollectionIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = unit_vectors(600)
    filled(index, vectors)
    for _ in range(3):  # whether or not it has caught up
        assert index.nearest([vectors[8]], 1)[0][0].id == "pubmed:8"
        index.put("doi:1", vectors[9:10])
        assert {one.id for one in index.nearest([vectors[9]], 2)[0]} == {"pubmed:8", "doi:1"}


def test_a_small_session_and_one_whose_collection_fails_are_compared_one_by_one(
    index: CollectionIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = unit_vectors(SMALL + 100)
    filled(index, vectors[:SMALL])
    assert index.nearest([vectors[4]], 1)[0][0].id == "pubmed:4"
    monkeypatch.setattr("chromadb.api.client.Client.create_collection", failing)
    filled(index, vectors)
    for _ in range(2):
        assert index.nearest([vectors[4]], 1)[0][0].id == "pubmed:4"
        index.wait()


async def test_two_windows_with_two_models_do_not_mix_their_vectors(registries: Registries, tmp_path: Path) -> None:
    models = HashingModel("one", 16), HashingModel("two", 24)
    one, two = (registries(Settings(data_dir=tmp_path), model) for model in models)
    store = await one.open()
    await store.add_evidence([piece("Zinc heals warts.", pmid="1")])
    other = await two.get(store.session_id)
    with pytest.raises(SessionBusyError, match="another embedding model"):
        await store.add_evidence([piece("Iron does not.", pmid="2")])
    await other.add_evidence([piece("Copper might.", pmid="3")])
    assert await other.count() == 2
