"""Limits for request bodies: size, depth, number of values, time to arrive."""

import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from tests.transports.conftest import RunningServer, Serving
from tests.transports.odd_messages import ODD_MESSAGES
from tests.transports.processes import greeting

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
