"""Which session a call belongs to, on each transport, in both protocol eras, with authentication and without."""

import gc
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, ResourceLink, TextResourceContents

from deepcritical_mcp.tools.own_library import NO_PATHS
from tests.transports.conftest import Serving, content, error, text
from tests.transports.processes import greeting, serving_process
from tests.wire import wire

MODERN = "2026-07-28"
REQUIRED = "session_required"
TOKENS = {"auth_tokens": "alice:alice-token-0123456789,bob:bob-token-0123456789"}
ALICE, BOB = "alice-token-0123456789", "bob-token-0123456789"
NOTE = "Metformin lowers hepatic glucose production"
READING: dict[str, dict[str, object]] = {
    "semantic_search": {"query": "glucose"},
    "list_evidence": {},
    "get_evidence": {"ids": ["text:1"]},
    "export_evidence": {"format": "bibtex"},
}
BEYOND = pytest.mark.parametrize(
    "beyond",
    [
        *({"public_url": "https://mcp.example.org"}, {"allowed_hosts": "mcp.example.org"}, {"allowed_hosts": "*"}),
        *({"cors_origins": "https://app.example.org"}, {"trusted_proxies": "127.0.0.1"}),
    ],
    ids=str,
)
"""Settings of a server that listens on loopback, from where a proxy opens it to others."""


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


@BEYOND
async def test_a_modern_call_of_an_open_server_beyond_loopback_opens_a_session_and_says_how_to_go_on(
    serving: Serving, beyond: dict[str, str]
) -> None:
    async with serving(**beyond) as server, server.client("http", MODERN) as client:
        result = await client.call_tool("add_evidence", {"items": [{"content": NOTE}]})
        session_id = content(result)["session_id"]
        assert f'session_id="{session_id}"' in content(result)["next_step"]
        assert f'session_id="{session_id}"' in text(result)
        assert (await add(client))["session_id"] != session_id
        continued = await add(client, "Aspirin thins the blood", session_id=session_id)
        assert (continued["session_id"], continued["total"]) == (session_id, 2)


async def test_a_client_that_connects_for_each_call_is_told_of_the_session_before(serving: Serving) -> None:
    """As LangChain's `get_tools()` does."""
    async with serving() as server:

        async def call(tool: str, **arguments: object) -> CallToolResult:
            async with server.client("http", "legacy") as client:
                return await client.call_tool(tool, arguments)

        session_id = content(await call("add_evidence", items=[{"content": NOTE}]))["session_id"]
        for tool, arguments in READING.items():
            told = text(await call(tool, **arguments))
            assert "This session is new and empty." in told, tool
            assert f'To continue the first of these, pass session_id="{session_id}"' in told, tool
        searched = await call("web_search", query="metformin")
        assert "This session is new. Kept before" in text(searched)
        assert f'pass session_id="{session_id}"' in text(searched)
        found = await call("semantic_search", query="glucose", session_id=session_id)
        assert content(found)["total_found"] == 1
        assert "This session is new" not in text(found)


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
        session_id = (await add(alice, session_id="new: zinc"))["session_id"]
        for name in (session_id, "ZINC"):
            assert (await add(alice, session_id=name))["session_id"] == session_id
        arguments = {"query": "glucose", "session_id": session_id}
        foreign = error(await bob.call_tool("semantic_search", arguments))
        unknown = error(await bob.call_tool("semantic_search", {**arguments, "session_id": "rs_" + "0" * 32}))
        titled = error(await bob.call_tool("list_evidence", {"session_id": "zinc"}))
        listed = content(await bob.call_tool("list_sessions", {}))
    assert foreign == unknown
    assert foreign["code"] == titled["code"] == "session_not_found"
    assert session_id not in titled["message"]
    assert listed["sessions"] == []


@pytest.mark.parametrize("token", ["", ALICE], ids=["open", "authenticated"])
@pytest.mark.parametrize(
    ("transport", "mode"), [("http", "legacy"), ("http", MODERN), ("sse", "legacy"), ("sse", MODERN)]
)
async def test_the_session_that_a_call_names_is_the_one_that_the_next_call_continues(
    serving: Serving, transport: str, mode: str, token: str
) -> None:
    async with serving(**(TOKENS if token else {})) as server, server.client(transport, mode, token) as client:
        default = await add(client)
        fresh = await add(client, session_id="new")
        titled = await add(client, session_id="new: zinc")
        assert len({default["session_id"], fresh["session_id"], titled["session_id"]}) == 3
        assert (await add(client))["session_id"] == titled["session_id"]
        assert (await add(client, session_id=fresh["session_id"]))["session_id"] == fresh["session_id"]
        assert (await add(client))["session_id"] == fresh["session_id"]
        for one in (default, fresh, titled):
            assert "Calls without session_id" not in one["next_step"]
            assert "to continue in this session" not in one["next_step"]


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


