"""What searches of PubMed cost: requests, and seconds next to the least that NCBI's limit allows for so many.

    python bench/pubmed.py [--answer 0.4] [--connect 0.2] [--key]

A stand-in for NCBI on loopback answers after `--answer` seconds; a new connection takes `--connect` seconds. Each row
is one situation, with nothing asked before and no connection open. "Least" is when the last request can leave: after a
connection and a pause between any two requests, or the answers that it depends on if these take longer.
"Sent" is when it left, "over" when the last search had its records.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import anyio
import httpcore
import httpx
from pydantic import SecretStr

from deepcritical_mcp.config import Settings
from deepcritical_mcp.deadline import no_progress
from deepcritical_mcp.net.client import Net
from deepcritical_mcp.search.search_steps import ask_source
from deepcritical_mcp.sources.base import MAX_VARIANTS
from deepcritical_mcp.sources.pubmed.eutils import SPACING_WITH_KEY, SPACING_WITHOUT_KEY
from deepcritical_mcp.sources.pubmed.request import PubMedRequest
from deepcritical_mcp.sources.pubmed.source import PubMed

SHOWN = 10
FOUND = 40
SEARCHES = 5
KEY = "0" * 36


class StandIn(BaseHTTPRequestHandler):
    """esearch, which finds records that depend on the term's last word, and efetch. `sent` has each
    request: when, what, and for how many records."""

    protocol_version = "HTTP/1.1"
    sent: ClassVar[list[tuple[float, str, int]]] = []
    seconds: ClassVar[float] = 0.0
    begun: ClassVar[float] = 0.0

    @classmethod
    def begin(cls) -> None:
        cls.sent.clear()
        cls.begun = time.monotonic()

    def do_GET(self) -> None:
        self.answer(urlsplit(self.path).query)

    def do_POST(self) -> None:
        self.answer(self.rfile.read(int(self.headers["content-length"])).decode())

    def answer(self, text: str) -> None:
        utility = urlsplit(self.path).path.rpartition("/")[2].removesuffix(".fcgi")
        parameters = {name: values[0] for name, values in parse_qs(text).items()}
        ids = parameters.get("id", "").split(",")
        self.sent.append((time.monotonic(), utility, len(ids) if utility == "efetch" else 0))
        time.sleep(self.seconds)
        body = found(parameters) if utility == "esearch" else records(ids)
        self.send_response(200)
        self.send_header("content-type", "application/json" if utility == "esearch" else "text/xml")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None: ...


def found(parameters: dict[str, str]) -> bytes:
    """Searches whose numbers follow each other find 40 records, of which 35 are the same."""
    number = int("".join(filter(str.isdigit, parameters["term"])) or 0)
    start, size = int(parameters["retstart"]), int(parameters["retmax"])
    ids = [str(1_000 + 5 * number + place) for place in range(FOUND)][start : start + size]
    result = {"count": str(FOUND), "retstart": str(start), "idlist": ids, "translationset": [], "querytranslation": ""}
    return json.dumps({"header": {}, "esearchresult": result}).encode()


def records(ids: Sequence[str]) -> bytes:
    articles = (
        f'<PubmedArticle><MedlineCitation><PMID Version="1">{id}</PMID><Article><ArticleTitle>Zinc {id}.</ArticleTitle>'
        f"<Abstract><AbstractText>{'Zinc closed wounds. ' * 60}</AbstractText></Abstract></Article></MedlineCitation>"
        "</PubmedArticle>"
        for id in ids
    )
    return f"<PubmedArticleSet>{''.join(articles)}</PubmedArticleSet>".encode()


class SlowBackend(httpcore.AnyIOBackend):
    """Connections as they are over a distance."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def connect_tcp(self, *args: Any, **kwargs: Any) -> httpcore.AsyncNetworkStream:
        await anyio.sleep(self._seconds)
        return await super().connect_tcp(*args, **kwargs)


@asynccontextmanager
async def source(url: str, folder: str, *, key: bool, connect: float) -> AsyncGenerator[PubMed]:
    values = {"ncbi_base_url": url, "cache_dir": Path(folder), "redis_url": ""}
    settings = Settings.model_validate({**values, "NCBI_API_KEY": SecretStr(KEY if key else "")})
    transport = httpx.AsyncHTTPTransport()
    transport._pool._network_backend = SlowBackend(connect)  # httpx offers no other way
    async with httpx.AsyncClient(transport=transport, timeout=30) as http:
        yield PubMed.create(settings, Net(http))


async def search(pubmed: PubMed, number: int, *, variants: int = 0, offset: int = 0) -> None:
    words = tuple(f"zinc {number + one}" for one in range(1, variants + 1))
    request = PubMedRequest(query=f"zinc {number}", variants=words, max_results=SHOWN, offset=offset)
    _, ranking = await ask_source(pubmed, request, max_seconds=600, progress=no_progress)
    await pubmed.fetch(ranking.ids)


