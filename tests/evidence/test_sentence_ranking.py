"""Which sentences of a text answer a question."""

from __future__ import annotations

import pytest

from deepcritical_mcp.evidence.paper_passages import best_answers, score_sentences
from deepcritical_mcp.evidence.passage_embedder import PassageEmbedder
from deepcritical_mcp.excerpts import quoted
from tests.evidence.stand_ins import HashingModel


@pytest.mark.parametrize(
    "sentence",
    [
        "The no observed-effect-level was judged to be 50 ppm.",
        "A no-effect level in the mouse was 125 mg.",
        "The NOEL was 3 mg/kg.",
        "50 ppm was the no observed adverse effect level.",
    ],
)
async def test_an_effect_level_is_found_however_it_is_written(sentence: str) -> None:
    model = HashingModel()
    model.missing = True
    text = f"Rats were fed for two years. {sentence} Weights did not change."
    scores = await score_sentences(PassageEmbedder(model), "NOAEL", [text])
    assert sentence in quoted(text, best_answers([("id", text)], scores, 100)["id"][1])
