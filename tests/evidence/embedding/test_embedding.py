"""The embedding service, with the shipped model where meaning matters and a stand-in where order does."""

import asyncio
import hashlib
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from unicodedata import normalize

import anyio
import anyio.to_thread
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tokenizers import Tokenizer

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import EmbeddingError
from deepcritical_mcp.evidence.embedding.calibration import Calibration
from deepcritical_mcp.evidence.embedding.service import (
    CHARACTERS_PER_TOKEN,
    RETRY_SECONDS,
    SHIPPED_FOLDER,
    EmbeddingModel,
    EmbeddingService,
    Kind,
    OnnxModel,
    ShippedModel,
)
from deepcritical_mcp.net.pacing import turn_of


async def embedded(service: EmbeddingService, texts: list[str]) -> list[list[float]]:
    return (await service.vectors(texts)).tolist()


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


async def test_texts_close_in_meaning_have_close_vectors(shipped: FakeSource) -> None:
    service = EmbeddingService(source=shipped)
    attack, infarction, market = await embedded(
        service, ["Risk of a heart attack", "Incidence of myocardial infarction", "Prices on the stock market"]
    )
    query = (await service.query_vectors(["cardiac infarction"]))[0].tolist()
    assert similarity(attack, infarction) > similarity(attack, market) + 0.3
    assert similarity(query, infarction) > similarity(query, market) + 0.3


# What is asked of the model, and when


async def test_a_model_with_a_data_folder_remembers_across_processes(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "new" / "folder")
    first, second = FakeSource(FakeModel()), FakeSource()  # the second could not even load
    service, later = EmbeddingService(settings, source=first), EmbeddingService(settings, source=second)
    expected = await embedded(service, ["a", "bb"])
    service.close()
    assert await embedded(later, ["bb", "a"]) == expected[::-1]
    assert second.loads == 0
    later.close()


