"""Saved exports over HTTP: kept in the session, read as resources by their owner only."""

from __future__ import annotations

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import ResourceLink, TextResourceContents

from tests.transports.conftest import Serving, content
from tests.transports.http.test_sessions import ALICE, BOB, MODERN, NOTE, TOKENS


async def test_a_saved_export_is_a_resource_that_only_its_owner_reads(serving: Serving) -> None:
    async with (
        serving(**TOKENS) as server,
        server.client("http", MODERN, ALICE) as alice,
        server.client("http", MODERN, BOB) as bob,
    ):
        await alice.call_tool("add_evidence", {"items": [{"content": NOTE}]})
        result = await alice.call_tool("export_evidence", {"format": "jsonl", "save": True})
        saved = content(result)
        link = result.content[1]
        assert isinstance(link, ResourceLink)
        assert (str(link.uri), link.mime_type) == (saved["file"], "application/x-ndjson")
        [read] = (await alice.read_resource(saved["file"])).contents
        assert isinstance(read, TextResourceContents)
        assert NOTE in read.text
        assert read.mime_type == link.mime_type
        assert len(read.text.encode()) == saved["bytes"]
        with pytest.raises(MCPError):
            await bob.read_resource(saved["file"])
