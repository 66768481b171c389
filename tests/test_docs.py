"""The pages in docs/ against the code: the reference, links, commands, and the guide's session word for word."""

from __future__ import annotations

import ast
import base64
import importlib.util
import json
import re
import shlex
import tomllib
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path, PureWindowsPath
from typing import Any, cast
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from mcp.client import Client
from mcp_types import CallToolResult, TextContent
from platformdirs.macos import MacOS
from platformdirs.unix import Unix

from deepcritical_mcp import errors
from deepcritical_mcp.cli.clients import Machine, known_clients
from deepcritical_mcp.cli.sample_library import SampleLibrary
from deepcritical_mcp.config import Settings, load_settings, variable_name
from deepcritical_mcp.prompts import PROMPTS
from deepcritical_mcp.server import create_server
from deepcritical_mcp.tools import PROFILES

ROOT = Path(__file__).resolve().parents[1]
PAGES = {path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md"))}
README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDE, CLIENTS, ARCHITECTURE = PAGES["guide.md"], PAGES["clients.md"], PAGES["architecture.md"]
EXAMPLE: dict[str, Any] = json.loads((ROOT / "mcp.json.example").read_text(encoding="utf-8"))
VARIABLES = {variable_name(field) for field in Settings.model_fields}
CUT = "…"
each_page = pytest.mark.parametrize("page", PAGES)


def fences(text: str, language: str) -> list[str]:
    """The code blocks of a language, indented ones too."""
    found = re.findall(rf"^( *)```{language}\n(.*?)^\1```$", text, flags=re.DOTALL | re.MULTILINE)
    return [re.sub(rf"^{indent}", "", block, flags=re.MULTILINE) for indent, block in found]


def prose(text: str) -> str:
    return re.sub(r"^ *```.*?^ *```$", "", text, flags=re.DOTALL | re.MULTILINE)


# The reference


def test_the_reference_is_that_of_the_code() -> None:
    spec = importlib.util.spec_from_file_location("reference", ROOT / "scripts" / "reference.py")
    assert spec
    assert spec.loader
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.reference() == PAGES["reference.md"], "run: python scripts/reference.py"


# Links


def slugs(text: str) -> set[str]:
    """The anchors that GitHub gives a page's headings."""
    found: dict[str, int] = {}
    for title in re.findall(r"^#+ (.+)$", prose(text), flags=re.MULTILINE):
        slug = re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")
        found[slug] = found.get(slug, -1) + 1
        if found[slug]:
            found[f"{slug}-{found[slug]}"] = 0
    return set(found)


@pytest.mark.parametrize("page", [*PAGES, "../README.md", "../CONTRIBUTING.md"])
def test_links_and_anchors_within_the_repository_lead_somewhere(page: str) -> None:
    path = (ROOT / "docs" / page).resolve()
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", prose(text)):
        file, _, anchor = target.partition("#")
        other = (path.parent / file).resolve() if file else path
        assert other.is_relative_to(ROOT), target
        assert other.exists(), target
        assert not anchor or anchor in slugs(other.read_text(encoding="utf-8")), target


@each_page
def test_files_that_are_named_exist(page: str) -> None:
    for name in re.findall(r"`((?:src|tests|bench|scripts|packaging)/[\w./-]+\w)`", PAGES[page]):
        assert (ROOT / name).exists(), name


def test_the_readme_leads_to_every_page() -> None:
    assert set(re.findall(r"\]\(docs/([\w.]+)\)", README)) == set(PAGES)


@each_page
def test_pages_name_no_place_of_the_machine_they_were_written_on(page: str) -> None:
    assert not re.search(r"/tmp/\w|/root/|py" r"pi\.org|npm" r"js\.org", PAGES[page])


# Names


@each_page
def test_variables_tools_prompts_and_codes_that_are_named_exist(page: str) -> None:
    text = PAGES[page]
    assert set(re.findall(r"\b(?:DEEPCRITICAL_[A-Z_]+[A-Z]|[A-Z]+_API_KEY|NCBI_EMAIL)\b", text)) <= VARIABLES
    known = {spec.name for specs in PROFILES.values() for spec in specs} | {prompt.name for prompt in PROMPTS}
    ours = (
        r"`((?:pubmed|web|semantic)_(?!query)[a-z]+|(?!as_)[a-z]+_(?:evidence|queries|session|question|claim))(?:\(|`)"
    )
    assert set(re.findall(ours, text)) <= known
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    codes = {kind.code for kind in kinds if issubclass(kind, errors.DeepCriticalError)}
    assert set(re.findall(r"`(session_[a-z]+)`", text)) - {"session_id"} <= codes


def options_by_command() -> dict[str, set[str]]:
    """From the reference, which the code has written."""
    commands: dict[str, set[str]] = {}
    for part in PAGES["reference.md"].split("\n### deepcritical-mcp ")[1:]:
        commands[part.split("\n")[0]] = set(re.findall(r"`(--?[a-z-]+)`", part))
    return commands


@pytest.mark.parametrize("page", [*PAGES, "README.md"])
def test_commands_and_options_that_are_named_exist(page: str) -> None:
    known = options_by_command()
    text = PAGES.get(page, README)
    quoted = [
        *re.findall(r"`([^`\n]*deepcritical-mcp [^`\n]*)`", prose(text)),
        *"".join(fences(text, "sh")).split("\n"),
    ]
    for line in quoted:
        for part in re.findall(r"(?:^|[\s/\\])deepcritical-mcp ((?!\.)[a-z-][^|&]*)", line):
            words = shlex.split(part.replace("…", "X"))
            command = " ".join(words[:2]) if " ".join(words[:2]) in known else words[0]
            if command in known:
                assert {word for word in words if word.startswith("-")} <= known[command], line
            else:
                assert command in ("--version", "--debug", "--scope"), line


@each_page
def test_json_can_be_pasted(page: str) -> None:
    for block in fences(PAGES[page], "json"):
        [servers] = json.loads(block).values()
        assert set(servers["deepcritical"].get("env", {})) <= VARIABLES


# Clients


def one_click_entries() -> dict[str, dict[str, Any]]:
    """What each link writes into its client's file, by the link's host."""
    entries: dict[str, dict[str, Any]] = {}
    links: list[str] = re.findall(r"(?:https|cursor|vscode):[^\s)]*install[^\s)]*", CLIENTS)
    for link in links:
        parts = urlsplit(link)
        given = parse_qs(parts.query)
        if link.startswith("vscode:"):
            entry = json.loads(unquote(parts.query))
            assert entry.pop("name") == "deepcritical"
        else:
            assert given["name"] == ["deepcritical"]
            [config] = given["config"]
            entry = json.loads(base64.b64decode(config) if "cursor" in link else config)
        entries[parts.netloc or parts.scheme] = entry
    return entries


def test_one_click_links_write_what_the_example_has() -> None:
    links = one_click_entries()
    assert set(links) == {"cursor.com", "anysphere.cursor-deeplink", "insiders.vscode.dev", "vscode"}
    example: Mapping[str, Any] = EXAMPLE["mcpServers"]["deepcritical"]
    [by_hand] = [json.loads(block) for block in fences(CLIENTS, "json") if "uvx" in block]
    entry: dict[str, Any] = by_hand["mcpServers"]["deepcritical"]
    assert entry == {**example, "command": "uvx", "args": ["deepcritical-mcp"]}
    for name, written in links.items():
        of_vs_code = {"type": "stdio"} if "vscode" in name else {}
        assert written == {**of_vs_code, "command": entry["command"], "args": entry["args"]}, name


def row_of(text: str, name: str) -> list[str]:
    [line] = re.findall(rf"^\| {re.escape(name)}[^|]*\|(.*)\|$", text, flags=re.MULTILINE)
    return [cell.strip().strip("`") for cell in line.split(" | ")]


@pytest.mark.parametrize("client", [client.name for client in known_clients()])
def test_the_files_of_clients_are_those_that_install_edits(client: str) -> None:
    home = Path("/home")
    for column, system in enumerate(("linux", "darwin", "win32")):
        [known] = [one for one in known_clients(Machine(system=system, home=home, variables={})) if one.name == client]
        tail = known.path.relative_to(home).as_posix()
        documented = row_of(CLIENTS, known.title)[column]
        if system == "win32":
            documented = PureWindowsPath(documented).as_posix()
            documented = documented.replace("%APPDATA%", "~/AppData/Roaming").replace("%USERPROFILE%", "~")
        assert documented == f"~/{tail}"


def test_the_cache_folder_is_where_the_guide_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    linux, macos, windows = row_of(GUIDE, "cache folder")
    assert Path(linux).expanduser() == Path(Unix("deepcritical-mcp").user_cache_dir)
    assert Path(macos).expanduser() == Path(MacOS("deepcritical-mcp").user_cache_dir)
    assert windows == r"%LOCALAPPDATA%\deepcritical-mcp\deepcritical-mcp\Cache"


def test_the_registry_finds_its_name_in_the_readme() -> None:
    name = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))["name"]
    assert f"<!-- mcp-name: {name} -->" in README


