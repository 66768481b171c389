"""The cost before a client's first call: startup compared with a bare SDK server, and the size of the tool list.

    python bench/start.py [--runs 15]

Startup is the time from spawn to the response to `initialize`, over stdio, the two servers in turn; the result is the
ratio of the medians.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import time
from importlib.metadata import version

BARE = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("bare")
@server.tool()
def add(a: int, b: int) -> int:
    return a + b
server.run("stdio")
"""
SERVERS = {"bare mcp server": ["-c", BARE], "deepcritical-mcp": ["-c", "from deepcritical_mcp.cli import main; main()"]}
FIVE = ("pubmed_search", "web_search", "expand_queries", "semantic_search", "add_evidence")


def greeted(arguments: list[str]) -> tuple[float, list[dict[str, object]]]:
    """Milliseconds from spawn to the answer, and the tools."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process:
        assert process.stdin
        assert process.stdout
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "0"}}
        for message in (
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        ):
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
            if message.get("id") == 1:
                process.stdout.readline()
                elapsed = 1000 * (time.perf_counter() - started)
        tools = json.loads(process.stdout.readline())["result"]["tools"]
        process.kill()
    return elapsed, tools


def size(value: object) -> int:
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    times: dict[str, list[float]] = {name: [] for name in SERVERS}
    tools: list[dict[str, object]] = []
    for run in range(runs + 1):
        for name, arguments in SERVERS.items():
            elapsed, tools = greeted(arguments)
            if run:  # the first is a warm-up
                times[name].append(elapsed)
    medians = {name: statistics.median(values) for name, values in times.items()}
    for name, values in times.items():
        print(f"{name:20s} {medians[name]:7.0f} ms  ({min(values):.0f} to {max(values):.0f})")
    print(f"ratio                {medians['deepcritical-mcp'] / medians['bare mcp server']:7.2f}  (goal 1.25)")
    for title, chosen in (("five tools", [tool for tool in tools if tool["name"] in FIVE]), ("all tools", tools)):
        read = [{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in chosen]
        print(f"{title:20s} {size(read):7,} bytes that a model reads, {size(chosen):,} in all")
    print(f"Python {platform.python_version()}, mcp {version('mcp')}, pydantic {version('pydantic')}, {runs} runs")


if __name__ == "__main__":
    main()
