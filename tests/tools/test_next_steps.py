"""What the model is told to do next fits what was found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from mcp.client import Client

from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import Evidence, SearchResult
from tests.fakes import FakeSearch, Progress, fake_server
from tests.publications import published
from tests.wire import wire

PAPER = Evidence.of(published("It says something.", source="pubmed", title="A paper", pmid="1"))


@dataclass
class Finds(FakeSearch):
    """A search that found what it is told."""

    found: dict[str, object] = field(default_factory=dict[str, object])

    async def search(self, request: Any, store: EvidenceStore, *, progress: Progress) -> SearchResult:
        return SearchResult(session_id=store.session_id, query="x").model_copy(update=self.found)


async def next_step(tool: str, found: dict[str, object], **arguments: object) -> str:
    search = Finds(found=found)
    async with Client(fake_server(literature=search, web=search)) as client:
        result = wire(await client.call_tool(tool, {"query": "x", **arguments}))
    assert result
    return result["next_step"]


@pytest.mark.parametrize(
    ("found", "arguments", "step"),
    [
        ({}, {}, "Nothing found: try fewer terms, wider dates, or expand_queries for other queries."),
        (
            {"evidence": (PAPER,), "total_found": 9, "next_offset": 1},
            {},
            "Continue with offset=1. semantic_search finds these again by meaning.",
        ),
        (
            {"evidence": (PAPER,), "total_found": 1},
            {},
            "For other queries call expand_queries. semantic_search finds these again by meaning.",
        ),
        (
            {"total_found": 9, "duplicates_removed": 5, "next_offset": 5},
            {"only_new": True},
            "Continue with offset=5. semantic_search finds these again by meaning.",
        ),
        ({"total_found": 9}, {"offset": 20}, "There are no results at this offset: use a smaller one."),
        (
            {"total_found": 9, "next_offset": 2},
            {"include_retracted": False},
            "All results were omitted (see the warnings): search with include_retracted=true to see them. Continue "
            "with offset=2.",
        ),
    ],
)
async def test_after_a_search_of_pubmed(found: dict[str, object], arguments: dict[str, object], step: str) -> None:
    assert await next_step("pubmed_search", found, **arguments) == step


@pytest.mark.parametrize(
    ("found", "step"),
    [
        ({}, "Nothing found: try other queries."),
        ({"evidence": (PAPER,)}, "semantic_search finds these again by meaning."),
        ({"errors": ("Tavily is down.",)}, "Not every provider answered: try again later, or try other queries now."),
        (
            {"total_found": 3, "duplicates_removed": 3},
            "All results were omitted (see the warnings): lower min_score, set only_new=false, or try other queries.",
        ),
    ],
)
async def test_after_a_search_of_the_web(found: dict[str, object], step: str) -> None:
    assert await next_step("web_search", found) == step


@pytest.mark.parametrize("tool", ["list_evidence", "semantic_search"])
async def test_in_an_empty_session_the_first_thing_is_to_search(tool: str) -> None:
    async with Client(fake_server()) as client:
        result = await client.call_tool(tool, {"query": "x"} if tool == "semantic_search" else {})
    assert wire(result)
    assert wire(result)["next_step"].startswith("This session is new and empty. Search first")
