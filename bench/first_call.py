"""What kept sessions cost before and in the first call: the server over stdio with sessions in a folder, and in memory.

    python bench/first_call.py [--runs 15] [--pause 0]

Each run starts a server as clients do, in a home of its own, asks for `initialize` and `tools/list`, waits for
`--pause` seconds, as a client does until its model calls a tool, and calls `add_evidence` twice, each in a new session.
The two take turns; the results are ratios of medians.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

STEPS = ("initialize", "tools/list", "first call", "second call")
PLACES = ("memory", "folder")
NOTE = "Zinc speeds up the repair of skin after burns, as a trial with 120 patients found."


def ask(server: subprocess.Popen[str], id: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    assert server.stdin
    assert server.stdout
    server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}) + "\n")
    server.stdin.flush()
    while (answer := json.loads(server.stdout.readline())).get("id") != id:
        pass
    return answer["result"]


def run(place: str, pause: float) -> list[float]:
    """Milliseconds of each step."""
    with tempfile.TemporaryDirectory() as home:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("DEEPCRITICAL_")}
        environment |= {"HOME": home, "XDG_DATA_HOME": str(Path(home) / "data")}
        environment |= {"DEEPCRITICAL_DATA_DIR": place} if place == "memory" else {}
        began = time.perf_counter()
        server = subprocess.Popen(
            [sys.executable, "-m", "deepcritical_mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        with server:
            client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "0"}}
            ask(server, 1, "initialize", client)
            times = [time.perf_counter() - began]
            assert server.stdin
            server.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
            began = time.perf_counter()
            ask(server, 2, "tools/list", {})
            times.append(time.perf_counter() - began)
            time.sleep(pause)
            for number in (3, 4):
                call = {"items": [{"content": f"{NOTE} {number}"}], "session_id": "new"}
                began = time.perf_counter()
                result = ask(server, number, "tools/call", {"name": "add_evidence", "arguments": call})
                times.append(time.perf_counter() - began)
                assert not result.get("isError"), result
            kept = len(list(Path(home).glob("data/deepcritical-mcp/sessions/*.sqlite3")))
            assert kept == (2 if place == "folder" else 0), kept
            server.stdin.close()
    return [1000 * one for one in times]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--pause", type=float, default=0.0)
    options = parser.parse_args()
    times: dict[str, list[list[float]]] = {place: [] for place in PLACES}
    for number in range(options.runs + 1):
        for place in PLACES if number % 2 else reversed(PLACES):
            measured = run(place, options.pause)
            if number:  # the first one warms up
                times[place].append(measured)
    medians = {place: [statistics.median(step) for step in zip(*rows, strict=True)] for place, rows in times.items()}
    print(f"{'':14s}{'memory':>10s}{'folder':>10s}{'ratio':>8s}   ({options.runs} runs, pause {options.pause:g} s)")
    for step, memory, folder in zip(STEPS, *medians.values(), strict=True):
        print(f"{step:14s}{memory:7.0f} ms{folder:7.0f} ms{folder / memory:8.2f}")
    totals = [statistics.median(sum(row[:3]) for row in times[place]) for place in PLACES]
    print(f"{'to first answer':14s}{totals[0]:6.0f} ms{totals[1]:7.0f} ms{totals[1] / totals[0]:8.2f}")


if __name__ == "__main__":
    main()
