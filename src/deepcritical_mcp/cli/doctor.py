"""The command `doctor`: every component, its state, and how to fix it."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace

import anyio
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from deepcritical_mcp._version import __version__
from deepcritical_mcp.cli import doctor_checks
from deepcritical_mcp.cli.clients import known_clients
from deepcritical_mcp.cli.doctor_checks import Check
from deepcritical_mcp.config import load_settings, unknown_variables
from deepcritical_mcp.errors import ConfigurationError
from deepcritical_mcp.logs import hide
from deepcritical_mcp.sources.base import State

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
    found = doctor_checks.this_installation(unknown_variables())
    settings = None
    try:
        settings = load_settings()
        found.append(Check("Settings", "ok", "are valid"))
        with nullcontext() if as_json or not console.is_terminal else console.status("Checking every part…"):
            found += anyio.run(doctor_checks.run_checks, settings)
    except ConfigurationError as error:
        advice = "Correct or unset it; until then the server does not start and nothing more can be checked."
        found.append(Check("Settings", "broken", error.message.removesuffix(" Correct or unset it."), advice))
    found += map(doctor_checks.client_check, known_clients())
    secrets = settings.secrets if settings else ()
    found = [replace(one, finding=hide(one.finding, secrets), advice=hide(one.advice, secrets)) for one in found]
    # The store works, and at least one source answers.
    sources = [one for one in found if one.area not in ("", "model", "store")]
    works = settings is not None and any(one.state in ("ok", "warning") for one in sources)
    works = works and all(one.state != "broken" for one in found if one.area == "store")
    if as_json:
        rows = [{name: value for name, value in asdict(check).items() if name != "area"} for check in found]
        print(json.dumps({"works": works, "version": __version__, "checks": rows}, indent=2, ensure_ascii=False))
    else:
        _show_table(console, found)
        console.print(_conclusion(found, works=works))
    return works


def _show_table(console: Console, found: Sequence[Check]) -> None:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("", width=1)
    table.add_column("Part", min_width=12)
    table.add_column("Finding", overflow="fold")
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


def _conclusion(found: Sequence[Check], *, works: bool) -> Text:
    if not works:
        return Text("Searching and keeping evidence does not work yet: fix what is marked ✗ above.", style="bold red")
    if any(check.area == "model" and check.state == "broken" for check in found):
        text = "The main job works, but evidence is found again by its words only, not by meaning."
        return Text(text, style="yellow")
    return Text("The main job works: find, keep, and find again by meaning.", style="green")
