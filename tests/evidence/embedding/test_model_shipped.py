"""The files of the shipped model, and how it reads texts."""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from deepcritical_mcp.errors import EmbeddingError
from deepcritical_mcp.evidence.embedding.service import (
    CHARACTERS_PER_TOKEN,
    SHIPPED_FOLDER,
    OnnxModel,
    ShippedModel,
)

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
