"""What stands on a page of passages: as many characters as asked for, nothing twice, not one publication alone."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.client import Client

from deepcritical_mcp.models import Publication, Text
from deepcritical_mcp.reading import Section, assembled
from tests.fakes import FakeSearch, fake_server
from tests.publications import published
from tests.wire import wire

ROWS = "\n".join(f"| Farm{one:03} | {one % 7} lame | {one % 11} {'well fed' * (one % 3)} |" for one in range(300))
TABLE = f"| Farm | Limping at 9 weeks | Fodder |\n|---|---|---|\n{ROWS}"
OWN = f"# Goats\n\n## Farms\n\nWe visited 300 farms and counted goats.\n\nTable 1. Goats by farm\n\n{TABLE}\n"
CONTENT, PARTS = assembled(
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
    texts=(Text(kind="full_text", content=CONTENT, provider="pmc", parts=PARTS, licence="CC BY"),),
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
