"""The command `doctor`: every part, its state, and how to mend it."""

from __future__ import annotations

import json
import os
from dataclasses import replace

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
# The order in which parts are shown, whoever answers first.
_ORDER = (
    *(
        "Python",
        "deepcritical-mcp",
        "Settings",
        "Server",
        "Embedding model",
        "Store (Chroma)",
        "Chroma server",
    ),
    *("Cache folder", "Data folder", "Proxy", "PubMed", "Tavily", "Brave Search", "SerpAPI", "DuckDuckGo", "Redis"),
)


def examine(*, as_json: bool) -> bool:
    """Look at every part and show it; whether the main job works: finding, keeping, and finding again by meaning."""
    console = Console(highlight=False)
    settings, found = _settings()
    if settings is not None:
        if console.is_terminal and not as_json:
            with console.status("Looking at every part, and asking the providers…"):
                found += anyio.run(_look, settings)
        else:
            found += anyio.run(_look, settings)
    found += [checks.client(one) for one in known_clients()]
    found = [_without_keys(check, settings) for check in sorted(found, key=_place)]
    works = settings is not None and main_job_works(found)
    if as_json:
        _show_json(found, works=works)
    else:
        _show_table(console, found, works=works)
    return works


def main_job_works(found: list[Check]) -> bool:
    """The store works, and there is literature or a web provider to fill it."""
    store = all(check.state != "broken" for check in found if check.area == "store")
    sources = [check for check in found if check.area in ("literature", "web")]
    return store and any(check.state in ("ok", "look") for check in sources)


def _settings() -> tuple[Settings | None, list[Check]]:
    found = [*checks.python_and_package(), *checks.mistyped_settings(unknown_variables())]
    try:
        return load_settings(), [*found, Check("Settings", "ok", "can be used")]
    except ConfigurationError as error:
        mend = "Correct or unset it; until then the server does not start and nothing more can be checked."
        return None, [*found, Check("Settings", "broken", error.message.removesuffix(" Correct or unset it."), mend)]


async def _look(settings: Settings) -> list[Check]:
    from deepcritical_mcp.cli.provider_checks import all_providers

    found = [*checks.folders(settings), *checks.proxies()]
    environment = {**os.environ, "DEEPCRITICAL_DATA_DIR": "", "DEEPCRITICAL_CHROMA_URL": ""}

    async def model_and_store() -> None:
        found.append(await checks.model(settings))
        found.append(await checks.store(settings))

    async def server() -> None:
        found.append(await checks.server(environment))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(model_and_store)
        tasks.start_soon(server)
        tasks.start_soon(all_providers, settings, found.append)
    return found


def _place(check: Check) -> int:
    return _ORDER.index(check.part) if check.part in _ORDER else (2 if check.part.isupper() else len(_ORDER))


def _without_keys(check: Check, settings: Settings | None) -> Check:
    secrets = settings.secrets if settings else ()
    return replace(check, finding=hide(check.finding, secrets), mend=hide(check.mend, secrets))


def _show_json(found: list[Check], *, works: bool) -> None:
    rows = [
        {
            "part": check.part,
            "state": check.state,
            "finding": check.finding,
            "mend": check.mend,
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
        if check.mend:
            finding.append(f"\n→ {check.mend}", style="yellow" if check.state == "look" else "")
        table.add_row(
            Text(mark, style=style), Text(check.part, style=style if check.state == "broken" else ""), finding
        )
    console.print(table)
    console.print()
    if works:
        console.print(Text("The main job works: find, keep, and find again by meaning.", style="green"))
    else:
        console.print(Text("The main job does not work yet: mend what is marked ✗ above.", style="bold red"))
