"""What the model is told to do next fits what was found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from mcp.client import Client

from deepcritical_mcp.models import SearchResult
from tests.fakes import FakeSearch, fake_server
from tests.wire import wire


@dataclass
class Finds(FakeSearch):
    """A search that found what it is told."""

    found: dict[str, object] = field(default_factory=dict[str, object])

    async def search(self, request: Any, *_: object, **__: object) -> SearchResult:
        return SearchResult(session_id="rs_0", query="x").model_copy(update=self.found)


@pytest.mark.parametrize(
    ("tool", "found", "arguments", "step"),
    [
        ("pubmed_search", {}, {}, "Nothing found: try fewer terms, wider dates, or expand_queries"),
        (
            "pubmed_search",
            {"total_found": 9},
            {"offset": 20},
            "There are no results at this offset: use a smaller one.",
        ),
        ("pubmed_search", {"total_found": 9}, {"include_retracted": False}, "All results were omitted"),
        ("web_search", {}, {}, "Nothing found: try other queries."),
        ("web_search", {"errors": ("Tavily is down.",)}, {}, "Not every provider answered: try again later"),
        ("web_search", {"total_found": 3}, {}, "All results were omitted"),
    ],
)
async def test_without_results_it_says_why(
    tool: str, found: dict[str, object], arguments: dict[str, object], step: str
) -> None:
    search = Finds(found=found)
    async with Client(fake_server(literature=search, web=search)) as client:
        result = wire(await client.call_tool(tool, {"query": "x", **arguments}))
    assert result["next_step"].startswith(step)
