"""The command `demo`: a research session between a real MCP client and the real server over stdio."""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, nullcontext, suppress
from textwrap import fill
from typing import IO, Any, cast

from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.dispatcher import ProgressFnT
from mcp_types import Implementation, TextContent
from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from deepcritical_mcp._version import __version__
from deepcritical_mcp.cli import doctor_checks
from deepcritical_mcp.cli.clients import SERVER_NAME, configured_state, known_clients, server_entry, shell_command
from deepcritical_mcp.config import Settings, every_setting, load_settings
from deepcritical_mcp.errors import DeepCriticalError
from deepcritical_mcp.evidence.storage import in_memory_only
from deepcritical_mcp.sources import PUBMED
from deepcritical_mcp.text import clean_line, clipped

_QUESTION = "Does metformin lower cardiovascular mortality in people with type 2 diabetes?"
_RECALL = "what did I want to check about study design and funding?"


async def _played(question: str, client: Client, screen: Screen, *, is_sample: bool) -> list[str]:
    """Play all steps; a failure is shown, and the next step follows. The names of the tools that failed, in order."""
    failed = list[str]()

    async def call(step: str, tool: str, **arguments: object) -> Mapping[str, Any]:
        """Take a step, a call of a tool; show the call and what a model reads of the answer. The structured result; {}
        if it fails."""
        screen.step(step)
        named = ", ".join(f"{key}={json.dumps(_shortened(one), ensure_ascii=False)}" for key, one in arguments.items())
        screen.say(f"→ {tool}({named})", style="cyan", hang=2)
        async with screen.working(tool) as report:
            result = await client.call_tool(tool, arguments, progress_callback=report)
        text = "\n".join(part.text for part in result.content if isinstance(part, TextContent))
        if result.is_error:
            failed.append(tool)
            screen.say(clean_line(text), style="red", indent=2)
            return {}
        screen.answer(text)
        return result.structured_content or {}

    screen.step("1  A question")
    screen.say(question, style="bold", indent=2)
    expansion = await call("2  More queries for it", "expand_queries", topic=question, count=3)
    query, *variants = [one["query"] for one in expansion.get("queries", ())] or [question]
    found = await call("3  The literature", "pubmed_search", query=query, variants=variants, max_results=5)
    papers = found.get("evidence", ())
    if found and not papers and is_sample:
        screen.say(
            "The sample library has nothing on this topic. It covers metformin, Parkinson's disease, gene editing for "
            "sickle cell disease, long COVID and statins. Run the demo without --offline to search the real sources.",
            style="yellow",
            indent=2,
        )
    await call("4  The web", "web_search", query=query, max_results=3)
    step = "5  A paper, beyond its abstract"
    if papers:
        paper = min(papers, key=lambda one: "PMCID" not in one["citation"]["reference"])
        await call(step, "get_full_text", id=paper["id"], question=question)
    else:
        screen.step(step)
    await call("6  Everything found, searched by meaning", "semantic_search", query=question, max_results=3)
    items = [
        {
            "title": "My note: what to check first",
            "content": (
                f"About my question “{question}”: first check which of these studies were randomized, how large "
                "they were and who funded them."
            ),
        }
    ]
    await call("7  Your own note", "add_evidence", items=items)
    await call("8  Found again by meaning", "semantic_search", query=_RECALL, source="user", max_results=1)
    await call("9  Adding the same note again", "add_evidence", items=items)
    return failed


_READ_TIMEOUT = 90.0


class DemoError(DeepCriticalError):
    """The demo cannot be completed."""


async def play(question: str, *, offline: bool, debug: bool) -> None:
    """Play the session on the terminal; DemoError if the server stops unexpectedly, or its main tools fail."""
    question, settings, screen = clean_line(question) or _QUESTION, load_settings(), Screen(highlight=False)
    screen.say(f"deepcritical-mcp {__version__}: a research session, from question to evidence", style="bold")
    screen.say("A real MCP client talks to the real server over stdio, as your client would.", style="dim")
    is_sample = await _is_sample(screen, settings, offline)
    # Where the server's log goes, read only if the server stops unexpectedly.
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        try:
            failed = await _research(question, screen, sys.stderr if debug else log, is_sample=is_sample)
        except* (MCPError, TimeoutError) as group:
            log.seek(0)
            lines = [clean_line(line) for line in log if line.strip()]
            last = f" Its last log line: {lines[-1][:300]}" if lines else " Run the demo with --debug to see its log."
            raise DemoError(f"the server stopped unexpectedly.{'' if debug else last}") from group
    _next_steps(screen, settings)
    if {"pubmed_search", "web_search"} <= {*failed} and not is_sample:
        told = "neither PubMed nor the web gave results, as said above. Run doctor, or the demo with --offline."
        raise DemoError(told)
    if failed and (is_sample or not {"semantic_search", "add_evidence"}.isdisjoint(failed)):
        raise DemoError(f"the demo ended, but {', '.join(dict.fromkeys(failed))} failed. Run doctor.")


async def _is_sample(screen: Screen, settings: Settings, offline: bool) -> bool:
    """Whether to use the sample library: if requested, or if PubMed cannot be searched. Prints which."""
    reason = "as requested"
    if not offline:
        logging.getLogger("deepcritical_mcp").addHandler(logging.NullHandler())  # the screen says what went wrong
        async with screen.working("checking whether PubMed can be reached"):
            pubmed, *_ = await doctor_checks.sources(settings, [PUBMED])
        if pubmed.state != "broken":
            screen.say("PubMed answers: searching the real PubMed and the real web.", style="green")
            return False
        reason = f"because {pubmed.finding.removesuffix('.')}"
    screen.say(f"Offline, {reason}: made-up records, each marked [sample data].", style="yellow")
    return True