# Architecture


def test_the_layers_are_those_of_the_import_contract() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    [contract] = [one for one in project["tool"]["importlinter"]["contracts"] if one["type"] == "layers"]
    layers = [re.findall(r"deepcritical_mcp\.(\w+)", layer) for layer in contract["layers"]]
    table = ARCHITECTURE.split("\n## Layers\n")[1].split("\n## ")[0]
    assert [re.findall(r"`(\w+)`", row) for row in re.findall(r"^\| (`.*?) \|", table, flags=re.MULTILINE)] == layers


def test_every_benchmark_is_in_the_architecture_page() -> None:
    for script in (ROOT / "bench").glob("*.py"):
        assert f"[`bench/{script.name}`]" in ARCHITECTURE, "give it a line under “What is measured where”"


# The guide's session, played again


def shown_calls() -> Iterator[tuple[str, dict[str, Any], list[str]]]:
    """Each call in the guide: the tool, its arguments, and the lines that it is said to answer."""
    for block in fences(GUIDE, "text"):
        call, _, answer = block.removeprefix("→ ").partition("\n\n")
        expression = ast.parse(" ".join(call.split()), mode="eval").body
        assert isinstance(expression, ast.Call)
        assert isinstance(expression.func, ast.Name)
        arguments = {str(one.arg): _value(one.value) for one in expression.keywords}
        yield expression.func.id, arguments, [line for line in answer.splitlines() if line.strip()]


