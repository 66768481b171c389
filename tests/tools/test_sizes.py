"""The sizes of arguments are checked before anything else looks at them."""

import json
import sys
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager
from functools import cache
from types import FrameType
from typing import Any

import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, PromptReference, ResourceTemplateReference

from deepcritical_mcp.server import _tool  # pyright: ignore[reportPrivateUsage]
from deepcritical_mcp.tools import PROFILES, ToolSpec
from tests.fakes import fake_server
from tests.wire import wire

TOOLS = sorted({spec for specs in PROFILES.values() for spec in specs}, key=lambda spec: spec.name)
HUGE = "(a-b, " * 1_200_000
"""7 MB."""


def nodes(schema: dict[str, Any], name: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield name, schema
    for inner, one in schema.get("properties", {}).items():
        yield from nodes(one, f"{name}.{inner}")
    if "items" in schema:
        yield from nodes(schema["items"], f"{name}[]")


@pytest.mark.parametrize("spec", TOOLS, ids=lambda spec: spec.name)
def test_every_text_and_list_has_a_limit(spec: ToolSpec) -> None:
    for name, node in nodes(_tool(spec, ())[1]):
        if node["type"] == "string" and "enum" not in node:
            assert node["maxLength"] <= (1_000_000 if name == ".items[].content" else 200_000), name
        if node["type"] == "array":
            assert node["maxItems"] <= 10_000, name


@cache
def huge_values() -> list[object]:
    many, objects = ["1"] * 1_000_000, [{"content": "x"}] * 300_000
    values = [HUGE, [HUGE], {"a": HUGE}, {HUGE: 1}, many, [[[HUGE]]], objects, dict.fromkeys(many[:1], many)]
    values += [dict.fromkeys(map(str, range(300_000))), [json.dumps([HUGE])], f'["{HUGE}']
    return [*values, *map(json.dumps, ([HUGE], many, {"query": HUGE}))]


FOREIGN = ("reasoning", "limit", "params", "arguments", "pmids", "text", "from", "page", "notes", "x" * 100, "ß")


def too_large(spec: ToolSpec) -> Iterator[dict[str, Any]]:
    """Calls with each parameter, each field of an object, and other names, far too large in some way."""
    schema, values = _tool(spec, ())[1], huge_values()
    required = dict.fromkeys(schema.get("required", ()), "10")
    for name, one in schema["properties"].items():
        fields = one.get("items", {}).get("properties", ())
        yield from ({**required, name: value} for value in values)
        yield from ({**required, name: [{field: value}]} for field in fields for value in values[:6])
    yield from ({**required, name: value} for name in FOREIGN if name not in schema["properties"] for value in values)
    yield {**required, HUGE: "x"}
    yield {**required, **dict.fromkeys(map(str, range(300_000)), "1")}


class Work:
    """Counts the functions of ours that are called, and how much text each of them is given."""

    def __init__(self) -> None:
        self.seen = 0

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or "deepcritical_mcp" not in code.co_filename or code.co_filename.endswith("sizes.py"):
            return
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        self.seen += 1 + sum(len(one) for one in map(frame.f_locals.get, names) if isinstance(one, str))


@contextmanager
def counted_work() -> Generator[Work]:
    work = Work()
    sys.setprofile(work)
    try:
        yield work
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("spec", TOOLS, ids=lambda spec: spec.name)
async def test_what_is_far_too_large_is_refused_before_anything_looks_at_it(spec: ToolSpec) -> None:
    server = fake_server(profile=next(name for name, specs in PROFILES.items() if spec in specs))
    async with Client(server):
        for arguments in too_large(spec):
            with counted_work() as work:
                refused = await server.call_tool(spec.name, arguments)
            assert isinstance(refused, CallToolResult)
            assert refused.is_error
            told = wire(refused)["error"]
            assert told["code"] == "invalid_input"
            assert "at most" in told["message"] or "the limit is" in told["message"]
            assert len(told["message"]) < 400
            assert "a-b" not in told["message"]
            assert work.seen < 20_000


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_every_other_request_is_measured_too(mode: str) -> None:
    reference, template = PromptReference(name="verify_claim"), ResourceTemplateReference(uri="evidence://{session_id}")
    async with Client(fake_server(), mode=mode) as client:
        asked: list[Callable[[], Awaitable[object]]] = [
            lambda: client.get_prompt("verify_claim", {"claim": HUGE}),
            lambda: client.get_prompt("verify_claim", {"claim": "x", HUGE: "y"}),
            lambda: client.get_prompt(HUGE),
            lambda: client.read_resource(f"evidence://{HUGE.replace(' ', '')}"),
            lambda: client.read_resource(f"evidence://a/{'a' * 7_000_000}"),
            lambda: client.complete(reference, {"name": "claim", "value": HUGE}),
            lambda: client.complete(reference, {"name": HUGE, "value": "x"}),
            lambda: client.complete(PromptReference(name=HUGE), {"name": "x", "value": "x"}),
            lambda: client.complete(template, {"name": "session_id", "value": HUGE}),
            lambda: client.complete(template, {"name": "x", "value": "x"}, {"session_id": HUGE}),
            lambda: client.list_tools(cursor=HUGE),
            lambda: client.call_tool(HUGE, {}),
        ]
        for ask in asked:
            with counted_work() as work, pytest.raises(MCPError, match="at most"):
                await ask()
            assert work.seen < 20_000
        assert "claim" in str(await client.get_prompt("verify_claim", {"claim": "x" * 4_000}))