async def test_an_idle_connection_does_not_keep_its_last_call_in_memory(serving: Serving) -> None:
    """Each connection kept it until its next message: 20 calls of 2 MB held 200 MB for half an hour."""

    def message(method: str, params: dict[str, Any]) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}

    def kept() -> int:
        gc.collect()
        return sum(type(one) is dict and "remembered" in one for one in gc.get_objects())  # pyright: ignore[reportUnknownArgumentType]

    async with serving() as server, server.http(headers={"accept": "application/json, text/event-stream"}) as http:
        opened = await http.post("/mcp", json=greeting())
        http.headers["mcp-session-id"] = opened.headers["mcp-session-id"]
        call = {"name": "add_evidence", "arguments": {"items": [{"remembered": [number]} for number in range(101)]}}
        assert "at most 100 items" in (await http.post("/mcp", json=message("tools/call", call))).text
        assert kept() == 101, "only the test's own"


@BEYOND
async def test_an_open_server_beyond_loopback_names_no_session_but_the_connections_own(
    serving: Serving, beyond: dict[str, str]
) -> None:
    async with (
        serving(**beyond) as server,
        server.client("http", "legacy") as one,
        server.client("http", "legacy") as two,
    ):
        secret = await add(one, session_id="new: secret plans")
        for tool, arguments in READING.items():
            told = (await two.call_tool(tool, arguments)).model_dump_json()
            assert "This session is new and empty. If an earlier result names another session_id, pass that" in told
            assert "secret" not in told, tool
            assert secret["session_id"] not in told, tool
        own = await add(two)
        refused = error(await two.call_tool("list_evidence", {"session_id": "secret plans"}))
        listed = content(await two.call_tool("list_sessions", {}))
    assert refused["code"] == "session_not_found"
    assert "found by its id only" in refused["message"]
    assert [item["session_id"] for item in listed["sessions"]] == [own["session_id"]]
    assert (listed["total"], "does not ask who calls" in listed["warnings"][-1]) == (1, True)


PROXIED = ["x-forwarded-for", "forwarded", "via", "cf-connecting-ip", "x-real-ip"]


@pytest.mark.parametrize("header", PROXIED)
async def test_who_comes_through_a_proxy_is_not_this_machines_user(serving: Serving, header: str) -> None:
    """Nor are the sessions that it opens the user's, who could be led by a title into one whose id it knows."""
    async with (
        serving() as server,
        server.client("http", MODERN) as user,
        server.client("http", MODERN, headers={header: "192.0.2.1", "mcp-session-id": "0" * 32}) as stranger,
    ):

        async def answer(tool: str, **arguments: Any) -> dict[str, Any]:
            answered = await stranger.call_tool(tool, arguments)
            assert "secret plans" not in answered.model_dump_json()
            return wire(answered)

        await add(user, session_id="new: secret plans")
        for tool in ("semantic_search", "list_evidence"):
            arguments = {"query": "glucose"} if tool == "semantic_search" else {}
            assert (await answer(tool, **arguments))["error"]["code"] == REQUIRED
        await answer("list_sessions")
        items = [{"content": "Zinc heals"}]
        bait = (await answer("add_evidence", items=items, session_id="new: zinc"))["session_id"]
        named = await user.call_tool("add_evidence", {"items": items, "session_id": "zinc"})
        assert error(named)["code"] == "session_not_found"
        assert (await add(user, session_id="new: zinc"))["session_id"] != bait
        assert bait not in (await user.call_tool("list_sessions", {})).model_dump_json()
        assert (await answer("list_evidence", session_id=bait))["total"] == 1


