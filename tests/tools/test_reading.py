"""What a model reads of a session: passages, quotations, filters, and that nothing answers."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.client import Client
from mcp_types import CallToolResult

from deepcritical_mcp.config import Settings
from deepcritical_mcp.models import StatusNotice
from tests.fakes import FakeSearch, fake_server
from tests.publications import published

FILLER = "The animals were housed in groups of four and had free access to food and water throughout. "
TOXICITY = published(
    "BACKGROUND: Compound K is a new feed additive. " + FILLER * 8 + "\n"
    "RESULTS: Body weight fell at the highest dose. " + FILLER * 6 + "\n"
    "CONCLUSIONS: Liver enzymes rose at 500 mg/kg. The NOAEL was 150 mg/kg body weight per day.",
    source="pubmed",
    title="Ninety-day oral toxicity of compound K in rats",
    pmid="1",
    found_by=("compound K toxicity", "feed additive safety"),
)
METFORMIN = published(
    "Metformin activates AMPK and lowers hepatic glucose production in patients with type 2 diabetes.",
    source="pubmed",
    title="Metformin and the liver",
    pmid="2",
    status="retracted",
    status_checked="2026-11-21",
    status_notices=(StatusNotice(kind="retraction", pmid="9", reference="J Test. 2020;1:2"),),
    found_by=("compound K toxicity",),
)


async def call(tool: str, arguments: dict[str, Any], settings: Settings | None = None) -> CallToolResult:
    async with Client(fake_server(literature=FakeSearch((TOXICITY, METFORMIN)), settings=settings)) as client:
        await client.call_tool("pubmed_search", {"query": "x"})
        return await client.call_tool(tool, arguments)


async def structured(tool: str, **arguments: Any) -> dict[str, Any]:
    result = (await call(tool, arguments)).structured_content
    assert result
    return result


async def test_a_passage_is_verbatim_with_its_gaps_marked() -> None:
    (piece,) = (await structured("semantic_search", query="NOAEL of compound K", max_results=1))["evidence"]
    assert piece["content_truncated"]
    assert len(piece["content"]) <= 800
    assert "The NOAEL was 150 mg/kg body weight per day." in piece["content"]
    assert "[…]" in piece["content"]
    for part in piece["content"].split("[…]"):
        assert part.strip() in TOXICITY.text.content


async def test_the_whole_text_comes_on_request() -> None:
    found = await structured("semantic_search", query="NOAEL of compound K", max_results=1, detail="full")
    assert found["evidence"][0]["content"] == TOXICITY.text.content


async def test_a_question_from_another_field_is_not_answered() -> None:
    result = await call("semantic_search", {"query": "stock market prediction"})
    assert result.structured_content
    assert result.structured_content["warnings"][0].startswith("Nothing in this session is close to the question.")
    assert "Note: Nothing in this session is close" in result.content[0].text  # pyright: ignore


@pytest.mark.parametrize("query", ["toxicity of a feed additive", "metformin", "NOAEL", "AMPK in diabetes"])
async def test_a_true_question_is_answered(query: str) -> None:
    assert (await structured("semantic_search", query=query))["warnings"] == []


async def test_a_search_can_be_limited_to_a_status_or_a_kind() -> None:
    retracted = await structured("semantic_search", query="diabetes drugs", status="retracted")
    assert [piece["id"] for piece in retracted["evidence"]] == ["pubmed:2"]
    assert (await structured("semantic_search", query="diabetes drugs", kind="note"))["evidence"] == []
    abstracts = await structured("semantic_search", query="metformin in the liver", kind="abstract")
    assert abstracts["evidence"][0]["id"] == "pubmed:2"


async def test_what_is_retracted_is_listed_with_its_notice() -> None:
    page = await structured("list_evidence", status="retracted")
    assert (page["total"], page["matching"]) == (2, 1)
    assert {row["status"]: row["count"] for row in page["statuses"]} == {"ok": 1, "retracted": 1}
    (item,) = page["items"]
    assert item["id"] == "pubmed:2"
    assert item["status_notices"][0]["pmid"] == "9"
    assert item["status_checked"] == "2026-11-21"
    text = (await call("list_evidence", {"status": "retracted"})).content[0].text  # pyright: ignore
    assert "\n  checked: 2026-11-21\n" in text


async def test_that_nothing_is_corrected_is_said_with_the_day_of_the_check() -> None:
    page = await structured("list_evidence", status="corrected")
    assert page["next_step"] == (
        'No evidence here has the status "corrected". The records were checked on 2026-11-21 or later. '
        "1 was never checked."
    )


async def test_only_the_sentences_that_answer_are_quoted() -> None:
    found = await structured("get_evidence", ids=["1", "2"], about="NOAEL")
    (piece,) = found["evidence"]
    assert piece["content"] == "[…] The NOAEL was 150 mg/kg body weight per day."
    assert "No sentence matched in pubmed:2; it may use other words" in found["next_step"]


async def test_a_question_is_answered_by_meaning_too() -> None:
    found = await structured("get_evidence", ids=["2"], about="effect on glucose output of the liver")
    assert found["evidence"][0]["content"] == METFORMIN.text.content


async def test_part_of_a_text_is_read_by_its_characters() -> None:
    found = await structured("get_evidence", ids=["pubmed:1@12-46", "pubmed:1@100-120", "2"])
    text = TOXICITY.text.content
    assert [piece["content"] for piece in found["evidence"]] == [
        text[12:46].strip(),
        text[100:120],
        METFORMIN.text.content,
    ]


async def test_each_text_is_returned_once_however_its_id_is_written() -> None:
    found = await structured("get_evidence", ids=["1", "pubmed:1", "PMID 1", "9", "pubmed:9"])
    assert [piece["id"] for piece in found["evidence"]] == ["pubmed:1"]
    assert found["missing"] == ["pubmed:9"]


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("pubmed:2@900-", "pubmed:2 has 96 characters; nothing follows character 900."),
        ("pubmed:2@40-4", "pubmed:2@40-4: the end must be greater than the start."),
    ],
)
async def test_a_part_that_does_not_exist_is_an_error(part: str, said: str) -> None:
    assert (await structured("get_evidence", ids=[part]))["error"]["message"] == said


async def test_the_queries_that_found_evidence_are_numbered_once() -> None:
    found = await structured("get_evidence", ids=["1", "2"])
    assert [(query["index"], query["query"]) for query in found["queries"]] == [
        (1, "compound K toxicity"),
        (2, "feed additive safety"),
    ]
    assert [piece["found_by"] for piece in found["evidence"]] == [[1, 2], [1]]


async def test_both_forms_hold_the_same_records() -> None:
    papers = tuple(
        published(f"Paper {n}. " + FILLER * 20, source="pubmed", title=f"Paper {n}", pmid=str(n)) for n in range(1, 51)
    )
    async with Client(fake_server(literature=FakeSearch(papers), settings=Settings(max_result_chars=8_000))) as client:
        result = await client.call_tool("pubmed_search", {"query": "x", "max_results": 50})
    assert result.structured_content
    text = result.content[0].text  # pyright: ignore
    ids = [piece["id"] for piece in result.structured_content["evidence"]]
    assert 0 < len(ids) < 50
    assert text.count("\n## ") == len(ids)  # pyright: ignore
