"""What `doctor` looks at, one check a function; every check answers, whatever is wrong."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.request import getproxies

import anyio

from deepcritical_mcp._version import __version__
from deepcritical_mcp.cli.boundary import NO_ROOM
from deepcritical_mcp.cli.clients import McpClient, knowledge, shell_command
from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import DeepCriticalError

State = Literal["ok", "off", "look", "broken"]
PATIENCE = 12.0
_LITTLE_ROOM = 100 * 1024 * 1024
_SENTENCE = "Metformin is the first drug for type 2 diabetes."


@dataclass(frozen=True)
class Check:
    """One part and its state: "off" is not set up and need not be, "look" works but could be better.

    Attributes:
        area: what the part serves: the main job needs "store", and one of "literature" and "web".
        seconds: how long the part took to answer, 0.0 where that means nothing.
    """

    part: str
    state: State
    finding: str
    mend: str = ""
    area: Literal["", "store", "literature", "web"] = ""
    seconds: float = 0.0


class Fault(Exception):
    """A check's own verdict on what it found; anything else that goes wrong is told by its type."""

    def __init__(self, finding: str, mend: str = "", *, state: State = "broken") -> None:
        super().__init__(finding)
        self.finding = finding
        self.mend = mend
        self.state: State = state


async def run_check(
    part: str,
    examine: Callable[[], Awaitable[str]],
    *,
    mend: str = "",
    area: Literal["", "store", "literature", "web"] = "",
    patience: float = PATIENCE,
) -> Check:
    """The check of `part`: ok with what `examine` tells, or broken; `mend` is said where the fault knows no better."""
    began = time.monotonic()
    try:
        with anyio.fail_after(patience):
            finding = await examine()
    except Fault as fault:
        return Check(part, fault.state, fault.finding, fault.mend or mend, area, time.monotonic() - began)
    except TimeoutError:
        return Check(part, "broken", f"no answer within {patience:g} seconds", mend, area, patience)
    except DeepCriticalError as error:
        return Check(part, "broken", error.message, mend, area, time.monotonic() - began)
    except Exception as error:
        return Check(
            part, "broken", f"{type(error).__name__}: {_first_line(error)}", mend, area, time.monotonic() - began
        )
    return Check(part, "ok", finding, "", area, time.monotonic() - began)


def python_and_package() -> list[Check]:
    """What runs here, and where from."""
    folder = Path(__file__).resolve().parents[1]
    return [
        Check(
            "Python", "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}, {sys.executable}"
        ),
        Check("deepcritical-mcp", "ok", f"{__version__} in {folder}"),
    ]


def mistyped_settings(unknown: dict[str, str]) -> list[Check]:
    """Variables that look like settings and are none."""
    return [
        Check(name, "look", "is not a setting, so it does nothing", f"Did you mean {nearest}?")
        for name, nearest in sorted(unknown.items())
    ]


def proxies() -> list[Check]:
    """The proxies that requests go through; of an address only the host is named, since it can hold a password."""
    found = {scheme: address for scheme, address in getproxies().items() if scheme in ("http", "https", "all")}
    if not found:
        return []
    named = [f"{scheme} through {address.rpartition('@')[2]}" for scheme, address in sorted(found.items())]
    return [Check("Proxy", "ok", ", ".join(named))]


async def model(settings: Settings) -> Check:
    """Whether the embedding model loads and embeds."""
    from deepcritical_mcp.evidence.embedding.service import EmbeddingService

    async def examine() -> str:
        service = EmbeddingService(settings.model_copy(update={"data_dir": None}))
        vector = await service.embed(_SENTENCE)
        service.close()
        which = settings.embedding_model or "all-MiniLM-L6-v2, shipped with the package"
        return f"{which}: {len(vector)} numbers for a text"

    mend = "Without it, evidence is found by its words only. Install the package again" + (
        ", or unset DEEPCRITICAL_EMBEDDING_MODEL." if settings.embedding_model else "."
    )
    return await run_check("Embedding model", examine, mend=mend)


