"""What a model hands in: kept under one identity however it is written, or rejected with what is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.client import Client

from tests.fakes import fake_server
from tests.wire import wire


async def add(*items: dict[str, object]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The answer to these items in one call, and what the session holds afterwards."""
    async with Client(fake_server()) as client:
        answer = wire(await client.call_tool("add_evidence", {"items": list(items)}))
        assert answer
        ids = [row["id"] for row in answer["added"]]
        kept = wire(await client.call_tool("get_evidence", {"ids": ids or ["none"]}))
    assert kept
    return answer, kept["evidence"]


@pytest.mark.parametrize(
    ("field", "written", "kept"),
    [
        ("pmid", "PMID: 31978945", "PMID 31978945"),
        ("pmid", "pubmed:31978945", "PMID 31978945"),
        ("pmid", "0031978945", "PMID 31978945"),
        ("pmid", 31978945, "PMID 31978945"),
        ("doi", "https://doi.org/10.1000/ABC", "10.1000/abc"),
        ("doi", "DOI 10.1000.10/abc", "10.1000.10/abc"),
        ("date", " 2020-02-29 ", "2020 Feb 29"),
        ("date", "2020-02", "2020 Feb"),
        ("date", "Unknown", ""),
        ("date", "2019/05/06", "2019 May 6"),
        ("date", "2019.5.6", "2019 May 6"),
        ("date", "May 2019", "2019 May"),
        ("date", "6 May 2019", "2019 May 6"),
        ("date", "September 6, 2019", "2019 Sep 6"),
        ("date", 2019, "2019"),
        ("url", "HTTPS://Example.org/Page?utm_source=x#top", "https://example.org/Page"),
        ("url", "example.org/page", "https://example.org/page"),
        ("authors", "Lee M", "Lee M."),
    ],
)
async def test_a_field_has_one_spelling_however_it_is_written(field: str, written: object, kept: str) -> None:
    _, (piece,) = await add({"content": "A note.", field: written})
    reference = piece["citation"]["reference"].rstrip(".")
    assert kept.rstrip(".") in reference
    assert field in ("date", "authors") or reference.endswith(f" {kept}")


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
    ],
)
async def test_a_field_that_cannot_be_right_rejects_its_item_alone(field: str, written: str, told: str) -> None:
    answer, _ = await add({"content": "A note.", field: written}, {"content": "Another one."})
    assert [row["index"] for row in answer["rejected"]] == [0]
    assert told in answer["rejected"][0]["reason"]
    assert len(answer["rejected"][0]["reason"]) < 120
    assert [row["index"] for row in answer["added"]] == [1]
    assert answer["next_step"].startswith("Correct the rejected items and send them again.")


async def test_what_was_understood_is_said() -> None:
    answer, _ = await add({"content": "One.", "date": "2019-05"}, {"content": "Two.", "date": "May 2019"})
    assert 'Item 1: date "May 2019" read as 2019-05.' in answer["next_step"]
    assert "Item 0" not in answer["next_step"]


async def test_notes_of_one_sentence_on_one_page_are_all_kept() -> None:
    url = "https://example.org/report"
    answer, pieces = await add({"content": "First quote.", "url": url}, {"content": "Second quote.", "url": url})
    assert answer["duplicates"] == []
    assert [piece["content"] for piece in pieces] == ["First quote.", "Second quote."]
    assert [piece["citation"]["title"] for piece in pieces] == ["First quote…", "Second quote…"]
    assert {piece["citation"]["reference"] for piece in pieces} == {f"Note on {url}"}


async def test_what_was_rejected_is_not_said_to_be_findable() -> None:
    answer, _ = await add({"content": " "})
    assert answer["next_step"] == "Correct the rejected items and send them again."


async def test_everything_that_an_item_holds_counts_for_the_limit_of_a_call() -> None:
    crowd = {"content": "A note.", "authors": ["A" * 1_000] * 1_001}
    async with Client(fake_server()) as client:
        refused = await client.call_tool("add_evidence", {"items": [crowd]})
    assert refused.is_error
