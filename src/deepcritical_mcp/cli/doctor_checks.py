"""What `doctor` checks; every check returns an outcome, whatever is wrong."""

from __future__ import annotations

import asyncio
import os
import pkgutil
import platform
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal
from urllib.request import getproxies

import anyio
import httpx
from anyio.to_thread import run_sync
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from deepcritical_mcp import sources as tables
from deepcritical_mcp._version import __version__
from deepcritical_mcp.cli.clients import ConfiguredState, McpClient, configured_state, known_clients, shell_command
from deepcritical_mcp.cli.command_failures import NO_ROOM
from deepcritical_mcp.config import Settings, user_data_folder, variable_name
from deepcritical_mcp.errors import (
    AuthenticationError,
    BlockedError,
    DeepCriticalError,
    EmbeddingError,
    EvidenceStoreError,
)
from deepcritical_mcp.evidence.embedding.calibration import UNCALIBRATED
from deepcritical_mcp.evidence.embedding.service import EmbeddingService
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.storage import configured_backends, in_memory_only
from deepcritical_mcp.evidence.storage.backend import Backend
from deepcritical_mcp.evidence.storage.folder_store import FolderBackend
from deepcritical_mcp.evidence.storage.sqlite_space import MemoryBackend
from deepcritical_mcp.models import Publication
from deepcritical_mcp.net.client import RetryPolicy
from deepcritical_mcp.net.pacing import RedisPlace
from deepcritical_mcp.sources import SourceRow, why_off
from deepcritical_mcp.sources.base import Finding, Net, Service, Source, SourceCheck, SourceKind, State, created
from deepcritical_mcp.text import counted

Area = Literal["", "model", "store"] | SourceKind
CHECK_TIMEOUT = 12.0
_ONCE = RetryPolicy(attempts=1, attempt_timeout=7.0)
_MIN_FREE_BYTES = 100 * 1024 * 1024
_SENTENCE = "Metformin is the first drug for type 2 diabetes."


@dataclass(frozen=True)
class Check:
    """One component and its state (see `Finding`), with advice on how to fix or improve it.

    Searching needs the area "store" and at least one source. `seconds` is 0.0 if nothing was asked.
    """

    part: str
    state: State
    finding: str
    advice: str = ""
    area: Area = ""
    seconds: float = 0.0


async def run_checks(settings: Settings) -> list[Check]:
    """The checks that need settings, all at the same time, in the order in which they are shown."""
    found = await asyncio.gather(servers(settings), _model_and_store(settings), sources(settings))
    at_servers, at_store, at_sources = found
    return [*at_servers, *at_store, *_folders(settings), *_proxies(), *at_sources]


def python_and_package() -> list[Check]:
    """The versions of Python and of this package."""
    system = f"{platform.python_version()} on {platform.system()} {platform.machine()}, {sys.executable}"
    package = f"{__version__} in {Path(__file__).resolve().parents[1]}"
    return [Check("Python", "ok", system), Check("deepcritical-mcp", "ok", package)]


def mistyped_settings(unknown: Mapping[str, str]) -> list[Check]:
    """Variables that look like settings but are not."""
    return [
        Check(name, "warning", "is not a setting and has no effect", f"Did you mean {nearest}?")
        for name, nearest in sorted(unknown.items())
    ]


def clients() -> list[Check]:
    """Which clients are installed on this machine and configured for this server."""
    return [_client(client) for client in known_clients()]


async def _run(check: SourceCheck, area: Area = "") -> Check:
    """The outcome of a check; "broken", with its advice, if it fails or times out."""
    began = time.monotonic()
    advice = check.advice
    try:
        with anyio.fail_after(CHECK_TIMEOUT):
            finding = await check.examine()
    except TimeoutError:
        finding = Finding(f"no answer within {CHECK_TIMEOUT:g} seconds", "broken")
    except DeepCriticalError as error:
        finding = Finding(error.message, "broken")
        if isinstance(error, AuthenticationError) and check.key_variable:
            advice = f"Correct {check.key_variable} or unset it."
        elif isinstance(error, BlockedError) or (area == "store" and not error.retryable):
            advice = ""  # its message says what to do
    except Exception as error:
        reason = (str(error).strip().splitlines() or [""])[0][:200]
        finding = Finding(f"{type(error).__name__}: {reason}", "broken")
    advice = finding.advice or (advice if finding.state == "broken" else "")
    seconds = 0.0 if finding.state == "off" else round(time.monotonic() - began, 3)
    return Check(check.title, finding.state, finding.text, advice, area, seconds)


