"""Clients that mix searches and adds over HTTP: does throughput hold as they grow in number, and is everyone served?

    python bench/mixed.py [--clients 50 100 200] [--calls 1600] [--rounds 1] [--greedy 100]

A server of its own on loopback. Each client has a connection and a session; of four calls, three search the session by
meaning, with queries that nobody has asked before, and one adds three notes. The number of calls is the same for every
number of clients, and a client begins a new session after eight calls, so the work is the same, too. Throughput is
given per second and per CPU second of the server, as a ratio to the first number of clients. "slowest" is how many
calls the slowest client had made when half of all were done, divided by the average.

Then one caller sends `--greedy` calls at once, each of which adds 16 notes. While they run, another one searches and
adds: how long does that take, next to the same calls on an idle server and to the greedy caller's own?
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import httpx

from crowd import Health, call, connect, server
from load import HEADERS, memory

PER_SESSION = 8
KINDS = ("semantic_search", "semantic_search", "add_evidence", "semantic_search")
WORDS = """
    patients with chronic heart failure were randomised to receive treatment or placebo and followed for months the
    expression of inflammatory markers in plasma was measured by immunoassay we found significant reduction of
    mortality compared with controls suggesting that inhibition of the kinase pathway protects neurons
""".split()
TOKENS = {name: f"{name}-token-of-the-benchmark-in-mixed" for name in ("greedy", "modest")}


def client_of(url: str, caller: str = "") -> httpx.AsyncClient:
    """A client with a pool of its own: a common one takes time in proportion to the number of its connections."""
    headers = {**HEADERS, **({"authorization": f"Bearer {TOKENS[caller]}"} if caller else {})}
    limits = httpx.Limits(max_connections=None)
    return httpx.AsyncClient(
        base_url=url, headers=headers, trust_env=False, timeout=300, limits=limits, verify=False
    )  # fmt: skip


def words(chance: random.Random, count: int) -> str:
    return " ".join(chance.choices(WORDS, k=count)) + f" {chance.randrange(10**9)}"


def notes(chance: random.Random, count: int) -> list[dict[str, str]]:
    return [{"title": words(chance, 8), "content": words(chance, 120)} for _ in range(count)]


def cpu_seconds(process: subprocess.Popen[bytes]) -> float:
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Crowd:
    """So many clients at work, and what they saw."""

    def __init__(self, url: str, clients: int, calls: int, seed: int) -> None:
        assert calls % (clients * PER_SESSION) == 0, "else there is not as much work for every number of clients"
        self.seconds: dict[str, list[float]] = {kind: [] for kind in {*KINDS}}
        self.problems: Counter[str] = Counter()
        self.made: list[int] = []
        self._url, self._clients, self._calls, self._seed = url, clients, calls, seed

    async def run(self) -> float:
        """Seconds from the first call to the last; connections are opened before."""
        ready, began, start = 0, 0.0, anyio.Event()

        async def client(number: int) -> None:
            nonlocal ready
            chance = random.Random(self._seed * 1_000 + number)
            async with client_of(self._url) as http:
                headers = await connect(http)
                ready += 1
                await start.wait()
                await self._work(http, headers, number, chance)

        async with anyio.create_task_group() as tasks:
            for number in range(self._clients):
                tasks.start_soon(client, number)
            while ready < self._clients:  # noqa: ASYNC110
                await anyio.sleep(0.02)
            began = time.perf_counter()
            start.set()
        return time.perf_counter() - began

    async def _work(self, http: httpx.AsyncClient, headers: dict[str, str], number: int, chance: random.Random) -> None:
        for done in range(self._calls // self._clients):
            if done and done % PER_SESSION == 0:
                headers = await connect(http)
            # Each starts at another place, so that the mix is the same at any moment.
            kind = KINDS[(done + number) % len(KINDS)] if done % PER_SESSION else "add_evidence"
            given: dict[str, Any] = (
                {"query": words(chance, 10)} if kind == "semantic_search" else {"items": notes(chance, 3)}
            )
            began = time.perf_counter()
            said = await call(http, headers, kind, given)
            self.seconds[kind].append(time.perf_counter() - began)
            self.made.append(number)
            if said != "ok":
                self.problems[f"{kind}: {said}"] += 1

    @property
    def slowest(self) -> float:
        """The share of the slowest client at half time: 1.0 if all had made as many calls."""
        half = Counter(self.made[: len(self.made) // 2])
        return min(half[number] for number in range(self._clients)) / (len(self.made) / 2 / self._clients)


async def crowds(url: str, process: subprocess.Popen[bytes], options: argparse.Namespace) -> None:
    print("| clients | calls/s | calls per CPU s | ratios | search p50, p99 | add p50, p99 | slowest | /health | MB |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    await Crowd(url, 10, 160, 0).run()  # warms up
    first: tuple[float, float] | None = None
    for number, clients in enumerate(options.clients * options.rounds, 1):
        crowd, cpu = Crowd(url, clients, options.calls, number), cpu_seconds(process)
        with Health(url) as health:
            seconds = await crowd.run()
        rates = len(crowd.made) / seconds, len(crowd.made) / (cpu_seconds(process) - cpu)
        first = first or rates
        cuts = {kind: statistics.quantiles(some, n=100, method="inclusive") for kind, some in crowd.seconds.items()}
        print(
            f"| {clients} | {rates[0]:.1f} | {rates[1]:.1f} | {rates[0] / first[0]:.2f}, {rates[1] / first[1]:.2f} |",
            *(f"{cuts[kind][49]:.2f}, {cuts[kind][98]:.2f} s |" for kind in ("semantic_search", "add_evidence")),
            f"{crowd.slowest:.2f} | {health.worst:.2f} s | {memory(process):.0f} |",
            flush=True,
        )
        for text, count in crowd.problems.most_common(5):
            print(f"    {count} x {text}")


async def greed(url: str, count: int) -> None:
    chance = random.Random(1)
    async with client_of(url, "greedy") as greedy, client_of(url, "modest") as modest:
        own = await connect(modest)
        await call(modest, own, "add_evidence", {"items": notes(chance, 3)})

        async def rounds(seconds: dict[str, list[float]], until: anyio.Event | None) -> None:
            while True:
                for kind, given in (
                    ("semantic_search", {"query": words(chance, 10)}),
                    ("add_evidence", {"items": notes(chance, 3)}),
                ):
                    began = time.perf_counter()
                    said = await call(modest, own, kind, given)
                    seconds.setdefault(kind if said == "ok" else said, []).append(time.perf_counter() - began)
                if until.is_set() if until else len(seconds["add_evidence"]) >= 20:
                    return

        alone: dict[str, list[float]] = {}
        among: dict[str, list[float]] = {}
        await rounds(alone, None)
        outcomes: Counter[str] = Counter()
        waits: list[float] = []
        ended = anyio.Event()

        async def many(headers: dict[str, str]) -> None:
            async def one() -> None:
                began = time.perf_counter()
                outcomes[await call(greedy, headers, "add_evidence", {"items": notes(chance, 16)})] += 1
                waits.append(time.perf_counter() - began)

            async with anyio.create_task_group() as tasks:
                for _ in range(count):
                    tasks.start_soon(one)
            ended.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(many, await connect(greedy))
            await anyio.sleep(0.5)
            await rounds(among, ended)
    print(
        f"\n{count} adds of 16 notes by one caller: {dict(outcomes)}, {max(waits):.1f} s at most. Meanwhile another's"
    )
    for kind, some in among.items():
        usual = statistics.median(alone.get(kind, [float("nan")]))
        median = statistics.median(some)
        print(
            f"  {kind:16} {median:6.2f} s ({max(some):.2f} at most, {len(some)} calls), "
            f"{median / usual:.1f} times that on an idle server, {median / statistics.median(waits):.2f} of the greedy"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, nargs="*", default=[50, 100, 200])
    parser.add_argument("--calls", type=int, default=1_600, help="of all clients together")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--greedy", type=int, default=100)
    options = parser.parse_args()
    nowhere = "http://127.0.0.1:9"
    if options.clients:
        with tempfile.TemporaryDirectory() as folder, server(Path(folder), nowhere, True) as (process, url):
            httpx.get(f"{url}/ready", timeout=60)
            anyio.run(crowds, url, process, options)
    if options.greedy:
        tokens = ",".join(f"{name}:{token}" for name, token in TOKENS.items())
        limits = {"DEEPCRITICAL_AUTH_TOKENS": tokens, "DEEPCRITICAL_CONCURRENT_CALLS": str(options.greedy)}
        with tempfile.TemporaryDirectory() as folder, server(Path(folder), nowhere, True, **limits) as (_, url):
            httpx.get(f"{url}/ready", timeout=60)
            anyio.run(greed, url, options.greedy)


if __name__ == "__main__":
    main()
