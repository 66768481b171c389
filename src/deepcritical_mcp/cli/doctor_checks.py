"""The command `doctor`: every component, its state, and how to fix it. A check has an outcome, whatever is wrong."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import pkgutil
import platform
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal
from urllib.request import getproxies

import anyio
import httpx
from anyio.to_thread import run_sync
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from deepcritical_mcp import sources as tables
from deepcritical_mcp._version import __version__
from deepcritical_mcp.cli.clients import ConfiguredState, McpClient, configured_state, known_clients, shell_command
from deepcritical_mcp.config import Settings, load_settings, unknown_variables, user_data_folder, variable_name
from deepcritical_mcp.errors import (
    AuthenticationError,
    BlockedError,
    ConfigurationError,
    DeepCriticalError,
    EmbeddingError,
    EvidenceStoreError,
)
from deepcritical_mcp.evidence.embedding.calibration import UNCALIBRATED
from deepcritical_mcp.evidence.embedding.service import EmbeddingService
from deepcritical_mcp.evidence.sessions import SessionRegistry
from deepcritical_mcp.evidence.storage import configured_backends, in_memory_only
from deepcritical_mcp.evidence.storage.backend import Backend, MemoryBackend
from deepcritical_mcp.evidence.storage.folder_store import FolderBackend
from deepcritical_mcp.logs import hide
from deepcritical_mcp.models import Publication
from deepcritical_mcp.net.client import Net, RetryPolicy
from deepcritical_mcp.net.pacing import RedisPlace
from deepcritical_mcp.sources import SourceRow, why_off
from deepcritical_mcp.sources.base import Finding, Service, Source, SourceCheck, SourceKind, State, created
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
    # Only hosts of proxies are shown, since an address can hold a password.
    proxies = sorted(one for one in getproxies().items() if one[0] in ("http", "https", "all"))
    named = ", ".join(f"{scheme} through {address.rpartition('@')[2]}" for scheme, address in proxies)
    return [*at_servers, *at_store, *_folders(settings), *([Check("Proxy", "ok", named)] if named else []), *at_sources]


def this_installation(unknown: Mapping[str, str]) -> list[Check]:
    """The versions of Python and of this package, and variables that look like settings but are not."""
    system = f"{platform.python_version()} on {platform.system()} {platform.machine()}, {sys.executable}"
    ours = f"{__version__} in {Path(__file__).resolve().parents[1]}"
    nothing = "is not a setting and has no effect"
    others = [Check(one, "warning", nothing, f"Did you mean {near}?") for one, near in sorted(unknown.items())]
    return [Check("Python", "ok", system), Check("deepcritical-mcp", "ok", ours), *others]


async def _run(check: SourceCheck, area: Area = "") -> Check:
    """The outcome of a check; "broken", with its advice, if it fails or times out."""
    began, advice = time.monotonic(), check.advice
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
        reason = "".join(str(error).strip().splitlines()[:1])[:200]
        finding = Finding(f"{type(error).__name__}: {reason}", "broken")
    advice = finding.advice or (advice if finding.state == "broken" else "")
    seconds = 0.0 if finding.state == "off" else round(time.monotonic() - began, 3)
    return Check(check.title, finding.state, finding.text, advice, area, seconds)


async def servers(settings: Settings) -> list[Check]:
    """Whether the server starts, and where it keeps sessions and the request rate."""
    checks = [SourceCheck("Server", _server, f"Run {shell_command()} --debug and read its output.")]
    stores = configured_backends(_of_stdio(settings))[:-1]  # the last one is memory, which `_store` checks
    checks += [SourceCheck(store.title, partial(_kept, store), store.advice) for store in stores]
    running = [_run(check, "store") for check in checks]

    async def redis() -> Finding:
        await run_sync(RedisPlace(url, "deepcritical:doctor").change, max, abandon_on_cancel=True)
        return Finding("keeps the request rate")

    if url := settings.redis_url.get_secret_value():
        advice = "Correct DEEPCRITICAL_REDIS_URL, start the Redis that it names, or unset it."
        running.append(_run(SourceCheck("Redis", redis, advice)))
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


async def _model_and_store(settings: Settings) -> list[Check]:
    """One after the other, because both use the model."""
    embedder = EmbeddingService(settings.model_copy(update={"data_dir": None}))
    unset = ", or unset DEEPCRITICAL_EMBEDDING_MODEL." if settings.embedding_model else "."

    async def examine() -> Finding:
        """Whether the embedding model loads and embeds."""
        name = settings.embedding_model or f"{embedder.name}, shipped with the package"
        finding = f"{name}: {(await embedder.vectors([_SENTENCE])).shape[1]} dimensions"
        if embedder.calibration:
            return Finding(finding)
        advice = "Unset DEEPCRITICAL_EMBEDDING_MODEL to use the calibrated one."
        return Finding(f"{finding}. {UNCALIBRATED}", "warning", advice)

    advice = f"Without it, evidence is found by its words only. Reinstall the package{unset}"
    model = await _run(SourceCheck("Embedding model", examine, advice), "model")
    advice = "Reinstall the package in an environment of its own: another version of chromadb may conflict."
    store = await _run(SourceCheck("Store (Chroma)", partial(_store, settings, embedder), advice), "store")
    embedder.close()
    return [model, store]


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
        await embedder.query_vectors([query])
    except EmbeddingError:
        told = "a note was kept and found again by its words only: the embedding model is unavailable"
        return Finding(told, "warning")
    return Finding("a note was kept and found again by meaning")


async def sources(settings: Settings, rows: Sequence[SourceRow] | None = None) -> list[Check]:
    """The checks of the sources in `rows`, in that order; by default of `SOURCES`, `FULL_TEXTS` and `LOOKUPS`."""
    try:
        http = httpx.AsyncClient(timeout=httpx.Timeout(7.0, connect=5.0), follow_redirects=True)
    except (ValueError, ImportError, httpx.InvalidURL) as error:
        finding = f"the proxy setting cannot be used ({type(error).__name__})"
        return [Check("Proxy", "broken", finding, "Correct HTTP_PROXY, HTTPS_PROXY and ALL_PROXY, or unset them.")]
    asked_rows, others = (tables.SOURCES, (*tables.FULL_TEXTS, *tables.LOOKUPS)) if rows is None else (rows, ())
    async with http:
        net = Net(http, retry=_ONCE)
        pairs = [(check, one) for one in created(Source, asked_rows, settings, net) for check in one.checks()]
        running = [_run(check, one.kind if check.searches else "") for check, one in pairs]
        running += [_run(check) for one in created(Service, others, settings, net) for check in one.checks()]
        asked = await asyncio.gather(*running)
    every = (*asked_rows, *others)
    off = {str(pkgutil.resolve_name(row.source).title): why for row in every if (why := why_off(row, settings.off))}
    named = variable_name("off")
    return [*asked, *(Check(title, "off", f'switched off: {named} names "{why}"') for title, why in off.items())]


def _folders(settings: Settings) -> list[Check]:
    """The folders that the server writes to."""
    cache = _folder("Cache folder", settings.cache_dir, "DEEPCRITICAL_CACHE_DIR", "nothing is cached")
    if data_dir := _of_stdio(settings).data_dir:
        return [cache, _folder("Data folder", data_dir, "DEEPCRITICAL_DATA_DIR", "sessions cannot be kept")]
    if len(configured_backends(settings)) > 1:
        return [cache]
    off = "sessions are in memory and end with the server"
    return [cache, Check("Data folder", "off", off, "Unset DEEPCRITICAL_DATA_DIR to keep them.")]


def _folder(part: str, path: Path, variable: str, consequence: str) -> Check:
    """Whether `path`, or the place where it would be created, is writable and has space."""
    advice = f"Free some space, or set {variable} to a folder that you may write to."
    try:
        place = next((one for one in (path, *path.parents) if one.exists()), path)
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"doctor")
            file.flush()
        free = shutil.disk_usage(place).free
    except OSError as error:
        return Check(part, "warning", f"{path} is not writable ({error.strerror}); {consequence}", advice)
    if free < _MIN_FREE_BYTES:
        return Check(part, "warning", f"{path}: only {free // 2**20} MB are free", advice)
    if sys.platform != "win32" and path.exists() and path.stat().st_mode & stat.S_IWOTH:
        return Check(part, "warning", f"every user of this machine can write to {path}", f'Run: chmod 700 "{path}"')
    return Check(part, "ok", str(path))


def client_check(client: McpClient) -> Check:
    """Whether a client is installed on this machine and configured for this server."""
    if not client.is_installed:
        return Check(client.title, "off", "not found on this machine")
    install = f"Run {shell_command()} install --client {client.name}"
    by_hand = "Correct the file, or add the server by hand, as docs/clients.md shows."
    outcomes: dict[ConfiguredState, tuple[State, str, str]] = {
        "configured": ("ok", f"configured for this server: {client.path}", ""),
        "stale": ("warning", f"its configured command does not exist: {client.path}", install),
        "unreadable": ("warning", f"its file cannot be read, or is not plain JSON: {client.path}", by_hand),
        "unknown": ("off", "installed, but not configured for this server", install),
    }
    return Check(client.title, *outcomes[configured_state(client)])


_MARKS: dict[State, tuple[str, str]] = {
    "ok": ("✓", "green"),
    "off": ("–", "dim"),
    "warning": ("!", "yellow"),
    "broken": ("✗", "bold red"),
}


def examine(*, as_json: bool) -> bool:
    """Check every component and show the results; returns whether the main job works."""
    logging.getLogger("deepcritical_mcp").addHandler(logging.NullHandler())  # the table says what went wrong
    console = Console(highlight=False)
    found = this_installation(unknown_variables())
    settings = None
    try:
        settings = load_settings()
        found.append(Check("Settings", "ok", "are valid"))
        with nullcontext() if as_json or not console.is_terminal else console.status("Checking every part…"):
            found += anyio.run(run_checks, settings)
    except ConfigurationError as error:
        advice = "Correct or unset it; until then the server does not start and nothing more can be checked."
        found.append(Check("Settings", "broken", error.message.removesuffix(" Correct or unset it."), advice))
    found += map(client_check, known_clients())
    secrets = settings.secrets if settings else ()
    found = [replace(one, finding=hide(one.finding, secrets), advice=hide(one.advice, secrets)) for one in found]
    # The store works, and at least one source answers.
    asked = [one for one in found if one.area not in ("", "model", "store")]
    works = settings is not None and any(one.state in ("ok", "warning") for one in asked)
    works = works and all(one.state != "broken" for one in found if one.area == "store")
    if as_json:
        rows = [{name: value for name, value in asdict(check).items() if name != "area"} for check in found]
        print(json.dumps({"works": works, "version": __version__, "checks": rows}, indent=2, ensure_ascii=False))
        return works
    table = Table("", "Part", "Finding", box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.columns[0].width, table.columns[1].min_width, table.columns[2].overflow = 1, 12, "fold"
    for check in found:
        mark, style = _MARKS[check.state]
        took = f" ({check.seconds:.1f} s)" if check.seconds >= 0.05 else ""
        finding = Text(check.finding + took)
        if check.advice:
            finding.append(f"\n→ {check.advice}", style="yellow" if check.state == "warning" else "")
        part = Text(check.part, style=style if check.state == "broken" else "")
        table.add_row(Text(mark, style=style), part, finding)
    console.print(table)
    console.print()
    text, style = "The main job works: find, keep, and find again by meaning.", "green"
    if any(check.area == "model" and check.state == "broken" for check in found):
        text, style = "The main job works, but evidence is found again by its words only, not by meaning.", "yellow"
    if not works:
        text, style = "Searching and keeping evidence does not work yet: fix what is marked ✗ above.", "bold red"
    console.print(Text(text, style=style))
    return works
