"""The tool list that every model pays for."""

import json
import re
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from mcp.client import Client

from deepcritical_mcp.config import Settings
from deepcritical_mcp.server import create_server
from deepcritical_mcp.tools import PROFILES, Profile
from deepcritical_mcp.tools.arguments.schemas import read_arguments
from deepcritical_mcp.tools.spec import listed_default


@pytest.fixture
async def tools() -> list[dict[str, Any]]:
    async with Client(create_server(Settings())) as client:
        return [
            tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in (await client.list_tools()).tools
        ]


def size(value: object) -> int:
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())


async def test_tools_stay_lean(tools: list[dict[str, Any]]) -> None:
    core = {spec.name for spec in PROFILES["core"]}
    assert core == {"pubmed_search", "web_search", "expand_queries", "semantic_search", "add_evidence"}
    for some, read, listed in (
        ([tool for tool in tools if tool["name"] in core], 6_000, 14_000),
        (tools, 12_000, 30_000),
    ):
        assert size([{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in some]) <= read
        assert size(some) <= listed


async def test_every_tool_has_a_title_hints_and_an_output_schema(tools: list[dict[str, Any]]) -> None:
    for tool in tools:
        assert tool["title"]
        assert tool["outputSchema"]["type"] == "object"
        assert not re.search(r"additionalProperties|\$ref|anyOf|oneOf", json.dumps(tool))
        assert "required" not in tool["outputSchema"]
        hints = tool["annotations"]
        assert hints.keys() >= {"readOnlyHint", "openWorldHint", "destructiveHint"}
        assert hints["readOnlyHint"] or "idempotentHint" in hints


# What the converters of other vendors take, restated because their packages are too large for the tests (200 MB).
# google-genai 2: the fields of its JSONSchema; a boolean additionalProperties ends its MCP converter.
GEMINI = set(
    """type format title description default items min_items max_items enum properties required minimum maximum
    min_length max_length pattern""".split()
)
# The API itself: `parameters.properties[study_filter].enum[0]: cannot be empty`.
# OpenAI's strict mode and Anthropic's strict tools: what a converter cannot drop without changing what is valid.
# Anthropic: `minItems` of 0 or 1 only, no bounds of numbers and lengths, which its SDK moves into the description.
STRICT = {"type", "description", "properties", "required", "items", "enum", "additionalProperties"}
DROPPED = {"default", "minimum", "maximum", "minItems", "maxItems"}
# openai-agents 0.24 `ensure_strict_json_schema`: an object must not admit further properties; Chat Completions and
# langchain-openai: a name of at most 64 such characters, and a description of at most 1,024.
OPENAI_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def nodes(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    for inner in (*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])):
        yield from nodes(inner)


@pytest.mark.parametrize("profile", get_args(Profile))
async def test_the_converters_of_other_vendors_take_every_schema(profile: Profile) -> None:
    async with Client(create_server(Settings(), profile=profile)) as client:
        tools = (await client.list_tools()).tools
    for tool in tools:
        assert OPENAI_NAME.fullmatch(tool.name)
        assert len(tool.description or "") <= 1_024
        assert tool.input_schema["type"] == "object"
        for node in nodes(tool.input_schema):
            words = {re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", word) for word in node}
            assert words <= GEMINI, (tool.name, words - GEMINI)
            assert isinstance(node["type"], str)
            assert node["type"] != "array" or node["items"]
            assert node["type"] != "object" or node["properties"]
            assert set(node) <= STRICT | DROPPED
            assert node.get("minItems", 0) <= 1
            assert "default" not in node or not node.get("enum") or node["default"] in node["enum"]
            assert all(isinstance(word, str) and word.strip() for word in node.get("enum", ()))
            assert set(node.get("required", ())) <= node.get("properties", {}).keys()
        for node in nodes(tool.output_schema or {}):
            assert isinstance(node["type"], str)
            assert set(node) <= STRICT
            assert all(isinstance(word, str) and word.strip() for word in node.get("enum", ()))


async def test_what_is_empty_or_says_that_nothing_is_wished_is_not_given_for_any_argument(
    tools: list[dict[str, Any]],
) -> None:
    for tool in tools:
        if tool["annotations"]["destructiveHint"]:
            continue  # read to the letter
        schema = tool["inputSchema"]
        required = {name: "kept" for name in schema.get("required", ()) if name not in ("items", "format")}
        for name in schema["properties"].keys() - set(schema.get("required", ())):
            kind = schema["properties"][name]
            words = kind.get("enum") or kind.get("items", {}).get("enum") or kind["type"] not in ("string", "array")
            empty: tuple[object, ...] = (None, "", " ", [], {})
            for nothing in (*empty, *(("any", "Unspecified", "unchanged") if words else ())):
                read = read_arguments(tool["name"], {**required, name: nothing}, schema)[0].get(name)
                assert read in (None, listed_default(kind)), (tool["name"], name, nothing)
