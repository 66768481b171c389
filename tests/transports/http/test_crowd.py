"""More clients at once than a source allows: real processes on loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from zlib import crc32

import anyio
import httpx
import pytest

from tests.transports.processes import serving_process

CLIENTS = 40
DEADLINE = 20
HEADERS = {"accept": "application/json, text/event-stream"}
GREETING = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}


class Ncbi(BaseHTTPRequestHandler):
    """Finds one record for each query."""

    def do_GET(self) -> None:
        values = parse_qs(urlsplit(self.path).query)
        if "esearch" in self.path:
            pmid = crc32(values["term"][0].encode()) % 10**8
            body = json.dumps({"esearchresult": {"count": "1", "idlist": [str(pmid)]}})
        else:
            body = (
                f"<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>{values['id'][0]}</PMID><Article>"
                "<ArticleTitle>Title</ArticleTitle></Article></MedlineCitation></PubmedArticle></PubmedArticleSet>"
            )
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def ncbi() -> Generator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Ncbi) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


async def searched(http: httpx.AsyncClient, query: str) -> dict[str, Any]:
    """The structured content of a search by a client of its own."""

    async def send(method: str, params: dict[str, Any], **headers: str) -> httpx.Response:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return await http.post("/mcp", json=message, headers=headers)

    session = (await send("initialize", GREETING)).headers["mcp-session-id"]
    call = {"name": "pubmed_search", "arguments": {"query": query}}
    answer = (await send("tools/call", call, **{"mcp-session-id": session})).text
    return json.loads(answer.partition("data: ")[2].partition("\n")[0] or answer)["result"]


@pytest.mark.long
async def test_of_a_crowd_some_are_served_and_the_others_are_told_when_to_come_back(tmp_path: Path) -> None:
    results: list[dict[str, Any]] = []

    async def search(number: int) -> None:
        results.append(await searched(http, f"disease {number}"))

    with ncbi() as address:
        settings = {"DEEPCRITICAL_NCBI_BASE_URL": address, "DEEPCRITICAL_DEADLINE": str(DEADLINE)}
        with serving_process(tmp_path, **settings) as (_, url):
            limits = httpx.Limits(max_connections=None)
            async with httpx.AsyncClient(base_url=url, headers=HEADERS, timeout=90, limits=limits) as http:
                await http.get("/ready")
                async with anyio.create_task_group() as tasks:
                    for number in range(CLIENTS):
                        tasks.start_soon(search, number)

    refused = [one["structuredContent"]["error"] for one in results if one.get("isError")]
    assert len(results) == CLIENTS
    assert 1 <= len(refused) < CLIENTS
    assert {one["code"] for one in refused} == {"rate_limited"}
    assert all(one["retryable"] and one["retry_after"] > 0 for one in refused)
    # The refused ones did not use up moments that the others needed.
    assert not any("could not deliver" in one["message"] for one in refused)
