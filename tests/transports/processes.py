"""Real processes for tests: our server, a Chroma server, a Redis."""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx
import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

STARTING_TIME = 60
T = TypeVar("T")


def greeting(version: str = "2025-11-25") -> dict[str, Any]:
    """The first message of a client of a handshake version."""
    client = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}


@contextmanager
def process(command: Sequence[str], log: Path, **environment: str) -> Generator[subprocess.Popen[bytes]]:
    """A process whose output goes to `log`; killed at the end."""
    with (
        log.open("wb") as output,
        subprocess.Popen(command, stdout=output, stderr=output, env={"PATH": "", **environment}) as one,
    ):
        try:
            yield one
        finally:
            one.kill()


def halt(process: subprocess.Popen[bytes]) -> None:
    """Stop a process as a debugger does, and return when it stands still."""
    process.send_signal(signal.SIGSTOP)
    os.waitpid(process.pid, os.WUNTRACED)


@contextmanager
def serving_process(folder: Path, *options: str, **environment: str) -> Generator[tuple[subprocess.Popen[bytes], str]]:
    """Our server on a free port, and its address; its log is `folder`/server.log."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "server.log"
    command = (sys.executable, "-m", "deepcritical_mcp", "serve", "--transport", "http", "--port", "0", *options)
    settings = {"HOME": str(folder), "DEEPCRITICAL_CACHE_DIR": str(folder / "cache"), **environment}
    with process(command, log, **settings) as one:
        found = wait_for(lambda: re.search(r"listens on (\S+)/mcp", log.read_text()), one, log)
        yield one, found[1].replace("0.0.0.0", "127.0.0.1")


@asynccontextmanager
async def client_of(
    url: str, token: str = "", mode: str = "auto", *, headers: Mapping[str, str] | None = None, **options: Any
) -> AsyncGenerator[Client]:
    """The SDK's client of the server at this address, in the protocol era that `mode` names."""
    headers = {**(headers or {}), **({"authorization": f"Bearer {token}"} if token else {})}
    timeout = httpx2.Timeout(120, read=300)
    async with (
        httpx2.AsyncClient(headers=headers, timeout=timeout, trust_env=False) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode, **options) as client,
    ):
        yield client


@contextmanager
def chroma(folder: Path) -> Generator[str]:
    """The address of a real Chroma server."""
    with chroma_process(folder) as (_, url):
        yield url


@contextmanager
def chroma_process(folder: Path) -> Generator[tuple[subprocess.Popen[bytes], str]]:
    """A real Chroma server, and its address."""
    port = free_port()
    command = (str(Path(sys.executable).with_name("chroma")), "run", "--path", str(folder), "--port", str(port))
    with process((*command, "--host", "127.0.0.1"), folder / "chroma.log", HOME=str(folder)) as one:
        url = f"http://127.0.0.1:{port}"
        wait_for(lambda: _answers(f"{url}/api/v2/heartbeat"), one, folder / "chroma.log")
        yield one, url


@contextmanager
def redis(folder: Path, *options: str, scheme: str = "redis") -> Generator[str]:
    """A real Redis that keeps nothing; skips the test where there is none."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("redis-server is not installed (Debian: redis-server)")
    port = str(free_port())
    ports = ("--port", port) if scheme == "redis" else ("--port", "0", "--tls-port", port, "--tls-auth-clients", "no")
    quiet = ("--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(folder))
    with process((program, *ports, *quiet, *options), folder / "redis.log") as one:
        wait_for(lambda: "Ready to accept connections" in (folder / "redis.log").read_text(), one, folder / "redis.log")
        yield f"{scheme}://127.0.0.1:{port}"


HANGING_CALL = {"name": "pubmed_search", "arguments": {"query": "zinc"}}


@contextmanager
def hanging_source() -> Generator[tuple[str, threading.Event]]:
    """The address of a source that accepts connections and never answers, and an event for the first connection."""
    asked, held = threading.Event(), list[socket.socket]()
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                held.append(listener.accept()[0])
                asked.set()

    acceptor = threading.Thread(target=accept)
    acceptor.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/entrez/eutils", asked
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        acceptor.join()
        for one in held:
            one.close()


HUNG_DISK = """
import os, pathlib, time
replace = os.replace
def hang(old, new, **options):
    if "trash" in str(new):
        pathlib.Path({mark!r}).touch()
        time.sleep(600)
    replace(old, new, **options)
os.replace = hang
"""


def hung_disk(folder: Path) -> tuple[dict[str, str], Path]:
    """The environment of a process whose disk hangs, in a call that nothing can interrupt, when a session is cleared;
    and the file that is there as soon as it does."""
    (folder / "python").mkdir()
    (folder / "python" / "sitecustomize.py").write_text(HUNG_DISK.format(mark=str(folder / "hangs")))
    return {"PYTHONPATH": str(folder / "python"), "DEEPCRITICAL_DATA_DIR": str(folder / "data")}, folder / "hangs"


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def wait_for(condition: Callable[[], T | None], one: subprocess.Popen[bytes], log: Path) -> T:
    """What `condition` gives once it gives something; an error when the process ends or takes too long."""
    end = time.monotonic() + STARTING_TIME
    while time.monotonic() < end and one.poll() is None:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"it did not start: {log.read_text(errors='replace')[-2_000:]}")


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, trust_env=False).status_code == 200
    except httpx.TransportError:
        return False
