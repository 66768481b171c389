"""Passages of cited records for the sentences that cite them."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from deepcritical_mcp.checking.claim_check import MAX_PASSAGE, check_claims
from deepcritical_mcp.checking.draft import CitingSentence
from deepcritical_mcp.errors import EmbeddingError
from deepcritical_mcp.evidence.embedding.calibration import Calibration
from deepcritical_mcp.evidence.embedding.service import EmbeddingService
from deepcritical_mcp.evidence.passage_embedder import PassageEmbedder
from deepcritical_mcp.models import NO_ABSTRACT
from tests.checking.quoted_papers import abstract, full_text
from tests.publications import published

ZINC = abstract(
    "Zinc is a metal. It was given to 80 adults for six months in three towns of Norway by trained nurses, who visited "
    "them at home every week and asked about their health. Adults who took zinc had fewer colds (34% against 51%). "
    "Their weight did not change. The cost of the tablets was low, and nobody stopped taking them before the end of "
    "the study; the nurses were paid by the towns, which had asked for the study after a harsh winter."
)
IRON = abstract("Iron supplements cured anemia in 90 of 120 women.", pmid="104", title="Iron")


class BrokenModel:
    """A model that fails."""

    name = "broken"
    calibration: Calibration | None = None

    async def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Fails."""
        raise EmbeddingError("The model cannot be loaded.")

    query_vectors = vectors


def citing(claim: str, *references: int) -> CitingSentence:
    return CitingSentence(f"{claim} {[*references]}", claim, 0, references)


async def test_each_cited_record_shows_its_passage_nearest_to_the_sentence() -> None:
    embedder = PassageEmbedder(EmbeddingService())
    sentence = citing("Common cold was less frequent in people who were supplemented with zinc, and iron heals.", 1, 2)

    zinc, iron = await check_claims([sentence], {1: ZINC, 2: IRON}, embedder)

    assert (zinc.sentence, zinc.references, zinc.where) == (sentence.text, (1, 2), "pubmed:101")
    assert "fewer colds (34% against 51%)" in zinc.passage
    assert zinc.passage in ZINC.text.content
    assert len(zinc.passage) <= MAX_PASSAGE
    assert (iron.references, iron.passage) == ((2, 1), IRON.text.content)
    assert 0.3 < iron.relevance <= 1
    assert iron.relevance == round(iron.relevance, 3)


async def test_without_a_model_words_decide() -> None:
    [claim] = await check_claims([citing("Zinc: fewer colds.", 1)], {1: ZINC}, PassageEmbedder(BrokenModel()))

    assert "fewer colds" in claim.passage
    assert 0 < claim.relevance <= 1


async def test_a_full_text_gives_the_passage_with_its_anchor_and_never_the_list_of_references() -> None:
    paper = full_text(
        "Mice were bought from a farm. " * 20,
        "Iron made the mice gain weight quickly. " + "They were kept in cages. " * 20,
        references="1. Roe J. Iron makes mice gain weight: a trial of weight gain in mice.",
    )

    [claim] = await check_claims([citing("Iron makes mice gain weight", 3)], {3: paper}, PassageEmbedder(BrokenModel()))

    assert claim.where == "pubmed:202 s1p2"
    assert claim.passage.startswith("Iron made the mice gain weight quickly.")


async def test_numbers_of_any_cited_record_are_no_reproach() -> None:
    sentence = citing("Colds fell to 34%, anemia in 90 of 120 women and 77 men.", 1, 2)

    claims = await check_claims([sentence], {1: ZINC, 2: IRON}, PassageEmbedder(BrokenModel()))

    assert [one.numbers_missing for one in claims] == [("77",), ("77",)]