async def servers(settings: Settings) -> list[Check]:
    start = SourceCheck("Server", _server, f"Run {shell_command()} --debug and read its output.")
    running = [_run(start, "store")]
    for store in configured_backends(_of_stdio(settings))[:-1]:  # the last one is memory, which `_store` checks
        running.append(_run(SourceCheck(store.title, partial(_kept, store), store.advice), "store"))
    if url := settings.redis_url.get_secret_value():
        advice = "Correct DEEPCRITICAL_REDIS_URL, start the Redis that it names, or unset it."
        running.append(_run(SourceCheck("Redis", partial(_redis, url), advice)))
    return await asyncio.gather(*running)


def _of_stdio(settings: Settings) -> Settings:
    """The settings by which the server on stdio chooses where sessions are kept."""
    return settings if len(configured_backends(settings)) > 1 else settings.kept_for_user()


async def _server() -> Finding:
    """Whether the server starts as clients start it."""
    environment = {**os.environ, **in_memory_only()}
    parameters = StdioServerParameters(command=sys.executable, args=["-m", "deepcritical_mcp"], env=environment)
    with open(os.devnull, "w", encoding="utf-8") as silence:  # noqa: ASYNC230  # nothing to wait for
        async with Client(stdio_client(parameters, errlog=silence)) as client:
            tools = await client.list_tools()
    return Finding(f"starts over stdio and offers {len(tools.tools)} tools")


async def _kept(store: Backend) -> Finding:
    """Whether sessions can be kept, where, and how many are. Makes no folder that nobody has chosen."""
    folder = store.data_dir if isinstance(store, FolderBackend) else None
    if folder and folder == user_data_folder() and not await anyio.Path(folder).exists():
        return Finding(f"no sessions yet; they will be kept in {folder}")
    try:
        await run_sync(store.check, abandon_on_cancel=True)
        count = len(await run_sync(store.sessions, None, abandon_on_cancel=True))
    except EvidenceStoreError as error:
        if folder != user_data_folder():
            raise
        return Finding(f"{error.message} The server keeps sessions in memory instead.", "warning", store.advice)
    finally:
        store.close()
    return Finding(f"sessions can be kept: {counted(count, 'session')}{f' in {folder}' if folder else ''}")


async def _redis(url: str) -> Finding:
    await run_sync(RedisPlace(url, "deepcritical:doctor").change, max, abandon_on_cancel=True)
    return Finding("keeps the request rate")


async def _model_and_store(settings: Settings) -> list[Check]:
    """One after the other, because both use the model."""
    embedder = EmbeddingService(settings.model_copy(update={"data_dir": None}))
    unset = ", or unset DEEPCRITICAL_EMBEDDING_MODEL." if settings.embedding_model else "."
    model_advice = f"Without it, evidence is found by its words only. Reinstall the package{unset}"
    store_advice = "Reinstall the package in an environment of its own: another version of chromadb may conflict."
    model = SourceCheck("Embedding model", partial(_model, settings, embedder), model_advice)
    store = SourceCheck("Store (Chroma)", partial(_store, settings, embedder), store_advice)
    found = [await _run(model, "model"), await _run(store, "store")]
    embedder.close()
    return found


async def _model(settings: Settings, embedder: EmbeddingService) -> Finding:
    """Whether the embedding model loads and embeds."""
    vector = await embedder.embed(_SENTENCE)
    named = settings.embedding_model or f"{embedder.name}, shipped with the package"
    finding = f"{named}: {len(vector)} dimensions"
    if embedder.calibration is None:
        advice = "Unset DEEPCRITICAL_EMBEDDING_MODEL to use the calibrated one."
        return Finding(f"{finding}. {UNCALIBRATED}", "warning", advice)
    return Finding(finding)


async def _store(settings: Settings, embedder: EmbeddingService) -> Finding:
    """Whether evidence can be kept in memory and found again."""
    sessions = SessionRegistry(settings, embedder, MemoryBackend(limit=1))
    session = await sessions.open()
    note = Publication.of("note", _SENTENCE, provider="user", source="user", title="A note by doctor")
    await session.add_evidence([note])
    query = "which medicine comes first in diabetes?"
    found = await session.search_similar(query, max_results=1)
    await sessions.aclose()
    if [one.id for one in found] != [note.id]:
        return Finding("a note was kept but not found again", "broken")
    try:
        await embedder.embed_query(query)
    except EmbeddingError:
        text = "a note was kept and found again by its words only: the embedding model is unavailable"
        return Finding(text, "warning")
    return Finding("a note was kept and found again by meaning")


