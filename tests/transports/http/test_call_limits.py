"""Limits per caller, and for the bodies of requests."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest
from mcp_types import CallToolResult

from deepcritical_mcp.transports.http import application
from tests.transports.conftest import RunningServer, Serving, content, error, text
from tests.transports.odd_messages import ODD_MESSAGES
from tests.transports.processes import client_of, greeting, serving_process

TOKENS = "alice:alice-token-0123456789,bob:bob-token-0123456789"
ALICE, BOB = "alice-token-0123456789", "bob-token-0123456789"
NOTE = {"items": [{"content": "a note"}]}


@pytest.mark.parametrize(("transport", "mode"), [("http", "legacy"), ("http", "2026-07-28"), ("sse", "legacy")])
async def test_a_call_too_many_is_an_error_that_says_how_long_to_wait(
    serving: Serving, transport: str, mode: str
) -> None:
    async with serving(auth_tokens=TOKENS, calls_per_minute=3) as server:
        async with server.client(transport, mode, ALICE) as client:
            for _ in range(3):
                content(await client.call_tool("add_evidence", NOTE))
            refused = await client.call_tool("add_evidence", NOTE)
        async with server.client(transport, mode, BOB) as other:
            content(await other.call_tool("add_evidence", NOTE))
    problem = error(refused)
    assert problem["code"] == "too_many_calls"
    assert problem["retryable"] is True
    assert 0 < problem["retry_after"] <= 20
    assert "Call again in" in text(refused)


async def test_calls_at_once_are_bounded_and_a_finished_one_makes_room(serving: Serving) -> None:
    async with (
        serving(auth_tokens=TOKENS, concurrent_calls=1) as server,
        server.client("http", "legacy", ALICE) as client,
        anyio.create_task_group() as tasks,
    ):
        server.web.gate = anyio.Event()
        tasks.start_soon(client.call_tool, "web_search", {"query": "metformin"})
        await server.web.waiting.wait()
        problem = error(await client.call_tool("add_evidence", NOTE))
        assert problem["code"] == "too_many_calls"
        assert problem["retry_after"] > 0
        server.web.gate.set()
        server.web.gate = None
        while error_code(await client.call_tool("add_evidence", NOTE)) == "too_many_calls":
            await anyio.lowlevel.checkpoint()


async def test_memory_is_released_while_calls_run_without_a_collection_that_would_delay_them(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    released: list[bool] = []
    monkeypatch.setattr(application, "_release_memory", released.append)
    async with serving(session_ttl=0.2) as server, server.client() as client, anyio.create_task_group() as tasks:
        server.web.gate = anyio.Event()
        tasks.start_soon(client.call_tool, "web_search", {"query": "metformin"})
        await server.web.waiting.wait()
        released.clear()
        with anyio.move_on_after(30):
            while len(released) < 2:  # noqa: ASYNC110
                await anyio.sleep(0.05)
        server.web.gate.set()
    assert released[1:2] == [False]


async def test_programs_of_this_machine_have_turns_and_are_not_limited_unless_the_setting_says_so(
    serving: Serving,
) -> None:
    for limit_local, last in ((False, ""), (True, "too_many_calls")):
        async with serving(calls_per_minute=1, limit_local=limit_local) as server:
            for _ in range(2):
                async with server.client(mode="legacy") as client:
                    content(await client.call_tool("web_search", {"query": "metformin"}))
                    assert error_code(await client.call_tool("web_search", {"query": "metformin"})) == last
                    if limit_local:
                        break
        if not limit_local:
            first, again, second, then = server.web.turns
            assert first == again != second == then


async def test_a_flood_of_requests_gets_429_and_a_time_to_come_back(serving: Serving) -> None:
    headers = {"authorization": f"Bearer {ALICE}"}
    async with serving(auth_tokens=TOKENS, calls_per_minute=1) as server, server.http(headers=headers) as http:
        answers = [await http.get("/metrics") for _ in range(12)]
    assert [answer.status_code for answer in answers] == [200] * 10 + [429] * 2
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 6


async def test_a_caller_that_opens_many_sessions_loses_its_own_oldest_and_nobody_elses(serving: Serving) -> None:
    settings = {"auth_tokens": TOKENS, "max_sessions_per_caller": 2}
    async with serving(**settings) as server, server.client(token=ALICE) as alice, server.client(token=BOB) as bob:
        kept = content(await bob.call_tool("add_evidence", NOTE))["session_id"]
        opened = [
            content(await alice.call_tool("add_evidence", {**NOTE, "session_id": "new"}))["session_id"]
            for _ in range(4)
        ]
        question = {"query": "note"}
        for session_id in opened[:2]:
            gone = await alice.call_tool("semantic_search", {**question, "session_id": session_id})
            assert error(gone)["code"] == "session_not_found"
        for session_id in opened[2:]:
            content(await alice.call_tool("semantic_search", {**question, "session_id": session_id}))
        content(await bob.call_tool("semantic_search", {**question, "session_id": kept}))


async def test_a_caller_whose_sessions_are_full_together_opens_no_further_one(serving: Serving) -> None:
    settings = {"auth_tokens": TOKENS, "max_evidence_per_caller": 2}
    async with serving(**settings) as server, server.client(token=ALICE) as client:
        notes = {"items": [{"content": f"note number {number}"} for number in range(2)]}
        content(await client.call_tool("add_evidence", notes))
        assert error(await client.call_tool("add_evidence", {**NOTE, "session_id": "new"}))["code"] == "session_full"


async def test_the_serve_command_limits_and_counts_calls(tmp_path: Path) -> None:
    limits = {"DEEPCRITICAL_CALLS_PER_MINUTE": "1", "DEEPCRITICAL_LIMIT_LOCAL": "true"}
    with serving_process(tmp_path, **limits) as (_, url):
        async with client_of(url, mode="legacy") as client:
            content(await client.call_tool("list_evidence", {}))
            assert error_code(await client.call_tool("list_evidence", {})) == "too_many_calls"
        async with httpx.AsyncClient(timeout=60, trust_env=False) as http:
            metrics = (await http.get(f"{url}/metrics")).text
    assert 'deepcritical_calls_total{outcome="too_many_calls",tool="list_evidence"} 1.0' in metrics


def error_code(result: CallToolResult) -> str:
    return error(result)["code"] if result.is_error else ""


@pytest.mark.parametrize(("transport", "mode"), [("http", "legacy"), ("http", "2026-07-28"), ("sse", "legacy")])
async def test_what_a_client_asked_for_stops_when_it_cancels_or_leaves(
    serving: Serving, transport: str, mode: str
) -> None:
    async def search() -> None:
        async with server.client(transport, mode) as client:
            await client.call_tool("web_search", {"query": "metformin"})

    async with serving() as server:
        server.web.gate = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(search)
            await server.web.waiting.wait()
            tasks.cancel_scope.cancel()
        with anyio.fail_after(10):
            await server.web.cancelled.wait()


HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


async def post(server: RunningServer, body: bytes) -> tuple[int, dict[str, Any]]:
    async with server.http() as http:
        answer = await http.post("/mcp", headers=HEADERS, content=body)
    return answer.status_code, answer.json()


async def refused(server: RunningServer, body: bytes) -> tuple[int, str]:
    status, answer = await post(server, body)
    return status, answer["error"]["code"]


async def test_a_body_over_the_limit_is_refused_declared_or_not(serving: Serving) -> None:
    async def chunks() -> AsyncGenerator[bytes]:
        for _ in range(3):
            yield b" " * 1_000

    async with serving(max_body=2_000) as server:
        assert await refused(server, b" " * 3_000) == (413, "too_large")
        async with server.http() as http:
            assert (await http.post("/mcp", headers=HEADERS, content=chunks())).status_code == 413
            answer = await http.post("/messages/?session_id=0", headers=HEADERS, content=b" " * 3_000)
            assert answer.status_code == 413


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
async def test_every_message_that_has_an_id_gets_an_answer(serving: Serving, version: str) -> None:
    async with serving() as server, server.http() as http:
        headers = {**HEADERS, "mcp-protocol-version": version}
        if version != "2026-07-28":
            greeted = await http.post("/mcp", headers=HEADERS, json=greeting(version))
            headers["mcp-session-id"] = greeted.headers["mcp-session-id"]
        for case, (sent, number) in ODD_MESSAGES.items():
            answer = await http.post("/mcp", headers=headers, content=sent)
            if answer.status_code == 413:
                assert case.startswith("too ")
                continue
            told = (
                answer.text.rpartition("data: ")[2] if "event-stream" in answer.headers["content-type"] else answer.text
            )
            assert json.loads(told)["id"] == number, case
        batch = [{"jsonrpc": "2.0", "id": one, "method": "ping"} for one in (7, "eight")]
        answer = await http.post("/mcp", headers=headers, json=batch)
        assert [one["id"] for one in answer.json()] == [7, "eight"]
        assert all("send each by itself" in one["error"]["message"] for one in answer.json())


async def test_countless_or_deep_values_are_refused_but_not_a_text_of_countless_commas(serving: Serving) -> None:
    async with serving() as server:
        assert await refused(server, b"[" + b"[]," * 300_000 + b"[]]") == (413, "too_many_values")
        _, answer = await post(server, json.dumps({"text": '1,2,[{"\\' * 300_000}).encode())
        assert "too_many_values" not in str(answer)
        # An unfinished text of escaped quotes, and JSON that is nested too deeply to be read.
        for body in (b'["' + b'\\"' * 2_000_000, b"[" * 300 + b"]" * 300, b"[" * 100_000, b'{"a":' * 100_000):
            status, answer = await post(server, body)
            assert (status, answer["id"]) == (400, None)


async def test_a_body_that_never_ends_is_given_up(serving: Serving) -> None:
    async with serving(request_timeout=0.2) as server:
        answer = await server.raw(
            b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n",
            b'{"jsonrpc"',
        )
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"retry-after: 1" in answer
