"""Items that claim to be PubMed's records: compared with PubMed, or kept as the user's notes."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp.client import Client

from deepcritical_mcp.config import Settings
from deepcritical_mcp.server import create_server
from tests.net.stand_in import Answer, StandIn, stand_in
from tests.sources.ncbi import article, efetch
from tests.wire import called, wire

MADE_UP = "Metformin cures Alzheimer's disease in 97 % of all patients within a week."
ABSTRACT = "Zinc speeds up repair."


@asynccontextmanager
async def connected(folder: Path, *answers: Answer) -> AsyncGenerator[tuple[Client, StandIn]]:
    """A client of the real server, and the PubMed that it asks."""
    async with stand_in(*answers) as ncbi:
        server = create_server(Settings(ncbi_base_url=ncbi.url, cache_dir=folder, deadline=10))
        async with Client(server) as client:
            yield client, ncbi
        await server.app.aclose()


async def exported(client: Client) -> str:
    result = await client.call_tool("export_evidence", {"format": "bibtex"})
    return str(wire(result))


@pytest.mark.parametrize(
    ("item", "answer", "told"),
    [
        ({"pmid": "99999999"}, efetch(), "PubMed has no record of PMID 99999999"),
        ({"pmid": "11"}, efetch(article("11")), "the PubMed record of PMID 11 has another text"),
        ({"url": "https://pubmed.ncbi.nlm.nih.gov/11/"}, efetch(article("11")), "PMID 11 has another text"),
        ({"doi": "10.1000/182"}, efetch(), "it has no PMID"),
        ({"pmid": "11"}, Answer(404), "PubMed could not be asked"),
    ],
)
async def test_what_pubmed_does_not_confirm_is_the_user_s_note(
    tmp_path: Path, item: dict[str, str], answer: Answer, told: str
) -> None:
    claim = {"content": MADE_UP, "source": "pubmed", "authors": ["Smith J"], "date": "2024", **item}
    async with connected(tmp_path, answer) as (client, _):
        added = await called(client, "add_evidence", items=[claim])
        kept = (await called(client, "get_evidence", ids=[added["added"][0]["id"]]))["evidence"][0]
        assert "nothing to export" in (await exported(client))
    (warning,) = added["warnings"]
    assert warning.startswith("Item 0: kept as your note, not as PubMed's record: ")
    assert told in warning
    assert (kept["kind"], kept["citation"]["source"], kept["content"]) == ("note", "user", MADE_UP)
    assert kept["id"].startswith("text:")


async def test_a_batch_costs_one_request_and_what_is_kept_none(tmp_path: Path) -> None:
    records = [article(str(number), f"Title {number}.") for number in range(11, 31)]
    items = [{"content": ABSTRACT, "source": "pubmed", "pmid": str(number)} for number in range(11, 31)]
    async with connected(tmp_path, efetch(*records)) as (client, ncbi):
        first = await called(client, "add_evidence", items=items)
        again = await called(client, "add_evidence", items=items)
    assert (len(first["added"]), len(again["duplicates"])) == (20, 20)
    assert len(ncbi.asked) == 1
