"""Many concurrent sessions on loopback, and many abandoned ones.

    python bench/load.py [--sessions 100] [--rounds 5] [--left 5000] [--minutes 0]

Part one: `--sessions` clients of the SDK, half of protocol 2025-11-25 and half of 2026-07-28, each search the web (a
stand-in plays Brave), search their session by meaning and add a note, `--rounds` times (or for `--minutes`). A session
must see only its own evidence. Part two: `--left` connections are opened, add one note each and are
abandoned; then their sessions expire. The server is a separate process with default settings, except for the
provider's pace and the times to live.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx
import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

RESULTS = 5
TIME_TO_LIVE = 30
AT_ONCE = 20
HEADERS = {"accept": "application/json, text/event-stream"}
GREETING = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "load", "version": "0"},
}


@dataclass
class Tally:
    """What happened."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: list[str] = field(default_factory=list)
    foreign: int = 0

    def report(self, elapsed: float) -> None:
        every = [one for some in self.seconds.values() for one in some]
        print(f"{len(every)} calls in {elapsed:.1f} s: {len(every) / elapsed:.1f} calls/s")
        for name, some in [*self.seconds.items(), ("all", every)]:
            cuts = statistics.quantiles(some, n=100, method="inclusive")
            print(f"  {name:16} p50 {cuts[49] * 1000:6.0f} ms   p99 {cuts[98] * 1000:6.0f} ms   {len(some)} calls")
        print(f"  errors: {len(self.errors)} {self.errors[:3] or ''}")
        print(f"  evidence of other sessions seen: {self.foreign}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--left", type=int, default=5_000)
    options = parser.parse_args()
    anyio.run(measure, options)


async def measure(options: argparse.Namespace) -> None:
    async with provider() as provider_url:
        with tempfile.TemporaryDirectory() as folder, server(Path(folder), provider_url) as (process, url):
            await until_ready(url)
            print(f"memory after warming up: {memory(process):.0f} MB")
            tally = Tally()
            begun = time.perf_counter()
            until = begun + options.minutes * 60 if options.minutes else 0
            async with anyio.create_task_group() as tasks:
                for number in range(options.sessions):
                    tasks.start_soon(session, url, number, options.rounds, until, tally)
            tally.report(time.perf_counter() - begun)
            print(f"memory after {options.sessions} sessions: {memory(process):.0f} MB")
            if options.left:
                await leave_behind(url, options.left, process)
            process.send_signal(signal.SIGTERM)
            print(f"exit code {process.wait(20)}")


async def session(url: str, number: int, rounds: int, until: float, tally: Tally) -> None:
    """One client's work."""
    mode = "legacy" if number % 2 else "2026-07-28"
    name = f"session{number:05d}"
    own: dict[str, str] = {"session_id": "new"}
    timeout = httpx2.Timeout(120)
    async with (
        httpx2.AsyncClient(timeout=timeout, trust_env=False) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
    ):
        done = 0
        while done < rounds or time.perf_counter() < until:
            query = f"{name} round {done} of treatment"
            found = await call(client, "web_search", {"query": query, **own}, tally)
            own = {"session_id": found.get("session_id", own["session_id"])}
            meant = await call(client, "semantic_search", {"query": "treatment", "max_results": 20, **own}, tally)
            note = {"items": [{"content": f"{name} noted in round {done} that it works."}], **own}
            await call(client, "add_evidence", note, tally)
            for item in [*found.get("evidence", []), *meant.get("evidence", []), *found.get("related", [])]:
                names = set(re.findall(r"session\d{5}", json.dumps(item)))
                tally.foreign += bool(names - {name})
            if meant.get("total_found", 0) < RESULTS * (done + 1) + done:  # its pages, and the notes of earlier rounds
                tally.errors.append(f"{name} lost evidence")
            done += 1


async def call(client: Client, tool: str, arguments: dict[str, Any], tally: Tally) -> dict[str, Any]:
    begun = time.perf_counter()
    try:
        result: CallToolResult = await client.call_tool(tool, arguments)
    except Exception as error:
        tally.errors.append(f"{tool}: {error!r}")
        return {}
    tally.seconds[tool].append(time.perf_counter() - begun)
    if result.is_error:
        tally.errors.append(f"{tool}: {getattr(result.content[0], 'text', '')[:200]}")
        return {}
    return result.structured_content or {}


