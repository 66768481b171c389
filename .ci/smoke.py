"""One search and one semantic search through the installed wheel, over stdio, against the sample library."""

from __future__ import annotations

import sys

import anyio
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client


async def main() -> None:
    server = StdioServerParameters(command=sys.executable, args=["-m", "deepcritical_mcp.cli.sample_library"])
    async with Client(stdio_client(server)) as client:
        found = await client.call_tool("pubmed_search", {"query": "metformin"})
        assert not found.is_error, found.content
        evidence = (found.structured_content or {})["evidence"]
        assert evidence, "the search found nothing"
        again = await client.call_tool("semantic_search", {"query": "metformin and the brain"})
        assert not again.is_error, again.content
        assert (again.structured_content or {})["evidence"], "nothing found again by meaning"
        print(f"the wheel alone: {len(evidence)} found, found again by meaning")


anyio.run(main)
