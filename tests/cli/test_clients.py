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
    server_entry,
)

HOME = Path("/home/ada")


def test_only_clients_that_require_it_get_a_transport():
    machine = Machine("linux", HOME, {})
    assert server_entry(client_named("vscode", machine))["type"] == "stdio"
    assert "type" not in server_entry(client_named("claude-desktop", machine))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "unknown"),
        ("", "unknown"),
        ('{"mcpServers": {"b": {"command": "npx"}}}', "unknown"),
        (json.dumps({"mcpServers": {"deepcritical": {"command": sys.executable}}}), "configured"),
        ('{"mcpServers": {"deepcritical": {"command": "/gone/deepcritical-mcp"}}}', "stale"),
        ("{oops", "unreadable"),
    ],
)
def test_the_state_of_a_configuration(tmp_path: Path, content: str | None, expected: str):
    client = client_named("claude-code", Machine("linux", tmp_path, {}))
    if content is not None:
        client.path.write_text(content, encoding="utf-8")
    assert configured_state(client) == expected
