"""The command `install`: adds this server to a client's configuration file, or removes it again.

Every function raises ConfigurationError if the file is not valid, and OSError if it cannot be read or written.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import sys
import tempfile
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

from deepcritical_mcp.cli.clients import (
    SERVER_NAME,
    ClientName,
    McpClient,
    content_of,
    known_clients,
    server_entry,
    shell_command,
)
from deepcritical_mcp.config import PROXY_VARIABLES, every_setting, load_settings
from deepcritical_mcp.errors import ConfigurationError
from deepcritical_mcp.net.json_fields import mapping_of

BACKUP_SUFFIX = ".before-deepcritical-mcp"
_COLORS = {"+": "green", "-": "red"}


@dataclass(frozen=True)
class Change:
    """A planned change of a client's configuration file: its bytes `before` and `after`, None if there is no file, and
    the backup to write, if any."""

    client: McpClient
    before: bytes | None
    after: bytes | None
    backup: bytes | None = None


def install_server(name: ClientName, *, undo: bool, yes: bool, variables: Iterable[str]) -> None:
    """Show the change to the client's configuration file, ask, and write it; with `undo`, remove the server again."""
    client = next(client for client in known_clients() if client.name == name)
    change = removal(client) if undo else installation(client, _environment(variables))
    console = Console(highlight=False, soft_wrap=True, markup=False)
    if change.before == change.after:
        state = "is not configured to use this server; nothing to undo" if undo else "is already configured"
        console.print(f"{client.title} {state}: {client.path}")
        return
    if not client.is_installed:
        console.print(f"Note: {client.title} does not seem to be installed here; its configuration file would be new.")
    for line in _shown(change):
        console.print(Text(line, style=_COLORS.get(line[:1], "")))
    if not (yes or _agreed(client)):
        typer.echo("Nothing was changed.")
        return
    apply(change)
    console.print(f"\nDone: the server was {'removed from' if undo else 'added to'} {client.title}.")
    if change.backup is not None:
        console.print(f"Backup of the original file: {_backup_path(client)}")
    how = f"{client.restart_hint}\nTo undo this: {shell_command()} install --client {client.name} --undo"
    console.print(f"Restart {client.title} for this to take effect." if undo else how)


def installation(client: McpClient, env: Mapping[str, str]) -> Change:
    """The change that adds this server to `client`; other values in its entry (keys, flags) are kept."""
    before = content_of(client.path)
    with _invalid_file_reported(client):
        text = (before or b"").decode()
        old = _server_entry(text, client)
        new, kept = server_entry(client, env), mapping_of(old)
        variables = {**mapping_of(kept.get("env")), **env}
        entry = {name: value for name, value in kept.items() if name not in ("type", "url", "headers")} | new
        entry |= {"env": variables} if variables else {}
        after = text if old == entry else client.edited(text, entry)
    needs_backup = before is not None and (old is None or not _backup_path(client).exists())
    return Change(client, before, after.encode(), backup=before if needs_backup else None)


def removal(client: McpClient) -> Change:
    """The change that undoes `installation` and keeps anything else that was changed since."""
    before, backup = content_of(client.path), content_of(_backup_path(client))
    if before is None:
        return Change(client, None, None)
    with _invalid_file_reported(client):
        text, earlier = before.decode(), (backup or b"").decode()
        original = client.document(earlier)
        after = client.edited(text, _server_entry(earlier, client))
        document = client.document(after)
    if not document.get(client.key) and not original.get(client.key):  # added with the server
        document, original = ({name: doc[name] for name in doc if name != client.key} for doc in (document, original))
    if backup is not None and document == original:
        return Change(client, before, backup)
    return Change(client, before, None if backup is None and after != text and not document else after.encode())


def apply(change: Change) -> None:
    """Write the backup, then the file, each atomically, unless the file has changed since it was read."""
    path, backup = change.client.path, _backup_path(change.client)
    if content_of(path) != change.before:
        told = f"{path} changed in the meantime and was not changed. Close {change.client.title}, then try again."
        raise ConfigurationError(told)
    if change.backup is not None:
        _write(backup, change.backup, like=path)
    if change.after is None:
        path.unlink(missing_ok=True)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, change.after, like=path)
    if change.backup is None and change.after == content_of(backup):
        backup.unlink(missing_ok=True)  # the original is back


def _environment(variables: Iterable[str]) -> dict[str, str]:
    """The settings to write, from NAME=VALUE or NAME (for its value in this environment), validated."""
    known = {setting.variable for setting in every_setting()}
    env: dict[str, str] = {}
    for variable in variables:
        name, given, value = variable.partition("=")
        if name not in known and name.upper() not in PROXY_VARIABLES:
            near = get_close_matches(name.upper(), known, n=1)
            hint = f"Did you mean {near[0]}?" if near else "docs/reference.md lists all settings."
            raise ConfigurationError(f"--env {name[:60]}: no such setting. {hint}")
        env[name] = value if given else os.environ.get(name, "")
        if not env[name]:
            raise ConfigurationError(f"--env {name}: no value in this environment. Set it, or pass --env {name}=VALUE.")
    os.environ.update(env)
    load_settings()  # raises if a value is invalid
    return env


def _agreed(client: McpClient) -> bool:
    if not sys.stdin.isatty():
        told = "cannot ask for confirmation without a terminal; nothing was changed. Run the command again with --yes."
        raise ConfigurationError(told)
    try:
        return typer.confirm(f"Change {client.path}?")
    except typer.Abort:
        raise KeyboardInterrupt from None


def _shown(change: Change) -> list[str]:
    """Our entry before and after, since nothing else in the file changes. What may be a key in it is hidden."""
    lines = [str(change.client.path)]
    for sign, content in (("-", change.before), ("+", change.after)):
        entry = mapping_of(_server_entry((content or b"").decode(), change.client))
        hidden = {name: dict.fromkeys(mapping_of(entry[name]), "…") for name in ("env", "headers") if name in entry}
        shown = json.dumps({SERVER_NAME: {**entry, **hidden}}, indent=2, ensure_ascii=False).split("\n")[1:-1]
        lines += [f"{sign}  {line}" for line in shown if entry]
    return lines


def _server_entry(text: str, client: McpClient) -> object:
    return mapping_of(client.document(text).get(client.key)).get(SERVER_NAME)


def _backup_path(client: McpClient) -> Path:
    return client.path.with_name(client.path.name + BACKUP_SUFFIX)


@contextlib.contextmanager
def _invalid_file_reported(client: McpClient) -> Generator[None]:
    try:
        yield
    except ValueError as error:  # UnicodeDecodeError, JsonError
        raise ConfigurationError(
            f"{client.path} is not plain JSON in UTF-8 ({error}) and was not changed. Correct it, or remove its "
            "comments and trailing commas, then try again; or add the server by hand, as docs/clients.md shows."
        ) from error


def _write(path: Path, content: bytes, *, like: Path) -> None:
    """Write to a temporary file and move it into place; links and permissions are kept."""
    target = path.resolve()
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if like.exists():
            Path(name).chmod(stat.S_IMODE(like.stat().st_mode))
        os.replace(name, target)
    finally:
        Path(name).unlink(missing_ok=True)
