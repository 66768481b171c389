"""A real server on loopback in the test's own event loop, with real sessions and stand-ins for what asks the world."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import anyio
import httpx
import pytest
from mcp.client.client import Client
from mcp.client.sse import sse_client
from mcp_types import CallToolResult

from deepcritical_mcp.config import Settings
from deepcritical_mcp.context import AppContext, Services
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.storage import open_backend
from deepcritical_mcp.models import ProviderReport, Publication, SearchResult
from deepcritical_mcp.net.pacing import turn_of
from deepcritical_mcp.screening.queue import ScreeningQueues
from deepcritical_mcp.search.library.own_library import OwnLibrary
from deepcritical_mcp.search.witness import Witness
from deepcritical_mcp.server import DeepCriticalServer
from deepcritical_mcp.transports.http.application import HttpApplication
from deepcritical_mcp.transports.http.calls import CallControl
from deepcritical_mcp.transports.http.uvicorn_server import HttpServer, listen
from tests.evidence.stand_ins import HashingModel
from tests.publications import published
from tests.transports.processes import client_of
from tests.wire import wire

if TYPE_CHECKING:
    from deepcritical_mcp.evidence.store import EvidenceStore
    from deepcritical_mcp.sources.web.request import WebRequest


class StandInModel(HashingModel):
    """An embedding model that needs no file."""

    def warm_up(self) -> None: ...

    def close(self) -> None: ...


@dataclass
class WebStandIn:
    """Finds what it was given; when `gate` is set it waits for that first."""

    found: list[Publication] = field(default_factory=list[Publication])
    gate: anyio.Event | None = None
    waiting: anyio.Event = field(default_factory=anyio.Event)
    cancelled: anyio.Event = field(default_factory=anyio.Event)
    error: Exception | None = None
    turns: list[str] = field(default_factory=list[str])

    async def search(self, request: WebRequest, store: EvidenceStore, *, progress: object) -> SearchResult:
        self.turns.append(turn_of.get())
        if self.gate is not None:
            self.waiting.set()
            try:
                await self.gate.wait()
            except anyio.get_cancelled_exc_class():
                self.cancelled.set()
                raise
        if self.error is not None:
            raise self.error
        found = self.found or [page(request.query)]
        outcomes = await store.add_evidence(found)
        return SearchResult(
            session_id=store.session_id,
            query=request.query,
            evidence=tuple(outcome.evidence for outcome in outcomes),
            total_found=len(found),
            providers=(
                ProviderReport(name="tavily", status="skipped", detail="no key"),
                ProviderReport(name="duckduckgo", status="ok", results=len(found)),
            ),
        )


def page(text: str) -> Publication:
    """A web page that says `text`."""
    url = f"https://example.org/{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    return published(text, provider="duckduckgo", source="web", title=text[:80], url=url)


@dataclass
class RunningServer:
    """A server that listens, and clients for it."""

    url: str
    app: AppContext
    web: WebStandIn
    embedder: StandInModel
    uvicorn: HttpServer

    def client(
        self, transport: str = "http", mode: str = "auto", token: str = "", **options: Any
    ) -> AbstractAsyncContextManager[Client]:
        """The SDK's client over "http" or "sse", in the protocol era that `mode` names."""
        if transport == "http":
            return client_of(self.url, token, mode, **options)
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return Client(sse_client(f"{self.url}/sse", headers=headers), mode=mode, **options)

    async def raw(self, *parts: bytes) -> bytes:
        """Everything that a connection answers to these bytes, until the server closes it."""
        port = int(self.url.rsplit(":", 1)[1])
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            for part in parts:
                await stream.send(part)
            answer = bytearray()
            with contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                while True:
                    answer += await stream.receive()
            return bytes(answer)

    def http(self, **options: Any) -> httpx.AsyncClient:
        """A bare HTTP client."""
        return httpx.AsyncClient(base_url=self.url, trust_env=False, timeout=30, **options)


Serving = Callable[..., AbstractAsyncContextManager[RunningServer]]


@pytest.fixture
def serving(tmp_path: Path) -> Serving:
    """Starts servers: `async with serving(calls_per_minute=3) as server`; the options are settings."""

    @asynccontextmanager
    async def serve(**settings: Any) -> AsyncGenerator[RunningServer]:
        web, embedder = WebStandIn(), StandInModel()
        configured = Settings(cache_dir=tmp_path, **settings)
        calls = CallControl(configured)
        app = AppContext(configured, build=lambda settings: _services(settings, web, embedder), admission=calls.admit)
        listener = listen("127.0.0.1", 0)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        application = HttpApplication(DeepCriticalServer(app, middleware=[calls.observe]), app, calls, url)
        server = HttpServer(application, app.settings)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [listener])
            while not server.started:  # noqa: ASYNC110  # uvicorn has no event for it
                await anyio.sleep(0.01)
            try:
                yield RunningServer(url, app, web, embedder, server)
            finally:
                server.should_exit = True

    return serve


def _services(settings: Settings, web: WebStandIn, embedder: StandInModel) -> Services:
    unused = cast("Any", None)
    return Services(
        http=httpx.AsyncClient(trust_env=False),
        embedder=cast("Any", embedder),
        sessions=SessionRegistry(settings, embedder, open_backend(settings)),
        searches={"web": cast("Any", web)},
        everywhere=unused,
        expander=unused,
        full_texts=unused,
        checker=unused,
        strategies=unused,
        screening=ScreeningQueues(),
        library=OwnLibrary(unused, settings.zotero_url),
        witness=Witness(),
    )


def content(result: CallToolResult) -> dict[str, Any]:
    """The structured form of a result that must be a success."""
    assert not result.is_error, text(result)
    return wire(result)


def error(result: CallToolResult) -> dict[str, Any]:
    """The error in a result that must be one."""
    assert result.is_error
    structured: dict[str, Any] = wire(result)
    return structured["error"]


def text(result: CallToolResult) -> str:
    """The readable form of a result."""
    return "\n".join(getattr(block, "text", "") for block in result.content)
