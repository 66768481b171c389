"""The documentation against the code: generated pages, replayed sessions, links, names, numbers."""

import base64
import json
import re
import shlex
import tomllib
from collections.abc import Mapping
from pathlib import Path, PureWindowsPath
from pkgutil import resolve_name
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from platformdirs.macos import MacOS
from platformdirs.unix import Unix

from deepcritical_mcp import errors
from deepcritical_mcp.cli.clients import McpClient, known_clients, server_entry
from deepcritical_mcp.config import Settings, every_setting
from deepcritical_mcp.evidence.embedding.service import ShippedModel
from deepcritical_mcp.evidence.storage.backend import MemoryBackend
from deepcritical_mcp.models import MAX_VARIANTS, STATUSES, is_marked, status_label
from deepcritical_mcp.prompts_and_resources import PROMPTS
from deepcritical_mcp.search.search_steps import ONLY_NEW_LOOKAHEAD, QUERY_WEIGHT
from deepcritical_mcp.sources.pubmed.eutils import SPACING_WITH_KEY, SPACING_WITHOUT_KEY
from deepcritical_mcp.sources.pubmed.request import PubMedRequest
from deepcritical_mcp.sources.web.chain import PROVIDERS
from deepcritical_mcp.tools import PROFILES, TOOLS
from tests.scripts import script

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "deepcritical_mcp"
PATHS = (*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md")
PAGES = {path.name: path.read_text(encoding="utf-8") for path in PATHS}
README, GUIDE, CLIENTS, ARCHITECTURE = (PAGES[f"{name}.md"] for name in ("README", "guide", "clients", "architecture"))
EXAMPLE: dict[str, Any] = json.loads((ROOT / "mcp.json.example").read_text(encoding="utf-8"))
VARIABLES = {setting.variable for setting in every_setting()}
each_page = pytest.mark.parametrize("page", PAGES)


def fences(text: str, language: str) -> list[str]:
    """The code blocks in a language, indented ones included."""
    found = re.findall(rf"^( *)```{language}\n(.*?)^\1```$", text, flags=re.DOTALL | re.MULTILINE)
    return [re.sub(rf"^{indent}", "", block, flags=re.MULTILINE) for indent, block in found]


def prose(text: str) -> str:
    return re.sub(r"^ *```.*?^ *```$", "", text, flags=re.DOTALL | re.MULTILINE)


def quoted(text: str) -> set[str]:
    """What stands in backticks."""
    return set(re.findall(r"(?<!`)`([^`\n]+)`(?!`)", prose(text)))


# Generated pages and replayed sessions


def test_the_reference_is_that_of_the_code() -> None:
    assert script("reference").reference() == PAGES["reference.md"], "run: python scripts/reference.py"


def without_relevance(page: str) -> str:
    """Another processor rounds a similarity differently."""
    return re.sub(r"relevance \d\.\d\d", "relevance", page)


@pytest.mark.parametrize(("page", "calls"), [("README.md", 3), ("guide.md", 7)])
async def test_sessions_show_what_the_server_answers(page: str, calls: int) -> None:
    assert PAGES[page].count("\n```text\n→ ") == PAGES[page].count("\n<!-- shows: ") == calls
    replayed = await script("guide").replayed(PAGES[page])
    assert without_relevance(replayed) == without_relevance(PAGES[page]), "run: python scripts/guide.py"


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


@pytest.mark.parametrize("path", PATHS, ids=PAGES)
def test_links_and_anchors_within_the_repository_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", prose(PAGES[path.name])):
        file, _, anchor = target.partition("#")
        other = (path.parent / file).resolve() if file else path
        assert other.is_relative_to(ROOT), target
        assert other.exists(), target
        assert not anchor or anchor in slugs(other.read_text(encoding="utf-8")), target


@each_page
def test_pages_name_no_place_of_the_machine_they_were_written_on(page: str) -> None:
    assert not re.search(r"/(?:tmp/\w|root/)|py" r"pi\.org|npm" r"js\.org", PAGES[page])


# Names

TOP = {path.name for path in ROOT.iterdir()}
PARTS = {path.stem for path in PACKAGE.iterdir()}
PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)*/?")
DOTTED = re.compile(r"[a-z_]\w*(?:\.\w+)+")
MEDIA_TYPES = ("text/markdown", "text/plain")
PLACEHOLDER = re.compile(r"<\w+>")


