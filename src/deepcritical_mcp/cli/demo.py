"""The command `demo`: a research session between a real MCP client and the real server over stdio."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from contextlib import ExitStack
from typing import IO, Any, cast

import anyio
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import Implementation

from deepcritical_mcp._version import __version__
from deepcritical_mcp.cli.clients import knowledge, known_clients, server_snippet, shell_command
from deepcritical_mcp.cli.demo_session import DemoSession, Story, story
from deepcritical_mcp.cli.reachability import ncbi_problem
from deepcritical_mcp.cli.screen import Screen
from deepcritical_mcp.config import Settings, every_setting, load_settings
from deepcritical_mcp.errors import DeepCriticalError
from deepcritical_mcp.sources.pubmed.pubmed_settings import PubMedSettings
from deepcritical_mcp.text import clean_line

_PATIENCE = 90.0


class DemoError(DeepCriticalError):
    """The demo cannot be completed."""


def play(question: str, *, offline: bool, debug: bool) -> None:
    """Play the session on the terminal.

    Raises:
        DemoError: the server does not start or stops, or the tools that matter most did not answer.
        ConfigurationError: a setting cannot be used.
    """
    anyio.run(_play, story(question), load_settings(), offline, debug)


async def _play(tale: Story, settings: Settings, offline: bool, debug: bool) -> None:
    screen = Screen()
    screen.say(f"deepcritical-mcp {__version__}: a research session, from question to evidence", style="bold")
    screen.say("A real MCP client talks to the real server over stdio, as your own client does.", style="dim")
    with ExitStack() as stack:
        is_sample = await _is_sample(screen, settings, offline)
        log = sys.stderr if debug else _log(stack)
        try:
            failed = await _research(tale, screen, _server(is_sample=is_sample), log, is_sample=is_sample)
        except* (MCPError, OSError, TimeoutError) as group:
            last = "" if debug else _last_line(log)
            raise DemoError(f"the server stopped unexpectedly. {last}".strip()) from group
    _next_steps(screen, settings)
    _judge(failed, is_sample=is_sample)


async def _is_sample(screen: Screen, settings: Settings, offline: bool) -> bool:
    """Whether the sample library answers: because it is wanted, or because NCBI cannot be reached; one line says so."""
    reason = "as requested"
    if not offline:
        async with screen.working("checking whether NCBI can be reached"):
            problem = await ncbi_problem(settings)
        if not problem:
            screen.say("NCBI answers: this is the real PubMed and the real web.", style="green")
            return False
        reason = f"because NCBI cannot be reached ({problem})"
    screen.say(f"Offline, {reason}: made-up records, each marked [sample data].", style="yellow")
    return True


def _server(*, is_sample: bool) -> StdioServerParameters:
    """How the server is started. Its sessions are never the user's own; the sample library gets no settings at all."""
    ours = {setting.variable for setting in every_setting()}
    if is_sample:
        environment = {name: value for name, value in os.environ.items() if name not in ours}
        return StdioServerParameters(
            command=sys.executable, args=["-m", "deepcritical_mcp.cli.sample_library"], env=environment
        )
    environment = {**os.environ, "DEEPCRITICAL_DATA_DIR": "", "DEEPCRITICAL_CHROMA_URL": ""}
    return StdioServerParameters(command=sys.executable, args=["-m", "deepcritical_mcp"], env=environment)


async def _research(
    tale: Story, screen: Screen, server: StdioServerParameters, log: IO[str], *, is_sample: bool
) -> list[str]:
    """The tools that failed."""
    info = Implementation(name="deepcritical-mcp-demo", version=__version__)
    began = time.monotonic()
    transport = stdio_client(server, errlog=cast("Any", log))
    async with Client(transport, client_info=info, read_timeout_seconds=_PATIENCE) as client:
        tools = len((await client.list_tools()).tools)
        took = time.monotonic() - began
        screen.say(f"The server answers after {took:.1f} s and offers {tools} tools.", style="dim")
        session = DemoSession(client, screen, is_sample=is_sample)
        await session.play(tale)
        return session.failed


def _log(stack: ExitStack) -> IO[str]:
    """Where the server's log goes, to be read only when the server stops."""
    try:
        return stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace"))
    except OSError:
        return stack.enter_context(open(os.devnull, "w+", encoding="utf-8"))


def _last_line(log: IO[str]) -> str:
    log.seek(0)
    lines = [clean_line(line) for line in log.read().splitlines() if line.strip()]
    return f"Its last log line: {lines[-1][:300]}" if lines else "Run the demo with --debug to see its log."


def _next_steps(screen: Screen, settings: Settings) -> None:
    screen.step(9, "Now with your own client")
    clients = known_clients()
    here = [client for client in clients if client.is_here]
    for client in here or clients[:1]:
        if knowledge(client) == "knows":
            screen.good(f"{client.title} is already configured for this server. {client.afterwards}")
            continue
        screen.say(f"{client.title}: run", indent=2)
        screen.exactly(f"    {shell_command()} install --client {client.name}")
        screen.say("or add this yourself to", indent=2)
        screen.exactly(f"    {client.path}")
        screen.exactly(server_snippet(client))
    others = [client.name for client in clients if client not in (here or clients[:1])]
    if others:
        screen.say(f"Other clients: install --client {', '.join(others)}", style="dim", indent=2)
    if not settings.of(PubMedSettings).ncbi_email:
        screen.say("NCBI asks for your email address: set NCBI_EMAIL.", style="dim", indent=2)
    screen.say("Something wrong? This checks every part and says how to fix it:", indent=2)
    screen.exactly(f"    {shell_command()} doctor")


def _judge(failed: list[str], *, is_sample: bool) -> None:
    if "pubmed_search" in failed and "web_search" in failed and not is_sample:
        raise DemoError("neither PubMed nor the web answered. Run doctor, or the demo with --offline.")
    if failed and (is_sample or "semantic_search" in failed or "add_evidence" in failed):
        raise DemoError(f"the demo ended, but {', '.join(dict.fromkeys(failed))} failed. Run doctor.")