async def store(settings: Settings) -> Check:
    """Whether evidence can be kept and found again, in memory and in the real store."""

    async def examine() -> str:
        from deepcritical_mcp.evidence.embedding.service import EmbeddingService
        from deepcritical_mcp.evidence.sessions import SessionRegistry
        from deepcritical_mcp.models import Citation, Evidence

        in_memory = settings.model_copy(update={"data_dir": None, "chroma_url": ""})
        embedder = EmbeddingService(in_memory)
        sessions = SessionRegistry(in_memory, embedder)
        session = await sessions.open()
        piece = Evidence.of(Citation(source="user", title="A note of doctor's"), _SENTENCE, provider="user")
        await session.add_evidence([piece])
        found = await session.search_similar("which medicine comes first in diabetes?", max_results=1)
        await sessions.aclose()
        embedder.close()
        if [one.id for one in found] != [piece.id]:
            raise Fault("a note was kept but not found again")
        return "a note was kept and found again by meaning"

    mend = "Install the package again, in an environment of its own: another chromadb may be in the way."
    return await run_check("Store (Chroma)", examine, mend=mend, area="store")


async def server(environment: dict[str, str]) -> Check:
    """Whether the server starts as clients start it."""

    async def examine() -> str:
        from mcp import Client
        from mcp.client.stdio import StdioServerParameters, stdio_client

        parameters = StdioServerParameters(command=sys.executable, args=["-m", "deepcritical_mcp"], env=environment)
        with open(os.devnull, "w", encoding="utf-8") as silence:  # noqa: ASYNC230  # nothing to wait for
            async with Client(stdio_client(parameters, errlog=silence)) as client:
                tools = await client.list_tools()
        return f"starts over stdio and offers {len(tools.tools)} tools"

    return await run_check(
        "Server", examine, mend=f"Run {shell_command()} --debug and read what it says.", area="store"
    )


def folder(part: str, path: Path, *, variable: str, use: str) -> Check:
    """Whether `path`, or where it would be made, can be written to and has room."""
    mend = f"Set {variable} to a folder that you may write to."
    try:
        place = next(one for one in (path, *path.parents) if one.exists())
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"doctor")
            file.flush()
        free = shutil.disk_usage(place).free
    except (OSError, StopIteration) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is nowhere"
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            mend = f"Free some space. Or {mend[0].lower()}{mend[1:]}"
        return Check(part, "look", f"{path} cannot be written to ({reason}); {use}", mend)
    if free < _LITTLE_ROOM:
        return Check(
            part, "look", f"{path}: only {free // 2**20} MB are free", "Make room, or " + mend[0].lower() + mend[1:]
        )
    return Check(part, "ok", str(path))


def folders(settings: Settings) -> list[Check]:
    """The folders that are written to."""
    checks = [folder("Cache folder", settings.cache_dir, variable="DEEPCRITICAL_CACHE_DIR", use="nothing is cached")]
    if settings.data_dir is None:
        off = "sessions live in memory and end with the server"
        return [*checks, Check("Data folder", "off", off, "Set DEEPCRITICAL_DATA_DIR to keep them.")]
    use = "sessions cannot be kept"
    return [*checks, folder("Data folder", settings.data_dir, variable="DEEPCRITICAL_DATA_DIR", use=use)]


def client(one: McpClient) -> Check:
    """Whether a client is on this machine and knows the server."""
    if not one.is_here:
        return Check(one.title, "off", "not found on this machine")
    install = f"{shell_command()} install --client {one.name}"
    match knowledge(one):
        case "knows":
            return Check(one.title, "ok", f"knows this server: {one.path}")
        case "stale":
            return Check(one.title, "look", f"would start a command that is not there: {one.path}", f"Run {install}")
        case "unreadable":
            return Check(one.title, "look", f"its file cannot be read: {one.path}", "Mend the file; it is left alone.")
        case "unknown":
            return Check(one.title, "off", "is here and does not know this server", f"Run {install}")


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [""])[0][:200]
