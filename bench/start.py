"""The cost before a client's first call, next to a bare SDK server: start-up, memory, and the size of the tool list.

    python bench/start.py [--runs 15]

Over stdio, the two servers in turn: time from spawn to the responses to `initialize`, to the `tools/list` that follows,
and to a `prompts/list` sent with it, which is answered when everything is imported; CPU time of the process until then
(Linux; less disturbed by what else runs). Resident memory after `tools/list`, and, in another process, at rest: when
all is imported after `initialize`, before another message loads the model. Each ratio is the median of the ratios of
neighboring runs.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

BARE = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("bare")
@server.tool()
def add(a: int, b: int) -> int:
    return a + b
server.run("stdio")
"""
CLIENT = {"name": "bench", "version": "0"}
GREETING = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT}
INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": GREETING}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
TOOLS_LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
PROMPTS_LIST = {"jsonrpc": "2.0", "id": 3, "method": "prompts/list"}
SERVERS = {"bare mcp server": ["-c", BARE], "deepcritical-mcp": ["-c", "from deepcritical_mcp.cli import main; main()"]}
GOALS = {
    "initialize": ("ms", "goal 0.9"),
    "tools_list": ("ms", "goal 1.05"),
    "prompts_list": ("ms", ""),
    "initialize_cpu": ("ms", ""),
    "tools_list_cpu": ("ms", ""),
    "prompts_list_cpu": ("ms", ""),
    "memory": ("MB", ""),
    "memory_at_rest": ("MB", "goal 75 MB"),
}
"""Each figure of a start, its unit and its goal."""
FIVE = ("pubmed_search", "web_search", "expand_queries", "semantic_search", "add_evidence")


class Start(NamedTuple):
    """Milliseconds from spawn to each answer and of CPU until then, and megabytes after `tools/list` and at rest."""

    initialize: float
    tools_list: float
    prompts_list: float
    initialize_cpu: float
    tools_list_cpu: float
    prompts_list_cpu: float
    memory: float
    memory_at_rest: float


def spawned(arguments: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "DEEPCRITICAL_DATA_DIR": "memory"},
    )


def send(process: subprocess.Popen[bytes], *messages: Mapping[str, object]) -> None:
    assert process.stdin
    process.stdin.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
    process.stdin.flush()


def started(arguments: list[str]) -> tuple[Start, list[dict[str, object]]]:
    """One start, and the tools."""
    at = time.perf_counter()
    times: list[float] = []
    cpu: list[float] = []
    memory: list[float] = []
    answers: list[bytes] = []
    with spawned(arguments) as process:
        assert process.stdout
        for messages in ((INITIALIZE,), (INITIALIZED, TOOLS_LIST), (PROMPTS_LIST,)):
            send(process, *messages)
            answers.append(process.stdout.readline())
            times.append(1000 * (time.perf_counter() - at))
            cpu.append(cpu_of(process.pid))
            memory.append(memory_of(process.pid))
        process.kill()
    start = Start(times[0], times[1], times[2], cpu[0], cpu[1], cpu[2], memory[1], at_rest(arguments))
    return start, json.loads(answers[1])["result"]["tools"]


def at_rest(arguments: list[str]) -> float:
    """Megabytes of a server that has been greeted and has done all that it does then."""
    with spawned(arguments) as process:
        assert process.stdout
        send(process, INITIALIZE)  # the next message loads the model
        process.stdout.readline()
        spent = -1.0
        while (now := cpu_of(process.pid)) > spent:  # until it does nothing for a second
            spent = now
            time.sleep(1)
        memory = memory_of(process.pid)
        process.kill()
    return memory


def cpu_of(pid: int) -> float:
    """Milliseconds of CPU time of all threads; NaN where there is no /proc."""
    tasks = Path(f"/proc/{pid}/task")
    if not tasks.exists():
        return math.nan
    return sum(int(file.read_text().split()[0]) for file in tasks.glob("*/schedstat")) / 1e6


def memory_of(pid: int) -> float:
    """Megabytes of resident memory; NaN where there is no /proc."""
    status = Path(f"/proc/{pid}/status")
    return int(status.read_text().partition("VmRSS:")[2].split()[0]) / 1024 if status.exists() else math.nan


def size(value: object) -> int:
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    starts: dict[str, list[Start]] = {name: [] for name in SERVERS}
    tools: list[dict[str, object]] = []
    for run in range(runs + 1):
        for name, arguments in SERVERS.items():
            start, tools = started(arguments)
            if run:  # the first is a warm-up
                starts[name].append(start)
    print(f"{'':24s} {' '.join(f'{name:>17s}' for name in SERVERS)}  ratio")
    bare, ours = starts.values()
    for field, (unit, goal) in GOALS.items():
        columns = [[getattr(one, field) for one in all_of] for all_of in (bare, ours)]
        medians = " ".join(f"{statistics.median(column):14.0f} {unit}" for column in columns)
        ratio = statistics.median(own / other for other, own in zip(*columns, strict=True))
        print(f"{field.replace('_', ' '):24s} {medians}  {ratio:5.2f}  {goal}")
    for title, chosen in (("five tools", [tool for tool in tools if tool["name"] in FIVE]), ("all tools", tools)):
        read = [{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in chosen]
        print(f"{title:20s} {size(read):7,} bytes that a model reads, {size(chosen):,} in all")
    print(f"Python {platform.python_version()}, mcp {version('mcp')}, pydantic {version('pydantic')}, {runs} runs")


if __name__ == "__main__":
    main()
