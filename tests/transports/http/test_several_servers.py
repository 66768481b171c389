"""Servers that share Redis, and Chroma servers that hang: a session moves, and a hung server costs one time-out."""

import signal
import sys
import time
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client.client import Client

from tests.net.stand_in import Answer, Asked
from tests.sources.ncbi import Ncbi, article, ncbi
from tests.transports.conftest import content, error
from tests.transports.processes import chroma, chroma_process, client_of, halt, redis, serving_process

ALICE, BOB = "alice-token-0123456789", "bob-token-0123456789"
ALLOWED = 3  # requests a second without a key; two servers that knew nothing of each other would make five


def timed(ncbi: Ncbi) -> list[float]:
    """The moments at which requests arrive at `ncbi`, from now on."""
    moments: list[float] = []

    def answer(asked: Asked) -> Answer:
        moments.append(time.monotonic())
        return ncbi.answer(asked)

    ncbi.server.answer = answer
    return moments


@pytest.mark.long
async def test_a_session_moves_between_replicas_which_share_the_pace_of_requests(tmp_path: Path) -> None:
    texts = {
        "Zinc in wound repair.": "Zinc speeds up the repair of skin.",
        "Zinc and taste.": "Lack of zinc dulls the sense of taste.",
        "Zinc poisoning.": "Coins in the stomach cause anaemia.",
    }
    records = {
        str(pmid): article(str(pmid), title, f"<AbstractText>{text}</AbstractText>")
        for pmid, (title, text) in enumerate(texts.items(), start=101)
    }
    async with ncbi(records) as stand_in, AsyncExitStack() as opened:
        shared = {
            "DEEPCRITICAL_CHROMA_URL": opened.enter_context(chroma(tmp_path)),
            "DEEPCRITICAL_REDIS_URL": opened.enter_context(redis(tmp_path)),
            "DEEPCRITICAL_NCBI_BASE_URL": stand_in.url,
            "DEEPCRITICAL_AUTH_TOKENS": f"alice:{ALICE},bob:{BOB}",
        }
        urls = [opened.enter_context(serving_process(tmp_path / name, **shared))[1] for name in ("one", "two")]
        one, two = [await opened.enter_async_context(client_of(url, ALICE)) for url in urls]
        bob = await opened.enter_async_context(client_of(urls[1], BOB))
        found = content(await one.call_tool("pubmed_search", {"query": "zinc wounds"}))
        assert f'session_id="{found["session_id"]}"' in found["next_step"], "the other replica has another default"
        session = {"session_id": found["session_id"]}
        assert len(found["evidence"]) == 3
        moved = content(await two.call_tool("semantic_search", {"query": "zinc", "max_results": 10, **session}))
        assert {piece["id"] for piece in moved["evidence"]} == {piece["id"] for piece in found["evidence"]}
        note = {"items": [{"content": "Copper helps the skin as well."}], **session}
        assert content(await two.call_tool("add_evidence", note))["total"] == 4
        back = content(await one.call_tool("semantic_search", {"query": "copper and skin", **session}))
        assert back["evidence"][0]["content"] == "Copper helps the skin as well."
        again = content(await one.call_tool("add_evidence", note))
        assert (again["total"], len(again["duplicates"])) == (4, 1)
        assert error(await bob.call_tool("semantic_search", {"query": "zinc", **session}))["code"] == (
            "session_not_found"
        )
        moments = timed(stand_in)
        await search_on_both(one, two)
    assert len(moments) >= 5  # four searches, and the records for the replica that did not fetch them before
    assert (len(moments) - 1) / (moments[-1] - moments[0]) <= ALLOWED


async def search_on_both(*clients: Client) -> None:
    """Different searches on all clients at once."""

    async def search(one: Client, query: str) -> None:
        arguments: dict[str, Any] = {"query": query, "session_id": "new"}
        content(await one.call_tool("pubmed_search", arguments))

    async with anyio.create_task_group() as tasks:
        for number, one in enumerate(clients):
            for question in ("first", "second"):
                tasks.start_soon(search, one, f"{question} question of {number}")


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