async def sources(settings: Settings, rows: Sequence[SourceRow] | None = None) -> list[Check]:
    """The checks of the sources in `rows`, in that order; by default of `SOURCES`, `FULL_TEXTS` and `LOOKUPS`."""
    try:
        http = httpx.AsyncClient(timeout=httpx.Timeout(7.0, connect=5.0), follow_redirects=True)
    except (ValueError, ImportError, httpx.InvalidURL) as error:
        finding = f"the proxy setting cannot be used ({type(error).__name__})"
        return [Check("Proxy", "broken", finding, "Correct HTTP_PROXY, HTTPS_PROXY and ALL_PROXY, or unset them.")]
    async with http:
        net = Net(http, retry=_ONCE)
        running = [
            _run(check, one.kind if check.searches else "")
            for one in created(Source, tables.SOURCES if rows is None else rows, settings, net)
            for check in one.checks()
        ]
        if rows is None:
            others = created(Service, (*tables.FULL_TEXTS, *tables.LOOKUPS), settings, net)
            running += [_run(check) for one in others for check in one.checks()]
        return [*await asyncio.gather(*running), *_switched_off(settings.off, rows)]


def _switched_off(off: Collection[str], rows: Sequence[SourceRow] | None) -> list[Check]:
    """The sources that a setting switches off, each once."""
    every = (*tables.SOURCES, *tables.FULL_TEXTS, *tables.LOOKUPS) if rows is None else rows
    titles = {str(pkgutil.resolve_name(row.source).title): why for row in every if (why := why_off(row, off))}
    return [Check(title, "off", f'switched off: {variable_name("off")} names "{why}"') for title, why in titles.items()]


def _proxies() -> list[Check]:
    """The proxies that requests go through; only their hosts are shown, since an address can hold a password."""
    found = sorted((scheme, address) for scheme, address in getproxies().items() if scheme in ("http", "https", "all"))
    named = [f"{scheme} through {address.rpartition('@')[2]}" for scheme, address in found]
    return [Check("Proxy", "ok", ", ".join(named))] if named else []


def _folders(settings: Settings) -> list[Check]:
    """The folders that the server writes to."""
    cache = _folder("Cache folder", settings.cache_dir, "DEEPCRITICAL_CACHE_DIR", "nothing is cached")
    data_dir = _of_stdio(settings).data_dir
    if data_dir is None:
        if len(configured_backends(settings)) > 1:
            return [cache]
        off = "sessions are in memory and end with the server"
        return [cache, Check("Data folder", "off", off, "Unset DEEPCRITICAL_DATA_DIR to keep them.")]
    return [cache, _folder("Data folder", data_dir, "DEEPCRITICAL_DATA_DIR", "sessions cannot be kept")]


def _folder(part: str, path: Path, variable: str, consequence: str) -> Check:
    """Whether `path`, or the place where it would be created, is writable and has space."""
    move = f"set {variable} to a folder that you may write to."
    make_room = f"Free some space, or {move}"
    try:
        place = next((one for one in (path, *path.parents) if one.exists()), path)
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"doctor")
            file.flush()
        free = shutil.disk_usage(place).free
    except OSError as error:
        advice = make_room if error.errno in NO_ROOM else f"S{move[1:]}"
        return Check(part, "warning", f"{path} is not writable ({error.strerror}); {consequence}", advice)
    if free < _MIN_FREE_BYTES:
        return Check(part, "warning", f"{path}: only {free // 2**20} MB are free", make_room)
    if sys.platform != "win32" and path.exists() and path.stat().st_mode & stat.S_IWOTH:
        return Check(part, "warning", f"every user of this machine can write to {path}", f'Run: chmod 700 "{path}"')
    return Check(part, "ok", str(path))


def _client(client: McpClient) -> Check:
    if not client.is_installed:
        return Check(client.title, "off", "not found on this machine")
    install = f"Run {shell_command()} install --client {client.name}"
    outcomes: dict[ConfiguredState, tuple[State, str, str]] = {
        "configured": ("ok", f"configured for this server: {client.path}", ""),
        "stale": ("warning", f"its configured command does not exist: {client.path}", install),
        "unreadable": ("warning", f"its file cannot be read: {client.path}", "Fix the file; it was not changed."),
        "unknown": ("off", "installed, but not configured for this server", install),
    }
    return Check(client.title, *outcomes[configured_state(client)])