async def test_on_loopback_all_clients_of_the_modern_protocol_share_one_default_session(serving: Serving) -> None:
    async with serving() as server, server.client("http", MODERN) as one, server.client("http", MODERN) as two:
        first, second = await add(one), await add(two, "Aspirin thins the blood")
        assert first["session_id"] == second["session_id"]
        found = content(await one.call_tool("semantic_search", {"query": "aspirin"}))
        assert (found["session_id"], found["total_found"]) == (first["session_id"], 2)
        opened = await add(one, session_id="new: zinc")
        assert (await add(two, "Zinc heals"))["session_id"] == opened["session_id"]
        assert (await add(two, session_id=first["session_id"]))["session_id"] == first["session_id"]
        again = content(await one.call_tool("list_evidence", {"session_id": "Zinc"}))
        assert (again["session_id"], again["total"]) == (opened["session_id"], 2)
        listed = content(await two.call_tool("list_sessions", {}))
    assert {one["session_id"] for one in listed["sessions"]} == {first["session_id"], opened["session_id"]}
    assert listed["session_id"] == opened["session_id"]


async def test_on_loopback_a_title_finds_its_session_over_every_transport(serving: Serving) -> None:
    async with serving() as server:
        async with server.client("http", MODERN) as client:
            opened = await add(client, session_id="new: long covid")
        for transport, mode in (("http", MODERN), ("http", "legacy"), ("sse", MODERN), ("sse", "legacy")):
            async with server.client(transport, mode) as client:
                found = content(await client.call_tool("list_evidence", {"session_id": "long cov"}))
                assert found["session_id"] == opened["session_id"]
                assert (await add(client))["session_id"] == opened["session_id"], (transport, mode)


@pytest.mark.parametrize(("options", "names", "code"), [((), "title or id", ""), (("--insecure",), "id", REQUIRED)])
def test_a_process_on_loopback_tells_its_clients_how_to_name_sessions(
    tmp_path: Path, options: tuple[str, ...], names: str, code: str
) -> None:
    async def told(url: str) -> tuple[str, str]:
        async with Client(f"{url}/mcp") as client:
            answer: dict[str, Any] = wire(await client.call_tool("list_evidence", {}))
            return client.instructions or "", answer.get("error", {}).get("code", "")

    with serving_process(tmp_path, *options) as (_, url):
        instructions, refused = anyio.run(told, url)
    assert f"its {names} finds it again" in instructions
    assert refused == code


async def test_a_saved_export_is_a_resource_that_only_its_owner_reads(serving: Serving) -> None:
    async with (
        serving(**TOKENS) as server,
        server.client("http", MODERN, ALICE) as alice,
        server.client("http", MODERN, BOB) as bob,
    ):
        await alice.call_tool("add_evidence", {"items": [{"content": NOTE}]})
        result = await alice.call_tool("export_evidence", {"format": "jsonl", "save": True})
        saved = content(result)
        link = result.content[1]
        assert isinstance(link, ResourceLink)
        assert (str(link.uri), link.mime_type) == (saved["file"], "application/x-ndjson")
        [read] = (await alice.read_resource(saved["file"])).contents
        assert isinstance(read, TextResourceContents)
        assert NOTE in read.text
        assert read.mime_type == link.mime_type
        assert len(read.text.encode()) == saved["bytes"]
        with pytest.raises(MCPError):
            await bob.read_resource(saved["file"])


@pytest.mark.parametrize(("transport", "mode"), [("http", "legacy"), ("http", MODERN), ("sse", "legacy")])
async def test_no_path_is_read_over_http_but_the_text_of_a_file_is(
    serving: Serving, transport: str, mode: str, tmp_path: Path
) -> None:
    library = "TY  - JOUR\nTI  - Zinc heals venous ulcers of the legs of elderly people\nAU  - Berg, J\nER  -\n"
    (tmp_path / "a.ris").write_text(library)
    async with serving(import_dirs=(tmp_path,)) as server, server.client(transport, mode) as client:
        session = content(await client.call_tool("add_evidence", {"items": [{"content": NOTE}]}))["session_id"]
        paths = [{"file": one} for one in (str(tmp_path / "a.ris"), "a.ris", str(tmp_path), "zotero", "zotero:Gout")]
        items = [*paths, {"file": "a.ris", "content": library}]
        answer = content(await client.call_tool("add_evidence", {"items": items, "session_id": session}))
        back = await client.call_tool("export_evidence", {"format": "zotero", "session_id": session})
    assert {one["reason"] for one in answer["rejected"]} == {NO_PATHS}
    assert [one["index"] for one in answer["rejected"]] == [0, 1, 2, 3, 4]
    assert [(one["file"], one["new"]) for one in answer["files"]] == [("a.ris", 1)]
    assert back.is_error
