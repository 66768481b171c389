"""`deepcritical-mcp install`, as a real command on fake homes, and edits that keep every other character of a file."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.cli import clients
from deepcritical_mcp.cli.clients import JsonError, McpClient, configured_state, edited_json, known_clients
from deepcritical_mcp.errors import ConfigurationError
from tests.cli.conftest import Command

CLIENTS = ["claude-desktop", "claude-code", "cursor", "vscode"]
OTHERS = {"mcpServers": {"other": {"command": "npx", "env": {"KEY": "sk-secret"}}}, "theme": "dark"}


def _client(home: Path, name: str) -> McpClient:
    return next(one for one in known_clients(sys.platform, home, {}) if one.name == name)


def _file(home: Path, name: str) -> Path:
    return _client(home, name).path


def _written(home: Path, name: str, content: str) -> Path:
    path = _file(home, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", CLIENTS)
def test_install_adds_the_server_and_undo_removes_it(command: Command, home: Path, name: str):
    done = command("install", "--client", name, "--yes")
    assert done.returncode == 0, done.stderr
    document = json.loads(_file(home, name).read_text(encoding="utf-8"))
    servers = document["servers" if name == "vscode" else "mcpServers"]
    assert Path(servers["deepcritical"]["command"]).is_absolute()
    assert "already" in command("install", "--client", name, "--yes").stdout
    assert json.loads(_file(home, name).read_text(encoding="utf-8")) == document
    undone = command("install", "--client", name, "--undo", "--yes")
    assert undone.returncode == 0, undone.stderr
    assert not _file(home, name).exists()


def test_other_content_is_kept_and_undo_restores_the_file_exactly(command: Command, home: Path):
    content = json.dumps(OTHERS, indent=4)
    path = _written(home, "claude-desktop", content)
    path.chmod(0o600)
    command("install", "--client", "claude-desktop", "--yes")
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["theme"] == "dark"
    assert document["mcpServers"]["other"] == OTHERS["mcpServers"]["other"]  # type: ignore[index]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    backup = path.with_name(path.name + clients.BACKUP_SUFFIX)
    assert backup.read_text(encoding="utf-8") == content
    command("install", "--client", "claude-desktop", "--undo", "--yes")
    assert path.read_text(encoding="utf-8") == content
    assert not backup.exists()


def test_the_change_is_shown_without_keys(command: Command, home: Path):
    _written(home, "cursor", json.dumps(OTHERS, indent=2))
    shown = command("install", "--client", "cursor", "--yes", "--env", "TAVILY_API_KEY", TAVILY_API_KEY="tvly-secret")
    assert '+    "deepcritical": {' in shown.stdout
    assert "secret" not in shown.stdout + shown.stderr
    document = json.loads(_file(home, "cursor").read_text(encoding="utf-8"))
    assert document["mcpServers"]["deepcritical"]["env"] == {"TAVILY_API_KEY": "tvly-secret"}


def test_without_a_terminal_it_requires_yes_and_changes_nothing(command: Command, home: Path):
    asked = command("install", "--client", "cursor")
    assert asked.returncode == 2
    assert "--yes" in asked.stderr
    assert not _file(home, "cursor").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_a_person_is_asked_for_the_folder_of_their_library_once(home: Path, environment: dict[str, str]):
    papers = home / "papers"
    papers.mkdir()

    def answering(*answers: str) -> str:
        ours, theirs = os.openpty()
        line = [sys.executable, "-m", "deepcritical_mcp", "install", "--client", "cursor"]
        with subprocess.Popen(line, stdin=theirs, stdout=subprocess.PIPE, env=environment, text=True) as process:
            os.write(ours, "".join(f"{one}\n" for one in answers).encode())
            told, _ = process.communicate(timeout=60)
        os.close(ours)
        os.close(theirs)
        return told

    told = answering(str(home / "nowhere"), str(papers), "y")
    assert "nowhere is not a folder" in told
    servers = json.loads(_file(home, "cursor").read_text(encoding="utf-8"))["mcpServers"]
    assert servers["deepcritical"]["env"] == {"DEEPCRITICAL_IMPORT_DIRS": str(papers)}
    assert "Folder" not in answering()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b'{"mcpServers": {', "was not changed"),
        (b"not json", "was not changed"),
        (b'{"mcpServers": []}', "was not changed"),
        (b'{"a": 1,}', "was not changed"),
        (b'{\n\t// mine\n\t"mcpServers": {},\n}\n', "remove its comments"),
        ('{"name": "Jürgen"}'.encode("latin-1"), "UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_is_left_alone(command: Command, home: Path, content: bytes, told: str):
    path = _file(home, "claude-code")
    path.write_bytes(content)
    refused = command("install", "--client", "claude-code", "--yes")
    assert refused.returncode == 2
    assert str(path) in refused.stderr
    assert told in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1
    assert path.read_bytes() == content
    assert [one.name for one in home.iterdir()] == [path.name]


def test_an_existing_entry_keeps_its_keys_and_undo_restores_it(command: Command, home: Path):
    old = {"mcpServers": {"deepcritical": {"command": "/gone/python", "env": {"BRAVE_API_KEY": "k"}, "disabled": True}}}
    path = _written(home, "cursor", json.dumps(old))
    command("install", "--client", "cursor", "--yes")
    entry = json.loads(path.read_text(encoding="utf-8"))["mcpServers"]["deepcritical"]
    assert entry["env"] == {"BRAVE_API_KEY": "k"}
    assert entry["disabled"] is True
    assert entry["command"] != "/gone/python"
    command("install", "--client", "cursor", "--undo", "--yes")
    assert json.loads(path.read_text(encoding="utf-8")) == old


def test_later_changes_survive_undo(command: Command, home: Path):
    path = _written(home, "cursor", json.dumps({"mcpServers": {}}))
    command("install", "--client", "cursor", "--yes")
    document = json.loads(path.read_text(encoding="utf-8"))
    document["mcpServers"]["later"] = {"command": "npx"}
    path.write_text(json.dumps(document), encoding="utf-8")
    command("install", "--client", "cursor", "--undo", "--yes")
    assert json.loads(path.read_text(encoding="utf-8")) == {"mcpServers": {"later": {"command": "npx"}}}


@pytest.mark.parametrize(
    ("variable", "says"),
    [
        ("FOO=1", "no such setting. docs/reference.md"),
        ("TAVILY_APIKEY=z", "Did you mean TAVILY_API_KEY?"),
        ("TAVILY_API_KEY", "no value"),
        ("DEEPCRITICAL_DEADLINE=soon", "DEEPCRITICAL_DEADLINE"),
    ],
)
def test_an_invalid_setting_is_refused(command: Command, home: Path, variable: str, says: str):
    refused = command("install", "--client", "cursor", "--yes", "--env", variable)
    assert refused.returncode == 2
    assert says in refused.stderr
    assert not _file(home, "cursor").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_link_stays_a_link(home: Path, command: Command):
    real = home / "dotfiles.json"
    real.write_text("{}", encoding="utf-8")
    path = _file(home, "cursor")
    path.parent.mkdir()
    path.symlink_to(real)
    command("install", "--client", "cursor", "--yes")
    assert path.is_symlink()
    assert "deepcritical" in real.read_text(encoding="utf-8")


def test_a_file_that_changed_in_the_meantime_is_left_alone(tmp_path: Path):
    client = _client(tmp_path, "cursor")
    change = clients.installation(client, {})
    client.path.parent.mkdir()
    client.path.write_text('{"mcpServers": {"new": {}}}', encoding="utf-8")
    with pytest.raises(ConfigurationError, match="in the meantime"):
        clients.apply(change)
    assert "deepcritical" not in client.path.read_text(encoding="utf-8")


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on the size of files there")
def test_a_full_disk_is_one_sentence_and_the_file_stays_intact(environment: dict[str, str], home: Path):
    path = _written(home, "claude-desktop", json.dumps(OTHERS))
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64)); "
    refused = subprocess.run(
        [
            sys.executable,
            "-c",
            limited + "import runpy; runpy.run_module('deepcritical_mcp', run_name='__main__')",
            *("install", "--client", "claude-desktop", "--yes"),
        ],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode == 1
    assert "file too large" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert json.loads(path.read_text(encoding="utf-8")) == OTHERS
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_a_proxy_can_be_written_like_a_setting_and_its_password_is_not_shown(command: Command, home: Path):
    proxy = "http://user:secret@proxy.example:3128"
    done = command("install", "--client", "cursor", "--yes", "--env", f"HTTPS_PROXY={proxy}")
    assert (done.returncode, "secret" in done.stdout + done.stderr) == (0, False)
    document = json.loads(_file(home, "cursor").read_text(encoding="utf-8"))
    assert document["mcpServers"]["deepcritical"]["env"] == {"HTTPS_PROXY": proxy}


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
    client = _client(tmp_path, "claude-code")
    if content is not None:
        client.path.write_text(content, encoding="utf-8")
    assert configured_state(client) == expected


ENTRY: dict[str, object] = {"command": "/bin/ours", "args": []}


_scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=20)
_values = st.recursive(
    _scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
)
_documents = st.dictionaries(st.sampled_from(["theme", "other", "mcpServers-not"]), _values).flatmap(
    lambda root: st.sampled_from([root, {**root, "mcpServers": {}}, {"mcpServers": {"x": {"command": "y"}}, **root}])
)


@given(document=_documents, indent=st.sampled_from([None, 0, 1, 2, 4, "\t"]), windows=st.booleans())
def test_adding_changes_nothing_else_and_removing_restores_the_document(
    document: dict[str, object], indent: int | str | None, windows: bool
):
    text = json.dumps(document, indent=indent, ensure_ascii=False)
    text = text.replace("\n", "\r\n") if windows else text
    added = edited_json(text, "mcpServers", ENTRY)
    servers = document.get("mcpServers", {})
    assert isinstance(servers, dict)
    assert json.loads(added) == {**document, "mcpServers": {**servers, "deepcritical": ENTRY}}
    removed = edited_json(added, "mcpServers", None)
    assert json.loads(removed) == {**document, "mcpServers": servers}


def test_other_servers_keep_their_form():
    text = '{\n  "mcpServers": {\n    "a": {"command": "npx", "args": ["-y", "x"]}\n  }\n}\n'
    added = edited_json(text, "mcpServers", ENTRY)
    assert '    "a": {"command": "npx", "args": ["-y", "x"]}\n  }\n}\n' in added
    assert json.loads(added)["mcpServers"]["deepcritical"] == ENTRY
    assert edited_json(added, "mcpServers", None) == text


@pytest.mark.parametrize("text", ['{"a": 1} // mine', "[" * 5_000])
def test_invalid_json_is_refused(text: str):
    with pytest.raises(JsonError):
        edited_json(text, "mcpServers", ENTRY)
