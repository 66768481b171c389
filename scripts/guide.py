"""Replays the sessions shown in README.md and docs/guide.md, and rewrites the answers: `python scripts/guide.py`.

A session is a series of code blocks marked `text` that start with an arrow. Each holds a call, an empty line, and a
part of the answer of the sample library (`deepcritical_mcp.cli.sample_library`). A comment above the block chooses the
lines to show, by how they start; "+2" also shows the two lines that follow:

    <!-- shows: # | session_id | ## 1. +2 -->

Shortened lines and gaps between lines are marked "…". A page's calls share one session, in the order of the page.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import anyio
from mcp.client import Client
from mcp_types import TextContent

from deepcritical_mcp.cli.sample_library import sample_server

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "README.md", ROOT / "docs" / "guide.md")
CUT = "…"
WIDTH = 118
_BLOCK = re.compile(r"^<!-- shows: (?P<shown>.+?) -->\n```text\n→ (?P<call>.+?)\n\n.*?^```$", re.DOTALL | re.MULTILINE)
_SESSION_ID = re.compile(r"rs_[0-9a-f]{32}")


class Call(NamedTuple):
    """A tool call as a page shows it."""

    tool: str
    arguments: dict[str, Any]


async def replayed(page: str) -> str:
    """`page` with the current answers of the sample library.

    Raises:
        ValueError: an answer has no line that starts as the page wants; the message contains the answer.
    """
    blocks = list(_BLOCK.finditer(page))
    answers = await _answers([parsed(block["call"]) for block in blocks])
    parts: list[str] = []
    end = 0
    for block, answer in zip(blocks, answers, strict=True):
        shown = shown_part(answer, block["shown"].split(" | "))
        head = f"<!-- shows: {block['shown']} -->\n```text\n→ {block['call']}"
        parts += [page[end : block.start()], f"{head}\n\n{shown}\n```"]
        end = block.end()
    return "".join((*parts, page[end:]))


async def _answers(calls: Sequence[Call]) -> list[str]:
    server = sample_server()
    answers: list[str] = []
    async with Client(server) as client:
        for call in calls:
            result = await client.call_tool(call.tool, call.arguments)
            [text] = result.content
            assert isinstance(text, TextContent)
            answers.append(text.text)
    await server.app.aclose()
    return answers


def parsed(call: str) -> Call:
    """A call as a page writes it: Python's syntax, with JSON's `true` and `false`."""
    expression = ast.parse(" ".join(call.split()), mode="eval").body
    assert isinstance(expression, ast.Call)
    assert isinstance(expression.func, ast.Name)
    return Call(expression.func.id, {str(one.arg): _value(one.value) for one in expression.keywords})


def _value(node: ast.expr) -> object:
    return node.id == "true" if isinstance(node, ast.Name) else ast.literal_eval(node)


def shown_part(answer: str, wanted: Sequence[str]) -> str:
    """The lines of `answer` that start as `wanted`, in that order.

    Raises:
        ValueError: there is no such line.
    """
    lines = [line for line in _SESSION_ID.sub(f"rs_{CUT}", answer).splitlines() if line.strip("` ")]
    shown: list[str] = []
    place = 0
    for one in wanted:
        start, _, more = one.partition(" +")
        found = next((at for at in range(place, len(lines)) if lines[at].startswith(start)), -1)
        if found < 0:
            raise ValueError(f'no line starts with "{start}" after line {place} of:\n{answer}')
        if found > place:
            shown.append(CUT)
        place = found + 1 + int(more or 0)
        shown += map(_shortened, lines[found:place])
    return "\n".join(shown)


def _shortened(line: str) -> str:
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 2].rsplit(' ', 1)[0]} {CUT}"


async def main() -> None:
    """Rewrite the pages."""
    for path in PAGES:
        page = path.read_text(encoding="utf-8")
        path.write_text(await replayed(page), encoding="utf-8", newline="\n")
        print(f"{path.name}: {len(_BLOCK.findall(page))} calls")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    anyio.run(main)
