"""The README and the example against the code."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
from pathlib import Path
from typing import Any, cast

import pytest

from deepcritical_mcp.cli.clients import McpClient, known_clients, server_entry
from deepcritical_mcp.config import Settings, variable_name

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CLIENTS = known_clients()


def _script() -> Any:
    spec = importlib.util.spec_from_file_location("readme_tables", ROOT / "scripts" / "readme_tables.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.DOTALL | re.MULTILINE)


def test_the_tables_are_those_of_the_code():
    assert _script().with_tables(README) == README, "run: python scripts/readme_tables.py"


def test_the_two_lines_stand_alone():
    lines = [block.strip() for block in _blocks("sh") if block.startswith("python3 -m venv")]
    assert len(lines) == 2
    assert lines[0].endswith("deepcritical-mcp demo")
    assert lines[1].endswith("-m pytest")
    assert all("\n" not in line for line in lines)


def test_the_configurations_are_the_example_and_what_install_writes():
    example = json.loads((ROOT / "mcp.json.example").read_text(encoding="utf-8"))
    of_most, of_vs_code = (json.loads(block) for block in _blocks("json"))
    assert of_most == example
    assert of_vs_code == {"servers": example["mcpServers"]}


@pytest.mark.parametrize("client", CLIENTS, ids=[client.name for client in CLIENTS])
def test_the_example_has_what_a_client_reads(client: McpClient):
    example = json.loads((ROOT / "mcp.json.example").read_text(encoding="utf-8"))["mcpServers"]["deepcritical"]
    entry = server_entry(client, {"NCBI_EMAIL": "you@example.org"})
    assert entry.keys() <= example.keys()
    assert {**entry, "type": "stdio", "command": "", "args": []} == {**example, "command": ""}


def test_every_client_is_named_with_its_file():
    for client in CLIENTS:
        assert f"**{client.title}**" in README
        assert client.path.name in README


def test_every_variable_that_is_named_is_a_setting():
    known = {variable_name(field) for field in Settings.model_fields}
    named = set(re.findall(r"\b(?:DEEPCRITICAL_[A-Z_]+[A-Z]|[A-Z]+_API_KEY|NCBI_EMAIL)\b", README))
    assert named <= known


def test_links_within_the_repository_lead_somewhere():
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", README):
        assert (ROOT / target).exists(), target


def test_commands_that_are_named_exist():
    from typer.main import get_command

    from deepcritical_mcp.cli.app import app

    known = set(cast("dict[str, object]", getattr(get_command(app), "commands")))  # noqa: B009
    named = {shlex.split(one)[0] for one in re.findall(r"deepcritical-mcp ([a-z]+[^`\n]*)", README)}
    assert named & {"demo", "doctor", "install", "serve"} <= known


def test_the_picture_of_the_demo_has_its_steps():
    picture = re.search(r"<!-- picture -->\n```text\n(.*?)```", README, flags=re.DOTALL)
    assert picture
    source = (ROOT / "src/deepcritical_mcp/cli/demo_session.py").read_text(encoding="utf-8")
    steps = re.findall(r'screen\.step\((\d), "([^"]+)"\)', source)
    assert len(steps) == 8
    for number, title in steps:
        assert f" {number}  {title}" in picture[1]


def test_contributing_fits_on_a_screen():
    assert len((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()) <= 40