async def leave_behind(url: str, count: int, process: subprocess.Popen[bytes]) -> None:
    """Open connections that add a note and are then abandoned."""
    refused: list[str] = []
    numbers = iter(range(count))
    most = memory(process)
    begun = time.perf_counter()
    async with httpx.AsyncClient(base_url=url, headers=HEADERS, trust_env=False, timeout=120) as http:

        async def work() -> None:
            nonlocal most
            for number in numbers:
                problem = await open_and_leave(http, number)
                if problem:
                    refused.append(problem)
                most = max(most, memory(process))

        async with anyio.create_task_group() as tasks:
            for _ in range(AT_ONCE):
                tasks.start_soon(work)
        print(f"{count} connections opened and left in {time.perf_counter() - begun:.0f} s, refused: {len(refused)}")
        print(f"  memory: {most:.0f} MB at most, open sessions: {await gauge(http, 'deepcritical_sessions'):.0f}")
        for _ in range(10):
            await anyio.sleep(TIME_TO_LIVE / 3)
            if not await gauge(http, "deepcritical_sessions"):
                break
        await anyio.sleep(TIME_TO_LIVE)
        print(f"  open sessions after their time to live: {await gauge(http, 'deepcritical_sessions'):.0f}")
        print(f"  memory then: {memory(process):.0f} MB")


async def open_and_leave(http: httpx.AsyncClient, number: int) -> str:
    opened = await http.post("/mcp", json=message("initialize", GREETING))
    if opened.status_code != HTTPStatus.OK:
        return opened.text
    headers = {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
    await http.post("/mcp", headers=headers, json={"jsonrpc": "2.0", "method": "notifications/initialized"})
    arguments = {"items": [{"content": f"note {number}"}]}
    kept = await http.post(
        "/mcp", headers=headers, json=message("tools/call", {"name": "add_evidence", "arguments": arguments})
    )
    return "" if '"isError":false' in kept.text.replace(" ", "") or "1 added" in kept.text else kept.text


_ids = itertools.count(1)


def message(method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": next(_ids), "method": method, "params": params}


async def gauge(http: httpx.AsyncClient, name: str) -> float:
    text = (await http.get("/metrics")).text
    found = re.search(rf"^{name} (\S+)$", text, re.MULTILINE)
    return float(found[1]) if found else float("nan")


async def until_ready(url: str) -> None:
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=60) as http:
        while (await http.get("/ready")).status_code != HTTPStatus.OK:  # noqa: ASYNC110
            await anyio.sleep(0.2)


def memory(process: subprocess.Popen[bytes]) -> float:
    """Resident memory in MB."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024


@contextmanager
def server(folder: Path, provider_url: str) -> Generator[tuple[subprocess.Popen[bytes], str]]:
    settings = {
        "DEEPCRITICAL_CACHE_DIR": str(folder),
        "DEEPCRITICAL_BRAVE_BASE_URL": provider_url,
        "BRAVE_API_KEY": "stand-in",
        "DEEPCRITICAL_BRAVE_PER_SECOND": "10000",
        "DEEPCRITICAL_WEB_DELAY": "0",
        "DEEPCRITICAL_WEB_CONCURRENCY": "20",
        "DEEPCRITICAL_SESSION_TTL": str(TIME_TO_LIVE),
        "DEEPCRITICAL_CONNECTION_TTL": str(TIME_TO_LIVE),
        "DEEPCRITICAL_LOG_LEVEL": "WARNING",
    }
    with started(folder, settings) as running:
        yield running


@contextmanager
def started(folder: Path, settings: Mapping[str, str]) -> Generator[tuple[subprocess.Popen[bytes], str]]:
    """A server over HTTP with these settings, and its URL; says at the end what it logged."""
    log = folder / "server.log"
    command = [sys.executable, "-m", "deepcritical_mcp", "serve", "--transport", "http", "--port", "0"]
    with log.open("wb") as stderr, subprocess.Popen(command, stderr=stderr, env={**os.environ, **settings}) as process:
        try:
            while not (found := re.search(r"listens on (\S+)/mcp", log.read_text())):
                time.sleep(0.05)
            yield process, found[1]
        finally:
            process.kill()
            lines = log.read_text().splitlines()[1:]
            print(f"lines in the server's log: {len(lines)}", *(line[:300] for line in lines[:5]), sep="\n  ")


@asynccontextmanager
async def provider() -> AsyncGenerator[str]:
    """A minimal stand-in for Brave's web search: five pages for any query."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                query = parse_qs(urlsplit(head.split(" ", 2)[1]).query)["q"][0]
                body = json.dumps({"type": "search", "web": {"results": pages(query)}}).encode()
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
                    + body
                )
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            writer.close()

    listener = await asyncio.start_server(answer, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    listener.close()


def pages(query: str) -> list[dict[str, str]]:
    slug = query.replace(" ", "-")
    subjects = ("Dose finding", "Side effects", "Cost", "Mechanism", "Outcomes in children")
    return [
        {
            "type": "search_result",
            "title": f"{subject}: {query}",
            "url": f"https://example.org/{slug}/{number}",
            "description": f"{subject} of the treatment in {query}, as reported by trial {number} in many patients. "
            * 3,
        }
        for number, subject in enumerate(subjects[:RESULTS])
    ]


if __name__ == "__main__":
    main()
