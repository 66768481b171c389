"""The command `install`: shows what it would change in a client's file, asks, writes, and can take it back."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

import typer
from rich.console import Console
from rich.text import Text

from deepcritical_mcp.cli import install
from deepcritical_mcp.cli.clients import ClientName, McpClient, client_named, shell_command
from deepcritical_mcp.config import Settings, load_settings, variable_name
from deepcritical_mcp.errors import ConfigurationError

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def connect(name: ClientName, *, undo: bool, yes: bool, variables: Iterable[str]) -> None:
    """Make the client know this server, or forget it again.

    Raises:
        ConfigurationError: the file cannot be understood, or `variables` names what is no setting.
        OSError: the file cannot be written.
    """
    client = client_named(name)
    env = _environment(variables)
    change = install.removal(client) if undo else install.installation(client, env)
    console = Console(highlight=False, soft_wrap=True)
    if not change.is_needed:
        known = "does not know this server, so there is nothing to undo" if undo else "knows this server already"
        console.print(f"{client.title} {known}: {client.path}", markup=False)
        return
    if not client.is_here:
        console.print(f"Note: there is no sign of {client.title} on this machine; its file would be new.", markup=False)
    for line in install.diff(change):
        console.print(Text(line, style=_COLOURS.get(line[:1], "")))
    if not yes:
        _ask(client)
    install.apply(change)
    _report(console, change, undo=undo)


def _environment(variables: Iterable[str]) -> dict[str, str]:
    """NAME=VALUE, or NAME alone for the value that it has here; checked as the server will check it."""
    known = {variable_name(field) for field in Settings.model_fields}
    env: dict[str, str] = {}
    for variable in variables:
        name, given, value = variable.partition("=")
        if name not in known:
            raise ConfigurationError(f"--env {name[:60]}: there is no such setting. The README lists them all.")
        env[name] = value if given else os.environ.get(name, "")
        if not env[name]:
            raise ConfigurationError(f"--env {name}: it has no value here. Set it, or write --env {name}=VALUE.")
    os.environ.update(env)
    load_settings()  # names what is malformed
    return env


def _ask(client: McpClient) -> None:
    if not sys.stdin.isatty():
        raise ConfigurationError("this is no terminal to ask in; nothing was changed. Repeat the command with --yes.")
    try:
        agreed = typer.confirm(f"Change {client.path}?")
    except typer.Abort:
        raise KeyboardInterrupt from None
    if not agreed:
        typer.echo("Nothing was changed.")
        raise typer.Exit


def _report(console: Console, change: install.Change, *, undo: bool) -> None:
    client = change.client
    console.print(f"\nDone: {client.title} {'no longer knows' if undo else 'knows'} this server.", markup=False)
    if change.backup is not None:
        console.print(f"The file as it was: {install.backup_path(client)}", markup=False)
    if undo:
        console.print(f"Start {client.title} anew to make it forget.", markup=False)
        return
    console.print(client.afterwards, markup=False)
    console.print(f"To take it back: {shell_command()} install --client {client.name} --undo", markup=False)
