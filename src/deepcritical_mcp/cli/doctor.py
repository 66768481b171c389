"""The command `doctor`: every part, its state, and how to fix it."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

import anyio
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from deepcritical_mcp._version import __version__
from deepcritical_mcp.cli import checks
from deepcritical_mcp.cli.checks import Check, State
from deepcritical_mcp.cli.clients import known_clients
from deepcritical_mcp.config import Settings, load_settings, unknown_variables
from deepcritical_mcp.errors import ConfigurationError
from deepcritical_mcp.logs import hide

_LOOKS: dict[State, tuple[str, str]] = {
    "ok": ("✓", "green"),
    "off": ("–", "dim"),
    "look": ("!", "yellow"),
    "broken": ("✗", "bold red"),
}


def examine(*, as_json: bool) -> bool:
    """Check every part and show it; returns whether the main job works: find, keep, and find again by meaning."""
    logging.getLogger("deepcritical_mcp").addHandler(logging.NullHandler())  # the table says what went wrong
    console = Console(highlight=False)
    settings, found = _settings()
    if settings is not None:
        if console.is_terminal and not as_json:
            with console.status("Checking every part…"):
                found += anyio.run(_look, settings)
        else:
            found += anyio.run(_look, settings)
    found += [checks.client(one) for one in known_clients()]
    found = [_without_keys(check, settings) for check in found]
    works = settings is not None and main_job_works(found)
    if as_json:
        _show_json(found, works=works)
    else:
        _show_table(console, found, works=works)
    return works


def main_job_works(found: list[Check]) -> bool:
    """The store works, and at least one source answers."""
    store = all(check.state != "broken" for check in found if check.area == "store")
    sources = [check for check in found if check.area not in ("", "store")]
    return store and any(check.state in ("ok", "look") for check in sources)


def _settings() -> tuple[Settings | None, list[Check]]:
    found = [*checks.python_and_package(), *checks.mistyped_settings(unknown_variables())]
    try:
        return load_settings(), [*found, Check("Settings", "ok", "are valid")]
    except ConfigurationError as error:
        advice = "Correct or unset it; until then the server does not start and nothing more can be checked."
        return None, [*found, Check("Settings", "broken", error.message.removesuffix(" Correct or unset it."), advice)]


async def _look(settings: Settings) -> list[Check]:
    """All checks at the same time, in the order in which they are shown."""
    environment = {**os.environ, "DEEPCRITICAL_DATA_DIR": "", "DEEPCRITICAL_CHROMA_URL": ""}
    servers: list[Callable[[], Awaitable[Check]]] = [partial(checks.server, environment)]
    if settings.chroma_url:
        servers.append(partial(checks.chroma_server, settings))
    if settings.redis_url.get_secret_value():
        servers.append(partial(checks.redis, settings))
    found: dict[str, list[Check]] = {}

    async def ask_servers() -> None:
        found["servers"] = await checks.side_by_side(servers)

    async def ask_sources() -> None:
        found["sources"] = await checks.sources(settings)

    async def use_model() -> None:  # one after the other: both import the same libraries
        found["model"] = [await checks.model(settings), await checks.store(settings)]

    async with anyio.create_task_group() as tasks:
        for ask in (ask_servers, ask_sources, use_model):
            tasks.start_soon(ask)
    local = [*found["servers"], *found["model"], *checks.folders(settings), *checks.proxies()]
    return [*local, *found["sources"]]


def _without_keys(check: Check, settings: Settings | None) -> Check:
    secrets = settings.secrets if settings else ()
    return replace(check, finding=hide(check.finding, secrets), advice=hide(check.advice, secrets))


def _show_json(found: list[Check], *, works: bool) -> None:
    rows = [
        {
            "part": check.part,
            "state": check.state,
            "finding": check.finding,
            "advice": check.advice,
            "seconds": round(check.seconds, 3),
        }
        for check in found
    ]
    print(json.dumps({"works": works, "version": __version__, "checks": rows}, indent=2, ensure_ascii=False))


def _show_table(console: Console, found: list[Check], *, works: bool) -> None:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("", width=1)
    table.add_column("Part", min_width=12)
    table.add_column("Finding", overflow="fold")
    for check in found:
        mark, style = _LOOKS[check.state]
        took = f" ({check.seconds:.1f} s)" if check.seconds >= 0.05 else ""
        finding = Text(check.finding + took)
        if check.advice:
            finding.append(f"\n→ {check.advice}", style="yellow" if check.state == "look" else "")
        table.add_row(
            Text(mark, style=style), Text(check.part, style=style if check.state == "broken" else ""), finding
        )
    console.print(table)
    console.print()
    if works:
        console.print(Text("The main job works: find, keep, and find again by meaning.", style="green"))
    else:
        console.print(Text("The main job does not work yet: fix what is marked ✗ above.", style="bold red"))
