"""What `doctor` checks, one function each; every check returns an outcome, whatever is wrong."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit
from urllib.request import getproxies

import anyio
import httpx
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from deepcritical_mcp._version import __version__
from deepcritical_mcp.cli.boundary import NO_ROOM
from deepcritical_mcp.cli.clients import McpClient, knowledge, shell_command
from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import AuthenticationError, BlockedError, DeepCriticalError
from deepcritical_mcp.evidence.embedding.calibration import UNCALIBRATED
from deepcritical_mcp.evidence.embedding.service import EmbeddingService
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.storage.in_memory import MemoryBackend
from deepcritical_mcp.models import Publication
from deepcritical_mcp.net.client import RetryPolicy
from deepcritical_mcp.sources.base import Finding, Net, SourceCheck, SourceKind, create_sources

State = Literal["ok", "off", "look", "broken"]
Area = Literal["", "store"] | SourceKind
PATIENCE = 12.0
_ONCE = RetryPolicy(attempts=1, attempt_timeout=7.0)
_LITTLE_ROOM = 100 * 1024 * 1024
_SENTENCE = "Metformin is the first drug for type 2 diabetes."


@dataclass(frozen=True)
class Check:
    """One part and its state: "off" is not configured and need not be, "look" works but could be better.

    Attributes:
        advice: how to fix or improve it.
        area: what the part serves: searching needs "store" and at least one source.
        seconds: how long the part took to answer, 0.0 where that means nothing.
    """

    part: str
    state: State
    finding: str
    advice: str = ""
    area: Area = ""
    seconds: float = 0.0


async def run_check(check: SourceCheck, *, area: Area = "", patience: float = PATIENCE) -> Check:
    """The outcome of a check: what it found, or "broken", with its advice, when it fails or does not end in time."""
    began = time.monotonic()
    advice = check.advice
    try:
        with anyio.fail_after(patience):
            finding = await check.examine()
    except TimeoutError:
        finding = Finding(f"no answer within {patience:g} seconds", "broken")
    except DeepCriticalError as error:
        finding = Finding(error.message, "broken")
        if isinstance(error, AuthenticationError) and check.key_variable:
            advice = f"Correct {check.key_variable} or unset it."
        elif isinstance(error, BlockedError):
            advice = ""  # its message says what to do
    except Exception as error:
        finding = Finding(f"{type(error).__name__}: {_first_line(error)}", "broken")
    advice = finding.advice or (advice if finding.state == "broken" else "")
    seconds = 0.0 if finding.state == "off" else time.monotonic() - began
    return Check(check.title, finding.state, finding.text, advice, area, seconds)


async def sources(settings: Settings) -> list[Check]:
    """What each source of `SOURCES` asks of its providers, in that order."""
    try:
        http = httpx.AsyncClient(timeout=httpx.Timeout(7.0, connect=5.0), follow_redirects=True)
    except (ValueError, ImportError, httpx.InvalidURL) as error:
        finding = f"the proxy setting cannot be used ({type(error).__name__})"
        return [Check("Proxy", "broken", finding, "Correct HTTP_PROXY, HTTPS_PROXY and ALL_PROXY, or unset them.")]
    async with http:
        built = create_sources(settings, Net(http, retry=_ONCE))
        asked: list[tuple[SourceCheck, Area]] = [(check, one.kind) for one in built for check in one.checks()]
        return await side_by_side([partial(run_check, check, area=kind) for check, kind in asked])


async def side_by_side(checks: Sequence[Callable[[], Awaitable[Check]]]) -> list[Check]:
    """The outcomes of checks that run at the same time, in their order."""
    found: dict[int, Check] = {}

    async def run(index: int) -> None:
        found[index] = await checks[index]()

    async with anyio.create_task_group() as tasks:
        for index in range(len(checks)):
            tasks.start_soon(run, index)
    return [found[index] for index in range(len(checks))]


async def chroma_server(settings: Settings) -> Check:
    """Whether the Chroma server answers."""

    async def examine() -> Finding:
        async with httpx.AsyncClient(timeout=7.0) as http:
            response = await http.get(f"{settings.chroma_url}/api/v2/heartbeat")
        if response.status_code != 200:
            return Finding(f"HTTP {response.status_code}", "broken")
        return Finding("answers")

    advice = "Start the server that DEEPCRITICAL_CHROMA_URL names, or unset it."
    return await run_check(SourceCheck("Chroma server", examine, advice), area="store")


async def redis(settings: Settings) -> Check:
    """Whether Redis accepts connections."""

    async def examine() -> Finding:
        parts = urlsplit(settings.redis_url.get_secret_value())
        stream = await anyio.connect_tcp(parts.hostname or "localhost", parts.port or 6379)
        await stream.aclose()
        return Finding("accepts connections")

    advice = "Start the server that DEEPCRITICAL_REDIS_URL names, or unset it."
    return await run_check(SourceCheck("Redis", examine, advice))


def python_and_package() -> list[Check]:
    """The Python and the package that run here."""
    folder = Path(__file__).resolve().parents[1]
    return [
        Check(
            "Python", "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}, {sys.executable}"
        ),
        Check("deepcritical-mcp", "ok", f"{__version__} in {folder}"),
    ]


def mistyped_settings(unknown: dict[str, str]) -> list[Check]:
    """Variables that look like settings but are not."""
    return [
        Check(name, "look", "is not a setting and has no effect", f"Did you mean {nearest}?")
        for name, nearest in sorted(unknown.items())
    ]


def proxies() -> list[Check]:
    """The proxies that requests go through; only their hosts are shown, since an address can hold a password."""
    found = {scheme: address for scheme, address in getproxies().items() if scheme in ("http", "https", "all")}
    if not found:
        return []
    named = [f"{scheme} through {address.rpartition('@')[2]}" for scheme, address in sorted(found.items())]
    return [Check("Proxy", "ok", ", ".join(named))]


async def model(settings: Settings) -> Check:
    """Whether the embedding model loads and embeds."""

    async def examine() -> Finding:
        service = EmbeddingService(settings.model_copy(update={"data_dir": None}))
        vector = await service.embed(_SENTENCE)
        service.close()
        which = settings.embedding_model or f"{service.name}, shipped with the package"
        if service.calibration is None:
            return Finding(
                f"{which}: {len(vector)} dimensions. {UNCALIBRATED}",
                "look",
                "Unset DEEPCRITICAL_EMBEDDING_MODEL to use the calibrated one.",
            )
        return Finding(f"{which}: {len(vector)} dimensions")

    advice = "Without it, evidence is found by its words only. Reinstall the package" + (
        ", or unset DEEPCRITICAL_EMBEDDING_MODEL." if settings.embedding_model else "."
    )
    return await run_check(SourceCheck("Embedding model", examine, advice))


async def store(settings: Settings) -> Check:
    """Whether evidence can be kept in memory and found again."""

    async def examine() -> Finding:
        embedder = EmbeddingService(settings.model_copy(update={"data_dir": None}))
        sessions = SessionRegistry(settings, embedder, MemoryBackend(limit=1))
        session = await sessions.open()
        piece = Publication.of("note", _SENTENCE, provider="user", source="user", title="A note by doctor")
        await session.add_evidence([piece])
        found = await session.search_similar("which medicine comes first in diabetes?", max_results=1)
        await sessions.aclose()
        embedder.close()
        if [one.id for one in found] != [piece.id]:
            return Finding("a note was kept but not found again", "broken")
        return Finding("a note was kept and found again by meaning")

    advice = "Reinstall the package in an environment of its own: another version of chromadb may conflict."
    return await run_check(SourceCheck("Store (Chroma)", examine, advice), area="store")


async def server(environment: dict[str, str]) -> Check:
    """Whether the server starts as clients start it."""

    async def examine() -> Finding:
        parameters = StdioServerParameters(command=sys.executable, args=["-m", "deepcritical_mcp"], env=environment)
        with open(os.devnull, "w", encoding="utf-8") as silence:  # noqa: ASYNC230  # nothing to wait for
            async with Client(stdio_client(parameters, errlog=silence)) as client:
                tools = await client.list_tools()
        return Finding(f"starts over stdio and offers {len(tools.tools)} tools")

    advice = f"Run {shell_command()} --debug and read its output."
    return await run_check(SourceCheck("Server", examine, advice), area="store")


def folder(part: str, path: Path, *, variable: str, use: str) -> Check:
    """Whether `path`, or the place where it would be created, is writable and has space."""
    advice = f"Set {variable} to a folder that you may write to."
    try:
        place = next(one for one in (path, *path.parents) if one.exists())
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"doctor")
            file.flush()
        free = shutil.disk_usage(place).free
    except (OSError, StopIteration) as error:
        reason = error.strerror if isinstance(error, OSError) else "no such place"
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            advice = f"Free some space. Or {advice[0].lower()}{advice[1:]}"
        return Check(part, "look", f"{path} is not writable ({reason}); {use}", advice)
    if free < _LITTLE_ROOM:
        advice = f"Free some space, or {advice[0].lower()}{advice[1:]}"
        return Check(part, "look", f"{path}: only {free // 2**20} MB are free", advice)
    return Check(part, "ok", str(path))


def folders(settings: Settings) -> list[Check]:
    """The folders that the server writes to."""
    checks = [folder("Cache folder", settings.cache_dir, variable="DEEPCRITICAL_CACHE_DIR", use="nothing is cached")]
    if settings.data_dir is None:
        off = "sessions are in memory and end with the server"
        return [*checks, Check("Data folder", "off", off, "Set DEEPCRITICAL_DATA_DIR to keep them.")]
    use = "sessions cannot be kept"
    return [*checks, folder("Data folder", settings.data_dir, variable="DEEPCRITICAL_DATA_DIR", use=use)]


def client(one: McpClient) -> Check:
    """Whether a client is installed on this machine and configured for this server."""
    if not one.is_here:
        return Check(one.title, "off", "not found on this machine")
    install = f"{shell_command()} install --client {one.name}"
    match knowledge(one):
        case "knows":
            return Check(one.title, "ok", f"is configured for this server: {one.path}")
        case "stale":
            return Check(
                one.title,
                "look",
                f"its configured command does not exist: {one.path}",
                f"Run {install}",
            )
        case "unreadable":
            return Check(one.title, "look", f"its file cannot be read: {one.path}", "Fix the file; it was not changed.")
        case "unknown":
            return Check(one.title, "off", "is installed but not configured for this server", f"Run {install}")


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [""])[0][:200]
