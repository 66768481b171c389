"""What we use of the inside of other packages: these tests fail first when one changes, and the server does without."""

import ast
import asyncio
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import chromadb
import httpx
import pytest
import uvicorn
from mcp.server.mcpserver import MCPServer
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

import deepcritical_mcp
from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import ProviderResponseError
from deepcritical_mcp.evidence.storage import ChromaServerSettings, chroma_backend
from deepcritical_mcp.evidence.storage.vector_table import chroma_settings
from deepcritical_mcp.net.client import ApiClient
from deepcritical_mcp.server import create_server
from deepcritical_mcp.sources.web.duckduckgo import DuckDuckGoTool
from deepcritical_mcp.sources.web.request import WebOptions
from deepcritical_mcp.transports.http import uvicorn_server
from deepcritical_mcp.transports.http.uvicorn_server import BoundedProtocol
from tests.transports.processes import chroma, free_port, process, wait_for

SRC = Path(deepcritical_mcp.__file__).parent


def _defined(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr


def test_private_names_of_other_packages_are_in_one_place_each():
    """Pyright reports all others, as `reportPrivateUsage`."""
    texts = {path.relative_to(SRC).as_posix(): path.read_text("utf-8") for path in SRC.rglob("*.py")}
    found = {
        path: re.findall(r'getattr\(\w+, "(_[a-z]\w*)"|from (\w+\.[\w.]*\._\w+)', text) for path, text in texts.items()
    }
    assert {path: {*map("".join, names)} for path, names in found.items() if names} == {
        "server.py": {"_lowlevel_server"},
        "transports/stdio.py": {"mcp.shared._context_streams"},  # for the type checker only
    }
    assert not [path for path, text in texts.items() if "reportPrivateUsage" in text]


def test_uvicorn_has_what_the_limits_of_connections_need():
    loop = asyncio.new_event_loop()
    protocol = H11Protocol(uvicorn.Config(lambda: None, log_config=None), ServerState(), {}, loop)
    loop.close()
    assert [name for name in uvicorn_server.USED_OF_UVICORN if not hasattr(protocol, name)] == []
    assert hasattr(protocol.conn, "trailing_data")
    tree = ast.parse(Path(uvicorn_server.__file__).read_text("utf-8"))
    ours = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "BoundedProtocol")
    used = {
        node.attr
        for node in ast.walk(ours)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    }
    own = {*vars(BoundedProtocol), *BoundedProtocol.__annotations__, *_defined(ours)}
    assert used - own <= set(uvicorn_server.USED_OF_UVICORN)


def test_the_server_serves_on_a_uvicorn_that_has_changed_inside(tmp_path: Path):
    code = (
        "import sys; from deepcritical_mcp.transports.http import uvicorn_server as one; "
        "from deepcritical_mcp.cli import main; one.USED_OF_UVICORN += ('renamed_part',); "
        "sys.argv[1:] = sys.argv[2:]; main()"
    )
    port = free_port()
    command = [sys.executable, "-c", code, "-", "serve", "--transport", "http", "--port", str(port)]
    log = tmp_path / "log"
    with process(command, log, DEEPCRITICAL_MAX_CONNECTIONS="3") as server:

        def health() -> bool:
            try:
                return httpx.get(f"http://127.0.0.1:{port}/health", trust_env=False).status_code == 200
            except httpx.TransportError:
                return False

        wait_for(lambda: health() or None, server, log)
        assert "only the number of connections is limited" in log.read_text("utf-8")


def test_chroma_has_what_the_time_limit_needs_and_works_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with chroma(tmp_path) as url:
        client = chromadb.HttpClient(host=url, settings=chroma_settings())
        own = vars(getattr(client, "_server", None)).get("_session")
        assert isinstance(own, httpx.Client)
        own.close()
        settings = ChromaServerSettings.model_validate({"chroma_url": url})
        seen: list[object] = []

        def renamed(server: object) -> dict[str, object]:
            seen.append(server)
            return {}  # what is written there has no effect, as on another name

        monkeypatch.setattr(chroma_backend, "vars", renamed, raising=False)
        backend = chroma_backend.ServerBackend(settings, limit=1)
        backend.check()
        backend.close()
        for one in seen:
            vars(one)["_session"].close()


def test_ddgs_has_what_the_search_needs():
    from ddgs.engines.duckduckgo import Duckduckgo

    engine = Duckduckgo(timeout=1)
    assert engine.search_method == "POST"
    assert engine.build_payload("zinc", "wt-wt", "moderate", "d", 2).keys() == {"q", "b", "l", "s", "df"}
    assert callable(engine.http_client.client.request)


@pytest.mark.parametrize("change", ["gone", "another signature"])
async def test_a_ddgs_that_has_changed_inside_is_a_named_failure(change: str, monkeypatch: pytest.MonkeyPatch):
    engine = "ddgs.engines.duckduckgo.Duckduckgo"
    if change == "gone":
        monkeypatch.delattr(engine)
    else:
        monkeypatch.setattr(f"{engine}.build_payload", str)
    async with httpx.AsyncClient() as http:
        tool = DuckDuckGoTool(ApiClient(http, provider="duckduckgo", title="DuckDuckGo"), url="http://127.0.0.1:9/")
        with pytest.raises(ProviderResponseError, match="installed version of ddgs"):
            await tool.page("zinc", WebOptions(), number=0, wanted=1)


def test_the_sdk_has_what_the_repair_of_messages_needs():
    from mcp.shared._context_streams import ContextReceiveStream

    assert hasattr(ContextReceiveStream, "last_context")
    server = getattr(create_server(Settings()), "_lowlevel_server", None)
    assert server is not None
    assert callable(server.run)
    assert callable(server.create_initialization_options)


async def test_an_sdk_that_has_changed_inside_serves_without_the_repair(monkeypatch: pytest.MonkeyPatch):
    served = asyncio.Event()

    async def run(_: object) -> None:
        served.set()

    monkeypatch.setattr(MCPServer, "run_stdio_async", run)
    server = create_server(Settings())
    monkeypatch.delattr(server, "_lowlevel_server")
    await server.run_stdio_async()
    assert served.is_set()
