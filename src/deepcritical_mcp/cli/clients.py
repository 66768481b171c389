"""The MCP clients that we can configure: where each keeps its servers, and in which format."""

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
    """What the paths depend on. `variables` is the environment, read for the clients' own variables only."""

    system: str = sys.platform
    home: Path = field(default_factory=Path.home)
    variables: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    @property
    def settings_folder(self) -> Path:
        """The folder in which desktop applications keep their settings."""
        if self.system == "win32":
            return self._from("APPDATA", self.home / "AppData" / "Roaming")
        if self.system == "darwin":
            return self.home / "Library" / "Application Support"
        return self._from("XDG_CONFIG_HOME", self.home / ".config")

    @property
    def packaged_claude_folder(self) -> Path | None:
        """Where Windows redirects Claude Desktop's settings if it was installed from the Microsoft Store."""
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
    """An MCP client.

    Attributes:
        path: the file with the user's servers.
        key: the object in that file that contains them.
        signs: files or folders; if any exists, the client is installed.
        comments: whether the client accepts comments and trailing commas in that file.
        names_transport: whether an entry states that it uses stdio.
        afterwards: how the user makes the client read the file again.
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
        """Whether the client seems to be installed on this machine."""
        return any(_exists(sign) for sign in (self.path, *self.signs))


def known_clients(machine: Machine | None = None) -> tuple[McpClient, ...]:
    """All supported clients, with their paths on this machine."""
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
            afterwards="Restart Claude Code; /mcp lists the server.",
        ),
        McpClient(
            name="cursor",
            title="Cursor",
            path=machine.home / ".cursor" / "mcp.json",
            key="mcpServers",
            signs=(machine.home / ".cursor",),
            comments=True,
            names_transport=False,
            afterwards="Enable the server under Cursor Settings > MCP.",
        ),
        McpClient(
            name="vscode",
            title="VS Code",
            path=code / "User" / "mcp.json",
            key="servers",
            signs=(code,),
            comments=True,
            names_transport=True,
            afterwards="Run “MCP: List Servers” in VS Code's command palette and start the server.",
        ),
    )


def client_named(name: str, machine: Machine | None = None) -> McpClient:
    """The client with that name."""
    return next(client for client in known_clients(machine) if client.name == name)


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
    entry: dict[str, object] = {"type": "stdio"} if client.names_transport else {}
    entry |= {"command": command, "args": arguments}
    if env:
        entry["env"] = dict(env)
    return entry


def server_snippet(client: McpClient) -> str:
    """A complete configuration file of `client` with this server only."""
    return jsonc.with_member("", [client.key, SERVER_NAME], server_entry(client)).rstrip()


def knowledge(client: McpClient) -> Knowledge:
    """Whether `client` is configured to use this server; "stale" if the configured command no longer exists."""
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
