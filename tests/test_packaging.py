"""What the registries and one-click installers read, held against the code."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from deepcritical_mcp import __version__
from deepcritical_mcp.config import every_setting

ROOT = Path(__file__).resolve().parents[1]
SERVER: dict[str, Any] = json.loads((ROOT / "server.json").read_text())
MANIFEST: dict[str, Any] = json.loads((ROOT / "packaging/mcpb/manifest.json").read_text())
SETTINGS = {setting.variable: setting.info for setting in every_setting()}
VARIABLES = SETTINGS.keys()


def test_all_of_them_name_the_same_version() -> None:
    assert {SERVER["version"], SERVER["packages"][0]["version"], MANIFEST["version"]} == {__version__}


def test_each_licence_of_what_is_shipped_is_declared_and_has_its_file() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["license"] == MANIFEST["license"] == "MIT AND Apache-2.0 AND CC-BY-SA-3.0"
    texts = [(ROOT / name).read_text() for name in project["license-files"]]
    names = ("MIT License", "Apache License", "Attribution-ShareAlike 3.0")
    assert [name in text for name, text in zip(names, texts, strict=True)] == [True] * 3


def test_the_registry_entry_sets_only_variables_that_exist_and_hides_every_key() -> None:
    declared = SERVER["packages"][0]["environmentVariables"]
    assert {row["name"] for row in declared} <= VARIABLES
    assert {row["name"] for row in declared if row.get("isSecret")} == {
        name for name in VARIABLES if name.endswith("_API_KEY")
    }
    assert len(SERVER["description"]) <= 100


def test_the_registry_entry_describes_each_variable_as_the_code_does() -> None:
    declared = {row["name"]: row["description"] for row in SERVER["packages"][0]["environmentVariables"]}
    descriptions = {name: SETTINGS[name].description or "" for name in declared}
    assert declared == {name: text[:1].upper() + text[1:] for name, text in descriptions.items()}


def test_the_bundle_sets_only_variables_that_exist_from_fields_that_exist() -> None:
    environment: dict[str, str] = MANIFEST["server"]["mcp_config"]["env"]
    fields: dict[str, Any] = MANIFEST["user_config"]
    assert set(environment) <= VARIABLES
    assert {value.removeprefix("${user_config.").removesuffix("}") for value in environment.values()} == set(fields)
    assert MANIFEST["server"]["type"] == "uv"


def test_the_bundle_keeps_keys_in_the_system_s_key_store() -> None:
    keys = {name for name, field in MANIFEST["user_config"].items() if field.get("sensitive")}
    assert keys >= {"ncbi_api_key", "tavily_api_key", "brave_api_key", "serpapi_api_key"}


def test_every_runtime_dependency_is_bounded_above_with_a_reason_next_to_it() -> None:
    lines = (ROOT / "pyproject.toml").read_text().splitlines()
    for one in tomllib.loads("\n".join(lines))["project"]["dependencies"]:
        assert "<" in one
        assert next(line for line in lines if f'"{one}"' in line).partition("  # ")[2], one
