"""Many clients at once, and answers made to freeze the server: who waits, for how long, and does `/health` answer?

    python bench/crowd.py [--clients 50 100 200] [--no-key] [--kept] [--hostile]

A server of its own on loopback, a stand-in for NCBI and for Tavily beside it. Each client opens a connection, searches
PubMed once and then its session by meaning; `/health` is asked ten times a second throughout. With `--kept`, each
session holds ten abstracts and all are searched by meaning at once. `--hostile` sends one answer after the other that
once froze the server for everybody.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import statistics
import subprocess
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx

from load import GREETING, HEADERS, message, started

RECORDS = 10
HEALTH_EVERY = 0.1


class StandIn(BaseHTTPRequestHandler):
    """NCBI's esearch and efetch, and Tavily's search; `hostile` replaces an answer."""

    hostile: ClassVar[dict[str, bytes]] = {}
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.answer(urlsplit(self.path).query)

    def do_POST(self) -> None:
        self.answer(self.rfile.read(int(self.headers["content-length"])).decode())

    def answer(self, text: str) -> None:
        utility = urlsplit(self.path).path.rpartition("/")[2]
        body = self.hostile[utility] if utility in self.hostile else self.usual(utility, text)
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(ConnectionError):
            self.wfile.write(body)

    def usual(self, utility: str, text: str) -> bytes:
        values = parse_qs(text)
        if utility == "esearch.fcgi":
            seed = abs(hash(values["term"][0])) % 1_000_000
            ids = [str(10_000_000 + seed * 10 + number) for number in range(RECORDS)]
            return json.dumps({"esearchresult": {"count": str(RECORDS), "idlist": ids}}).encode()
        if utility == "efetch.fcgi":
            return records(map(article, values["id"][0].split(",")))
        return json.dumps(
            {"results": [{"title": "T", "url": "https://example.org/1", "content": "c", "score": 1}]}
        ).encode()

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 512
    daemon_threads = True

    def handle_error(self, *_: object) -> None:  # a client that has had enough
        pass


def article(pmid: str, title: str = "", abstract: str = "") -> str:
    title = title or f"Effect of treatment {pmid} on the outcome of disease {pmid[::-1]}"
    abstract = abstract or f"In trial {pmid} the mean change was {pmid[-3:]} mg per day. " * 20
    return (
        f"<PubmedArticle><MedlineCitation><PMID>{pmid}</PMID><Article><Journal><Title>Trials</Title></Journal>"
        f"<ArticleTitle>{title}</ArticleTitle><Abstract><AbstractText>{abstract}</AbstractText></Abstract></Article>"
        "</MedlineCitation></PubmedArticle>"
    )


def note(number: int) -> dict[str, str]:
    said = "Drug {1} changed the outcome of disease {0}{1} by {1}.{0} mmHg. Most patients of group {1} had headaches. "
    return {"title": f"Trial {number}", "content": "".join(said.format(number, group) for group in range(8))}


def records(articles: Any) -> bytes:
    return f"<PubmedArticleSet>{''.join(articles)}</PubmedArticleSet>".encode()


def rows(count: int, **fields: str) -> bytes:
    row = {"title": "Title", "url": "https://example.org/{}", "content": "Text", "score": 0.9, **fields}
    return json.dumps({"results": [{**row, "url": row["url"].format(number)} for number in range(count)]}).encode()


def one(pmid: str) -> bytes:
    return json.dumps({"esearchresult": {"count": "1", "idlist": [pmid]}}).encode()


MARKS = "e\u0301\u0323" * 100_000
HOSTILE: dict[str, tuple[str, dict[str, Any], dict[str, Callable[[], bytes]]]] = {
    "web: 100,000 rows": ("web_search", {"query": "rows"}, {"search": lambda: rows(100_000)}),
    "web: a title of 10 MB": ("web_search", {"query": "title"}, {"search": lambda: rows(1, title="a " * 5_000_000)}),
    "web: '**a ' 1 MB": ("web_search", {"query": "stars"}, {"search": lambda: rows(1, content="**a " * 250_000)}),
    "web: '[' 1 MB": ("web_search", {"query": "brackets"}, {"search": lambda: rows(1, content="[" * 1_000_000)}),
    "web: 100,000 marks": ("web_search", {"query": "marks"}, {"search": lambda: rows(5, content=MARKS)}),
    "PubMed: 10 MB title": (
        "pubmed_search",
        {"query": "title"},
        {"esearch.fcgi": lambda: one("1"), "efetch.fcgi": lambda: records([article("1", "a " * 5_000_000)])},
    ),
    "PubMed: 10 MB abstract": (
        "pubmed_search",
        {"query": "abstract"},
        {"esearch.fcgi": lambda: one("2"), "efetch.fcgi": lambda: records([article("2", "t", "Words. " * 1_500_000)])},
    ),
    "PubMed: 100,000 combining marks": (
        "pubmed_search",
        {"query": "combining"},
        {"esearch.fcgi": lambda: one("3"), "efetch.fcgi": lambda: records([article("3", "t", MARKS)])},
    ),
    "PubMed: unclosed records 3 MB": (
        "pubmed_search",
        {"query": "unclosed"},
        {
            "esearch.fcgi": lambda: one("4"),
            "efetch.fcgi": lambda: b"<PubmedArticleSet>" + b"<PubmedArticle>" * 200_000 + b"</PubmedArticleSet>",
        },
    ),
    "PubMed: '&lt;' 1 MB as error": (
        "pubmed_search",
        {"query": "error"},
        {"esearch.fcgi": lambda: b"<ERROR>" + b"&lt;" * 250_000 + b"</ERROR>"},
    ),
    "PubMed: 1,000,000 ids": (
        "pubmed_search",
        {"query": "ids"},
        {
            "esearch.fcgi": lambda: json.dumps(
                {"esearchresult": {"count": "9", "idlist": [str(one) for one in range(1, 1_000_000)]}}
            ).encode()
        },
    ),
    "note: blanks, then expand": (
        "add_evidence",
        {"items": [{"content": "metformin" + " " * 2_000 + "memory treatment in mice"}]},
        {},
    ),
    "expand": ("expand_queries", {"topic": "metformin memory"}, {}),
    "note: 100,000 combining marks": ("add_evidence", {"items": [{"content": "a" + "\u0301\u0323" * 50_000}]}, {}),
    "query of combining marks": ("semantic_search", {"query": "a" + "\u0301\u0323" * 500}, {}),
}  # fmt: skip


class Health:
    """Asks `/health` from a thread of its own; `worst` is the longest wait."""

    def __init__(self, url: str) -> None:
        self.worst = 0.0
        self._url, self._ends = url, threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        with httpx.Client(base_url=self._url, trust_env=False, timeout=90) as http:
            while not self._ends.wait(HEALTH_EVERY):
                began = time.perf_counter()
                http.get("/health")
                self.worst = max(self.worst, time.perf_counter() - began)

    def __enter__(self) -> Health:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()


async def connect(http: httpx.AsyncClient) -> dict[str, str]:
    opened = await http.post("/mcp", json=message("initialize", GREETING))
    headers = {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
    await http.post("/mcp", headers=headers, json={"jsonrpc": "2.0", "method": "notifications/initialized"})
    return headers


async def result_of(
    http: httpx.AsyncClient, headers: dict[str, str], tool: str, arguments: dict[str, Any]
) -> dict[str, Any]:
    """What the tool returned; {} if the protocol refused the call, {"missing": status} if no message came."""
    sent = message("tools/call", {"name": tool, "arguments": arguments})
    answer = await http.post("/mcp", headers=headers, json=sent)
    found = re.search(r"^(?:data: )?(\{.*)$", answer.text, re.MULTILINE)
    return json.loads(found[1]).get("result", {}) if found else {"missing": answer.status_code}


async def call(http: httpx.AsyncClient, headers: dict[str, str], tool: str, arguments: dict[str, Any]) -> str:
    """ "ok" or the error's text."""
    result = await result_of(http, headers, tool, arguments)
    if not result or "missing" in result:
        return f"no answer, HTTP {result['missing']}" if result else "refused by the protocol"
    return result["content"][0]["text"][:150] if result.get("isError") else "ok"


