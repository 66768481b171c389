"""Limits for connections that send nothing, send too little, do not read, or are too many."""

import socket
from contextlib import ExitStack

import anyio
import anyio.to_thread
import uvicorn
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from deepcritical_mcp.transports.http.uvicorn_server import BoundedProtocol, listen
from tests.transports.conftest import Serving


async def test_a_connection_that_sends_nothing_or_a_head_without_an_end_is_closed(serving: Serving) -> None:
    async with serving(request_timeout=0.2) as server:
        assert await server.raw() == b""
        assert await server.raw(b"GET /health HTTP/1.1\r\nhost: localhost\r\nx-a: ", b"b") == b""


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


HEALTH = b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n"


def never_reading(url: str, count: int) -> ExitStack:
    """Connections that pipeline requests until nothing more fits, and read no answer."""
    address = ("127.0.0.1", int(url.rsplit(":", 1)[1]))
    with ExitStack() as stack:
        for _ in range(count):
            one = stack.enter_context(socket.socket())
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            one.settimeout(0.2)
            one.connect(address)
            one.setblocking(False)
            try:
                while True:
                    one.send(HEALTH * 1_000)
            except OSError:
                pass  # full, or closed by the server
        return stack.pop_all()


async def test_connections_that_never_read_shut_nobody_out(serving: Serving) -> None:
    async with serving(max_connections=20) as server, server.http() as http:
        with await anyio.to_thread.run_sync(never_reading, server.url, 50):
            assert len(server.uvicorn.server_state.connections) <= 20
            for _ in range(3):
                assert (await http.get("/health", headers={"connection": "close"})).status_code == 200


async def test_a_response_that_is_not_read_ends_its_connection_and_one_read_slowly_arrives() -> None:
    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        await Response(bytes(20_000_000))(scope, receive, send)

    protocol = type("ImpatientProtocol", (BoundedProtocol,), {"request_timeout": 1.0})
    config = uvicorn.Config(application, http=protocol, log_config=None, lifespan="off")
    server, listener = uvicorn.Server(config), listen("127.0.0.1", 0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.serve, [listener])
        silent = [await anyio.connect_tcp(*listener.getsockname()) for _ in range(5)]
        slow = await anyio.connect_tcp(*listener.getsockname())
        for one in (*silent, slow):
            await one.send(HEALTH)
        received = 0
        for _ in range(150):
            received += len(await slow.receive(100_000))
            await anyio.sleep(0.01)
        with anyio.fail_after(20):
            while len(server.server_state.connections) > 1:  # noqa: ASYNC110  # uvicorn has no event for it
                await anyio.sleep(0.05)
            while received < 20_000_000:
                received += len(await slow.receive(100_000))
        for one in (*silent, slow):
            await one.aclose()
        server.should_exit = True


async def test_one_address_cannot_take_all_connections_and_is_told_to_come_back(serving: Serving) -> None:
    async with serving(max_connections=4) as server:
        port = int(server.url.rsplit(":", 1)[1])
        at_work = [await anyio.connect_tcp("127.0.0.1", port) for _ in range(2)]
        for one in at_work:
            await one.send(b"GET /sse HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert (await one.receive()).startswith(b"HTTP/1.1 200")
        answer = await server.raw(HEALTH)
        assert answer.startswith(b"HTTP/1.1 503")
        assert b"retry-after: 5" in answer
        async with await anyio.connect_tcp("127.0.0.1", port, local_host="127.0.0.2") as elsewhere:
            await elsewhere.send(HEALTH)
            assert (await elsewhere.receive()).startswith(b"HTTP/1.1 200")
        for one in at_work:
            await one.aclose()
