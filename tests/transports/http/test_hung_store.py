"""A Chroma server that accepts requests and answers none, behind a real server over HTTP."""

import signal
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from tests.transports.conftest import content, error
from tests.transports.processes import chroma_process, client_of, halt, serving_process

SESSIONS = 8
TIMEOUT = 2.0
NOTE = {"items": [{"content": "Zinc speeds up the repair of skin."}]}


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="stops a process")
async def test_a_hung_server_costs_one_time_out_for_all_and_is_used_again_when_it_answers(tmp_path: Path) -> None:
    with ExitStack() as opened:
        hung, address = opened.enter_context(chroma_process(tmp_path))
        settings = {"DEEPCRITICAL_CHROMA_URL": address, "DEEPCRITICAL_CHROMA_TIMEOUT": str(TIMEOUT)}
        settings["DEEPCRITICAL_NCBI_BASE_URL"] = "http://127.0.0.1:9"
        _, url = opened.enter_context(serving_process(tmp_path / "ours", **settings))
        async with httpx2.AsyncClient(timeout=120, trust_env=False) as http, client_of(url) as client:
            kept = content(await client.call_tool("add_evidence", {**NOTE, "session_id": "new"}))["session_id"]
            failed: list[dict[str, Any]] = []

            async def add() -> None:
                failed.append(error(await client.call_tool("add_evidence", {**NOTE, "session_id": "new"})))

            halt(hung)
            began = time.monotonic()
            async with anyio.create_task_group() as tasks:
                for _ in range(SESSIONS):
                    tasks.start_soon(add)
                assert (await http.get(f"{url}/health")).status_code == 200
            together = time.monotonic() - began
            assert {one["code"] for one in failed} == {"evidence_store"}
            assert all("does not respond" in one["message"] and one["retry_after"] > 0 for one in failed)
            assert together < SESSIONS * TIMEOUT / 2, "each waited for the others"
            began, refused = time.monotonic(), dict[str, Any]()
            for _ in range(SESSIONS):
                refused = error(await client.call_tool("list_evidence", {"session_id": kept}))
                assert refused["retryable"]
            assert time.monotonic() - began < SESSIONS * TIMEOUT / 2, "each call waited for a time-out"
            proposed = content(await client.call_tool("expand_queries", {"topic": "zinc and wound healing"}))
            assert proposed["queries"]
            assert "The Chroma server does not respond" in proposed["warnings"][0]
            hung.send_signal(signal.SIGCONT)
            await anyio.sleep(refused["retry_after"] + 1)
            assert content(await client.call_tool("list_evidence", {"session_id": kept}))["total"] == 1


MORE_THAN_THREADS = 48


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="stops a process")
async def test_what_needs_no_session_is_answered_while_every_worker_thread_hangs(tmp_path: Path) -> None:
    with ExitStack() as opened:
        hung, address = opened.enter_context(chroma_process(tmp_path))
        settings = {"DEEPCRITICAL_CHROMA_URL": address, "DEEPCRITICAL_CHROMA_TIMEOUT": "40"}
        _, url = opened.enter_context(serving_process(tmp_path / "ours", **settings))
        async with httpx2.AsyncClient(timeout=120, trust_env=False) as http, client_of(url) as client:
            content(await client.call_tool("add_evidence", {**NOTE, "session_id": "new"}))
            failed: list[dict[str, Any]] = []

            async def add() -> None:
                failed.append(error(await client.call_tool("add_evidence", {**NOTE, "session_id": "new"})))

            halt(hung)
            async with anyio.create_task_group() as tasks:
                for _ in range(MORE_THAN_THREADS):
                    tasks.start_soon(add)
                ready = await http.get(f"{url}/ready")
                assert (ready.status_code, ready.json()["model"], ready.json()["store"]) == (503, "ok", "no answer")
                assert (await http.get(f"{url}/health")).status_code == 200
                assert "deepcritical" in (await http.get(f"{url}/metrics")).text
                assert (await client.list_tools()).tools
                assert (await client.list_prompts()).prompts
                assert error(await client.call_tool("no_such_tool", {}))["code"] == "invalid_input"
                assert not failed, "they still hang"
                tasks.cancel_scope.cancel()
            hung.send_signal(signal.SIGCONT)
