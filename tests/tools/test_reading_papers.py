"""What a model reads of the full texts in a session: passages, sections, paragraphs."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.client import Client
from mcp_types import CallToolResult

from deepcritical_mcp.models import Publication, Text
from deepcritical_mcp.reading import Section, assembled
from tests.evidence.stand_ins import FILLER, HashingModel
from tests.fakes import FakeSearch, fake_server
from tests.wire import text_of, wire

CONTENT, PARTS = assembled(
    [
        Section("s1", ["Zinc was given to adults with warts."], path=("Methods",)),
        Section(
            "s1.1", [f"Step {number} of the allocation. {FILLER}" for number in range(20)], path=("Methods", "Who")
        ),
        Section("s2", ["Warts went away in half of the adults.", "Nausea was common with zinc."], path=("Results",)),
        Section(
            "t1", ["Table 1. Deaths", "| Arm | Deaths |\n| --- | --- |\n| Zinc | 0 |"], "table", ("Results", "T"), "s2"
        ),
    ]
)
ABSTRACT = Text(kind="abstract", content="Zinc was compared with placebo in adults.", provider="pubmed")
WHOLE = Text(kind="full_text", content=CONTENT, provider="pmc", parts=PARTS)
TRIAL = Publication(
    id="pubmed:11",
    source="pubmed",
    title="Zinc for warts",
    pmid="11",
    pmcid="PMC9911",
    texts=(ABSTRACT, WHOLE),
    found_by=("zinc warts",),
)


async def call(tool: str, *before: tuple[str, dict[str, Any]], **arguments: Any) -> CallToolResult:
    async with Client(fake_server(literature=FakeSearch((TRIAL,)))) as client:
        for name, given in (("pubmed_search", {"query": "x"}), *before):
            await client.call_tool(name, given)
        return await client.call_tool(tool, arguments)


async def structured(tool: str, **arguments: Any) -> dict[str, Any]:
    return wire(await call(tool, **arguments))


async def test_in_full_a_passage_is_shown_with_its_section_but_never_a_whole_paper() -> None:
    found = await structured("semantic_search", query="step 7 of the allocation", kind="full_text", detail="full")
    anchors = [item["anchor"] for item in found["evidence"]]
    assert len(set(anchors)) == len(anchors)
    section = next(item for item in found["evidence"] if item["anchor"] == "s1.1")
    assert "Step 7 of the allocation." in section["content"]
    assert len(section["content"]) < 3_200
    assert 'characters left out: get_evidence ids=["pubmed:11~2@s1.1"]' in section["content"]


async def test_a_section_is_read_with_what_is_inside_it_and_a_paragraph_alone() -> None:
    read = await structured("get_evidence", ids=["pubmed:11~2@s2", "pubmed:11~2@s2p2", "pubmed:11@t1"])
    section, paragraph, table = read["evidence"]
    assert section["content"] == CONTENT[CONTENT.index("Warts went") :]
    assert (paragraph["content"], paragraph["section"]) == ("Nausea was common with zinc.", ["Results"])
    assert (table["id"], table["anchor"]) == ("pubmed:11~2", "t1")
    assert table["content"].startswith("Table 1. Deaths\n\n| Arm")


@pytest.mark.parametrize(
    ("anchor", "said"),
    [
        ("s2p9", "pubmed:11~2 has no part s2p9. The nearest: s2p2, s2."),
        ("s1.2", "pubmed:11~2 has no part s1.2. The nearest: s1"),
    ],
)
async def test_an_unknown_anchor_names_the_nearest(anchor: str, said: str) -> None:
    result = await call("get_evidence", ids=[f"pubmed:11~2@{anchor}"])
    assert result.is_error
    assert said in text_of(result)


async def test_the_abstract_is_an_anchor_too() -> None:
    read = await structured("get_evidence", ids=["pubmed:11~2@abstract"])
    assert [(item["id"], item["content"]) for item in read["evidence"]] == [("pubmed:11", ABSTRACT.content)]
    told = await structured("get_evidence", ids=["pubmed:11~2@abstract"], about="nausea with zinc")
    assert not any("Nausea" in item["content"] for item in told["evidence"])


async def test_a_wrong_anchor_does_not_take_the_others_with_it() -> None:
    read = await structured("get_evidence", ids=["pubmed:11~2@s2p1", "pubmed:11~2@s9", "pubmed:12"])
    assert [item["anchor"] for item in read["evidence"]] == ["s2p1"]
    assert read["missing"] == ["pubmed:12", "pubmed:11~2@s9"]
    assert "pubmed:11~2 has no part s9. The nearest: s2, s1" in read["next_step"]


async def test_about_and_an_anchor_quote_only_what_stands_there() -> None:
    read = await structured("get_evidence", ids=["pubmed:11~2@s1.1"], about="step 7 of the allocation")
    assert {item["anchor"].partition("p")[0] for item in read["evidence"]} == {"s1.1"}
    none = await structured("get_evidence", ids=["pubmed:11~2@s1"], about="nausea with zinc")
    assert not any("Nausea" in item["content"] for item in none["evidence"])
    silent = await structured("get_evidence", ids=["pubmed:11~2@s2"], about="gamma rays")
    assert silent["evidence"] == []
    assert "No sentence matched in pubmed:11~2@s2" in silent["next_step"]


async def test_without_a_free_model_words_alone_answer() -> None:
    model = HashingModel()
    model.missing = True
    async with Client(fake_server(literature=FakeSearch((TRIAL,)), embedder=model)) as client:
        await client.call_tool("pubmed_search", {"query": "x"})
        given = {"ids": ["pubmed:11~2"], "about": "what share of adults lost half their warts"}
        read = wire(await client.call_tool("get_evidence", given))
    assert "Warts went away in half of the adults." in read["evidence"][0]["content"]


@pytest.mark.parametrize("id", ["PMC9911", "pmc:9911", "pubmed:11~2@s2p1", "pubmed:11~2", "PMC9911~2@s1", "11"])
async def test_an_export_takes_every_id_that_is_read(id: str) -> None:
    exported = await structured("export_evidence", format="ris", ids=[id])
    assert (exported["count"], exported["missing"]) == (1, [])
    read = await structured("get_evidence", ids=[id])
    assert (len(read["evidence"]), read["missing"]) == (1, [])