async def _research(question: str, screen: Screen, log: IO[str], *, is_sample: bool) -> list[str]:
    """Play the session; returns the names of the tools that failed.

    The server never uses the user's own sessions; the sample library gets no settings at all.
    """
    ours = {setting.variable for setting in every_setting()} if is_sample else set[str]()
    environment = {name: value for name, value in os.environ.items() if name not in ours}
    environment |= {} if is_sample else in_memory_only()
    module = "deepcritical_mcp.cli.sample_library" if is_sample else "deepcritical_mcp"
    server = StdioServerParameters(command=sys.executable, args=["-m", module], env=environment)
    info = Implementation(name="deepcritical-mcp-demo", version=__version__)
    began = time.monotonic()
    transport = stdio_client(server, errlog=log)  # pyright: ignore[reportArgumentType]  # any file with a descriptor
    async with Client(transport, client_info=info, read_timeout_seconds=_READ_TIMEOUT) as client:
        tools = len((await client.list_tools()).tools)
        took = time.monotonic() - began
        screen.say(f"The server started in {took:.1f} s and offers {tools} tools.", style="dim")
        return await _played(question, client, screen, is_sample=is_sample)


def _next_steps(screen: Screen, settings: Settings) -> None:
    screen.step("10  Use it in your own client")
    clients = known_clients()
    here = [client for client in clients if client.is_installed] or list(clients[:1])
    for client in here:
        if configured_state(client) == "configured":
            told = f"{client.title} is already configured for this server. {client.restart_hint}"
            screen.say(told, style="green", indent=2)
            continue
        screen.say(f"{client.title}: run", indent=2)
        screen.verbatim(f"    {shell_command()} install --client {client.name}")
        screen.say("or add this to", indent=2)
        screen.verbatim(f"    {client.path}")
        screen.verbatim(json.dumps({client.key: {SERVER_NAME: server_entry(client)}}, indent=2, ensure_ascii=False))
    if others := [client.name for client in clients if client not in here]:
        screen.say(f"Other clients: install --client {', '.join(others)}", style="dim", indent=2)
    if not settings.ncbi_email:
        screen.say("NCBI asks for your email address: set NCBI_EMAIL.", style="dim", indent=2)
    screen.say("If something does not work, check every component:", indent=2)
    screen.verbatim(f"    {shell_command()} doctor")


_MAX_ARGUMENT = 44
_MAX_LINES, _MAX_LINE = 26, 160
"""Of an answer that is shown, and characters of each line."""


class Screen(Console):
    """Writes to stdout; BrokenPipeError once its reader has left, e.g. `head`."""

    def on_broken_pipe(self) -> None:
        raise  # the BrokenPipeError, where rich would end the program in whichever task prints

    def say(self, text: str, *, style: str = "", indent: int = 0, hang: int = 0) -> None:
        """Print a paragraph; `hang` is the extra indentation of its second and later lines."""
        first, later = " " * indent, " " * (indent + hang)
        text = fill(text, max(self.width, 20), initial_indent=first, subsequent_indent=later)
        self.print(Text(text, style=style), soft_wrap=True)  # the console would pad every line with spaces

    def verbatim(self, text: str) -> None:
        """Print text to be copied, without wrapping."""
        self.print(Text(text), soft_wrap=True)

    def step(self, title: str) -> None:
        """Print the heading of a step."""
        self.print()
        self.print(Rule(Text(f" {title} ", style="bold"), align="left", style="blue"))

    @asynccontextmanager
    async def working(self, title: str) -> AsyncGenerator[ProgressFnT]:
        """Show progress until the block ends; yields the function that reports it."""
        status, lines = self.status(title), set[str]()

        async def report(progress: float, total: float | None, message: str | None) -> None:
            line = clipped(clean_line(message or title), 50)
            status.update(Text(line))
            if not self.is_terminal and line not in lines:
                lines.add(line)
                with suppress(OSError):  # the next line of the demo itself meets it too
                    self.say(f"… {line}", style="dim", indent=2)

        with status if self.is_terminal else nullcontext():
            yield report

    def answer(self, text: str) -> None:
        """Print what a model reads of an answer, with long texts shortened."""
        shown = 0
        for line, before in zip(lines := text.split("\n"), ["", *lines], strict=False):
            is_quote = line.startswith(">")
            if not line.strip() or line.startswith("session_id") or (is_quote and before.startswith(">")):
                continue
            if shown == _MAX_LINES:
                self.say("…", style="dim", indent=2)
                return
            shown += 1
            style = "bold" if line.startswith("#") else "dim" if is_quote else ""
            self.say(clipped(line.lstrip("#> "), _MAX_LINE), style=style, indent=2, hang=2)


def _shortened(value: object) -> object:
    """An argument, each text in it cut off where it is long."""
    if isinstance(value, list):
        return [_shortened(one) for one in cast("list[object]", value)]
    if isinstance(value, dict):
        return {name: _shortened(one) for name, one in cast("dict[str, object]", value).items()}
    return clipped(value, _MAX_ARGUMENT) if isinstance(value, str) else value
