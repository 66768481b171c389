"""Two servers behind a load balancer: sessions in a Chroma server, the pace of NCBI requests in a Redis."""

import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.client import Client

from tests.net.stand_in import Answer, Asked
from tests.sources.ncbi import Ncbi, article, ncbi
from tests.transports.conftest import content, error
from tests.transports.processes import chroma, client_of, redis, serving_process

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
