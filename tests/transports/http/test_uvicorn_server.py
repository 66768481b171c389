"""Limits for connections that send nothing, or too little."""

from __future__ import annotations

import anyio

from tests.transports.conftest import Serving


async def test_a_connection_that_sends_nothing_is_closed(serving: Serving) -> None:
    async with serving(request_timeout=0.2) as server:
        assert await server.raw() == b""


async def test_a_head_that_never_ends_is_given_up(serving: Serving) -> None:
    async with serving(request_timeout=0.2) as server:
        assert await server.raw(b"GET /health HTTP/1.1\r\nhost: localhost\r\nx-a: ", b"b") == b""


async def test_half_a_second_request_does_not_keep_a_connection(serving: Serving) -> None:
    async with serving(request_timeout=0.2, keep_alive=0.1) as server:
        answer = await server.raw(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\nGET /hea")
    assert answer.count(b"HTTP/1.1") == 1


async def test_many_idle_connections_lock_nobody_out(serving: Serving) -> None:
    async with serving(max_connections=20) as server:
        port = int(server.url.rsplit(":", 1)[1])
        idle = [await anyio.connect_tcp("127.0.0.1", port) for _ in range(200)]
        try:
            async with server.http() as http:
                assert (await http.get("/health")).status_code == 200
            assert len(server.uvicorn.server_state.connections) <= 20
        finally:
            for one in idle:
                await one.aclose()


async def test_when_all_connections_are_at_work_a_further_one_is_told_to_come_back(serving: Serving) -> None:
    async with serving(max_connections=1) as server:
        port = int(server.url.rsplit(":", 1)[1])
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            await stream.send(b"GET /sse HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert (await stream.receive()).startswith(b"HTTP/1.1 200")
            answer = await server.raw(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 503")
    assert b"retry-after: 5" in answer
