"""Exports that must fit into an answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp.client import Client
from mcp_types import TextContent

from deepcritical_mcp.models import Publication
from tests.fakes import FakeSearch, fake_server
from tests.publications import published
from tests.wire import wire

LIMIT = 32_000
FORMATS = ["bibtex", "ris", "csl-json", "markdown", "jsonl"]


def paper(number: int, *, content: str, authors: int = 2) -> Publication:
    names = (f"Author{n} Ada" for n in range(authors))
    return published(content, source="pubmed", title=f"论文 {number}", pmid=str(number), authors=names)


async def exported(*publications: Publication, **arguments: object) -> dict[str, Any]:
    """The structured form of an export of these publications with abstracts, once both forms have been seen to fit."""
    arguments = {"abstracts": True, **arguments}
    async with Client(fake_server(literature=FakeSearch(publications))) as client:
        await client.call_tool("pubmed_search", {"query": "x"})
        result = await client.call_tool("export_evidence", arguments)
    assert isinstance(result.content[0], TextContent)
    assert len(result.content[0].text) <= LIMIT
    assert len(json.dumps(wire(result))) <= LIMIT
    return wire(result)


@pytest.mark.parametrize("format", FORMATS)
async def test_a_part_fits_whatever_its_letters_take_as_json(format: str) -> None:
    part = await exported(*(paper(n, content="二甲双胍降低血糖。" * 100) for n in range(1, 31)), format=format)
    assert 0 < part["count"] < 30
    assert part["next_offset"] == part["count"]


@pytest.mark.long
@pytest.mark.parametrize("format", FORMATS)
async def test_a_single_record_that_is_too_long_is_shortened_and_says_so(format: str) -> None:
    part = await exported(paper(1, content='He said "no". ' * 6_000, authors=300), format=format)
    assert part["count"] == 1
    assert part["next_offset"] == -1
    assert "pubmed:1 was too long and is shortened here" in part["next_step"]


async def test_the_queries_that_found_a_record_do_not_make_it_too_long() -> None:
    asked = tuple(f"{n} " + "long query " * 360 for n in range(20))
    part = await exported(paper(1, content="A short text.").model_copy(update={"found_by": asked}), format="jsonl")
    assert "A short text." in part["text"]


async def test_of_ids_that_are_not_there_as_many_are_named_as_fit() -> None:
    ids = ["pubmed:1", *(f"pubmed:9{n:07}" for n in range(9_000))]
    part = await exported(paper(1, content="A note."), format="ris", ids=ids)
    assert 0 < len(part["missing"]) < 9_000
    assert f"{9_000 - len(part['missing']):,} more ids are not in this session." in part["next_step"]


@pytest.mark.long
@pytest.mark.parametrize("format", FORMATS)
async def test_authors_outlast_the_abstract(format: str) -> None:
    whole = paper(1, content="A long result. " * 4_000, authors=400)
    part = await exported(whole, format=format)
    assert "Author399" in part["text"] or format == "markdown"
    assert "its text is cut" in part["next_step"]
    assert "[…]" in part["text"].replace("\\", "")


async def test_a_record_that_is_too_long_without_its_text_is_refused_with_the_way_to_go_on() -> None:
    part = await exported(paper(1, content="x", authors=3_000), format="ris")
    assert "pass save=true for the whole file. offset=1 goes on after it." in part["error"]["message"]


async def test_an_offset_beyond_the_last_record_is_an_error() -> None:
    part = await exported(paper(1, content="A note."), format="ris", offset=5)
    assert part["error"]["message"] == "offset: the last record is at 0. Use a smaller offset."