def _value(node: ast.expr) -> object:
    """A value as the guide writes it: JSON's `true` and `false`."""
    return node.id == "true" if isinstance(node, ast.Name) else ast.literal_eval(node)


def missing_line(shown: Sequence[str], said: Sequence[str]) -> str:
    """The first of `shown` that does not come in `said` in this order; "" when all do."""
    rest = iter(said)
    for line in shown:
        if line == CUT:
            continue
        fits = _beginning(line) if line.endswith(CUT) else _whole(line)
        if not any(fits(one) for one in map(_without_numbers, rest)):
            return line
    return ""


def _beginning(line: str) -> Callable[[str], bool]:
    begun = _without_numbers(line.removesuffix(CUT).rstrip())
    return lambda said: said.startswith(begun)


def _whole(line: str) -> Callable[[str], bool]:
    whole = _without_numbers(line)
    return lambda said: said == whole


def _without_numbers(line: str) -> str:
    return re.sub(r"relevance \d\.\d\d", "relevance", line).rstrip()


def text_of(result: CallToolResult) -> str:
    [block] = result.content
    assert isinstance(block, TextContent)
    return block.text


@pytest.fixture
def sample_library(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """The settings ask the sample library and nobody else."""
    with SampleLibrary() as library:
        for name, value in library.environment().items():
            monkeypatch.setenv(name, value)
        yield


@asynccontextmanager
async def connected() -> AsyncGenerator[Client]:
    """A client of a server with the settings of the environment."""
    server = create_server(load_settings())
    async with Client(server) as client:
        yield client
    await server.app.aclose()


@pytest.mark.usefixtures("sample_library")
async def test_the_guide_s_session_is_what_the_server_answers() -> None:
    calls = list(shown_calls())
    assert {name for name, _, _ in calls} >= {"expand_queries", "pubmed_search", "web_search", "semantic_search"}
    async with connected() as client:
        for name, arguments, shown in calls:
            said = text_of(await client.call_tool(name, arguments))
            missing = missing_line(shown, said.splitlines())
            assert not missing, f"docs/guide.md shows what {name} does not say: {missing}\n\nIt says:\n{said}"


@pytest.mark.usefixtures("sample_library")
async def test_the_outage_in_the_guide_is_told_in_these_words(
    monkeypatch: pytest.MonkeyPatch, unused_tcp_port: int
) -> None:
    monkeypatch.setenv("DEEPCRITICAL_NCBI_BASE_URL", f"http://127.0.0.1:{unused_tcp_port}")
    async with connected() as client:
        result = await client.call_tool("pubmed_search", {"query": "long COVID"})
    quoted = re.search(r"^> (pubmed_search failed.*?)\n\n", GUIDE, flags=re.DOTALL | re.MULTILINE)
    assert quoted
    assert text_of(result) == " ".join(cast("str", quoted[1]).replace("\n> ", "\n").split())
