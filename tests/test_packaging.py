"""What registries, one-click installers and container engines read, held against the code."""

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from deepcritical_mcp import __version__
from deepcritical_mcp.config import every_setting

ROOT = Path(__file__).resolve().parents[1]
SERVER: dict[str, Any] = json.loads((ROOT / "server.json").read_text())
MANIFEST: dict[str, Any] = json.loads((ROOT / "packaging/mcpb/manifest.json").read_text())
SETTINGS = {setting.variable: setting for setting in every_setting()}
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
    descriptions = {name: SETTINGS[name].description for name in declared}
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


HEAVY_CONTEXT = (".git", "tests", "bench", ".venv", "uv.lock", ".env")


@pytest.fixture(scope="module")
def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions, continued lines joined, comments left out."""
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    rows = (line.split(None, 1) for line in joined.splitlines() if line.strip())
    return [(name, rest) for name, rest in rows]


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "compose.yaml").read_text())


def last_stage(instructions: list[tuple[str, str]]) -> list[tuple[str, str]]:
    start = max(number for number, (name, _) in enumerate(instructions) if name == "FROM")
    return instructions[start:]


def value(instructions: list[tuple[str, str]], wanted: str) -> str:
    return [rest for name, rest in last_stage(instructions) if name == wanted][-1]


def test_the_image_runs_without_privileges_and_writes_below_tmp_only(instructions: list[tuple[str, str]]) -> None:
    user, _, group = value(instructions, "USER").partition(":")
    assert (user, group) == ("1000", "1000")
    environment = dict(pair.split("=", 1) for pair in shlex.split(value(instructions, "ENV")))
    assert environment["HF_HOME"].startswith("/tmp/")
    assert environment["DEEPCRITICAL_CACHE_DIR"].startswith("/tmp/")
    assert environment["PYTHONDONTWRITEBYTECODE"] == "1"
    order = [name for name, _ in last_stage(instructions)]
    assert "RUN" not in order[order.index("USER") :]


def test_port_command_and_health_check_agree(instructions: list[tuple[str, str]]) -> None:
    port = value(instructions, "EXPOSE")
    command = [*json.loads(value(instructions, "ENTRYPOINT")), *json.loads(value(instructions, "CMD"))]
    assert port == "7860", "the one that Hugging Face Spaces expects"
    assert command[command.index("--port") + 1] == port
    assert command[command.index("--host") + 1] == "0.0.0.0"
    assert f"http://127.0.0.1:{port}/health" in value(instructions, "HEALTHCHECK")
    check = json.loads(value(instructions, "HEALTHCHECK").partition(" CMD ")[2])
    compile(check[2], "healthcheck", "exec")


def test_what_the_image_is_built_from_is_enough_and_no_more(
    instructions: list[tuple[str, str]], tmp_path: Path
) -> None:
    ignore = (ROOT / ".dockerignore").read_text().splitlines()
    assert ignore[[line.startswith("#") for line in ignore].index(False)] == "*"
    allowed = {line[1:] for line in ignore if line.startswith("!")}
    assert not allowed & set(HEAVY_CONTEXT)
    copied = [rest.split()[:-1] for name, rest in instructions if name == "COPY" and "--from" not in rest]
    assert {source for sources in copied for source in sources} == allowed
    for name in allowed:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "model"))
            model = "src/deepcritical_mcp/evidence/embedding/model"
            (tmp_path / model).mkdir()
            shutil.copy(ROOT / model / "LICENSE", tmp_path / model)
        else:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            shutil.copy(source, tmp_path / name)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "dist")]
    pytest.importorskip("hatchling", reason="hatchling is not installed; .ci/run builds the wheel")
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    assert list((tmp_path / "dist").glob("*.whl"))


def test_compose_hardens_the_server_and_shows_nothing_else_to_the_world(compose: dict[str, Any]) -> None:
    server = compose["services"]["server"]
    required = server["environment"]["DEEPCRITICAL_AUTH_TOKENS"]
    assert required.startswith("${DEEPCRITICAL_AUTH_TOKENS:?"), "without tokens it must not start"
    assert server["read_only"] is True
    assert server["tmpfs"] == ["/tmp"]
    assert server["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in server["security_opt"]
    assert all(port.startswith("127.0.0.1:") and port.endswith(":7860") for port in server["ports"])
    for name in ("chroma", "redis"):
        assert "ports" not in compose["services"][name]
        assert compose["services"][name]["networks"] == ["back"]
        assert server["depends_on"][name] == {"condition": "service_healthy"}
        assert compose["services"][name]["healthcheck"]["test"][0] == "CMD"
        assert re.fullmatch(r"[a-z0-9./-]+:[0-9][\w.-]+", compose["services"][name]["image"])
    assert compose["networks"]["back"]["internal"] is True
