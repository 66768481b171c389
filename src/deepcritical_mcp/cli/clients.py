"""The MCP clients that we can configure: where each keeps its servers, and in which format; and the command `install`,
which adds this server to a client's configuration file, or removes it again.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Literal, cast

import typer
from rich.console import Console
from rich.text import Text

from deepcritical_mcp.config import PROXY_VARIABLES, every_setting, load_settings
from deepcritical_mcp.data_files import data_lines
from deepcritical_mcp.errors import ConfigurationError
from deepcritical_mcp.net.fields import mapping_of

SERVER_NAME = "deepcritical"
IMPORT_DIRS = "DEEPCRITICAL_IMPORT_DIRS"
ClientName = Literal["claude-desktop", "claude-code", "cursor", "vscode"]
ConfiguredState = Literal["configured", "stale", "unknown", "unreadable"]


@dataclass(frozen=True)
class McpClient:
    """An MCP client: `path` is the file with the user's servers, `folder` exists if the client is installed.

    Attributes:
        restart_hint: how the user makes the client read the file again.
        key: the object in the file that contains the servers.
        names_transport: whether an entry states that it uses stdio.
    """

    name: ClientName
    title: str
    path: Path
    folder: Path
    restart_hint: str
    key: str = "mcpServers"
    names_transport: bool = False

    @property
    def is_installed(self) -> bool:
        """Whether the client seems to be installed on this machine."""
        with suppress(OSError):
            return self.folder.exists() or self.path.exists()
        return False

    def document(self, text: str) -> Mapping[str, object]:
        """The configuration in `text`; {} if it is empty or not an object. JsonError if the client cannot read it."""
        return mapping_of(parsed_json(text))


def known_clients(
    system: str = sys.platform, home: Path | None = None, variables: Mapping[str, str] = os.environ
) -> tuple[McpClient, ...]:
    """All supported clients, with their paths on a machine; `variables` is read for the clients' own variables only."""
    home = home or Path.home()

    def folder(variable: str, default: str) -> Path:
        return Path(variables.get(variable) or home / default)

    own = {"win32": folder("APPDATA", "AppData/Roaming"), "darwin": home / "Library" / "Application Support"}
    settings = own.get(system, folder("XDG_CONFIG_HOME", ".config"))
    # Windows redirects the settings of Claude Desktop if it was installed from the Microsoft Store.
    packages = folder("LOCALAPPDATA", "AppData/Local") / "Packages"
    packaged = sorted(packages.glob("Claude_*/LocalCache/Roaming/Claude")) if system == "win32" else []
    claude, claude_code = (*packaged, settings / "Claude")[0], folder("CLAUDE_CONFIG_DIR", "")
    at = {"home": home, "settings": settings, "claude": claude, "claude_code": claude_code}
    rows = ([field.strip().format_map(at) for field in row.split("|")] for row in data_lines(__file__, "clients.txt"))
    return tuple(
        McpClient(cast("ClientName", name), title, Path(file), Path(place), hint, key, options == "type")
        for name, title, file, place, key, options, hint in rows
    )


def server_command() -> list[str]:
    """The command that starts this installation's server, with an absolute path as clients need it."""
    script = shutil.which("deepcritical-mcp", path=str(Path(sys.executable).parent))
    return [script] if script else [sys.executable, "-m", "deepcritical_mcp"]


def shell_command() -> str:
    """What to type in a terminal to run this installation's command."""
    command = server_command()
    if shutil.which("deepcritical-mcp") == command[0]:
        return "deepcritical-mcp"
    return subprocess.list2cmdline(command) if sys.platform == "win32" else shlex.join(command)


def server_entry(client: McpClient, env: Mapping[str, str] | None = None) -> dict[str, object]:
    """This server's entry in the configuration of `client`."""
    command, *arguments = server_command()
    named = {"type": "stdio"} if client.names_transport else {}
    return {**named, "command": command, "args": arguments, **({"env": dict(env)} if env else {})}


def configured_state(client: McpClient) -> ConfiguredState:
    """Whether `client` is configured to use this server; "stale" if the configured command no longer exists."""
    try:
        servers = mapping_of(client.document((content_of(client.path) or b"").decode()).get(client.key))
    except (OSError, ValueError):
        return "unreadable"
    starts: list[bool] = []
    for name, entry in ((name, mapping_of(value)) for name, value in servers.items()):
        command = f"{entry.get('command')}{entry.get('args')}"
        if entry and (name == SERVER_NAME or re.search("deepcritical[-_]mcp", command)):
            starts.append("url" in entry or shutil.which(str(entry.get("command", ""))) is not None)
    return ("configured" if any(starts) else "stale") if starts else "unknown"


def content_of(path: Path) -> bytes | None:
    """The bytes of a file; None if there is none; OSError also for a pipe or a device, which might never end."""
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(path.stat().st_mode):
            raise OSError(errno.EINVAL, "not an ordinary file", str(path))
        return path.read_bytes()
    return None


