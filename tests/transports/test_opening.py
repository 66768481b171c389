"""The first answers on stdio come before the SDK is imported, and are those that it would give."""

import json
import logging
import signal
import subprocess
import sys
import time
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import pytest
from mcp.shared._context_streams import create_context_streams
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse

from deepcritical_mcp._version import __version__
from deepcritical_mcp.transports import opening
from deepcritical_mcp.transports.stdio import RemainingAnswers
from tests.scripts import script

RECORDER = script("opening")
QUICK = "from deepcritical_mcp.cli import main; main()"
WITHOUT_SDK = f"import sys; sys.modules['mcp'] = None; {QUICK}"
CLIENT = {"name": "test", "version": "0"}
CAPABILITIES: dict[str, Any] = {
    "roots": {"listChanged": True},
    "sampling": {"tools": {}},
    "elicitation": {"form": {}},
    "experimental": {},
    "extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html"]}},
}
INITIALIZED: dict[str, Any] = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST: dict[str, Any] = {"jsonrpc": "2.0", "id": "list", "method": "tools/list"}
PROMPTS: dict[str, Any] = {"jsonrpc": "2.0", "id": 7, "method": "prompts/list", "params": {}}

answered_early = pytest.mark.skipif(
    sys.platform == "win32" or not version("mcp").startswith(f"{opening.SDK_VERSION}."),
    reason="no opening on Windows, nor with this version of the SDK: run scripts/opening.py and set SDK_VERSION",
)


def greeting(version: object = "2025-11-25", **other: Any) -> dict[str, Any]:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT, **other}
    return {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}


def said(code: str, folder: Path, *messages: object, **environment: str) -> list[str]:
    """What a server says to messages that come all at once, in any order; the client stays until all is answered."""
    lines = [one if isinstance(one, str) else json.dumps(one) for one in messages]
    open_ids = {cast("dict[str, Any]", one).get("id") for one in messages[1:] if isinstance(one, dict)} - {None}
    found: list[str] = []
    with started(code, folder, **environment) as process:
        assert process.stdin
        assert process.stdout
        with suppress(BrokenPipeError):
            process.stdin.write("".join(f"{line}\n" for line in lines))
            process.stdin.flush()
        while open_ids and (line := process.stdout.readline()):
            found.append(line)
            open_ids.discard(json.loads(line).get("id"))
        with suppress(BrokenPipeError):
            process.stdin.close()
        found += process.stdout.readlines()
        assert process.stderr
        assert "differ" not in process.stderr.read()
    return sorted(found)


