"""The tool list that every model pays for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp.client import Client

from deepcritical_mcp.config import Settings
from deepcritical_mcp.server import create_server

FIVE = {"pubmed_search", "web_search", "expand_queries", "semantic_search", "add_evidence"}


@pytest.fixture
async def tools() -> list[dict[str, Any]]:
    async with Client(create_server(Settings())) as client:
        return [
            tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in (await client.list_tools()).tools
        ]


def size(value: object) -> int:
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())


def read_by_a_model(tool: dict[str, Any]) -> dict[str, Any]:
    return {key: tool[key] for key in ("name", "description", "inputSchema")}


async def test_the_five_tools_stay_lean(tools: list[dict[str, Any]]) -> None:
    five = [tool for tool in tools if tool["name"] in FIVE]
    assert {tool["name"] for tool in five} == FIVE
    assert size([read_by_a_model(tool) for tool in five]) <= 7_000
    assert size(five) <= 16_500


async def test_all_tools_together_stay_lean(tools: list[dict[str, Any]]) -> None:
    assert size([read_by_a_model(tool) for tool in tools]) <= 12_500
    assert size(tools) <= 38_000


async def test_no_schema_needs_a_reference_or_a_union(tools: list[dict[str, Any]]) -> None:
    text = json.dumps(tools)
    assert "$ref" not in text
    assert "anyOf" not in text
    assert "oneOf" not in text


async def test_every_tool_has_a_title_hints_and_an_output_schema(tools: list[dict[str, Any]]) -> None:
    for tool in tools:
        assert tool["title"]
        assert tool["outputSchema"]["type"] == "object"
        assert tool["inputSchema"]["additionalProperties"] is False
        assert set(tool["annotations"]) >= {"readOnlyHint", "openWorldHint", "idempotentHint", "destructiveHint"}