async def at_once(pubmed: PubMed, numbers: Sequence[int]) -> None:
    async with anyio.create_task_group() as tasks:
        for number in numbers:
            tasks.start_soon(search, pubmed, number)


async def one_with_variants(pubmed: PubMed) -> None:
    await search(pubmed, 0, variants=MAX_VARIANTS)


async def and_its_next_page(pubmed: PubMed) -> None:
    await one_with_variants(pubmed)
    StandIn.begin()
    await search(pubmed, 0, variants=MAX_VARIANTS, offset=SHOWN)


async def twenty_variants(pubmed: PubMed) -> None:
    async with anyio.create_task_group() as tasks:
        for number, variants in enumerate((7, 7, 3)):
            tasks.start_soon(partial(search, pubmed, 100 * number, variants=variants))


async def different_at_once(pubmed: PubMed) -> None:
    await at_once(pubmed, [100 * number for number in range(SEARCHES)])


async def the_same_at_once(pubmed: PubMed) -> None:
    await at_once(pubmed, [0] * SEARCHES)


async def the_same_in_turn(pubmed: PubMed) -> None:
    for _ in range(SEARCHES):
        await search(pubmed, 0)


async def overlapping_in_turn(pubmed: PubMed) -> None:
    for number in range(SEARCHES):
        await search(pubmed, number)


SITUATIONS: dict[str, Callable[[PubMed], Awaitable[None]]] = {
    f"one search with {MAX_VARIANTS} variants": one_with_variants,
    "its second page": and_its_next_page,
    "20 queries of 3 searches at once": twenty_variants,
    f"{SEARCHES} different searches at once": different_at_once,
    f"the same search by {SEARCHES} sessions at once": the_same_at_once,
    f"the same search by {SEARCHES} sessions in turn": the_same_in_turn,
    f"{SEARCHES} overlapping searches in turn": overlapping_in_turn,
}


async def measure(url: str, args: argparse.Namespace) -> None:
    print(f"{'':42} esearch efetch records   least    sent    over  sent/least")
    for name, situation in SITUATIONS.items():
        with tempfile.TemporaryDirectory() as folder:
            async with source(url, folder, key=args.key, connect=args.connect) as pubmed:
                StandIn.begin()
                await situation(pubmed)
                report(name, StandIn.begun, args)
    with tempfile.TemporaryDirectory() as folder:
        StandIn.begin()
        command = [sys.executable, __file__, "--worker", url, folder, "--connect", str(args.connect)]
        command += ["--key"] if args.key else []
        async with anyio.create_task_group() as tasks:
            for place in range(1, 4):
                run = partial(anyio.run_process, [*command, "--number", str(1_000 * place)], stderr=None)
                tasks.start_soon(run)
        report(f"{SEARCHES} searches in each of 3 processes", StandIn.sent[0][0] - args.connect, args)


def report(name: str, begun: float, args: argparse.Namespace) -> None:
    over, asked = time.monotonic() - begun, [utility for _, utility, _ in StandIn.sent]
    sent = StandIn.sent[-1][0] - begun
    spacing = SPACING_WITH_KEY if args.key else SPACING_WITHOUT_KEY
    least, searches = (len(asked) - 1) * spacing, asked.count("esearch")
    if name.endswith("in turn"):
        least = max(least, (len(asked) - 1) * args.answer)
    elif searches:
        least = max(least, (searches - 1) * spacing + args.answer)  # the last one's records
    least += 0 if "page" in name else args.connect
    ratio = f"{sent / least:5.2f}×" if least else ""
    counts = f"{asked.count('esearch'):7} {asked.count('efetch'):6} {sum(count for _, _, count in StandIn.sent):7}"
    print(f"{name:42} {counts} {least:6.2f}s {sent:6.2f}s {over:6.2f}s  {ratio}", flush=True)


async def work(args: argparse.Namespace) -> None:
    url, folder = args.worker
    async with source(url, folder, key=args.key, connect=args.connect) as pubmed:
        await at_once(pubmed, [args.number + 100 * place for place in range(SEARCHES)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answer", type=float, default=0.4)
    parser.add_argument("--connect", type=float, default=0.2)
    parser.add_argument("--key", action="store_true")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--number", type=int, default=0, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        anyio.run(work, args)
        return
    StandIn.seconds = args.answer
    server = ThreadingHTTPServer(("127.0.0.1", 0), StandIn)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    anyio.run(measure, f"http://127.0.0.1:{server.server_address[1]}/entrez/eutils", args)
    server.shutdown()


if __name__ == "__main__":
    main()
