"""The SDK's models are built later in our own command, and nowhere else."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.transports.test_opening import CLIENT, INITIALIZED, QUICK, greeting, said

ANOTHER_PYDANTIC = "import pydantic; pydantic.VERSION = '2.13.4'"
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}
REQUESTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("tools/list", {}),
    ("prompts/list", {}),
    ("resources/templates/list", {}),
    ("tools/call", {"name": "list_sessions", "arguments": {}}),
    ("tools/call", {"name": "pubmed_search", "arguments": {"query": ""}}),
    ("tools/call", {"name": "no_such_tool", "arguments": {}}),
    ("prompts/get", {"name": "no_such_prompt"}),
    ("no/such/method", {}),
)


def conversation(*, modern: bool) -> list[dict[str, Any]]:
    """The requests of a client, in one protocol era."""
    first: tuple[str, dict[str, Any]] = ("server/discover", {}) if modern else ("initialize", greeting()["params"])
    asked = [
        {"jsonrpc": "2.0", "id": number, "method": method, "params": {**params, "_meta": META} if modern else params}
        for number, (method, params) in enumerate((first, *REQUESTS))
    ]
    return asked if modern else [asked[0], INITIALIZED, *asked[1:]]


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.long
@pytest.mark.parametrize("modern", [False, True])
def test_every_answer_is_the_same_with_and_without_it(tmp_path: Path, modern: bool) -> None:
    messages = conversation(modern=modern)
    quick = said(QUICK, tmp_path, *messages)
    assert quick == said(f"{ANOTHER_PYDANTIC}; {QUICK}", tmp_path, *messages)
    answers = {one["id"]: one["result"] for one in map(json.loads, quick) if one.get("id") in (0, 1)}
    assert (len(answers), len(answers[1]["tools"])) == (2, 16)


IMPORTED = "import mcp_types, pydantic; print(mcp_types.Tool.__pydantic_complete__, pydantic.BaseModel.model_config)"


def test_our_command_builds_models_when_they_are_used_and_other_models_as_always() -> None:
    code = "from deepcritical_mcp.cli.quick_start import import_sdk; import_sdk()"
    assert run(f"{code}; {IMPORTED}") == "False {}"
    assert run(f"{code}; import gc; print(gc.isenabled())") == "True"
    model = "from pydantic import BaseModel; print(type('A', (BaseModel,), {}).__pydantic_complete__)"
    assert run(f"{code}; {model}") == "True"


def test_our_command_does_not_import_the_client_of_the_sdk_until_somebody_asks_for_it() -> None:
    code = "import sys; from deepcritical_mcp.cli.quick_start import import_sdk; import_sdk()"
    loaded = "print([name for name in sys.modules if name.startswith(('mcp.client', 'httpx2.'))])"
    assert run(f"{code}; import deepcritical_mcp.server; {loaded}") == "[]"
    use = "import httpx2, mcp; from mcp import ClientSession"
    assert run(f"{code}; {use}; print(mcp.Client.__module__, httpx2.URL('a:b').scheme)") == "mcp.client.client a"


def test_it_does_nothing_with_a_pydantic_that_it_does_not_know() -> None:
    code = f"{ANOTHER_PYDANTIC}; from deepcritical_mcp.cli.quick_start import import_sdk; import_sdk()"
    assert run(f"{code}; {IMPORTED}") == "True {}"


def test_an_import_that_fails_leaves_pydantic_and_the_collector_as_they_were() -> None:
    failing = """
import gc, pydantic
from deepcritical_mcp.cli.quick_start import quick_start
try:
    with quick_start():
        raise ImportError
except ImportError:
    print(pydantic.BaseModel.model_config, gc.isenabled())
"""
    assert run(failing) == "{} True"


def test_many_threads_may_use_a_model_for_the_first_time_at_once() -> None:
    code = """
import sys, threading
sys.setswitchinterval(1e-5)
from deepcritical_mcp.cli.quick_start import import_sdk
import_sdk()
import mcp_types
text = '{"content": [{"type": "text", "text": "a"}], "structuredContent": {"b": 1}, "isError": false}'
barrier, said = threading.Barrier(16), []
def use():
    barrier.wait()
    said.append(mcp_types.CallToolResult.model_validate_json(text).model_dump_json(by_alias=True))
    said.append(mcp_types.TextContent(type="text", text="a").model_dump_json(by_alias=True))
threads = [threading.Thread(target=use) for _ in range(16)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(said), len(set(said)))
"""
    assert run(code) == "32 2"
