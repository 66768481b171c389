"""Where long texts are cut."""

from __future__ import annotations

from deepcritical_mcp.evidence.chunking import CHUNK_LENGTH, split

TEXT = " ".join(f"Sentence {number} is about surviving perinatal rats." for number in range(200))


def test_a_chunk_begins_with_a_whole_word_and_ends_with_a_sentence() -> None:
    for chunk in split(TEXT):
        assert len(chunk) <= CHUNK_LENGTH
        assert chunk.endswith("rats.")
        assert f" {chunk}" in f" {TEXT}"
