"""Full texts in a session: cut into passages, found by them, embedded in the background."""

import itertools
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from numpy.typing import NDArray

from deepcritical_mcp.config import Settings
from deepcritical_mcp.evidence.chunking import PASSAGE_LENGTH, passages
from deepcritical_mcp.evidence.passage_quotes import PassagePage
from deepcritical_mcp.evidence.text_index import LexicalIndex
from deepcritical_mcp.excerpts import GAP
from deepcritical_mcp.models import PARAGRAPH_BREAK
from deepcritical_mcp.reading import Section
from deepcritical_mcp.text import words_of
from tests.evidence.stand_ins import HashingModel, Registries, long_sections, paper

TABLE = "| Arm | Deaths |\n| --- | --- |\n" + "\n".join(
    f"| Group {number} with a name of some length | {number} |" for number in range(1, 41)
)
TRIAL = paper(
    [
        Section("s1", ["We gave zinc to adults with warts."], path=("Methods",)),
        Section("s1.1", ["Allocation was by sealed envelopes.", "Nobody was blinded."], path=("Methods", "Allocation")),
        Section("s2", ["Warts went away in half of the adults.", "Nausea was common with zinc."], path=("Results",)),
        Section("t1", ["Table 1. Deaths by arm", TABLE, "One death was late."], "table", ("Results", "Table 1"), "s2"),
        Section("r1", ["Smith J. Zebra stripes and zinc. J Test. 2001."], "references", ("References",)),
        Section("x1", [], "sub_article", ("Decision letter",)),
        Section("x1.1", ["The referees doubt the zebra."], path=("Decision letter", "Review"), parent="x1"),
    ],
    "Zinc for warts",
    pmid="11",
    abstract="Zinc was compared with placebo in adults with common warts.",
)