def started(code: str, folder: Path, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env={"HOME": str(folder), "DEEPCRITICAL_DATA_DIR": "memory", **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@answered_early
def test_the_answers_are_those_of_this_server() -> None:
    assert opening.ANSWERS.read_text("utf-8") == RECORDER.text(RECORDER.recorded()), "run: python scripts/opening.py"


@pytest.mark.long
@pytest.mark.parametrize(
    "first",
    [
        greeting("2024-11-05"),
        greeting("2025-06-18", capabilities=CAPABILITIES),
        greeting(clientInfo={**CLIENT, "title": "Prüfung \U0001f9ec"}) | {"id": "first"},
        greeting(capabilities={"roots": {"listChanged": {}}}),
        "no JSON",
    ],
    ids=["oldest", "capabilities", "names", "refused", "broken"],
)
def test_every_conversation_is_the_same_with_and_without_it(tmp_path: Path, first: object) -> None:
    messages = (first, INITIALIZED, LIST, PROMPTS, {**LIST, "id": 9})
    assert said(QUICK, tmp_path, *messages) == said(RECORDER.SERVER, tmp_path, *messages)


@pytest.mark.parametrize("code", [QUICK, RECORDER.SERVER])
def test_messages_may_come_in_pieces_and_end_in_any_way(tmp_path: Path, code: str) -> None:
    long = {"jsonrpc": "2.0", "id": 3, "method": "ping", "params": {"_meta": {"text": "x" * 300_000}}}
    sent = json.dumps(greeting()) + "\r" + json.dumps(INITIALIZED) + "\n" + json.dumps(long) + "\r\n"
    with started(code, tmp_path) as process:
        assert process.stdin
        assert process.stdout
        for piece in (sent[:40], sent[40:]):
            process.stdin.write(piece)
            process.stdin.flush()
            time.sleep(2 * opening.PATIENCE)
        assert [json.loads(process.stdout.readline())["id"] for _ in range(2)] == [0, 3]
        process.stdin.write(json.dumps(LIST))
        process.stdin.close()
        assert json.loads(process.stdout.readline())["id"] == "list"
        assert process.wait() == 0


@answered_early
@pytest.mark.parametrize("version", sorted(opening.PROTOCOL_VERSIONS))
def test_initialize_and_tools_are_answered_without_the_sdk(tmp_path: Path, version: str) -> None:
    first = greeting(version, capabilities=CAPABILITIES)
    answers = {
        one["id"]: one for one in map(json.loads, said(WITHOUT_SDK, tmp_path, first, INITIALIZED, LIST, PROMPTS))
    }
    assert answers.keys() == {0, "list"}
    assert answers[0]["result"]["protocolVersion"] == version
    assert answers[0]["result"]["serverInfo"]["version"] == __version__
    assert len(answers["list"]["result"]["tools"]) == 16


@pytest.mark.parametrize(
    "first",
    [
        greeting("1999-01-01"),
        greeting(1),
        greeting(capabilities={"roots": {"listChanged": {}}}),
        greeting(capabilities={"sampling": []}),
        greeting(capabilities={"sampling": {"tools": 1}}),
        greeting(capabilities={"experimental": {"deep": json.loads("[" * 120 + "]" * 120)}}),
        greeting(capabilities={"experimental": {"long": {"text": "x" * opening.MAX_LINE}}}),
        greeting(capabilities={"other": {}}),
        greeting(clientInfo={"name": "no version"}),
        greeting(clientInfo={**CLIENT, "icons": []}),
        greeting(_meta={"progressToken": 1}),
        {**greeting(), "id": "é"},
        {**greeting(), "id": 1.0},
        {**greeting(), "jsonrpc": "1.0"},
        '{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": NaN}}',
        "[" * 100_000,
        "",
        LIST,
        INITIALIZED,
    ],
    ids=lambda one: json.dumps(one)[:150][-60:],
)
def test_another_first_message_is_for_the_sdk(tmp_path: Path, first: object) -> None:
    assert said(WITHOUT_SDK, tmp_path, first, LIST) == []


@answered_early
@pytest.mark.parametrize("second", [PROMPTS, {**LIST, "params": {"cursor": "1"}}, {**LIST, "id": 0}])
def test_another_second_message_is_for_the_sdk(tmp_path: Path, second: object) -> None:
    assert [json.loads(one)["id"] for one in said(WITHOUT_SDK, tmp_path, greeting(), second, LIST)] == [0]


@pytest.mark.parametrize("setting", [{"DEEPCRITICAL_OFF": "web"}, {"DEEPCRITICAL_TOOLS": "core"}])
def test_a_server_that_offers_fewer_tools_answers_through_the_sdk(tmp_path: Path, setting: dict[str, str]) -> None:
    assert said(WITHOUT_SDK, tmp_path, greeting(), LIST, **setting) == []


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
def test_a_signal_after_the_first_answer_ends_the_process_as_it_does_later(tmp_path: Path) -> None:
    with started(QUICK, tmp_path) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(f"{json.dumps(greeting())}\n")
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait() == 0


async def test_an_answer_of_the_sdk_that_differs_is_logged_and_not_sent(caplog: pytest.LogCaptureFixture) -> None:
    send, receive = create_context_streams[SessionMessage](2)
    answers = RemainingAnswers(send, {1: '{"jsonrpc":"2.0","id":1,"result":{}}', 2: "another"})
    with caplog.at_level(logging.WARNING):
        for number in (1, 2, 1):
            await answers.send(SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=number, result={})))
    assert [one.getMessage() for one in caplog.records] == [
        "the first answers to the client differ from the SDK's: please report it"
    ]
    await answers.aclose()
    async with receive:
        assert [getattr(one.message, "id", None) async for one in receive] == [1]
