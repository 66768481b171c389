"""The command `install`: shows the change to a client's configuration, asks, writes it, and can undo it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

import typer
from rich.console import Console
from rich.text import Text

from deepcritical_mcp.cli import client_config
from deepcritical_mcp.cli.clients import ClientName, McpClient, client_named, shell_command
from deepcritical_mcp.config import every_setting, load_settings
from deepcritical_mcp.errors import ConfigurationError

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def install_server(name: ClientName, *, undo: bool, yes: bool, variables: Iterable[str]) -> None:
    """Add this server to the client's configuration, or remove it again.

    Raises:
        ConfigurationError: the file is not valid, or `variables` names an unknown setting.
        OSError: the file cannot be read or written.
    """
    client = client_named(name)
    env = _environment(variables)
    change = client_config.removal(client) if undo else client_config.installation(client, env)
    console = Console(highlight=False, soft_wrap=True)
    if not change.is_needed:
        state = "is not configured to use this server; nothing to undo" if undo else "is already configured"
        console.print(f"{client.title} {state}: {client.path}", markup=False)
        return
    if not client.is_here:
        console.print(
            f"Note: {client.title} does not seem to be installed here; its configuration file would be new.",
            markup=False,
        )
    for line in client_config.diff(change):
        console.print(Text(line, style=_COLOURS.get(line[:1], "")))
    if not yes:
        _ask(client)
    client_config.apply(change)
    _report(console, change, undo=undo)


def _environment(variables: Iterable[str]) -> dict[str, str]:
    """The settings to write, from NAME=VALUE or NAME (for its value in this environment), validated."""
    known = {setting.variable for setting in every_setting()}
    env: dict[str, str] = {}
    for variable in variables:
        name, given, value = variable.partition("=")
        if name not in known:
            raise ConfigurationError(f"--env {name[:60]}: no such setting. The README lists all settings.")
        env[name] = value if given else os.environ.get(name, "")
        if not env[name]:
            raise ConfigurationError(f"--env {name}: no value in this environment. Set it, or pass --env {name}=VALUE.")
    os.environ.update(env)
    load_settings()  # raises if a value is invalid
    return env


def _ask(client: McpClient) -> None:
    if not sys.stdin.isatty():
        raise ConfigurationError(
            "cannot ask for confirmation without a terminal; nothing was changed. Run the command again with --yes."
        )
    try:
        agreed = typer.confirm(f"Change {client.path}?")
    except typer.Abort:
        raise KeyboardInterrupt from None
    if not agreed:
        typer.echo("Nothing was changed.")
        raise typer.Exit


def _report(console: Console, change: client_config.Change, *, undo: bool) -> None:
    client = change.client
    console.print(f"\nDone: the server was {'removed from' if undo else 'added to'} {client.title}.", markup=False)
    if change.backup is not None:
        console.print(f"Backup of the original file: {client_config.backup_path(client)}", markup=False)
    if undo:
        console.print(f"Restart {client.title} for this to take effect.", markup=False)
        return
    console.print(client.afterwards, markup=False)
    console.print(f"To undo this: {shell_command()} install --client {client.name} --undo", markup=False)