async def test_where_a_cited_record_cannot_be_read_no_number_is_missing() -> None:
    unread = abstract(NO_ABSTRACT, pmid="105", title="An old paper")
    embedder = PassageEmbedder(BrokenModel())

    zinc, old = await check_claims([citing("77 men had colds", 1, 2)], {1: ZINC, 2: unread}, embedder)
    [alone] = await check_claims([citing("77 men had colds", 1, 9)], {1: ZINC}, embedder)

    assert zinc.numbers_missing == old.numbers_missing == alone.numbers_missing == ()
    assert (old.where, old.passage, old.relevance) == ("pubmed:105", "", 0.0)


HEART = abstract(
    "BACKGROUND: Statins may lower mortality. We aimed to see whether simvastatin lowers mortality in older patients. "
    "METHODS: We did a randomized trial of simvastatin against placebo in 14 hospitals of Norway; they were visited "
    "at home by trained nurses, and were followed for five years. The trial was paid for by the towns, which had asked "
    "for a trial of simvastatin after a harsh winter in which many had died at home. RESULTS: Simvastatin "
    "was well tolerated by patients. Of 1617 patients, 814 were assigned to simvastatin and 803 to placebo. Death "
    "occurred in 111 patients with placebo and in 72 with simvastatin (hazard ratio 0.63, 95% CI 0.47-0.85). "
    "CONCLUSIONS: Simvastatin lowers mortality in older patients.",
    title="Simvastatin",
)


@pytest.mark.parametrize(
    ("claim", "settling", "elsewhere", "missing"),
    [
        (
            "803 patients were assigned to simvastatin and 814 to placebo.",
            "814 were assigned to simvastatin and 803 to placebo",
            (
                "803: “were assigned to simvastatin and 803 to placebo.”",
                "814: “Of 1617 patients, 814 were assigned to simvastatin”",
            ),
            (),
        ),
        ("Simvastatin lowers mortality.", "CONCLUSIONS: Simvastatin lowers mortality in older patients.", (), ()),
        (
            "Patients died less often with simvastatin (HR 0.63, 95% CI 0.57-0.85).",
            "0.63, 95% CI 0.47-0.85",
            (),
            ("0.57",),
        ),
        ("814 patients received simvastatin, 803 placebo.", "814 were assigned to simvastatin", (), ()),
        ("Simvastatin (n = 814) or placebo (n = 803) was given.", "803 to placebo", (), ()),
    ],
)
async def test_the_passage_shown_is_the_one_that_can_settle_the_claim(
    claim: str, settling: str, elsewhere: tuple[str, ...], missing: tuple[str, ...]
) -> None:
    [found] = await check_claims([citing(claim, 1)], {1: HEART}, PassageEmbedder(EmbeddingService()))

    assert settling in found.passage
    assert (found.numbers_elsewhere, found.numbers_missing) == (elsewhere, missing)
    assert all(part in HEART.text.content for part in found.passage.split(" […] "))


async def test_results_are_shown_before_aims_also_without_labels() -> None:
    aims = abstract(
        "Whether selenium prevents falls in older adults is unknown. We asked whether selenium prevents falls in older "
        "adults who live at home in Norway, and why it might prevent them, by a trial that was long and paid for by "
        "the towns, which had asked for it. Adults were visited at home. They took a tablet of selenium or of starch "
        "every morning with their breakfast, and wrote it down in a diary that was read by the nurses every week. "
        "Falls occurred in 21% of adults with selenium and in 34% of those with starch. Selenium prevented falls.",
        title="Selenium",
    )

    [found] = await check_claims(
        [citing("Selenium prevents falls in older adults", 1)], {1: aims}, PassageEmbedder(EmbeddingService())
    )

    assert "Selenium prevented falls." in found.passage
    assert "21% of adults with selenium" in found.passage


async def test_notes_are_no_passages_and_unknown_references_are_left_out() -> None:
    note = published("Zinc cures colds.", source="user", provider="user", title="My note")
    embedder = PassageEmbedder(BrokenModel())

    [claim] = await check_claims([citing("Zinc cures colds", 1)], {1: note}, embedder)

    assert claim.passage == ""
    assert await check_claims([citing("Zinc cures colds", 9)], {1: ZINC}, embedder) == []
