"""The embedding service, with the shipped model where meaning matters and a stand-in where order does."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
import anyio.to_thread
import numpy as np
import pytest
from numpy.typing import NDArray

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import EmbeddingError
from deepcritical_mcp.evidence.embedding import EmbeddingModel, Kind
from deepcritical_mcp.evidence.embedding.calibration import MINILM, Calibration
from deepcritical_mcp.evidence.embedding.onnx_model import ShippedModel
from deepcritical_mcp.evidence.embedding.service import (
    CACHE_FILE,
    QUERY_WORKERS,
    RETRY_SECONDS,
    SLICE,
    EmbeddingService,
)
from deepcritical_mcp.net.fair_queue import turn_of


class FakeModel:
    """Vectors that hold the text's length. Runs `before` first, and remembers the texts."""

    dimension = 2

    def __init__(self, before: Callable[[Sequence[str], Kind], None] = lambda texts, kind: None) -> None:
        self.asked: list[str] = []
        self.before = before

    def embed(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        self.before(texts, kind)
        self.asked.extend(texts)
        return np.array([[len(text), kind == "query"] for text in texts], np.float32)


class FakeSource:
    """Loads `model`, or fails if there is none."""

    name = "fake"
    dimension = 0
    calibration: Calibration | None = None

    def __init__(self, model: EmbeddingModel | None = None, *, workers: int = 2) -> None:
        self.workers = workers
        self.model = model
        self.loads = 0

    def load(self) -> EmbeddingModel:
        self.loads += 1
        if self.model is None:
            raise EmbeddingError("No model today.")
        return self.model


@pytest.fixture(scope="module")
def shipped() -> FakeSource:
    """The shipped model, loaded once for the tests of this module."""
    return FakeSource(ShippedModel().load())


def similarity(left: list[float], right: list[float]) -> float:
    return float(np.dot(left, right))


# What the vectors are


def test_the_shipped_model_has_a_calibration_and_a_stand_in_has_none() -> None:
    assert EmbeddingService().calibration is MINILM
    assert EmbeddingService(source=FakeSource()).calibration is None


async def test_texts_close_in_meaning_have_close_vectors(shipped: FakeSource) -> None:
    service = EmbeddingService(source=shipped)

    attack, infarction, market = await service.embed_batch(
        ["Risk of a heart attack", "Incidence of myocardial infarction", "Prices on the stock market"]
    )
    query = await service.embed_query("cardiac infarction")

    assert similarity(attack, infarction) > similarity(attack, market) + 0.3
    assert similarity(query, infarction) > similarity(query, market) + 0.3


async def test_vectors_have_unit_length_and_keep_the_order_of_the_texts(shipped: FakeSource) -> None:
    texts = ["short", "a somewhat longer text about kinases", "", "short", "the longest of all of these texts, " * 9]

    vectors = await EmbeddingService(source=shipped).vectors(texts)

    assert vectors.shape == (5, 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    one_by_one = [await EmbeddingService(source=shipped).embed(text) for text in texts]
    np.testing.assert_array_equal(vectors, np.array(one_by_one, np.float32))  # alone or in company: the same bits


async def test_for_no_texts_there_are_no_vectors() -> None:
    service = EmbeddingService()

    assert await service.embed_batch([]) == []
    assert (await service.vectors([])).shape == (0, 384)


@pytest.mark.parametrize(
    "text",
    ["", " \n\t ", "\ud800", "p53\udfff and\x00 MDM2\x07", "\u202e\ufeff\u200b", "🧬🧬🧬", "[MASK] [PAD] [SEP]"],
    ids=ascii,
)
async def test_odd_texts_have_a_vector_like_any_other(shipped: FakeSource, text: str) -> None:
    service = EmbeddingService(source=shipped)

    assert similarity(await service.embed(text), await service.embed(text)) == pytest.approx(1, abs=1e-5)
    assert similarity(await service.embed_query(text), await service.embed_query(text)) == pytest.approx(1, abs=1e-5)


async def test_of_a_huge_text_its_beginning_counts(shipped: FakeSource) -> None:
    service = EmbeddingService(source=shipped)
    beginning = "Metformin activates AMPK in neurons. " * 100

    whole, start = await service.embed_batch([beginning + "Prices rose. " * 80_000, beginning])

    assert whole == start


# What is asked of the model, and when


async def test_equal_texts_are_embedded_once_and_remembered() -> None:
    model = FakeModel()
    service = EmbeddingService(source=FakeSource(model))

    first = await service.embed_batch(["a", "bb", "a"])
    second = await service.embed_batch(["bb", "ccc"])

    assert first == [[1, 0], [2, 0], [1, 0]]
    assert second == [[2, 0], [3, 0]]
    assert sorted(model.asked) == ["a", "bb", "ccc"]


async def test_a_query_is_embedded_as_a_query() -> None:
    service = EmbeddingService(source=FakeSource(FakeModel()))

    assert await service.embed("a") == [1, 0]
    assert await service.embed_query("a") == [1, 1]


async def test_a_model_with_a_data_folder_remembers_across_processes(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "new" / "folder")
    first, second = FakeSource(FakeModel()), FakeSource()  # the second could not even load
    service, later = EmbeddingService(settings, source=first), EmbeddingService(settings, source=second)

    expected = await service.embed_batch(["a", "bb"])
    service.close()

    assert await later.embed_batch(["bb", "a"]) == expected[::-1]
    assert second.loads == 0
    later.close()


async def test_a_vector_of_another_length_counts_as_not_kept(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    service = EmbeddingService(settings, source=FakeSource(FakeModel()))
    expected = await service.embed_batch(["a", "bb"])
    service.close()
    with sqlite3.connect(tmp_path / CACHE_FILE) as database:
        database.execute("UPDATE entries SET value = substr(value, 1, 4)")

    source = FakeSource(FakeModel())
    source.dimension = FakeModel.dimension
    later = EmbeddingService(settings, source=source)
    assert await later.embed_batch(["a", "bb"]) == expected
    later.close()


async def test_vectors_of_two_models_never_meet_in_the_data_folder(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    other = FakeSource(FakeModel())
    other.name = "other"
    services = EmbeddingService(settings, source=FakeSource(FakeModel())), EmbeddingService(settings, source=other)

    for service in services:
        await service.embed("a")
        service.close()

    assert isinstance(other.model, FakeModel)
    assert other.model.asked == ["a"]


async def test_a_query_does_not_wait_for_documents() -> None:
    busy, free = threading.Event(), threading.Event()

    def wait_for_the_query(texts: Sequence[str], kind: Kind) -> None:
        if kind == "document":
            busy.set()
            free.wait()

    service = EmbeddingService(source=FakeSource(FakeModel(wait_for_the_query)))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(service.embed_batch, [f"document {number}" for number in range(50)])
        await anyio.to_thread.run_sync(busy.wait)
        assert await service.embed_query("q") == [1, 1]  # while every worker holds documents
        free.set()


async def test_a_small_call_gets_in_between_a_big_one() -> None:
    model_busy, other_waits = threading.Event(), threading.Event()

    def wait_for_the_other_call(texts: Sequence[str], kind: Kind) -> None:
        model_busy.set()
        other_waits.wait()

    model = FakeModel(wait_for_the_other_call)
    service = EmbeddingService(source=FakeSource(model, workers=1))
    big = asyncio.create_task(service.embed_batch([f"text {number:03}" for number in range(10 * SLICE)]))
    await anyio.to_thread.run_sync(model_busy.wait)
    small = asyncio.create_task(service.embed("small"))
    for _ in range(20):
        await asyncio.sleep(0)  # lets it come as far as it can: it waits for a worker
    other_waits.set()
    await small
    await big

    assert model.asked.index("small") == SLICE


@pytest.mark.parametrize("kind", ["document", "query"])
async def test_a_caller_with_one_text_does_not_wait_for_another_with_a_hundred_calls(kind: Kind) -> None:
    model_busy, others_wait = threading.Event(), threading.Event()

    def wait_for_the_others(texts: Sequence[str], kind: Kind) -> None:
        model_busy.set()
        others_wait.wait()

    model = FakeModel(wait_for_the_others)
    service = EmbeddingService(source=FakeSource(model, workers=1))
    embed = service.embed if kind == "document" else service.embed_query

    def ask(caller: str, text: str) -> asyncio.Task[list[float]]:
        turn_of.set(caller)
        return asyncio.create_task(embed(text))

    greedy = [ask("greedy", f"text {number}") for number in range(100)]
    await anyio.to_thread.run_sync(model_busy.wait)
    modest = ask("modest", "modest")
    for _ in range(20):
        await asyncio.sleep(0)  # lets it come as far as it can: it waits for a worker
    others_wait.set()
    await asyncio.gather(modest, *greedy)

    assert model.asked.index("modest") <= 10 * QUERY_WORKERS  # of a hundred


async def test_only_a_callers_own_texts_and_as_many_of_each_other_ones_count_as_a_wait() -> None:
    model_busy, free, late = threading.Event(), threading.Event(), 30.0

    def hang(texts: Sequence[str], kind: Kind) -> None:
        model_busy.set()
        free.wait()

    model = FakeModel(lambda texts, kind: time.sleep(0.001))
    service = EmbeddingService(source=FakeSource(model, workers=1))
    await service.embed("the pace of the model is known from here on")
    model.before = hang
    turn_of.set("greedy")
    greedy = asyncio.create_task(service.embed_batch([f"{number} {'long ' * 10**6}" for number in range(SLICE)]))
    await anyio.to_thread.run_sync(model_busy.wait)
    try:
        with anyio.fail_after(late), pytest.raises(EmbeddingError, match="busy"):
            await service.embed("long " * 10**6)
        turn_of.set("modest")
        asyncio.get_running_loop().call_soon(free.set)
        with anyio.fail_after(late):
            await service.embed("short")
    finally:
        free.set()
        await greedy


async def test_no_more_workers_embed_documents_than_the_model_can_use() -> None:
    lock, now, most = threading.Lock(), 0, 0
    together = threading.Barrier(2)

    def count(texts: Sequence[str], kind: Kind) -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        together.wait()
        with lock:
            now -= 1

    service = EmbeddingService(source=FakeSource(FakeModel(count), workers=2))
    async with anyio.create_task_group() as tasks:
        for call in range(4):
            tasks.start_soon(service.embed_batch, [f"{call} {number}" for number in range(2 * SLICE)])

    assert most == 2


async def test_a_cancelled_call_ends_at_once_and_the_event_loop_goes_on() -> None:
    busy, free = threading.Event(), threading.Event()

    def hang(texts: Sequence[str], kind: Kind) -> None:
        busy.set()
        free.wait()

    service = EmbeddingService(source=FakeSource(FakeModel(hang)))
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(service.embed_batch, ["a", "b", "c"])
            tasks.start_soon(service.embed_query, "q")
            await anyio.to_thread.run_sync(busy.wait)
            tasks.cancel_scope.cancel()
    finally:
        free.set()  # only now: the calls are over, the model is not


# When the model cannot be loaded or run


async def test_callers_at_the_same_time_load_the_model_once() -> None:
    source = FakeSource(FakeModel())
    service = EmbeddingService(source=source)

    async with anyio.create_task_group() as tasks:
        for number in range(8):
            tasks.start_soon(service.embed_batch, [f"{number} {text}" for text in "abcdefgh"])
            tasks.start_soon(service.embed_query, str(number))

    assert source.loads == 1


async def test_a_model_that_cannot_be_loaded_is_an_error_each_time_but_tried_again_only_after_a_while() -> None:
    source, now = FakeSource(), 1000.0
    service = EmbeddingService(source=source, clock=lambda: now)

    for call in (service.embed("a"), service.embed_batch(["a"] * 9), service.embed_query("a"), service.vectors(["b"])):
        with pytest.raises(EmbeddingError, match="No model today"):
            await call
    assert source.loads == 1

    now += RETRY_SECONDS
    source.model = FakeModel()
    assert await service.embed("a") == [1, 0]
    assert await service.embed("bb") == [2, 0]
    assert source.loads == 2


async def test_a_model_that_fails_on_a_text_fails_that_call_alone() -> None:
    def fail(texts: Sequence[str], kind: Kind) -> None:
        if "bad" in texts:
            raise EmbeddingError("The embedding model failed on a text.")

    service = EmbeddingService(source=FakeSource(FakeModel(fail)))

    with pytest.raises(EmbeddingError, match="failed on a text"):
        await service.embed_batch(["good", "bad", *map(str, range(40))])
    assert await service.embed_batch(["good"]) == [[4, 0]]


async def test_the_dimension_is_known_before_the_shipped_model_is_loaded_and_after_any_other_is() -> None:
    service = EmbeddingService(source=FakeSource(FakeModel()))

    assert EmbeddingService().dimension == 384
    assert service.dimension == 0
    await service.embed("a")
    assert service.dimension == 2


# Around the start and the end of a process


async def test_warming_up_loads_the_model_in_a_thread_that_does_not_hold_up_the_end() -> None:
    loaded_in: list[threading.Thread] = []
    done = threading.Event()

    class Observed(FakeSource):
        def load(self) -> EmbeddingModel:
            loaded_in.append(threading.current_thread())
            done.set()
            return super().load()

    service = EmbeddingService(source=Observed(FakeModel()))
    service.warm_up()
    await anyio.to_thread.run_sync(done.wait)

    assert await service.embed("a") == [1, 0]
    assert [thread.daemon for thread in loaded_in] == [True]


async def test_a_failed_warm_up_shows_in_the_first_call() -> None:
    service = EmbeddingService(source=FakeSource())
    service.warm_up()

    with pytest.raises(EmbeddingError):
        await service.embed("a")


def test_a_process_that_ends_while_the_model_loads_ends_cleanly_and_silently() -> None:
    code = "from deepcritical_mcp.evidence.embedding.service import EmbeddingService; EmbeddingService().warm_up()"

    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=False)

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")


def test_neither_importing_nor_creating_the_service_imports_a_model_runtime() -> None:
    heavy = {"onnxruntime", "sentence_transformers", "transformers", "torch", "chromadb", "pydantic"}
    code = "import sys; from deepcritical_mcp.evidence.embedding.service import EmbeddingService; EmbeddingService(); "
    code += f"print(sorted({heavy!r} & set(sys.modules)))"

    found = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=True, text=True)

    assert found.stdout.strip() == "[]"


def test_embedding_writes_nothing_to_stdout() -> None:
    code = "import asyncio; from deepcritical_mcp.evidence.embedding.service import EmbeddingService; "
    code += "asyncio.run(EmbeddingService().embed('a'))"

    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=True)

    assert ended.stdout == b""
