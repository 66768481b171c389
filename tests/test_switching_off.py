"""DEEPCRITICAL_OFF: sources that a server never asks, and what callers are told about them."""

from __future__ import annotations

import pkgutil
from pathlib import Path

import pytest
from mcp.client import Client

from deepcritical_mcp.cli import doctor_checks
from deepcritical_mcp.config import Settings, load_settings
from deepcritical_mcp.errors import ConfigurationError
from deepcritical_mcp.server import create_server
from deepcritical_mcp.sources import FULL_TEXTS, LOOKUPS, SOURCES, SourceRow, source_names
from deepcritical_mcp.tools import TOOLS
from tests.net.stand_in import stand_in

ROWS = (*SOURCES, *FULL_TEXTS, *LOOKUPS)


def settings(folder: Path, off: str, **more: object) -> Settings:
    return Settings(**{"cache_dir": folder, "off": off, "deadline": 10} | more)


async def text_of(client: Client, tool: str, **arguments: object) -> tuple[str, bool]:
    result = await client.call_tool(tool, arguments)
    return "".join(getattr(block, "text", "") for block in result.content), bool(result.is_error)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.source.rpartition(":")[2])
def test_every_row_is_switched_off_by_the_name_that_it_shows(row: SourceRow) -> None:
    shown = pkgutil.resolve_name(row.source).name
    by_provider = {"tavily": "web"}  # the web's providers are switched off together
    assert row.own_name == by_provider.get(shown, shown)


def test_an_unknown_name_is_an_error_that_lists_the_known_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPCRITICAL_OFF", "web,europe")
    with pytest.raises(ConfigurationError) as caught:
        load_settings()
    assert caught.value.message.startswith(
        'DEEPCRITICAL_OFF: has no source "europe"; there are pubmed, preprints, trials, web, '
    )
    assert all(name in caught.value.message for name in source_names())


async def test_tools_whose_source_is_off_are_not_listed_and_say_why(tmp_path: Path) -> None:
    async with Client(create_server(settings(tmp_path, "pubmed"))) as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        told, is_error = await text_of(client, "pubmed_search", query="zinc")
        instructions = client.instructions or ""
    assert listed == {spec.name for spec in TOOLS} - {"pubmed_search", "pubmed_related"}
    assert is_error
    assert 'pubmed_search is switched off on this server: DEEPCRITICAL_OFF names "pubmed".' in told
    assert "web_search" in told
    assert "pubmed_search" not in instructions
    assert "web_search finds guidelines and news" in instructions


async def test_with_everything_off_the_session_still_works(tmp_path: Path) -> None:
    app = create_server(settings(tmp_path, ",".join(source_names())))
    async with Client(app) as client:
        added, failed = await text_of(client, "add_evidence", items=[{"content": "Zinc speeds up repair."}])
        assert not failed, added
        found, failed = await text_of(client, "semantic_search", query="does zinc help?")
        assert not failed
        assert "Zinc speeds up repair" in found
        expanded, failed = await text_of(client, "expand_queries", topic="zinc in wound repair")
        assert not failed, expanded
    await app.app.aclose()


async def test_what_is_off_is_not_asked_and_not_taken_for_not_found(tmp_path: Path) -> None:
    async with stand_in() as server:
        names = ("ncbi", "europepmc", "clinicaltrials", "idconv", "unpaywall", "icite")
        addresses = {f"{name}_base_url": server.url for name in names}
        app = create_server(settings(tmp_path, ",".join(source_names()), **addresses))
        async with Client(app) as client:
            fetched, _ = await text_of(client, "add_evidence", items=[{"pmid": "31000001"}])
            read, _ = await text_of(client, "get_full_text", id="PMC9000001")
            claimed, _ = await text_of(
                client, "add_evidence", items=[{"content": "Zinc.", "source": "pubmed", "pmid": "11"}]
            )
        await app.app.aclose()
    assert server.asked == []
    assert "Not asked for records, since switched off on this server: pubmed, pmc" in fetched
    assert "pubmed is switched off on this server (DEEPCRITICAL_OFF), so 31000001 could not be looked up" in fetched
    assert (
        "pubmed and pmc are switched off on this server (DEEPCRITICAL_OFF), so PMC9000001 could not be looked up"
        in read
    )
    assert "not found" not in f"{fetched} {read}".lower()
    assert "kept as your note, not as PubMed's record: PubMed is switched off on this server" in claimed


async def test_doctor_says_what_is_off(tmp_path: Path) -> None:
    found = {check.part: check for check in await doctor_checks.sources(settings(tmp_path, ",".join(source_names())))}
    assert {"PubMed", "PMC", "Europe PMC", "ClinicalTrials.gov", "Unpaywall", "iCite", "Web search"} <= set(found)
    assert {check.state for check in found.values()} == {"off"}
    assert found["iCite"].finding == 'switched off: DEEPCRITICAL_OFF names "icite"'
