"""What the tests of the evidence store share: evidence, the real model, and the three places to keep sessions."""

import socket
import subprocess
import sys
import sysconfig
import threading
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import httpx
import pytest

from deepcritical_mcp.config import Settings
from deepcritical_mcp.evidence.embedding.service import EmbeddingService
from deepcritical_mcp.evidence.session_access import Embedder
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.storage import open_backend
from tests.evidence.stand_ins import Clock, Registries

PLACES = ("memory", "folder", "server")


class ChromaServer:
    """A real Chroma server on loopback, with its own folder."""

    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self._port = int(probe.getsockname()[1])
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        script = Path(sysconfig.get_path("scripts")) / ("chroma.exe" if sys.platform == "win32" else "chroma")
        self._process = subprocess.Popen(
            [script, "run", "--path", self._folder, "--host", "127.0.0.1", "--port", str(self._port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        with httpx.Client(transport=httpx.HTTPTransport(), timeout=5) as client:
            for _ in range(1_000):
                if _answers(client, f"{self.url}/api/v2/heartbeat"):
                    return
        raise RuntimeError("the Chroma server did not start")

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(timeout=20)
            self._process = None


def _answers(client: httpx.Client, url: str) -> bool:
    try:
        return client.get(url).is_success
    except httpx.TransportError:
        threading.Event().wait(0.02)
        return False


@pytest.fixture(scope="session")
def chroma_server(tmp_path_factory: pytest.TempPathFactory) -> Generator[ChromaServer]:
    """One server for all tests: their sessions have nothing in common."""
    server = ChromaServer(tmp_path_factory.mktemp("chroma"))
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def embedder() -> EmbeddingService:
    """The shipped model."""
    return EmbeddingService()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Settings that keep sessions in memory, in a folder, on a server."""
    if request.param == "folder":
        return Settings(data_dir=tmp_path)
    if request.param == "server":
        return Settings(chroma_url=request.getfixturevalue("chroma_server").url)
    return Settings()


@pytest.fixture(params=[place for place in PLACES if place != "memory"])
def lasting_place(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Settings that keep sessions where they survive the process."""
    if request.param == "folder":
        return Settings(data_dir=tmp_path)
    return Settings(chroma_url=request.getfixturevalue("chroma_server").url)


@pytest.fixture
async def registries(embedder: EmbeddingService, clock: Clock) -> AsyncGenerator[Registries]:
    """Makes registries, each as a process of its own would; all are closed at the end."""
    made: list[SessionRegistry] = []

    def make(settings: Settings, model: Embedder | None = None) -> SessionRegistry:
        made.append(SessionRegistry(settings, model or embedder, open_backend(settings), clock=clock))
        return made[-1]

    yield make
    for registry in made:
        await registry.aclose()
