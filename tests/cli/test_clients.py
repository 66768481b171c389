"""Where clients keep their servers, on each system."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from deepcritical_mcp.cli.clients import (
    Machine,
    client_named,
    configured_state,
    known_clients,
    server_command,
    server_entry,
    server_snippet,
)

HOME = Path("/home/ada")


def _paths(machine: Machine) -> dict[str, str]:
    return {client.name: client.path.as_posix() for client in known_clients(machine)}


def test_on_linux():
    assert _paths(Machine("linux", HOME, {})) == {
        "claude-desktop": "/home/ada/.config/Claude/claude_desktop_config.json",
        "claude-code": "/home/ada/.claude.json",
        "cursor": "/home/ada/.cursor/mcp.json",
        "vscode": "/home/ada/.config/Code/User/mcp.json",
    }


def test_on_macos():
    support = "/home/ada/Library/Application Support"
    assert _paths(Machine("darwin", HOME, {"XDG_CONFIG_HOME": "/elsewhere"})) == {
        "claude-desktop": f"{support}/Claude/claude_desktop_config.json",
        "claude-code": "/home/ada/.claude.json",
        "cursor": "/home/ada/.cursor/mcp.json",
        "vscode": f"{support}/Code/User/mcp.json",
    }


def test_on_windows():
    roaming = "D:/Profiles/ada/Roaming"
    paths = _paths(Machine("win32", HOME, {"APPDATA": roaming}))
    assert paths["claude-desktop"] == f"{roaming}/Claude/claude_desktop_config.json"
    assert paths["vscode"] == f"{roaming}/Code/User/mcp.json"
    assert paths["cursor"] == "/home/ada/.cursor/mcp.json"


def test_on_windows_without_appdata():
    assert _paths(Machine("win32", HOME, {}))["vscode"] == "/home/ada/AppData/Roaming/Code/User/mcp.json"


def test_claude_desktop_from_the_windows_store_keeps_its_file_elsewhere(tmp_path: Path):
    packaged = tmp_path / "Packages" / "Claude_abc123" / "LocalCache" / "Roaming" / "Claude"
    packaged.mkdir(parents=True)
    machine = Machine("win32", HOME, {"LOCALAPPDATA": str(tmp_path), "APPDATA": "D:/Roaming"})
    assert client_named("claude-desktop", machine).path == packaged / "claude_desktop_config.json"


def test_claude_code_follows_its_own_variable():
    machine = Machine("linux", HOME, {"CLAUDE_CONFIG_DIR": "/elsewhere/claude"})
    assert client_named("claude-code", machine).path == Path("/elsewhere/claude/.claude.json")


def test_linux_follows_xdg():
    machine = Machine("linux", HOME, {"XDG_CONFIG_HOME": "/etc/ada"})
    assert client_named("vscode", machine).path == Path("/etc/ada/Code/User/mcp.json")


def test_the_command_is_absolute_and_exists():
    command = server_command()[0]
    assert Path(command).is_absolute()
    assert Path(command).exists()


def test_only_clients_that_require_it_get_a_transport():
    machine = Machine("linux", HOME, {})
    assert server_entry(client_named("vscode", machine))["type"] == "stdio"
    assert "type" not in server_entry(client_named("claude-desktop", machine))


def test_the_snippet_is_a_complete_file():
    snippet = json.loads(server_snippet(client_named("cursor", Machine("linux", HOME, {}))))
    assert list(snippet["mcpServers"]) == ["deepcritical"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "unknown"),
        ("", "unknown"),
        ("{}", "unknown"),
        ('{"mcpServers": {"b": {"command": "npx"}}}', "unknown"),
        (json.dumps({"mcpServers": {"deepcritical": {"command": sys.executable}}}), "configured"),
        (
            json.dumps({"mcpServers": {"x": {"command": sys.executable, "args": ["-m", "deepcritical_mcp"]}}}),
            "configured",
        ),
        ('{"mcpServers": {"deepcritical": {"command": "/gone/deepcritical-mcp"}}}', "stale"),
        ('{"mcpServers": {"deepcritical": {"url": "http://127.0.0.1:8000/mcp"}}}', "configured"),
        ("{oops", "unreadable"),
        ('{"mcpServers": {}} // comment', "unreadable"),
        ("[]", "unknown"),
    ],
)
def test_the_state_of_a_configuration(tmp_path: Path, content: str | None, expected: str):
    client = client_named("claude-code", Machine("linux", tmp_path, {}))
    if content is not None:
        client.path.write_text(content, encoding="utf-8")
    assert configured_state(client) == expected


def test_a_client_with_a_folder_is_installed(tmp_path: Path):
    cursor = client_named("cursor", Machine("linux", tmp_path, {}))
    assert not cursor.is_installed
    (tmp_path / ".cursor").mkdir()
    assert cursor.is_installed
