"""Which session a call belongs to, on each transport, in both protocol eras, with authentication and without."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import CallToolResult

from tests.transports.conftest import Serving, content, error, text

MODERN, LEGACY = "2026-07-28", "2025-11-25"
TOKENS = {"auth_tokens": "alice:alice-token-0123456789,bob:bob-token-0123456789"}
ALICE, BOB = "alice-token-0123456789", "bob-token-0123456789"
NOTE = "Metformin lowers hepatic glucose production"


async def add(client: Client, note: str = NOTE, **arguments: Any) -> dict[str, Any]:
    return content(await client.call_tool("add_evidence", {"items": [{"content": note}], **arguments}))


@pytest.mark.parametrize("token", ["", ALICE], ids=["open", "authenticated"])
@pytest.mark.parametrize(("transport", "mode"), [("http", "legacy"), ("sse", "legacy"), ("sse", MODERN)])
async def test_a_connection_has_one_default_session_of_its_own(
    serving: Serving, transport: str, mode: str, token: str
) -> None:
    async with (
        serving(**(TOKENS if token else {})) as server,
        server.client(transport, mode, token) as one,
        server.client(transport, mode, token) as two,
    ):
        first, again, other = await add(one), await add(one, "Aspirin thins the blood"), await add(two)
        found = content(await one.call_tool("semantic_search", {"query": "glucose"}))
    assert first["session_id"] == again["session_id"] == found["session_id"] != other["session_id"]
    assert (again["total"], other["total"]) == (2, 1)
    assert "session_id=" not in first["next_step"]


async def test_a_modern_call_over_http_without_authentication_opens_a_session_and_says_how_to_go_on(
    serving: Serving,
) -> None:
    async with serving() as server, server.client("http", MODERN) as client:
        result = await client.call_tool("add_evidence", {"items": [{"content": NOTE}]})
        session_id = content(result)["session_id"]
        assert f'session_id="{session_id}"' in content(result)["next_step"]
        assert f'session_id="{session_id}"' in text(result)
        assert (await add(client))["session_id"] != session_id
        continued = await add(client, "Aspirin thins the blood", session_id=session_id)
        assert (continued["session_id"], continued["total"]) == (session_id, 2)


async def test_a_modern_semantic_search_over_http_without_a_session_is_an_error_that_says_what_to_pass(
    serving: Serving,
) -> None:
    async with serving() as server, server.client("http", MODERN) as client:
        problem = error(await client.call_tool("semantic_search", {"query": "glucose"}))
        assert problem["code"] == "session_required"
        assert "session_id" in problem["message"]


async def test_a_client_that_connects_for_each_call_is_told_to_pass_the_session(serving: Serving) -> None:
    """As LangChain's `get_tools()` does."""
    async with serving() as server:

        async def call(tool: str, **arguments: object) -> CallToolResult:
            async with server.client("http", "legacy") as client:
                return await client.call_tool(tool, arguments)

        session_id = content(await call("add_evidence", items=[{"content": NOTE}]))["session_id"]
        hint = "If an earlier result names another session_id, pass that one"
        for tool, arguments in (
            ("semantic_search", {"query": "glucose"}),
            ("list_evidence", {}),
            ("get_evidence", {"ids": ["text:1"]}),
            ("export_evidence", {"format": "bibtex"}),
        ):
            assert hint in text(await call(tool, **arguments)), tool
        found = await call("semantic_search", query="glucose", session_id=session_id)
        assert content(found)["total_found"] == 1
        assert hint not in text(found)


async def test_a_search_of_the_web_opens_a_session_too(serving: Serving) -> None:
    async with serving() as server, server.client("http", MODERN) as client:
        result = content(await client.call_tool("web_search", {"query": "metformin"}))
        assert f'session_id="{result["session_id"]}"' in result["next_step"]


async def test_an_authenticated_caller_has_one_default_session_over_modern_http(serving: Serving) -> None:
    async with serving(**TOKENS) as server:
        async with server.client("http", MODERN, ALICE) as one, server.client("http", MODERN, ALICE) as two:
            first, second = await add(one), await add(two, "Aspirin thins the blood")
        async with server.client("http", MODERN, BOB) as other:
            foreign = await add(other)
    assert first["session_id"] == second["session_id"] != foreign["session_id"]
    assert (second["total"], foreign["total"]) == (2, 1)


@pytest.mark.parametrize("mode", ["legacy", MODERN])
@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_a_session_of_one_caller_does_not_exist_for_another(serving: Serving, transport: str, mode: str) -> None:
    async with (
        serving(**TOKENS) as server,
        server.client(transport, mode, ALICE) as alice,
        server.client(transport, mode, BOB) as bob,
    ):
        session_id = (await add(alice, session_id="new"))["session_id"]
        assert (await add(alice, session_id=session_id))["session_id"] == session_id
        arguments = {"query": "glucose", "session_id": session_id}
        foreign = error(await bob.call_tool("semantic_search", arguments))
        unknown = error(await bob.call_tool("semantic_search", {**arguments, "session_id": "rs_" + "0" * 32}))
    assert foreign == unknown
    assert foreign["code"] == "session_not_found"