def missing_path(name: str) -> bool:
    """Whether `name` looks like a path of the repository but does not exist, there or in the package."""
    if not PATH.fullmatch(name) or not ("/" in name or name.endswith((".py", ".toml"))) or name in MEDIA_TYPES:
        return False
    if name.partition("/")[0] not in TOP | PARTS and not name.endswith(".py"):
        return False
    return not (ROOT / name).exists() and not (PACKAGE / name).exists()


def missing_name(name: str) -> bool:
    """Whether `name` looks like a name in the package, dotted from a module on, but does not exist."""
    name = name.removeprefix("deepcritical_mcp.")
    if not DOTTED.fullmatch(name) or name.partition(".")[0] not in PARTS or (ROOT / name).exists():
        return False
    if (PACKAGE / name).exists():
        return False
    try:
        resolve_name(f"deepcritical_mcp.{name}")
    except (ImportError, AttributeError):
        return True
    return False


@each_page
def test_every_path_and_dotted_name_exists(page: str) -> None:
    names = {name for name in quoted(PAGES[page]) if not PLACEHOLDER.search(name)}
    assert {name for name in names if missing_path(name) or missing_name(name)} == set()


@pytest.mark.parametrize("page", ["architecture.md", "CONTRIBUTING.md"])
def test_every_identifier_exists_in_the_code(page: str) -> None:
    texts = [path.read_text(encoding="utf-8") for path in (*PACKAGE.rglob("*.py"), ROOT / "pyproject.toml")]
    words = set(re.findall(r"\w+", "\n".join(texts)))
    named = {name.partition("(")[0] for name in quoted(PAGES[page])}
    identifiers = {name for name in named if re.fullmatch(r"[A-Za-z_]\w+", name)}
    assert identifiers - words - VARIABLES == set()


@each_page
def test_variables_tools_prompts_and_codes_that_are_named_exist(page: str) -> None:
    text = PAGES[page]
    assert set(re.findall(r"\b(?:DEEPCRITICAL_[A-Z_]+[A-Z]|[A-Z]+_API_KEY|NCBI_EMAIL)\b", text)) <= VARIABLES
    known = {spec.name for specs in PROFILES.values() for spec in specs} | {prompt.name for prompt in PROMPTS}
    ours = (
        r"`((?:pubmed|web|semantic)_(?!query|block)[a-z]+|(?!as_)[a-z]+_(?:evidence|queries|session|question|claim))"
        r"(?:\(|`)"
    )
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    codes = {kind.code for kind in kinds if issubclass(kind, errors.DeepCriticalError)}
    assert set(re.findall(ours, text)) <= known | codes
    assert set(re.findall(r"`(session_[a-z]+)`", text)) - {"session_id"} - PARTS <= codes


def options_by_command() -> dict[str, set[str]]:
    """From the reference, which is generated from the code."""
    commands: dict[str, set[str]] = {}
    for part in PAGES["reference.md"].split("\n### deepcritical-mcp ")[1:]:
        commands[part.split("\n")[0]] = set(re.findall(r"`(--?[a-z-]+)`", part))
    return commands


@each_page
def test_commands_and_options_that_are_named_exist(page: str) -> None:
    known = options_by_command()
    assert {"check", "demo", "doctor", "install", "report", "serve", "cache clear"} <= known.keys()
    lines = [line for line in quoted(PAGES[page]) if "deepcritical-mcp " in line]
    for line in (*lines, *"".join(fences(PAGES[page], "sh")).split("\n")):
        for part in re.findall(r"(?:^|[\s/\\])deepcritical-mcp ((?!\.)[a-z-][^|&]*)", line):
            words = shlex.split(part.replace("…", "X"))
            command = " ".join(words[:2]) if " ".join(words[:2]) in known else words[0]
            if command in known:
                assert {word for word in words if word.startswith("-")} <= known[command], line
            else:
                assert command in ("--version", "--debug"), line


@each_page
def test_json_can_be_pasted(page: str) -> None:
    for block in fences(PAGES[page], "json"):
        [servers] = json.loads(block).values()
        assert set(servers["deepcritical"].get("env", {})) <= VARIABLES


# Numbers and lists in the guide

NUMERALS = {3.0: "three", 86_400.0: "a day"}


@pytest.mark.parametrize(
    "sentence",
    [
        f"accepts up to {MAX_VARIANTS} `variants`",
        f"weighs {NUMERALS[QUERY_WEIGHT]} times as much as each variant",
        f"returns at most {PubMedRequest.LAST_RESULT:,} results",
        f"past up to {ONLY_NEW_LOOKAHEAD} known results",
        f"has at most {Settings().max_result_chars:,} characters",
        f"holds up to {Settings().max_evidence:,} records",
        f"deleted after {NUMERALS[MemoryBackend.ttl]}",
        f"of a {ShippedModel().dimension}-dimensional space",
    ],
)
def test_numbers_in_the_guide_are_those_of_the_code(sentence: str) -> None:
    assert sentence in " ".join(GUIDE.split())


