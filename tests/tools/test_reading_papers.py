"""What a model reads of the full texts in a session: passages, sections, paragraphs, and what a page of them has."""

from typing import Any

import pytest
from mcp.client import Client
from mcp_types import CallToolResult

from deepcritical_mcp.models import Publication, Text
from deepcritical_mcp.reading import Section, assembled
from tests.evidence.stand_ins import FILLER, HashingModel
from tests.fakes import FakeSearch, fake_server
from tests.publications import published
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


ROWS = "\n".join(f"| Farm{one:03} | {one % 7} lame | {one % 11} {'well fed' * (one % 3)} |" for one in range(300))
TABLE = f"| Farm | Limping at 9 weeks | Fodder |\n|---|---|---|\n{ROWS}"
OWN = f"# Goats\n\n## Farms\n\nWe visited 300 farms and counted goats.\n\nTable 1. Goats by farm\n\n{TABLE}\n"
GOATS, GOAT_PARTS = assembled(
    [
        Section(
            f"s{one}",
            [
                f"Trimming hooves {one} times a year made {one + 20} % of the goats on farm {two} walk {two}.{one} km "
                f"further, {'and farmers reported fewer abscesses, less pain and better milk yields' * (two % 4)}."
                for two in range(12)
            ],
            path=(f"Results {one}",),
        )
        for one in range(1, 9)
    ]
)
BIG = Publication(
    id="pubmed:7",
    source="pubmed",
    title="Trimming hooves of goats",
    pmid="7",
    texts=(Text(kind="full_text", content=GOATS, provider="pmc", parts=GOAT_PARTS, licence="CC BY"),),
)
REVIEWS = [
    published(content, source="pubmed", title=f"Hooves of goats, part {number}", pmid=f"{number}")
    for number, content in enumerate(
        (
            "After trimming their hooves, mountain goats walked 2 km further than before.",
            "Veterinarians reviewed nine trials: trimmed goats walked further in seven of them.",
            "Goats in Peru walked further after trimming their hooves, and farmers thought it worth the price.",
            "Kids walked further after trimming their hooves, even in winter.",
        ),
        start=10,
    )
]


async def asked(tool: str, own: str = "", **arguments: Any) -> tuple[str, dict[str, Any]]:
    """Both forms of an answer, the readable one without the next step; `own` is added, and its id is "OWN"."""
    async with Client(fake_server(literature=FakeSearch((BIG, *REVIEWS)))) as client:
        await client.call_tool("pubmed_search", {"query": "x"})
        if own:
            added = wire(await client.call_tool("add_evidence", {"items": [{"title": "Farms", "content": own}]}))
            given = (added or {})["added"][0]["id"]
            arguments = {name: given if value == "OWN" else value for name, value in arguments.items()}
            arguments = {name: [given] if value == ["OWN"] else value for name, value in arguments.items()}
        result = await client.call_tool(tool, arguments)
    text = str(result.content[0].text)  # pyright: ignore
    return text.partition("\nNext: ")[0], wire(result) or {}


async def test_a_quotation_of_a_table_has_the_rows_that_answer() -> None:
    text, _ = await asked("get_evidence", OWN, ids=["OWN"], about="limping at 9 weeks on Farm123")
    assert "| Farm | Limping at 9 weeks | Fodder |" in text
    assert "| Farm123 |" in text


async def test_a_row_of_a_long_table_stands_in_a_short_passage_below_its_header() -> None:
    text, answer = await asked("get_full_text", OWN, id="OWN", question="limping on Farm211")
    assert "| Farm211 |" in answer["passages"][0]["text"]
    assert len(answer["passages"][0]["text"]) < 1_200
    assert 1 <= text.count("Limping at 9 weeks") == text.count("| Farm |") <= 4
    rows = [line for line in text.split("\n") if "| Farm" in line and "Fodder" not in line]
    assert len(rows) == len({*rows})


@pytest.mark.parametrize("characters", [1_500, 3_000, 6_000])
@pytest.mark.parametrize("tool", ["get_full_text", "semantic_search"])
async def test_a_page_has_as_many_characters_as_asked_for(tool: str, characters: int) -> None:
    question = "How much further did goats walk after trimming hooves?"
    who = {"id": "PMID 7", "question": question} if tool == "get_full_text" else {"query": question}
    text, _ = await asked(tool, characters=characters, **who)
    assert 0.9 * characters <= len(text) <= 1.1 * characters
    assert "CC BY" not in text


async def test_one_paper_leaves_room_for_others_that_are_nearly_as_good() -> None:
    _, answer = await asked("semantic_search", query="Did goats walk further after trimming hooves?")
    ids = [one["id"] for one in answer["evidence"]]
    assert sum(one.startswith("pubmed:7") for one in ids) <= len(ids) // 2 + 1
    assert len({*ids}) > 2
