"""Ten minutes of mixed calls: do memory, descriptors and threads stay flat?

    python bench/soak.py [--seconds 600] [--clients 6] [--pause 1.0] [--ttl 20]

A server of its own on loopback, a stand-in for NCBI and for Tavily beside it. Each client makes calls with a pause
between them: searches, notes, searches by meaning, exports, `clear_session`, sessions opened and abandoned, calls that
are cancelled, and calls that fail. Sessions and connections expire after `--ttl` seconds, so that a steady state is
reached. The slopes at the end are of the second half.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import statistics
import subprocess
import tempfile
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import httpx

from crowd import Server, StandIn, call, connect, kind, note, result_of, server
from load import HEADERS, memory

EVERY = 30


class Soak:
    """What the clients do, and how often."""

    def __init__(self, http: httpx.AsyncClient, pause: float) -> None:
        self.outcomes: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self._http, self._pause = http, pause

    async def client(self, number: int) -> None:
        """Open a connection, make ten calls and abandon it, for ever."""
        chance = random.Random(number)
        steps = (self.search, self.web, self.add, self.meaning, self.export, self.clear, self.cancel, self.fail)
        while True:
            headers = await connect(self._http)
            for _ in range(10):
                step = chance.choices(steps, weights=(4, 2, 4, 6, 2, 1, 1, 2))[0]
                await step(headers, chance.randrange(10**6))
                await anyio.sleep(chance.uniform(0, 2 * self._pause))

    async def search(self, headers: dict[str, str], number: int) -> None:
        await self._call(headers, "pubmed_search", query=f"treatment of disease {number}")

    async def web(self, headers: dict[str, str], number: int) -> None:
        await self._call(headers, "web_search", query=f"treatment {number}")

    async def add(self, headers: dict[str, str], number: int) -> None:
        await self._call(headers, "add_evidence", items=[note(number + item) for item in range(5)])

    async def meaning(self, headers: dict[str, str], number: int) -> None:
        await self._call(headers, "semantic_search", query=f"outcome of disease {number % 100}")

    async def export(self, headers: dict[str, str], number: int) -> None:
        await self._call(headers, "export_evidence", format=("bibtex", "ris", "markdown")[number % 3])

    async def clear(self, headers: dict[str, str], _: int) -> None:
        added = {"session_id": "new", "items": [note(1)]}
        opened = await result_of(self._http, headers, "add_evidence", added)
        session_id = opened.get("structuredContent", {}).get("session_id", "")
        await self._call(headers, "clear_session", session_id=session_id)

    async def cancel(self, headers: dict[str, str], number: int) -> None:
        with anyio.move_on_after(number % 100 / 200):
            await self.search(headers, number)
            return
        self.outcomes["cancelled"] += 1

    async def fail(self, headers: dict[str, str], number: int) -> None:
        wrong: tuple[tuple[str, dict[str, Any]], ...] = (
            ("get_evidence", {"ids": [str(number)]}),
            ("semantic_search", {"query": "x", "session_id": f"rs_{number}"}),
            ("pubmed_search", {}),
            ("add_evidence", {"items": "x" * 200_000}),
        )
        tool, arguments = wrong[number % len(wrong)]
        await self._call(headers, tool, **arguments)

    async def _call(self, headers: dict[str, str], tool: str, **arguments: Any) -> None:
        said = await call(self._http, headers, tool, arguments)
        self.outcomes[f"{tool} {kind(said)}"] += 1
        if said != "ok":
            self.reasons[f"{tool}: {re.sub('[0-9]+', 'N', said)[:100]}"] += 1


def descriptors_and_threads(process: subprocess.Popen[bytes]) -> tuple[int, int]:
    return len(os.listdir(f"/proc/{process.pid}/fd")), len(os.listdir(f"/proc/{process.pid}/task"))


async def run(url: str, process: subprocess.Popen[bytes], options: argparse.Namespace) -> None:
    rows: list[tuple[float, float, int, int]] = []
    http = httpx.AsyncClient(base_url=url, headers=HEADERS, trust_env=False, timeout=120)
    soak = Soak(http, options.pause)
    async with http, anyio.create_task_group() as tasks:
        for number in range(options.clients):
            tasks.start_soon(soak.client, number)
        began, done = anyio.current_time(), 0
        while (passed := anyio.current_time() - began) < options.seconds:
            await anyio.sleep(EVERY)
            minutes, calls, done = (passed + EVERY) / 60, soak.outcomes.total() - done, soak.outcomes.total()
            rows.append((minutes, memory(process), *descriptors_and_threads(process)))
            print(
                "{:5.1f} min {:6.1f} MB {:4} descriptors {:3} threads".format(*rows[-1]),
                f"{calls * 60 / EVERY:5.0f} calls/min",
                flush=True,
            )
        tasks.cancel_scope.cancel()
    for counted in (soak.outcomes, soak.reasons):
        print(*(f"  {count:5} x {name}" for name, count in counted.most_common()), sep="\n")
    minutes, *columns = zip(*rows[len(rows) // 2 - 1 :], strict=True)
    slopes = [statistics.linear_regression(minutes, column).slope for column in columns]
    print("per minute: {:+.2f} MB, {:+.2f} descriptors, {:+.2f} threads".format(*slopes))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--clients", type=int, default=6)
    parser.add_argument("--pause", type=float, default=1.0, help="seconds between two calls of a client, on average")
    parser.add_argument("--ttl", type=int, default=60)
    options = parser.parse_args()
    stand_in = Server(("127.0.0.1", 0), StandIn)
    threading.Thread(target=stand_in.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{stand_in.server_address[1]}"
    ttl = {f"DEEPCRITICAL_{name}_TTL": str(options.ttl) for name in ("SESSION", "CONNECTION")}
    with tempfile.TemporaryDirectory() as folder, server(Path(folder), address, True, **ttl) as (process, url):
        httpx.get(f"{url}/ready", timeout=60)
        anyio.run(run, url, process, options)


if __name__ == "__main__":
    main()
