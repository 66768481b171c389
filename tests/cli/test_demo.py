"""`deepcritical-mcp demo`: the real client and the real server, over the sample library or providers on loopback."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.cli.test_sample_library import MARK

NO_SERVER = "http://127.0.0.1:9/nothing"
ON_LINUX = pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks for processes in /proc")


def _words(output: str) -> str:
    return " ".join(output.split())


def test_a_complete_session_plays_offline_and_ends_with_the_configuration_of_clients(command: Command, home: Path):
    (home / ".cursor").mkdir()
    done = command("demo", "--offline")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    said = _words(done.stdout)
    assert "Offline, as requested" in said
    for tool in ("expand_queries(", "pubmed_search(", "web_search(", "semantic_search(", "add_evidence("):
        assert f"→ {tool}" in said
    titles = re.findall(r"^  \d+\. (?!.*, from ).*$", done.stdout, flags=re.MULTILINE)
    assert titles
    assert said.count(MARK) >= 8
    assert "RETRACTED" in said
    assert "kept as text:" in said
    assert "My note: what to check first" in said.partition("Found again by meaning")[2]
    assert re.search(r"merged into text:\w+, which the session already had \(same content\)", said)
    snippet = json.loads(done.stdout[done.stdout.index("\n{") : done.stdout.rindex("\n}") + 2])
    entry = snippet["mcpServers"]["deepcritical"]
    assert Path(entry["command"]).exists()
    assert str(home / ".cursor" / "mcp.json") in done.stdout
    assert "\x1b" not in done.stdout
    assert not [path for path in home.rglob("*") if path.is_file()]


def test_sample_data_is_used_without_a_network_even_if_home_is_not_writable(command: Command, home: Path):
    blocked = home / "blocked"
    blocked.write_text("no folder", encoding="utf-8")
    done = command(
        "demo",
        "What do gut bacteria have to do with Parkinson's disease?",
        DEEPCRITICAL_NCBI_BASE_URL=NO_SERVER,
        DEEPCRITICAL_TYPO="1",
        HOME=str(blocked),
        COLUMNS="60",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said = _words(done.stdout)
    assert "Offline, because PubMed cannot be reached (ConnectError)" in said
    assert (
        f"Gut microbiome in Parkinson's disease: a case-control study of stools that were never sampled {MARK}" in said
    )
    assert "first check which of these studies were randomized" in said
    assert done.stderr.splitlines() == [one for one in done.stderr.splitlines() if "DEEPCRITICAL_TYPO" in one]
    session, _, configuration = done.stdout.partition("Use it in your own client")
    assert max(map(len, session.splitlines())) <= 60
    assert "deepcritical" in configuration


@ON_LINUX
def test_ctrl_c_is_one_sentence_and_leaves_no_process_behind(environment: dict[str, str], home: Path):
    with subprocess.Popen(
        [sys.executable, "-m", "deepcritical_mcp", "demo", "--offline"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    ) as process:
        assert process.stdout
        while "expand_queries" not in process.stdout.readline():
            pass
        assert len(_processes_at(home)) == 2
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors == "deepcritical-mcp: stopped.\n"
    assert _processes_at(home) == []


def _processes_at(home: Path) -> list[str]:
    """The processes whose home is that folder."""
    found: list[str] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"HOME={home}\0".encode() in (folder / "environ").read_bytes():
                found.append(folder.name)
        except OSError:
            continue
    return found
