"""A file of ours that another program keeps locked: only what needs it waits, and for a moment only."""

import sqlite3
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from deepcritical_mcp.evidence.embedding.service import CACHE_FILE as VECTORS
from deepcritical_mcp.sources.pubmed.source import CACHE_FILE as VOCABULARY
from tests.evidence.locker import locked
from tests.transports.conftest import content, error
from tests.transports.processes import client_of, serving_process

FROZEN = 6.0
"""Seconds, between what `/health` takes on a busy machine and the thousand that Chroma waits for a lock."""
DEADLINE = 20.0
NOTE = {"items": [{"content": "Zinc speeds up the repair of skin."}]}
OTHER_NOTE = {"items": [{"content": "Iron is taken up in the gut of mice."}]}
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "add": ("add_evidence", OTHER_NOTE),
    "search": ("semantic_search", {"query": "repair of skin"}),
    "list": ("list_evidence", {}),
}


@contextmanager
def health_of(url: str) -> Generator[list[float]]:
    """The seconds that each answer of `/health` has taken so far, asked again and again."""
    waits, ended = list[float](), threading.Event()

    def ask() -> None:
        with httpx.Client(trust_env=False, timeout=120) as http:
            while not ended.is_set():
                began = time.monotonic()
                http.get(f"{url}/health").raise_for_status()
                waits.append(time.monotonic() - began)
                ended.wait(0.1)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield waits
    finally:
        ended.set()
        asking.join()


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="locks cannot be asked for")
@pytest.mark.parametrize("how", ["EXCLUSIVE", "IMMEDIATE", "DEFERRED"])
async def test_a_locked_session_delays_its_own_calls_only_and_works_again_without_the_lock(
    how: str, tmp_path: Path
) -> None:
    data = {"DEEPCRITICAL_DATA_DIR": str(tmp_path / "data"), "DEEPCRITICAL_DEADLINE": str(DEADLINE)}
    with serving_process(tmp_path, **data) as (_, url):
        async with client_of(url) as client:
            session_id = content(await client.call_tool("add_evidence", {**NOTE, "session_id": "new"}))["session_id"]
            database = tmp_path / "data" / "sessions" / f"{session_id}.sqlite3"
            failed = dict[str, dict[str, Any]]()
            with health_of(url) as waits, locked(database, how):
                for name, (tool, arguments) in CALLS.items():
                    result = await client.call_tool(tool, {**arguments, "session_id": session_id})
                    if result.is_error:
                        failed[name] = error(result)
                content(await client.call_tool("add_evidence", {**NOTE, "session_id": "new"}))
            assert max(waits) < FROZEN
            assert "add" in failed
            assert {(one["code"], one["retryable"]) for one in failed.values()} == {("session_busy", True)}
            content(await client.call_tool("add_evidence", {**OTHER_NOTE, "session_id": session_id}))
            assert content(await client.call_tool("list_evidence", {"session_id": session_id}))["total"] == 2
    with serving_process(tmp_path / "later", **data) as (_, url):
        async with client_of(url) as client:
            with health_of(url) as waits, locked(database, how):
                asked = await client.call_tool("list_evidence", {"session_id": session_id})
                if how == "EXCLUSIVE":
                    assert "has locked this session's file" in error(asked)["message"]
                else:
                    assert content(asked)["total"] == 2, "it can be read"
            assert max(waits) < FROZEN
            assert content(await client.call_tool("list_evidence", {"session_id": session_id}))["total"] == 2


async def test_locked_caches_count_as_empty_and_are_waited_for_once(tmp_path: Path) -> None:
    files = [tmp_path / "data" / VECTORS, tmp_path / "cache" / VOCABULARY]
    for file in files:
        file.parent.mkdir(exist_ok=True)
        sqlite3.connect(file).close()
    data = {"DEEPCRITICAL_DATA_DIR": str(tmp_path / "data"), "DEEPCRITICAL_DEADLINE": str(DEADLINE)}
    with locked(files[0]), locked(files[1]), serving_process(tmp_path, **data) as (_, url):
        async with client_of(url) as client:
            items = [{"content": f"Zinc speeds up the repair of skin in case {number}."} for number in range(100)]
            with health_of(url) as waits:
                added = content(await client.call_tool("add_evidence", {"items": items, "session_id": "new"}))
                assert not added["warnings"], "what waited for the file was not embedded in time"
                asked = {"query": "skin", "session_id": added["session_id"]}
                assert content(await client.call_tool("semantic_search", asked))["evidence"]
            assert max(waits) < FROZEN