def kind(said: str) -> str:
    return said if said == "ok" else "failed" if said.startswith("no answer") else "refused"


async def crowd(url: str, clients: int, kept: bool) -> None:
    seconds: dict[str, list[float]] = defaultdict(list)
    outcomes: Counter[str] = Counter()
    limits = httpx.Limits(max_connections=None)
    filling = anyio.Semaphore(4)
    async with httpx.AsyncClient(base_url=url, headers=HEADERS, trust_env=False, timeout=120, limits=limits) as http:

        async def client(number: int) -> None:
            headers = await connect(http)
            if kept:
                async with filling:
                    await call(http, headers, "add_evidence", {"items": list(map(note, range(number, number + 10)))})
            ready.append(number)
            while len(ready) < clients:  # noqa: ASYNC110
                await anyio.sleep(0.02)
            for tool in ("semantic_search",) if kept else ("pubmed_search", "semantic_search"):
                began = time.perf_counter()
                said = await call(http, headers, tool, {"query": f"treatment of disease {clients} {number}"})
                seconds[f"{tool} {kind(said)}"].append(time.perf_counter() - began)
                outcomes[f"{tool}: {re.sub('[0-9.]+', 'N', said)}"] += 1

        ready: list[int] = []
        with Health(url) as health:
            async with anyio.create_task_group() as tasks:
                for number in range(clients):
                    tasks.start_soon(client, number)
    print(f"{clients} clients; /health at most {health.worst:.2f} s")
    for name, some in sorted(seconds.items()):
        cuts = statistics.quantiles([*some, *some], n=100, method="inclusive")
        print(f"  {name:26} {len(some):4} calls  p50 {cuts[49]:6.2f} s  p99 {cuts[98]:6.2f} s  max {max(some):6.2f} s")
    for text, count in outcomes.most_common():
        if not text.endswith(": ok"):
            print(f"    {count} x {text}")


