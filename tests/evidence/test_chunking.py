"""Where long texts are cut."""

from __future__ import annotations

import time

from deepcritical_mcp.evidence.chunking import CHUNK_LENGTH, passages, split
from deepcritical_mcp.reading import Section
from tests.evidence.stand_ins import paper

TEXT = " ".join(f"Sentence {number} is about surviving perinatal rats." for number in range(200))


def test_a_chunk_begins_with_a_whole_word_and_ends_with_a_sentence() -> None:
    for chunk in split(TEXT):
        assert len(chunk) <= CHUNK_LENGTH
        assert chunk.endswith("rats.")
        assert f" {chunk}" in f" {TEXT}"


def test_four_times_as_many_tables_take_four_times_as_long() -> None:
    def seconds(count: int) -> float:
        tables = [f"| a | b |\n| --- | --- |\n| {number} | c |" for number in range(count)]
        publication, spent = paper([Section("s1", tables)]), list[float]()
        for _ in range(3):
            begun = time.process_time()
            assert len(passages(publication)) == count
            spent.append(time.process_time() - begun)
        return min(spent)

    assert seconds(4_000) < 9 * seconds(1_000)
