"""The README against the code: what it claims, its tables, and the example configuration."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from deepcritical_mcp.cli.clients import McpClient, known_clients, server_entry
from deepcritical_mcp.config import Settings, every_setting
from deepcritical_mcp.evidence.embedding.onnx_model import ShippedModel
from deepcritical_mcp.sources.pubmed.eutils import SPACING_WITH_KEY, SPACING_WITHOUT_KEY
from deepcritical_mcp.sources.web.chain import PROVIDERS
from deepcritical_mcp.tools import TOOLS
from tests.scripts import script

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
WORDS = " ".join(README.split())
EXAMPLE: dict[str, Any] = json.loads((ROOT / "mcp.json.example").read_text(encoding="utf-8"))
CLIENTS = known_clients()


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.DOTALL | re.MULTILINE)


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 200


def test_the_tables_are_those_of_the_code() -> None:
    assert script("readme_tables").with_tables(README) == README, "run: python scripts/readme_tables.py"
    assert re.findall(r"^\| `(\w+)` \| (?!\d)[A-Z]", README, flags=re.MULTILINE) == [tool.name for tool in TOOLS]


def test_all_settings_are_in_the_reference_and_nowhere_else() -> None:
    pages = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")} | {"README": README}
    pages["reference.md"] = pages["reference.md"].partition("\n## Commands\n")[0]
    rows = {name: set(re.findall(r"^\| `([A-Z][A-Z_]+)` \|", page, flags=re.MULTILINE)) for name, page in pages.items()}
    assert rows["reference.md"] == {setting.variable for setting in every_setting()}
    assert all(len(named) < 10 for name, named in rows.items() if name != "reference.md")


def test_the_two_lines_stand_alone() -> None:
    lines = [block.strip() for block in _blocks("sh") if block.startswith("python3 -m venv")]
    assert len(lines) == 2
    assert lines[0].endswith("deepcritical-mcp demo")
    assert lines[1].endswith("-m pytest")
    assert all("\n" not in line for line in lines)


def test_the_configuration_is_the_example() -> None:
    [block] = _blocks("json")
    assert json.loads(block) == EXAMPLE


@pytest.mark.parametrize("client", CLIENTS, ids=[client.name for client in CLIENTS])
def test_a_client_reads_the_example_under_the_key_that_the_readme_names(client: McpClient) -> None:
    [(key, servers)] = EXAMPLE.items()
    assert client.key == ("servers" if client.name == "vscode" else key)
    example = servers["deepcritical"]
    entry = server_entry(client, {"NCBI_EMAIL": "you@example.org"})
    assert entry.keys() <= example.keys()
    assert {**entry, "type": "stdio", "command": "", "args": []} == {**example, "command": ""}
    assert f"**{client.title}**" in README
    assert client.path.name in README
    assert f"`{client.name}`" in README or f"--client {client.name}" in README


def test_web_providers_are_named_in_the_order_in_which_they_are_asked() -> None:
    first, *others = [provider.title for provider in PROVIDERS]
    assert f"fall back from {first} to {', '.join(others)} and finally earlier results" in WORDS


def test_times_and_rates_are_those_of_the_code() -> None:
    assert f"Every call ends within {Settings().deadline:g} seconds" in WORDS
    rates = [f"{1 / (spacing * 0.9):.0f}" for spacing in (SPACING_WITHOUT_KEY, SPACING_WITH_KEY)]
    assert f"allows {rates[0]} requests per second, {rates[1]} with a free key" in WORDS


def test_nothing_has_to_be_set_and_the_model_is_in_the_package() -> None:
    assert not [setting.variable for setting in every_setting() if setting.info.is_required()]
    assert ShippedModel().load().dimension
    assert "none is required" in WORDS