async def hostile(url: str) -> None:
    async with httpx.AsyncClient(base_url=url, headers=HEADERS, trust_env=False, timeout=120) as http:
        headers = await connect(http)
        await call(http, headers, "semantic_search", {"query": "warm up"})
        for name, (tool, arguments, answers) in HOSTILE.items():
            StandIn.hostile = {utility: make() for utility, make in answers.items()}
            began = time.perf_counter()
            with Health(url) as health:
                said = await call(http, headers, tool, arguments)
                spent = time.perf_counter() - began
            print(f"  {name:32} {spent:6.2f} s, /health at most {health.worst:5.2f} s: {said}", flush=True)


@contextmanager
def server(folder: Path, stand_in: str, key: bool, **more: str) -> Generator[tuple[subprocess.Popen[bytes], str]]:
    """Our server and its address; `more` are further settings."""
    settings = {
        "DEEPCRITICAL_CACHE_DIR": str(folder),
        "NCBI_API_KEY": "stand-in" if key else "",
        "TAVILY_API_KEY": "stand-in",
        "DEEPCRITICAL_NCBI_BASE_URL": stand_in,
        "DEEPCRITICAL_TAVILY_BASE_URL": stand_in,
        "DEEPCRITICAL_DUCKDUCKGO_URL": stand_in,
        "DEEPCRITICAL_LOG_LEVEL": "WARNING",
        "HOME": str(folder),
        **more,
    }
    with started(folder, settings) as running:
        yield running


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, nargs="*", default=[50, 100, 200])
    parser.add_argument("--no-key", action="store_true", help="3 requests per second instead of 10")
    parser.add_argument("--kept", action="store_true", help="only search sessions by meaning that hold ten abstracts")
    parser.add_argument("--hostile", action="store_true")
    options = parser.parse_args()
    stand_in = Server(("127.0.0.1", 0), StandIn)
    threading.Thread(target=stand_in.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{stand_in.server_address[1]}"
    with tempfile.TemporaryDirectory() as folder, server(Path(folder), address, not options.no_key) as (_, url):
        httpx.get(f"{url}/ready", timeout=60)
        if options.hostile:
            anyio.run(hostile, url)
            return
        for clients in options.clients:
            anyio.run(crowd, url, clients, options.kept)


if __name__ == "__main__":
    main()
