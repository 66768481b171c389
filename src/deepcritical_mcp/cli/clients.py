"""The MCP clients that we know: where each keeps its servers on this machine, and how it writes one down."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast

from deepcritical_mcp.cli import jsonc

SERVER_NAME = "deepcritical"
ClientName = Literal["claude-desktop", "claude-code", "cursor", "vscode"]
Knowledge = Literal["knows", "stale", "unknown", "unreadable"]


@dataclass(frozen=True)
class Machine:
    """What the places depend on. `variables` is the environment: the clients' own variables, none of our settings."""

    system: str = sys.platform
    home: Path = field(default_factory=Path.home)
    variables: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    @property
    def settings_folder(self) -> Path:
        """The folder in which programs with windows keep their settings."""
        if self.system == "win32":
            return self._from("APPDATA", self.home / "AppData" / "Roaming")
        if self.system == "darwin":
            return self.home / "Library" / "Application Support"
        return self._from("XDG_CONFIG_HOME", self.home / ".config")

    @property
    def packaged_claude_folder(self) -> Path | None:
        """Where Windows redirects Claude Desktop's settings to, when it comes from the store."""
        packages = self._from("LOCALAPPDATA", self.home / "AppData" / "Local") / "Packages"
        if self.system != "win32":
            return None
        folders = sorted(packages.glob("Claude_*/LocalCache/Roaming/Claude"))
        return folders[0] if folders else None

    @property
    def claude_code_folder(self) -> Path:
        """The folder of Claude Code's `.claude.json`."""
        return self._from("CLAUDE_CONFIG_DIR", self.home)

    def _from(self, variable: str, default: Path) -> Path:
        value = self.variables.get(variable, "")
        return Path(value) if value else default


@dataclass(frozen=True)
class McpClient:
    """One client.

    Attributes:
        path: the file in which it keeps the user's servers.
        key: the object in that file that holds them.
        signs: files or folders, any of which says that the client is on this machine.
        comments: whether the client reads comments and trailing commas in that file.
        names_transport: whether an entry says that it talks over stdio.
        afterwards: what the user does to make the client read the file again.
    """

    name: ClientName
    title: str
    path: Path
    key: str
    signs: tuple[Path, ...]
    comments: bool
    names_transport: bool
    afterwards: str

    @property
    def is_here(self) -> bool:
        """Whether this machine shows a sign of the client."""
        return any(_exists(sign) for sign in (self.path, *self.signs))


def known_clients(machine: Machine | None = None) -> tuple[McpClient, ...]:
    """All clients that we know, with their places on this machine."""
    machine = machine or Machine()
    claude = machine.packaged_claude_folder or machine.settings_folder / "Claude"
    code = machine.settings_folder / "Code"
    return (
        McpClient(
            name="claude-desktop",
            title="Claude Desktop",
            path=claude / "claude_desktop_config.json",
            key="mcpServers",
            signs=(claude,),
            comments=False,
            names_transport=False,
            afterwards="Quit Claude Desktop and open it again.",
        ),
        McpClient(
            name="claude-code",
            title="Claude Code",
            path=machine.claude_code_folder / ".claude.json",
            key="mcpServers",
            signs=(machine.home / ".claude",),
            comments=False,
            names_transport=True,
            afterwards="Start Claude Code anew; /mcp lists the server.",
        ),
        McpClient(
            name="cursor",
            title="Cursor",
            path=machine.home / ".cursor" / "mcp.json",
            key="mcpServers",
            signs=(machine.home / ".cursor",),
            comments=True,
            names_transport=False,
            afterwards="Switch the server on under Cursor Settings > MCP.",
        ),
        McpClient(
            name="vscode",
            title="VS Code",
            path=code / "User" / "mcp.json",
            key="servers",
            signs=(code,),
            comments=True,
            names_transport=True,
            afterwards="Run “MCP: List Servers” in VS Code's command palette and start it.",
        ),
    )


def client_named(name: str, machine: Machine | None = None) -> McpClient:
    """The client of that name."""
    return next(client for client in known_clients(machine) if client.name == name)


def server_command() -> list[str]:
    """The command that starts this very server, absolute, as a client needs it."""
    beside = shutil.which("deepcritical-mcp", path=str(Path(sys.executable).parent))
    return [beside] if beside else [sys.executable, "-m", "deepcritical_mcp"]


def shell_command() -> str:
    """What a person types in a terminal of this machine to run this very program."""
    command = server_command()
    if shutil.which("deepcritical-mcp") == command[0]:
        return "deepcritical-mcp"
    return subprocess.list2cmdline(command) if sys.platform == "win32" else shlex.join(command)


def server_entry(client: McpClient, env: Mapping[str, str] | None = None) -> dict[str, object]:
    """How `client` writes this server down."""
    command, *arguments = server_command()
    entry: dict[str, object] = {"type": "stdio"} if client.names_transport else {}
    entry |= {"command": command, "args": arguments}
    if env:
        entry["env"] = dict(env)
    return entry


def server_snippet(client: McpClient) -> str:
    """The whole configuration of a client that knows no other server."""
    return jsonc.with_member("", [client.key, SERVER_NAME], server_entry(client)).rstrip()


def knowledge(client: McpClient) -> Knowledge:
    """Whether `client` knows this server; "stale" when the command that it would start is gone."""
    try:
        text = client.path.read_text(encoding="utf-8-sig").strip()
        root = jsonc.parse(text or "{}", comments=client.comments).value
    except FileNotFoundError:
        return "unknown"
    except (OSError, ValueError):
        return "unreadable"
    servers = cast("Mapping[str, object]", root).get(client.key) if isinstance(root, Mapping) else None
    if not isinstance(servers, Mapping):
        return "unknown"
    entries = [entry for name, entry in cast("Mapping[str, object]", servers).items() if _is_ours(name, entry)]
    if not entries:
        return "unknown"
    return "knows" if any(_can_start(entry) for entry in entries) else "stale"


def _is_ours(name: str, entry: object) -> bool:
    if not isinstance(entry, Mapping):
        return False
    words = str(cast("Mapping[str, object]", entry).get("command", "")) + str(
        cast("Mapping[str, object]", entry).get("args", "")
    )
    return name == SERVER_NAME or "deepcritical-mcp" in words or "deepcritical_mcp" in words


def _can_start(entry: object) -> bool:
    command = cast("Mapping[str, object]", entry).get("command")
    return "url" in cast("Mapping[str, object]", entry) or (isinstance(command, str) and bool(shutil.which(command)))


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False
