"""What answers cost a model: characters of both forms, tool by tool, over stdio.

    python bench/answers.py [--records 10 20] [--show TOOL]

Twelve questions go to PubMed, preprints and trials, through the services that DEEPCRITICAL_*_BASE_URL name; what they
find is then listed, read, searched and checked in the same session. The structured form is counted as compact JSON, and
as Python's json writes it, with ASCII only. A ratio is that of the compact one to the text.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import sys
from collections import defaultdict
from typing import Any

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import get_default_environment, stdio_client
from mcp_types import CallToolResult

QUESTIONS = (
    "cancer OR tumor", "gene expression", "trial", "brain OR cognitive", "lung OR respiratory", "receptor",
    "liver OR hepatic", "infection OR virus", "immune OR vaccine", "mortality OR survival", "risk", "treatment",
)  # fmt: skip


def sizes(result: CallToolResult) -> tuple[int, int, int, int]:
    """Characters of the text, of the compact and of the longest JSON, and the number of records."""
    wire: dict[str, Any] = result.structured_content or {}
    text = "".join(getattr(block, "text", "") for block in result.content)
    compact = json.dumps(wire, ensure_ascii=False, separators=(",", ":"))
    records = next((len(wire[name]) for name in ("evidence", "items", "references") if wire.get(name)), 0)
    return len(text), len(compact), len(json.dumps(wire)), records


def wrong(item: dict[str, Any], number: int) -> str:
    """Its reference with its title, every third one with another volume."""
    authors, _, place = item["citation"]["reference"].partition(". ")
    reference = f"{authors}. {item['citation']['title'].removesuffix('.')}. {place}"
    return re.sub(r";(\d+)", r";9\1", reference, count=1) if number % 3 == 0 else reference


async def ask(session: ClientSession, tool: str, show: str, **arguments: object) -> CallToolResult:
    result = await session.call_tool(tool, arguments)
    assert isinstance(result, CallToolResult)
    assert not result.is_error, result.content
    if tool == show:
        print(json.dumps(result.structured_content, indent=1, ensure_ascii=False), *result.content, sep="\n")
    return result


async def measure(counts: list[int], show: str) -> None:
    found: dict[tuple[str, int], list[tuple[int, int, int, int]]] = defaultdict(list)
    environment = {**get_default_environment(), "DEEPCRITICAL_DATA_DIR": "memory"}
    environment |= {name: value for name, value in os.environ.items() if name.startswith("DEEPCRITICAL_")}
    server = StdioServerParameters(command=sys.executable, args=["-m", "deepcritical_mcp"], env=environment)
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        for count in counts:
            for question in QUESTIONS:
                fresh = {"session_id": "new", "query": question, "max_results": count}
                first = await ask(session, "pubmed_search", show, **fresh)
                found["pubmed_search", count].append(sizes(first))
                id = (first.structured_content or {})["session_id"]
                evidence = (first.structured_content or {}).get("evidence", [])
                ids = [one["id"] for one in evidence]
                list_all = await ask(session, "list_evidence", show, session_id=id, max_results=count)
                found["list_evidence", count].append(sizes(list_all))
                calls: list[tuple[str, dict[str, object]]] = [
                    ("semantic_search", {"query": question, "max_results": count}),
                    ("get_evidence", {"ids": ids}),
                    ("check_citations", {"text": "\n".join(f"{n}. {wrong(one, n)}"
                                                          for n, one in enumerate(evidence, 1))}),
                    ("preprint_search", {"query": "cancer", "max_results": count}),
                    ("trial_search", {"query": "study", "max_results": count}),
                ]  # fmt: skip
                for tool, arguments in calls if ids else ():
                    found[tool, count].append(sizes(await ask(session, tool, show, session_id=id, **arguments)))
    print(f"{'tool':18}{'asked':>6}{'records':>9}{'text':>9}{'JSON':>9}{'as ASCII':>9}{'ratio':>7}{'worst':>7}")
    for (tool, count), rows in found.items():
        rows = [row for row in rows if row[3]]
        if rows:
            text, compact, longest, records = (statistics.mean(column) for column in zip(*rows, strict=True))
            worst = max(row[1] / row[0] for row in rows)
            print(f"{tool:18}{count:6}{records:9.1f}{text:9,.0f}{compact:9,.0f}{longest:9,.0f}"
                  f"{compact / text:7.2f}{worst:7.2f}")  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, nargs="+", default=[10, 20])
    parser.add_argument("--show", default="", help="a tool whose answers are printed")
    options = parser.parse_args()
    anyio.run(measure, options.records, options.show)