def test_the_guide_explains_every_status_under_its_label() -> None:
    rows = dict(
        re.findall(r"^\| `(\w+)` \| (.*?) \|", GUIDE.split("### status")[1].split("### ")[0], flags=re.MULTILINE)
    )
    labels = {status: f"**{status_label(status)}**" if is_marked(status) else "no mark" for status in STATUSES}
    assert rows == labels


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
        [known] = [one for one in known_clients(system, home, {}) if one.name == client]
        tail = known.path.relative_to(home).as_posix()
        documented = row_of(CLIENTS, known.title)[column]
        if system == "win32":
            documented = PureWindowsPath(documented).as_posix()
            documented = documented.replace("%APPDATA%", "~/AppData/Roaming").replace("%USERPROFILE%", "~")
        assert documented == f"~/{tail}"


@pytest.mark.parametrize(("kind", "within"), [("cache", r"\Cache"), ("data", "")])
def test_folders_are_where_the_reference_says(kind: str, within: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(f"XDG_{kind.upper()}_HOME", raising=False)
    linux, macos, windows = row_of(PAGES["reference.md"], f"{kind} folder")
    for shown, system in ((linux, Unix), (macos, MacOS)):
        assert Path(shown).expanduser() == Path(getattr(system("deepcritical-mcp"), f"user_{kind}_dir"))
    assert windows == rf"%LOCALAPPDATA%\deepcritical-mcp\deepcritical-mcp{within}"


def test_the_registry_finds_its_name_in_the_readme() -> None:
    name = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))["name"]
    assert f"<!-- mcp-name: {name} -->" in README


# README

WORDS = " ".join(README.split())
KNOWN_CLIENTS = known_clients()


@pytest.mark.parametrize(("page", "lines"), [("README.md", 200), ("guide.md", 600), ("architecture.md", 130)])
def test_the_main_pages_stay_short(page: str, lines: int) -> None:
    assert len(PAGES[page].splitlines()) <= lines


def test_the_tables_are_those_of_the_code() -> None:
    assert script("readme_tables").with_tables(README) == README, "run: python scripts/readme_tables.py"
    assert re.findall(r"^\| `(\w+)` \| (?!\d)[A-Z]", README, flags=re.MULTILINE) == [tool.name for tool in TOOLS]


def test_all_settings_are_in_the_reference_and_nowhere_else() -> None:
    pages = PAGES | {"reference.md": PAGES["reference.md"].partition("\n## Commands\n")[0]}
    rows = {name: set(re.findall(r"^\| `([A-Z][A-Z_]+)` \|", page, flags=re.MULTILINE)) for name, page in pages.items()}
    assert rows["reference.md"] == VARIABLES
    assert all(len(named) < 10 for name, named in rows.items() if name != "reference.md")


def test_the_two_lines_stand_alone() -> None:
    lines = [block.strip() for block in fences(README, "sh") if block.startswith("python3 -m venv")]
    assert len(lines) == 2
    assert lines[0].endswith("deepcritical-mcp demo")
    assert lines[1].endswith("-m pytest")
    assert all("\n" not in line for line in lines)


def test_the_configuration_is_the_example() -> None:
    [block] = fences(README, "json")
    assert json.loads(block) == EXAMPLE


@pytest.mark.parametrize("client", KNOWN_CLIENTS, ids=[client.name for client in KNOWN_CLIENTS])
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


# Architecture


def test_the_layers_are_those_of_the_import_contract() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    [contract] = [one for one in project["tool"]["importlinter"]["contracts"] if one["type"] == "layers"]
    layers = [re.findall(r"\w+", layer) for layer in contract["layers"]]
    table = ARCHITECTURE.split("\n## Layers\n")[1].split("\n## ")[0]
    assert [re.findall(r"`(\w+)`", row) for row in re.findall(r"^\| (`.*?) \|", table, flags=re.MULTILINE)] == layers


def test_the_architecture_names_every_package() -> None:
    packages = {path.parent.name for path in PACKAGE.rglob("__init__.py")} - {PACKAGE.name}
    assert {name for name in packages if not re.search(rf"`(?:\w+/)*{name}`", ARCHITECTURE)} == set()