async def test_the_word_new_opens_a_fresh_session_on_a_connection_that_has_one(serving: Serving) -> None:
    async with serving() as server, server.client("http", "legacy") as client:
        default, fresh = await add(client), await add(client, session_id="new")
        assert fresh["session_id"] != default["session_id"]
        assert f'session_id="{fresh["session_id"]}"' in fresh["next_step"]
        assert (await add(client))["session_id"] == default["session_id"]


async def test_a_forged_connection_header_means_nothing_to_the_modern_protocol(serving: Serving) -> None:
    async with serving() as server, server.client("http", "legacy") as client:
        await add(client)
        async with server.http() as http:
            answer = await http.post(
                "/mcp",
                headers={
                    "accept": "application/json, text/event-stream",
                    "mcp-protocol-version": MODERN,
                    "mcp-method": "tools/call",
                    "mcp-name": "semantic_search",
                    "mcp-session-id": "0" * 32,
                },
                json=modern_call("semantic_search", {"query": "glucose"}),
            )
    assert answer.json()["result"]["structuredContent"]["error"]["code"] == "session_required"


async def test_a_connection_header_nobody_was_given_is_refused(serving: Serving) -> None:
    async with serving() as server, server.http() as http:
        answer = await http.post(
            "/mcp",
            headers={"accept": "application/json, text/event-stream", "mcp-session-id": "0" * 32},
            json={"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}},
        )
    assert answer.status_code == 404


@pytest.mark.parametrize("mode", ["legacy", MODERN])
async def test_on_stdio_the_process_has_one_default_session(tmp_path: Path, mode: str) -> None:
    # With the real model and the real store: what is asked shares no word with what is found.
    environment = {"PATH": "", "HOME": str(tmp_path), "DEEPCRITICAL_CACHE_DIR": str(tmp_path / "cache")}
    command = StdioServerParameters(command=sys.executable, args=["-m", "deepcritical_mcp"], env=environment)
    async with Client(command, mode=mode) as client:
        first = await add(client, "The heart attack was treated with a blood thinner.")
        second = await add(client, "Tomatoes grow best in full sun.")
        found = content(await client.call_tool("semantic_search", {"query": "myocardial infarction therapy"}))
    assert first["session_id"] == second["session_id"] == found["session_id"]
    assert second["total"] == 2
    assert found["evidence"][0]["content"].startswith("The heart attack")
    assert "session_id=" not in first["next_step"]


def modern_call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


async def test_an_idle_connection_does_not_keep_its_last_call_in_memory(serving: Serving) -> None:
    """Each connection kept it until its next message: 20 calls of 2 MB held 200 MB for half an hour."""

    def message(method: str, params: dict[str, Any]) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}

    def kept() -> int:
        gc.collect()
        return sum(type(one) is dict and "remembered" in one for one in gc.get_objects())  # pyright: ignore[reportUnknownArgumentType]

    greeting = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}
    async with serving() as server, server.http(headers={"accept": "application/json, text/event-stream"}) as http:
        opened = await http.post("/mcp", json=message("initialize", greeting))
        http.headers["mcp-session-id"] = opened.headers["mcp-session-id"]
        call = {"name": "add_evidence", "arguments": {"items": [{"remembered": [number]} for number in range(101)]}}
        assert "at most 100 items" in (await http.post("/mcp", json=message("tools/call", call))).text
        assert kept() == 101, "only the test's own"


async def test_without_authentication_a_title_finds_no_session_and_only_the_connections_own_is_listed(
    serving: Serving,
) -> None:
    async with (
        serving() as server,
        server.client("http", "legacy") as one,
        server.client("http", "legacy") as two,
    ):
        await add(one, session_id="new: secret plans")
        own = await add(two)
        refused = error(await two.call_tool("list_evidence", {"session_id": "secret plans"}))
        listed = content(await two.call_tool("list_sessions", {}))
    assert refused["code"] == "session_not_found"
    assert "found by its id only" in refused["message"]
    assert [item["session_id"] for item in listed["sessions"]] == [own["session_id"]]
    assert (listed["total"], "does not ask who calls" in listed["warnings"][-1]) == (1, True)


async def test_a_list_that_can_hold_no_session_does_not_say_that_there_is_none(serving: Serving) -> None:
    async with serving() as server, server.client("http", MODERN) as client:
        await add(client)
        listed = content(await client.call_tool("list_sessions", {}))
    assert listed["sessions"] == []
    assert listed["next_step"] == "A search opens one; to continue it, pass the session_id that its result shows."


async def test_an_authenticated_caller_finds_and_lists_only_sessions_of_its_own(serving: Serving) -> None:
    async with (
        serving(**TOKENS) as server,
        server.client("http", MODERN, ALICE) as alice,
        server.client("http", MODERN, BOB) as bob,
    ):
        opened = await add(alice, session_id="new: zinc")
        found = content(await alice.call_tool("list_evidence", {"session_id": "ZINC"}))
        refused = error(await bob.call_tool("list_evidence", {"session_id": "zinc"}))
        listed = content(await bob.call_tool("list_sessions", {}))
    assert found["session_id"] == opened["session_id"]
    assert (refused["code"], opened["session_id"] in refused["message"]) == ("session_not_found", False)
    assert listed["sessions"] == []
