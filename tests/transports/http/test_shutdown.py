"""Shutdown: running calls may finish, the rest get a clear error, streams close, the process exits."""

import contextlib
import re
import signal
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from mcp.client.client import Client
from mcp_types import CallToolResult

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import ConfigurationError
from deepcritical_mcp.server import create_server
from deepcritical_mcp.transports.http.calls import CallControl
from deepcritical_mcp.transports.http.uvicorn_server import run_http
from tests.transports.conftest import Serving, content, error
from tests.transports.processes import HANGING_CALL, greeting, hanging_source, hung_disk, serving_process, wait_for


@pytest.mark.parametrize("is_in_time", [True, False])
@pytest.mark.parametrize(("transport", "mode"), [("http", "legacy"), ("http", "2026-07-28"), ("sse", "legacy")])
async def test_a_server_that_ends_answers_the_call_that_runs_or_tells_it_that_it_is_cut_off(
    serving: Serving, transport: str, mode: str, is_in_time: bool
) -> None:
    results: list[CallToolResult] = []

    async def search(client: Client) -> None:
        results.append(await client.call_tool("web_search", {"query": "metformin"}))

    async with serving() as server, server.client(transport, mode) as client, anyio.create_task_group() as tasks:
        await client.list_tools()  # otherwise the client asks for the tool's schema when it has the result
        server.web.gate = anyio.Event()
        tasks.start_soon(search, client)
        await server.web.waiting.wait()
        server.uvicorn.handle_exit(signal.SIGTERM, None)
        if is_in_time:
            async with server.http() as http:
                while (await http.get("/ready")).status_code != 503:
                    await anyio.lowlevel.checkpoint()
            server.web.gate.set()
        else:
            server.uvicorn.handle_exit(signal.SIGTERM, None)
    (result,) = results
    assert content(result)["query"] == "metformin" if is_in_time else error(result)["code"] == "shutting_down"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_process_cleanly_with_streams_open(tmp_path: Path, number: signal.Signals) -> None:
    """On every interface, as it was told to listen, where it still checks host and origin."""
    with serving_process(tmp_path, "--host", "0.0.0.0", "--insecure") as (one, url):
        with client_of(url) as http, http.stream("GET", "/sse") as stream:
            assert http.get("/health").status_code == 200
            assert http.get("/health", headers={"host": "evil.example"}).status_code == 421
            assert http.get("/health", headers={"origin": "http://evil.example"}).status_code == 403
            lines = stream.iter_lines()
            assert next(lines) == "event: endpoint"
            one.send_signal(number)
            for _ in lines:
                pass  # to the end, which is a clean one
        assert one.wait(20) == 0


def test_a_call_that_hangs_does_not_keep_the_process(tmp_path: Path) -> None:
    def search() -> None:
        answers.append(http.post("/mcp", json=call(HANGING_CALL)).text)

    answers: list[str] = []
    with (
        hanging_source() as (source, asked),
        serving_process(tmp_path, DEEPCRITICAL_NCBI_BASE_URL=source) as (one, url),
        greeted_client_of(url) as http,
    ):
        caller = threading.Thread(target=search)
        caller.start()
        assert asked.wait(20)
        one.send_signal(signal.SIGTERM)
        assert one.wait(6) == 0  # 2 seconds at most on an idle machine
        caller.join(20)
    assert "shutting_down" in answers[0]


def test_a_blocked_thread_does_not_keep_the_process(tmp_path: Path) -> None:
    def clear() -> None:
        with contextlib.suppress(httpx.TransportError):  # the process ends
            http.post("/mcp", json=call({"name": "clear_session", "arguments": {"session_id": session}}))

    environment, hangs = hung_disk(tmp_path)
    with serving_process(tmp_path, **environment) as (one, url), greeted_client_of(url) as http:
        adding = {"items": [{"content": "Zinc heals warts."}], "session_id": "new"}
        kept = http.post("/mcp", json=call({"name": "add_evidence", "arguments": adding}))
        session = re.findall("rs_[0-9a-f]{32}", kept.text)[0]
        caller = threading.Thread(target=clear)
        caller.start()
        wait_for(hangs.exists, one, tmp_path / "server.log")
        one.send_signal(signal.SIGTERM)
        assert one.wait(20) == 0  # 2 seconds on an idle machine
        caller.join(20)


def call(parameters: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": parameters}


@contextmanager
def greeted_client_of(url: str) -> Generator[httpx.Client]:
    with client_of(url) as client:
        client.headers["accept"] = "application/json, text/event-stream"
        client.timeout = httpx.Timeout(60)
        client.headers["mcp-session-id"] = client.post("/mcp", json=greeting()).headers["mcp-session-id"]
        yield client


def client_of(url: str) -> httpx.Client:
    return httpx.Client(base_url=url, trust_env=False, transport=httpx.HTTPTransport(retries=20))


def refusal_to_start(host: str, port: int, **settings: Any) -> str:
    server = create_server(Settings(**settings))
    with pytest.raises(ConfigurationError) as caught:
        run_http(server, server.app, CallControl(server.app.settings), "http", host=host, port=port, insecure=False)
    return caught.value.message


def test_a_port_in_use_is_named_in_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"cannot listen on 127.0.0.1 port {port}" in refusal_to_start("127.0.0.1", port)


def test_it_lets_nobody_else_in_without_being_told_who_may() -> None:
    for host in ("0.0.0.0", "::", ""):
        told = refusal_to_start(host, 0)
        assert "DEEPCRITICAL_AUTH_TOKENS" in told
        assert "--insecure" in told
    told = refusal_to_start("0.0.0.0", 0, oauth_issuer="https://login.example.org")
    assert "DEEPCRITICAL_PUBLIC_URL" in told  # which tokens name