async def test_vectors_of_two_models_never_meet_in_the_data_folder(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    other = FakeSource(FakeModel())
    other.name = "other"
    services = EmbeddingService(settings, source=FakeSource(FakeModel())), EmbeddingService(settings, source=other)
    for service in services:
        await service.vectors(["a"])
        service.close()
    assert isinstance(other.model, FakeModel)
    assert other.model.asked == ["a"]


@pytest.mark.parametrize("kind", ["document", "query"])
async def test_a_caller_with_one_text_does_not_wait_for_another_with_a_hundred_calls(kind: Kind) -> None:
    model_busy, others_wait = threading.Event(), threading.Event()

    def wait_for_the_others(texts: Sequence[str], kind: Kind) -> None:
        model_busy.set()
        others_wait.wait()
        time.sleep(0.01)  # a busy machine may start one worker's thread late

    model = FakeModel(wait_for_the_others)
    service = EmbeddingService(source=FakeSource(model, workers=1))
    embed = service.vectors if kind == "document" else service.query_vectors

    def ask(caller: str, text: str) -> asyncio.Task[NDArray[np.float32]]:
        turn_of.set(caller)
        return asyncio.create_task(embed([text]))

    greedy = [ask("greedy", f"text {number}") for number in range(100)]
    await anyio.to_thread.run_sync(model_busy.wait)
    modest = ask("modest", "modest")
    await asyncio.sleep(0.1)  # lets it come as far as it can: it waits for a worker
    others_wait.set()
    await asyncio.gather(modest, *greedy)
    assert model.asked.index("modest") < 50  # of a hundred


# When the model cannot be loaded or run


async def test_a_model_that_cannot_be_loaded_is_an_error_each_time_but_tried_again_only_after_a_while() -> None:
    source, now = FakeSource(), 1000.0
    service = EmbeddingService(source=source, clock=lambda: now)
    service.warm_up()
    for call in (
        service.vectors(["a"]),
        service.vectors(["a"] * 9),
        service.query_vectors(["a"]),
        service.vectors(["b"]),
    ):
        with pytest.raises(EmbeddingError, match="No model today"):
            await call
    assert source.loads == 1
    now += RETRY_SECONDS
    source.model = FakeModel()
    assert (await service.vectors(["a"])).tolist() == [[1, 0]]
    assert (await service.vectors(["bb"])).tolist() == [[2, 0]]
    assert source.loads == 2


async def test_a_model_that_fails_on_a_text_fails_that_call_alone() -> None:
    def fail(texts: Sequence[str], kind: Kind) -> None:
        if "bad" in texts:
            raise EmbeddingError("The embedding model failed on a text.")

    service = EmbeddingService(source=FakeSource(FakeModel(fail)))
    with pytest.raises(EmbeddingError, match="failed on a text"):
        await embedded(service, ["good", "bad", *map(str, range(40))])
    assert await embedded(service, ["good"]) == [[4, 0]]


# Around the start and the end of a process


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


_EMBED = """
import anyio
from deepcritical_mcp.evidence.embedding.service import EmbeddingService
print(anyio.run(EmbeddingService().vectors, ["text"]).shape[1])
"""


def test_embedding_leaves_no_trace_of_telemetry_in_the_home_folder(tmp_path: Path):
    environment = {name: value for name, value in os.environ.items() if "XDG" not in name}
    environment |= {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path)}
    environment.pop("ORT_DISABLE_TELEMETRY", None)
    done = subprocess.run(
        [sys.executable, "-c", _EMBED], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "384\n"
    assert done.stderr == ""
    assert [path.name for path in tmp_path.rglob("*")] == []


SHORT = 8  # tokens: small enough that a test's text is a long one


def load(max_tokens: int) -> OnnxModel:
    return OnnxModel.load(SHIPPED_FOLDER, max_tokens=max_tokens)


@pytest.fixture(scope="module")
def short_model() -> OnnxModel:
    return load(SHORT)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(SHIPPED_FOLDER / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def whole(tokenizer: Tokenizer, text: str, limit: int = SHORT) -> list[int]:
    """The token ids of the whole text, truncated as the model truncates them."""
    ids = tokenizer.encode(normalize("NFKC", text)).ids
    return ids if len(ids) <= limit else [*ids[: limit - 1], ids[-1]]


def test_the_shipped_files_are_those_that_their_provenance_names() -> None:
    provenance = (SHIPPED_FOLDER / "PROVENANCE.md").read_text(encoding="utf-8")
    hashes = dict(re.findall(r"^\| `([\w.]+)`.*`([0-9a-f]{64})` \|$", provenance, re.MULTILINE))
    script = (Path(__file__).parents[3] / "scripts" / "make_model.py").read_text(encoding="utf-8")
    for name in ("model.onnx", "tokenizer.json"):
        assert hashlib.sha256((SHIPPED_FOLDER / name).read_bytes()).hexdigest() == hashes[name]
    assert set(hashes) == {"model.safetensors", "model.onnx", "tokenizer.json"}
    assert all(digest in script for digest in hashes.values())
    assert "Apache License" in (SHIPPED_FOLDER / "LICENSE").read_text(encoding="utf-8")


@pytest.mark.parametrize("missing", ["model.onnx", "tokenizer.json"])
def test_a_missing_file_is_an_error_that_says_what_to_do(tmp_path: Path, missing: str) -> None:
    for name in {"model.onnx", "tokenizer.json"} - {missing}:
        shutil.copy(SHIPPED_FOLDER / name, tmp_path)
    with pytest.raises(EmbeddingError, match="Reinstall the package"):
        ShippedModel(folder=tmp_path).load()


@given(st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(" \n.-aé中"), max_size=400))
def test_only_the_beginning_of_a_text_is_tokenized(short_model: OnnxModel, tokenizer: Tokenizer, text: str) -> None:
    assert short_model.tokenize([text]) == [whole(tokenizer, text[: SHORT * CHARACTERS_PER_TOKEN])]


def test_it_is_the_same_as_for_the_whole_text_where_that_has_words(
    short_model: OnnxModel, tokenizer: Tokenizer
) -> None:
    text = "Statins lower the risk of stroke in adults with diabetes. " * 20
    assert short_model.tokenize([text]) == [whole(tokenizer, text)]