_OWN_COMMA = re.compile(r"\s*,\s*")


class JsonError(ValueError):
    """The text is not valid JSON or lacks the structure that an edit needs; the message says where."""


def parsed_json(text: str) -> object:
    """The value of a document; {} if it is empty. JsonError if it is not JSON."""
    bare = text.lstrip("\ufeff")
    try:
        return json.loads(bare) if bare.strip() else {}
    except json.JSONDecodeError as error:
        raise JsonError(f"line {error.lineno}, column {error.colno}: {error.msg}") from error
    except RecursionError as error:
        raise JsonError("nested too deeply") from error


def edited_json(text: str, outer: str, value: object) -> str:
    """`text` with this value of our server in an object of the document, e.g. "mcpServers", or without it if the value
    is None. Everything else keeps its value and its place; and its form too, except in a file of one line, and where a
    comma would be in the way.

    JsonError if the text is not JSON, or has something else in place of the object.
    """
    document = parsed_json(text)
    whole = mapping_of(document)
    old = mapping_of(whole.get(outer))
    if not isinstance(document, dict) or not isinstance(whole.get(outer, {}), dict):
        raise JsonError("line 1, column 1: expected an object {…}")
    if value is None and SERVER_NAME not in old:
        return text
    new = {**old, SERVER_NAME: value} if value is not None else {key: old[key] for key in old if key != SERVER_NAME}
    wanted = {**whole, outer: new}
    indented = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    unit, newline = indented[1] if indented else "  ", "\r\n" if "\r\n" in text else "\n"
    is_one_line = "\n" not in text.strip("\ufeff \t\r\n") and bool(whole)
    for candidate in _in_place(text, outer, value, newline, unit) if not is_one_line else ():
        with suppress(JsonError):
            if parsed_json(candidate) == wanted:
                return candidate
    dumped = _dumped(wanted, None if is_one_line else unit, newline)
    return "\ufeff" * text.startswith("\ufeff") + dumped + text[len(text.rstrip()) :]


def _in_place(text: str, outer: str, value: object, newline: str, unit: str) -> Iterator[str]:
    """The edits that may be meant; which of them has the right value is for the caller to see."""
    dumped = _dumped(value, unit, newline + 2 * unit)
    for own in re.finditer(rf'"{SERVER_NAME}"\s*:\s*', text):
        end = json.JSONDecoder().raw_decode(text, own.end())[1]
        yield text[: own.end()] + dumped + text[end:]
        if comma := _OWN_COMMA.match(text, end):
            yield text[: own.start()] + text[comma.end() :]
    member = f'{newline}{2 * unit}"{SERVER_NAME}": {dumped}'
    for found in re.finditer(rf'"{outer}"\s*:\s*{{', text):
        yield f"{text[: found.end()]}{member},{text[found.end() :]}"
    start = text.find("{") + 1
    yield f'{text[:start]}{newline}{unit}"{outer}": {{{member}{newline}{unit}}},{text[start:]}'


def _dumped(value: object, indent: str | None, newline: str) -> str:
    """JSON that can be encoded: half a surrogate pair, as in a text that a client has cut off, stays an escape."""
    text = json.dumps(value, indent=indent, ensure_ascii=False).replace("\n", newline)
    return re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text)


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


def install_server(name: ClientName, *, undo: bool, yes: bool, variables: Sequence[str]) -> None:
    """Show the change to the client's configuration file, ask, and write it; with `undo`, remove the server again."""
    client = next(client for client in known_clients() if client.name == name)
    if undo:
        change = removal(client)
    else:
        change = installation(client, _environment([*variables, *([] if yes else _own_folder(client, variables))]))
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
        after = text if old == entry else edited_json(text, client.key, entry)
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
        after = edited_json(text, client.key, _server_entry(earlier, client))
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


def _own_folder(client: McpClient, variables: Iterable[str]) -> list[str]:
    """The setting for a folder of the user's own files, asked for where a person can answer and none is set."""
    entry: object = {}
    with suppress(OSError, ValueError):  # `installation` says so
        entry = _server_entry((content_of(client.path) or b"").decode(), client)
    is_set = IMPORT_DIRS in mapping_of(mapping_of(entry).get("env")) or any(IMPORT_DIRS in one for one in variables)
    if is_set or not sys.stdin.isatty():
        return []
    typer.echo("The server can read files of your own library (PDFs, exports of reference managers and databases).")
    while given := typer.prompt("Folder that it may read (empty for none)", default="", show_default=False).strip():
        if Path(given).expanduser().is_dir():
            return [f"{IMPORT_DIRS}={Path(given).expanduser().absolute()}"]
        typer.echo(f"{given} is not a folder.")
    return []


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
            f"{client.path} is not plain JSON in UTF-8 ({error}) and was not changed. Correct it, or remove "
            "its comments and trailing commas, then try again; or add the server by hand, as docs/clients.md "
            "shows."
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