class SlowModel(HashingModel):
    """Answers queries at once, and embeds further documents only when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.may_go_on = anyio.Event()
        self.has_stopped = anyio.Event()
        self.free = 0

    async def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.free <= 0:
            self.has_stopped.set()
            await self.may_go_on.wait()
        self.free -= 1
        return await super().vectors(texts)

    async def query_vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return await HashingModel.vectors(HashingModel(), texts)


def test_references_and_sub_articles_are_no_passages() -> None:
    assert not any("zebra" in one.content.lower() for one in passages(TRIAL))


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    text = " ".join(f"Sentence {number} is about surviving perinatal rats." for number in range(100))
    found = passages(paper([Section("s1", [text, "Short."], path=("Results",))]))
    assert all(one.end - one.start <= PASSAGE_LENGTH + 60 and one.quotation.endswith(".") for one in found)
    assert " ".join(one.quotation for one in found).replace(PARAGRAPH_BREAK, " ") == f"{text} Short."


async def test_pages_go_on_with_the_next_best_passages_until_there_are_none(registries: Registries) -> None:
    store = await registries(Settings()).open()
    await store.add_evidence([TRIAL])
    _, end = await store.best_passages("pubmed:11~2", "deaths in group 33", PassagePage(100_000))
    assert end == -1
    shown, offset = list[str](), 0
    while offset >= 0:
        some, offset = await store.best_passages("pubmed:11~2", "deaths in group 33", PassagePage(400, offset=offset))
        shown += [one.text for one in some]
    assert sum("Group 7 with" in one for one in shown) == 1
    found = await store.search("deaths in group 33", page=PassagePage(400))
    then = await store.search("deaths in group 33", page=PassagePage(400, offset=found.next_offset))
    assert found.next_offset > 0
    assert not {one.content for one in found.evidence} & {one.content for one in then.evidence}


async def test_what_a_closed_session_had_not_embedded_is_embedded_later(
    lasting_place: Settings, registries: Registries
) -> None:
    model = SlowModel()
    model.free = 2
    first = registries(lasting_place, model)
    store = await first.open()
    whole = paper(long_sections("the tumor", 40), pmid="1", abstract="An abstract.")
    await store.add_evidence([whole])
    with anyio.move_on_after(0.5):
        await store.search("tumor")
    await first.aclose()
    again = HashingModel()
    kept = await registries(lasting_place, again).get(store.session_id)
    await kept.search("tumor")
    assert not kept.warnings()[1:]
    assert {*model.embedded, *again.embedded} - {"tumor"} == {one.content for one in passages(whole)}
    assert len(again.embedded) < len(passages(whole))


async def test_the_text_that_is_asked_is_embedded_first(registries: Registries) -> None:
    model = SlowModel()
    store = await registries(Settings(), model).open()
    for number, word in ((1, "tumor"), (2, "kidney")):
        model.free = 2
        text = paper(long_sections(f"the {word}", 120), f"On the {word}", pmid=str(number))
        await store.add_evidence([text])
        await model.has_stopped.wait()  # else the background takes what the next text may have
    with anyio.fail_after(5):
        await store.best_passages("pubmed:2", "step 7 of the kidney", PassagePage(300))
    assert "still being indexed: their order may change" in store.warnings(["pubmed:2"])[-1]
    assert "busy" not in str(store.warnings())
    model.may_go_on.set()
    await store.search("tumor")
    places = {word: [at for at, one in enumerate(model.embedded) if word in one] for word in ("tumor", "kidney")}
    assert max(places["kidney"], default=0) < max(places["tumor"])


FOLDER = os.environ.get("DEEPCRITICAL_RETRIEVAL_DIR", "")


@pytest.mark.long
@pytest.mark.skipif(not FOLDER, reason="DEEPCRITICAL_RETRIEVAL_DIR is not set")
async def test_most_questions_are_answered_within_1_500_characters(registries: Registries) -> None:
    folder = Path(FOLDER) / "evidence_inference"
    papers, queries = (
        [json.loads(line) for line in (folder / name).read_text("utf-8").splitlines()]
        for name in ("papers.jsonl", "queries.jsonl")
    )
    registry = registries(Settings())
    within: list[tuple[bool, bool]] = []
    for row in papers[::12]:  # all of them take minutes
        store = await registry.open()
        (outcome,) = await store.add_evidence([_paper(row)])
        for query in (query for query in queries if query["paper"] == row["id"]):
            best, _ = await store.best_passages(outcome.publication.id, query["text"])
            shown = [piece.strip() for one in best for piece in one.text.split(GAP)]
            found = [_is_answered(row, query["spans"], shown, limit) for limit in (1_500, 3_000)]
            within.append((found[0], found[1]))
        await registry.drop(store.session_id)
    early, late = (sum(some) / len(some) for some in zip(*within, strict=True))
    assert early >= 0.8, early
    assert late >= 0.9, late


def _paper(row: dict[str, Any]) -> Any:
    groups = itertools.groupby(row["paragraphs"], key=lambda paragraph: paragraph["section"])
    return paper(
        [
            Section(f"s{number}", [one["text"] for one in group], path=tuple(filter(None, title.split(" > "))))
            for number, (title, group) in enumerate(groups, start=1)
        ],
        row["title"],
        pmid=row["id"],
    )


def _is_answered(row: dict[str, Any], spans: Sequence[Sequence[int]], shown: Sequence[str], limit: int) -> bool:
    """Whether the first `limit` characters shown have a part of an answer."""
    content = PARAGRAPH_BREAK.join(one["text"] for one in row["paragraphs"])
    starts = [0, *itertools.accumulate(len(one["text"]) + 2 for one in row["paragraphs"])]
    answers = [(starts[paragraph] + start, starts[paragraph] + end) for paragraph, start, end in spans]
    for passage in shown:
        start = content.find(passage)
        end = start + min(len(passage), limit)
        if limit > 0 and any(start < last and first < end for first, last in answers):
            return True
        limit -= len(passage)
    return False


async def test_the_title_does_not_rank_a_full_text_above_what_answers(registries: Registries) -> None:
    store = await registries(Settings()).open()
    await store.add_evidence([TRIAL])
    best, _ = await store.best_passages("pubmed:11~2", "nausea with zinc")
    assert "Nausea was common with zinc." in best[0].text
    assert await store.best_passages("pubmed:404", "nausea") == ((), -1)
    assert (await store.text("pubmed:11~2")) is not None
    assert (await store.text("pubmed:11~3")) is None


def test_a_large_index_finds_the_same_as_a_small_one() -> None:
    index = LexicalIndex(b=0.0)
    for number in range(1_300):
        index.add(str(number), words_of(" ".join(f"w{number}x{at}" for at in range(100))))
        if number in (3, 700, 1_299):
            index.add(f"zinc {number}", words_of("zinc oxide"))
    assert index.score("oxide").top(10).keys() == {"zinc 3", "zinc 700", "zinc 1299"}
    index.remove("zinc 700")
    index.add("latest", words_of("oxide " * 50))
    assert list(index.score("oxide").top(10)) == ["latest", "zinc 3", "zinc 1299"]
