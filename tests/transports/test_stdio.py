"""The server as a client starts it: a real process on real pipes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.transports.processes import HANGING_CALL, hanging_source

HEAVY = (
    *("chromadb", "onnxruntime", "tokenizers", "tavily", "ddgs", "primp", "sentence_transformers", "torch", "redis"),
    *("lxml", "numpy", "httpx", "rapidfuzz", "deepcritical_mcp.evidence.store"),
)
TIMEOUT = 30


@contextmanager
def server(folder: Path, **environment: str) -> Generator[subprocess.Popen[str]]:
    with (folder / "stderr").open("w") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "deepcritical_mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env={"PATH": "", "HOME": str(folder), "DEEPCRITICAL_CACHE_DIR": str(folder / "cache"), **environment},
        )
        with process:  # closes the pipes
            try:
                yield process
            finally:
                process.kill()


def ask(process: subprocess.Popen[str], message: dict[str, Any]) -> dict[str, Any]:
    tell(process, message)
    assert process.stdout
    return json.loads(process.stdout.readline())


def tell(process: subprocess.Popen[str], message: dict[str, Any]) -> None:
    assert process.stdin
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    process.stdin.flush()


def greet(process: subprocess.Popen[str], version: str = "2025-11-25") -> dict[str, Any]:
    answer = ask(
        process,
        {
            "id": 1,
            "method": "initialize",
            "params": {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}},
        },
    )
    tell(process, {"method": "notifications/initialized"})
    return answer


def test_it_greets_with_its_name_and_how_the_tools_work_together(tmp_path: Path) -> None:
    with server(tmp_path) as process:
        result = greet(process)["result"]
    assert result["serverInfo"]["name"] == "deepcritical-mcp"
    for tool in ("expand_queries", "pubmed_search", "web_search", "semantic_search", "add_evidence", "get_evidence"):
        assert tool in result["instructions"]


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_every_handshake_version_is_spoken(tmp_path: Path, version: str) -> None:
    with server(tmp_path) as process:
        assert greet(process, version)["result"]["protocolVersion"] == version


def test_stdout_holds_nothing_but_json_rpc(tmp_path: Path) -> None:
    with server(tmp_path) as process:
        greet(process)
        ask(process, {"id": 2, "method": "tools/list"})
        ask(process, {"id": 3, "method": "tools/call", "params": {"name": "pubmed_search", "arguments": {"query": ""}}})
        assert process.stdin
        assert process.stdout
        process.stdin.close()
        rest = process.stdout.read()
        assert process.wait(TIMEOUT) == 0
    assert rest == ""


def test_junk_on_stdin_does_not_end_the_server(tmp_path: Path) -> None:
    with server(tmp_path) as process:
        greet(process)
        assert process.stdin
        process.stdin.write("this is not JSON\n{}\n[]\n\n")
        process.stdin.flush()
        answers = [ask(process, {"id": 4, "method": "ping"})]
        while answers[-1].get("id") != 4:
            assert process.stdout
            answers.append(json.loads(process.stdout.readline()))
    assert answers[-1]["result"] == {}


def test_half_a_character_that_a_model_broke_off_does_not_leave_its_call_without_an_answer(tmp_path: Path) -> None:
    items = [{"content": "Broken off \ud83e here, whole 🧬 there, and \\ud83e is spelled out."}]
    call = {"name": "add_evidence", "arguments": {"items": items}}
    with server(tmp_path) as process:
        greet(process)
        answer = ask(process, {"id": 5, "method": "tools/call", "params": call})
        while answer.get("id") != 5:
            assert process.stdout
            answer = json.loads(process.stdout.readline())
        kept = answer["result"]["structuredContent"]["added"][0]["id"]
        reading = {"name": "get_evidence", "arguments": {"ids": [kept]}}
        piece = ask(process, {"id": 6, "method": "tools/call", "params": reading})["result"]["structuredContent"]
    assert piece["evidence"][0]["content"] == "Broken off  here, whole 🧬 there, and \\ud83e is spelled out."


def test_the_end_of_input_ends_the_process_at_once(tmp_path: Path) -> None:
    with server(tmp_path) as process:
        greet(process)
        assert process.stdin
        process.stdin.close()
        assert process.wait(TIMEOUT) == 0


@pytest.mark.parametrize("end", ["end of input", "signal"])
def test_a_call_that_hangs_does_not_keep_the_process(tmp_path: Path, end: str) -> None:
    with hanging_source() as (url, asked), server(tmp_path, DEEPCRITICAL_NCBI_BASE_URL=url) as process:
        greet(process)
        tell(process, {"id": 2, "method": "tools/call", "params": HANGING_CALL})
        asked.wait(TIMEOUT)
        assert process.stdin
        if end == "signal":
            process.send_signal(signal.SIGTERM)
        else:
            process.stdin.close()
        assert process.wait(10) == 0  # 2 seconds at most on an idle machine; the call could take 45


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_process_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    with server(tmp_path) as process:
        greet(process)
        process.send_signal(number)
        assert process.wait(TIMEOUT) == 0
    assert "Traceback" not in (tmp_path / "stderr").read_text()


def test_nothing_heavy_is_imported_before_the_greeting(tmp_path: Path) -> None:
    code = (
        "import sys; from deepcritical_mcp.server import create_server; from deepcritical_mcp.config import Settings; "
        "import deepcritical_mcp.transports.stdio; create_server(Settings()); "
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=TIMEOUT)
    assert loaded.stdout.strip() == "[]"


def test_a_wrong_setting_is_one_clear_sentence(tmp_path: Path) -> None:
    with server(tmp_path, DEEPCRITICAL_DEADLINE="soon") as process:
        assert process.wait(TIMEOUT) == 2
    told = (tmp_path / "stderr").read_text()
    assert "DEEPCRITICAL_DEADLINE" in told
    assert "Traceback" not in told
