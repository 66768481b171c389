"""What the queries of `expand_queries` find of what reviewers kept, beside a librarian's strategies.

    python bench/recall.py FOLDER [--reviews ADHD Triptans ...] [--show] [--serve]

FOLDER holds a file REVIEW.jsonl.gz for each review of bench/mesh/reviews.json; a line is a record with pmid, title,
abstract, mesh, abstract_included and included. All records together are the PubMed of a server on loopback, which
answers E-utilities in their wire forms; the headings around them are in bench/mesh/tree.txt. The server of this
repository runs over stdio against it and is asked about each review in several wordings. Reported for each: what was
kept after reading abstracts (and what was included in the end) that is found by the direct query, by that and the
broader ones, and by the strategy, and how many records each retrieves.

The records have no publication types, dates and subheadings: types are guessed from words ("randomized", "review"),
years from the PMID; subheadings are read as words. A supplementary concept is indexed where a title has its name.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from ncbi.mesh import DATA
from ncbi.pubmed import PubMed, serve

Row = list[tuple[float, float, float]]


class Expanding:
    """This repository's server over stdio, with the stand-in as NCBI."""

    def __init__(self, port: int, home: str) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("DEEPCRITICAL_")}
        home_folders = {"HOME": home, "XDG_CACHE_HOME": home, "XDG_DATA_HOME": home, "DEEPCRITICAL_DATA_DIR": "memory"}
        there = {"DEEPCRITICAL_NCBI_BASE_URL": f"http://127.0.0.1:{port}/entrez/eutils", "NCBI_API_KEY": "bench"}
        command = [sys.executable, "-m", "deepcritical_mcp"]
        streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        environment = kept | home_folders | there | {"NO_PROXY": "127.0.0.1"}
        self._server = subprocess.Popen(command, text=True, cwd=home, env=environment, **streams)
        self._asked = 0
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "0"}}
        self._ask("initialize", client)
        self._send({"method": "notifications/initialized"})

    def expand(self, topic: str, **options: Any) -> dict[str, Any]:
        call = {"name": "expand_queries", "arguments": {"topic": topic, "session_id": "new", **options}}
        result = self._ask("tools/call", call)
        told: dict[str, Any] = result.get("structuredContent") or {}
        return told if "queries" in told else {"queries": [], "warnings": [json.dumps(result)]}

    def close(self) -> None:
        self._server.communicate(timeout=30)

    def _send(self, message: dict[str, Any]) -> None:
        assert self._server.stdin
        self._server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._server.stdin.flush()

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        assert self._server.stdout
        self._asked += 1
        self._send({"id": self._asked, "method": method, "params": params})
        while (answer := json.loads(self._server.stdout.readline())).get("id") != self._asked:
            pass
        return answer.get("result") or answer.get("error") or {}


def report(pubmed: PubMed, expanding: Expanding, reviews: dict[str, Any], show: bool) -> None:
    """A row for each wording; then totals of all wordings, and of the first, second, ... ones."""
    print(
        "review, wording, kept (included): found (included) of records by direct | + broader | a librarian's strategy"
    )
    sums: dict[str, list[Row]] = defaultdict(list)
    for review, told in reviews.items():
        kept, included = pubmed.kept[review]
        strategy = pubmed.search(told["strategy"])[0]
        for number, topic in enumerate(told["wordings"], start=1):
            began = time.perf_counter()
            expansion = expanding.expand(topic)
            seconds = time.perf_counter() - began
            queries = expansion["queries"]
            found = [pubmed.search(query["pubmed_query"])[0] for query in queries]
            direct = wider = found[0] if found else 0
            for query, bits in zip(queries, found, strict=True):
                wider |= bits if query["strategy"] == "broader" else 0
            sets = [set(pubmed.pmids(bits)) for bits in (direct, wider, strategy)]
            cells = [f"{len(ids & kept):4d} ({len(ids & included):3d}) {len(ids):5d}" for ids in sets]
            head = f"{review:23s}{number}{len(kept):5d} ({len(included):3d})"
            print(f"{head}: {' | '.join(cells)}  {seconds:4.1f} s", flush=True)
            row: Row = [(len(ids & kept), len(ids & kept) / len(kept), len(ids)) for ids in sets]
            sums["all wordings"].append(row)
            sums[f"wordings {number}"].append(row)
            if show:
                print(f"    {topic}")
                for query, bits in zip(queries, found, strict=True):
                    got = len(set(pubmed.pmids(bits)) & kept)
                    print(f"    {query['strategy']:9s}{got:4d} of {bits.bit_count():5d}  {query['pubmed_query']}")
                for warning in expansion.get("warnings", ()):
                    print(f"    warning: {warning}")
    print("sum of found, mean recall, sum of records, each with its ratio to the strategies'")
    for name, rows in sums.items():
        base = [sum(column) for column in zip(*(row[-1] for row in rows), strict=True)]
        for place, kind in enumerate(("direct", "+ broader", "strategy")):
            found, recall, read = (sum(column) for column in zip(*(row[place] for row in rows), strict=True))
            print(
                f"{name:12s} {kind:9s} found {found:5.0f} ({found / base[0]:.2f})  recall {recall / len(rows):.3f} "
                f"({recall / base[1]:.2f})  records {read:6.0f} ({read / base[2]:.2f})"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--reviews", nargs="+")
    parser.add_argument("--show", action="store_true", help="print the queries")
    parser.add_argument("--serve", action="store_true", help="only serve, and print the port")
    options = parser.parse_args()
    pubmed = PubMed(options.folder)
    server = serve(pubmed)
    port = int(server.server_address[1])
    if options.serve:
        print(port, flush=True)
        threading.Event().wait()
    told: dict[str, Any] = json.loads((DATA / "reviews.json").read_text())["reviews"]
    chosen = {
        name: one for name, one in told.items() if name in (options.reviews or pubmed.kept) and name in pubmed.kept
    }
    with tempfile.TemporaryDirectory() as home:
        expanding = Expanding(port, home)
        report(pubmed, expanding, chosen, options.show)
        expanding.close()


if __name__ == "__main__":
    main()
