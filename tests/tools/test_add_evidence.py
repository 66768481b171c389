"""What a model hands in: kept under one identity however it is written, or rejected with what is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from mcp.client import Client

from tests.fakes import fake_server
from tests.wire import wire


async def add(*items: Mapping[str, object]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The answer to these items in one call, and what the session holds afterwards."""
    async with Client(fake_server()) as client:
        answer = wire(await client.call_tool("add_evidence", {"items": list(items)}))
        ids = [row["id"] for row in answer["added"]]
        kept = wire(await client.call_tool("get_evidence", {"ids": ids or ["none"]}))
    return answer, kept["evidence"]


@pytest.mark.parametrize(
    ("field", "written", "told"),
    [
        ("pmid", "PMC12", 'pmid "PMC12" is not a PMID'),
        ("pmid", "٣٤٥", "is not a PMID"),
        ("pmid", "1" * 300, "is not a PMID"),
        ("doi", "see the paper", 'doi "see the paper" is not a DOI such as 10.1000/182'),
        ("doi", "10.1000/" + "x" * 300, "is not a DOI"),
        ("date", "2021-02-29", 'date "2021-02-29" is not YYYY, YYYY-MM or YYYY-MM-DD'),
        ("date", "05/06/2019", 'date "05/06/2019" is not YYYY, YYYY-MM or YYYY-MM-DD'),
        ("date", "2019-2020", "is not YYYY"),
        ("date", "May 2019 or June 2019", "is not YYYY"),
        ("doi", "10.1234/abc_def%20<x>;y", "is not a DOI"),
        ("doi", "10.1000/abc (accessed 2020)", "is not a DOI"),
        ("date", "٢٠٢٠", "is not YYYY"),
        ("date", "0000", "is not YYYY"),
        ("url", "javascript:alert(1)", 'url "javascript:alert(1)" is not a web address (http or https)'),
        ("content", "x" * 100_001, "content has 100,001 characters; the limit is 100,000, so split it"),
    ],
)
async def test_a_field_that_cannot_be_right_rejects_its_item_alone(field: str, written: str, told: str) -> None:
    answer, _ = await add({"content": "A note."} | {field: written}, {"content": "Another one."})
    assert [row["index"] for row in answer["rejected"]] == [0]
    assert told in answer["rejected"][0]["reason"]
    assert len(answer["rejected"][0]["reason"]) < 120
    assert [row["index"] for row in answer["added"]] == [1]
    assert answer["next_step"].startswith("Correct the rejected items and send them again.")


async def test_what_was_understood_is_said() -> None:
    answer, _ = await add({"content": "One.", "date": "2019-05"}, {"content": "Two.", "date": "May 2019"})
    assert 'Item 1: date "May 2019" read as 2019-05.' in answer["next_step"]
    assert "Item 0" not in answer["next_step"]


async def test_what_was_rejected_is_not_said_to_be_findable() -> None:
    answer, _ = await add({"content": " "})
    assert answer["next_step"] == "Correct the rejected items and send them again."
