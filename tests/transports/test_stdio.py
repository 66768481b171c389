"""The server as a client starts it: a real process on real pipes."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.transports.odd_messages import ODD_MESSAGES
from tests.transports.processes import HANGING_CALL, greeting, hanging_source, hung_disk

HEAVY = (
    *("chromadb", "onnxruntime", "tokenizers", "tavily", "ddgs", "primp", "sentence_transformers", "torch", "redis"),
    *("lxml", "numpy", "httpx", "rapidfuzz", "deepcritical_mcp.evidence.store"),
)
TIMEOUT = 30


@contextmanager
def server(folder: Path, *options: str, **environment: str) -> Generator[subprocess.Popen[str]]:
    with (folder / "stderr").open("w") as stderr:
        process = subprocess.Popen(
            [sys.executable, *(options or ("-m", "deepcritical_mcp"))],
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
    answer = json.loads(process.stdout.readline())
    while "id" not in answer:  # a notification
        answer = json.loads(process.stdout.readline())
    return answer


def tell(process: subprocess.Popen[str], message: dict[str, Any]) -> None:
    assert process.stdin
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    process.stdin.flush()


def greet(process: subprocess.Popen[str], version: str = "2025-11-25") -> dict[str, Any]:
    answer = ask(process, greeting(version))
    tell(process, {"method": "notifications/initialized"})
    return answer


def told(process: subprocess.Popen[str], number: int, name: str, **arguments: object) -> str:
    """The text of a tool's answer."""
    answer = ask(process, {"id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}})
    return answer["result"]["content"][0]["text"]


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture(scope="module", params=["2025-03-26", "2025-11-25"])
def process(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[subprocess.Popen[str]]:
    """A server that has greeted its client, for messages that leave nothing behind."""
    with server(tmp_path_factory.mktemp("server")) as one:
        greet(one, request.param)
        yield one


def test_every_message_that_has_an_id_gets_an_answer(process: subprocess.Popen[str]) -> None:
    assert process.stdin
    assert process.stdout
    for case, (sent, number) in ODD_MESSAGES.items():
        os.write(process.stdin.fileno(), (sent if isinstance(sent, bytes) else sent.encode()) + b"\n")
        tell(process, {"id": "after", "method": "ping"})
        answers: list[dict[str, Any]] = []
        while {answer["id"] for answer in answers} != {number, "after"}:
            answers.append(json.loads(process.stdout.readline()))
            assert answers[-1]["id"] in (number, "after"), (case, answers)
        assert len(answers) == 2, case
        assert len(json.dumps(answers)) < 4_000, case


def test_what_needs_no_answer_gets_none_and_each_message_of_a_batch_one(process: subprocess.Popen[str]) -> None:
    sent = (
        '{"jsonrpc": "2.0", "method": "no/such"}',
        '{"jsonrpc": "2.0", "id": null, "method": "notifications/initialized"}',
        '{"jsonrpc": "2.0", "id": 99, "result": {}}',
        '{"jsonrpc": "2.0", "id": 1.5, "result": {}}',
        '{"jsonrpc": "2.0", "id": 99, "error": "odd"}',
        " \t ",
        "",
    )
    assert process.stdin
    process.stdin.write("\r\n".join([*sent, ""]))
    assert ask(process, {"id": 10, "method": "ping"}) == {"jsonrpc": "2.0", "id": 10, "result": {}}
    batch = [{"jsonrpc": "2.0", "id": number, "method": "ping"} for number in (7, "eight", 9)]
    assert process.stdout
    process.stdin.write(json.dumps([*batch, {"jsonrpc": "2.0", "method": "notifications/initialized"}]) + "\n")
    process.stdin.flush()
    answers = [json.loads(process.stdout.readline()) for _ in batch]
    assert ask(process, {"id": 10, "method": "ping"})["result"] == {}
    assert [answer["id"] for answer in answers] == [7, "eight", 9]
    assert all("send each by itself" in answer["error"]["message"] for answer in answers)


def test_half_a_character_that_a_model_broke_off_does_not_leave_its_call_without_an_answer(
    process: subprocess.Popen[str],
) -> None:
    items = [{"content": "Broken off \ud83e here, whole 🧬 there, and \\ud83e is spelled out."}]
    call = {"name": "add_evidence", "arguments": {"items": items}}
    answer = ask(process, {"id": 5, "method": "tools/call", "params": call})
    kept = answer["result"]["structuredContent"]["added"][0]["id"]
    reading = {"name": "get_evidence", "arguments": {"ids": [kept]}}
    piece = ask(process, {"id": 6, "method": "tools/call", "params": reading})["result"]["structuredContent"]
    assert piece["evidence"][0]["content"] == "Broken off  here, whole 🧬 there, and \\ud83e is spelled out."


def end(process: subprocess.Popen[str], how: str) -> None:
    assert process.stdin
    if how == "signal":
        process.send_signal(signal.SIGTERM)
    else:
        process.stdin.close()


@pytest.mark.parametrize("how", ["end of input", "signal"])
def test_a_call_that_hangs_does_not_keep_the_process(tmp_path: Path, how: str) -> None:
    with hanging_source() as (url, asked), server(tmp_path, DEEPCRITICAL_NCBI_BASE_URL=url) as process:
        greet(process)
        tell(process, {"id": 2, "method": "tools/call", "params": HANGING_CALL})
        asked.wait(TIMEOUT)
        end(process, how)
        assert process.wait(10) == 0  # 2 seconds at most on an idle machine; the call could take 45


NOTE = {"items": [{"content": "Zinc heals warts."}]}


def written(data: Path) -> Path:
    """The file of the only session in which something is kept."""
    [file] = data.glob("sessions/*.sqlite3")
    return file


@pytest.mark.parametrize("how", ["end of input", "signal"])
def test_a_blocked_thread_does_not_keep_the_process(tmp_path: Path, how: str) -> None:
    environment, hangs = hung_disk(tmp_path)
    with server(tmp_path, **environment) as process:
        greet(process)
        told(process, 2, "add_evidence", **NOTE, session_id="new")
        session = written(tmp_path / "data")
        clearing = {"name": "clear_session", "arguments": {"session_id": session.stem}}
        tell(process, {"id": 3, "method": "tools/call", "params": clearing})
        until(hangs.exists)
        end(process, how)
        assert process.wait(20) == 0  # 2 seconds on an idle machine


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes in folders")
def test_a_pipe_in_place_of_a_file_blocks_no_call(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with server(tmp_path, DEEPCRITICAL_DATA_DIR=str(data)) as process:
        greet(process)
        told(process, 2, "add_evidence", **NOTE, session_id="new")
        session = written(data)
    session.unlink()
    os.mkfifo(session)
    (data / "idle.json").unlink(missing_ok=True)
    os.mkfifo(data / "idle.json")
    with server(tmp_path, DEEPCRITICAL_DATA_DIR=str(data)) as process:
        greet(process)
        assert "This session is damaged" in told(process, 2, "semantic_search", query="warts", session_id=session.stem)
        assert "1 added" in told(process, 3, "add_evidence", **NOTE, session_id="new")
        assert "how much evidence it held is unknown" in told(process, 4, "clear_session", session_id=session.stem)
    assert not session.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, 0])
def test_the_end_is_clean_and_stdout_holds_nothing_but_json_rpc(tmp_path: Path, number: int) -> None:
    with server(tmp_path) as process:
        greet(process)
        ask(process, {"id": 2, "method": "tools/list"})
        ask(process, {"id": 3, "method": "tools/call", "params": {"name": "pubmed_search", "arguments": {"query": ""}}})
        assert process.stdin
        assert process.stdout
        if number:
            process.send_signal(number)
        else:
            process.stdin.close()
        rest = process.stdout.read()
        assert process.wait(TIMEOUT) == 0
    assert rest == ""
    assert "Traceback" not in (tmp_path / "stderr").read_text()


def test_nothing_heavy_is_imported_before_the_greeting(tmp_path: Path) -> None:
    code = (
        "import sys; from deepcritical_mcp.server import create_server; from deepcritical_mcp.config import Settings; "
        "import deepcritical_mcp.transports.stdio; create_server(Settings()); "
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=TIMEOUT)
    assert loaded.stdout.strip() == "[]"
