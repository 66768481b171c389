"""What happened to kept papers: asked again before an export or report, and told by a second witness, over loopback."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from mcp.client import Client
from mcp_types import TextContent

from deepcritical_mcp.config import Settings
from deepcritical_mcp.context import AppContext, build_services
from deepcritical_mcp.dates import current_date
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.server import DeepCriticalServer
from deepcritical_mcp.sources import CROSSREF, PUBMED
from tests.net.stand_in import Answer, Asked, StandIn, stand_in
from tests.sources.crossref.crossref_wire import library, update, work
from tests.sources.ncbi import Ncbi, article, ncbi, notice

ZINC, COPPER = "10.5555/zinc", "10.5555/copper"
RECORDS = {"7": article("7", "Zinc in wound repair.", doi=ZINC), "8": article("8", "Copper in bones.", doi=COPPER)}
RETRACTED = work(ZINC, **{"updated-by": [update("10.5555/notice")]})


@dataclass
class Desk:
    """A researcher's client, a server that keeps two papers, and what it reaches."""

    client: Client
    app: AppContext
    ncbi: Ncbi
    crossref: StandIn
    session_id: str = ""

    async def call(self, tool: str, **arguments: object) -> tuple[str, dict[str, Any]]:
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, result.content
        assert isinstance(result.content[0], TextContent)
        return result.content[0].text, result.structured_content or {}

    async def store(self) -> EvidenceStore:
        return await (await self.app.services()).sessions.get(self.session_id)

    async def age(self) -> None:
        """Let the status of everything in the session have been read long ago."""
        store = await self.store()
        held = await store.publications(await store.ids())
        await store.set_statuses([one.model_copy(update={"status_checked": "2020-01-01"}) for one in held.values()])


@asynccontextmanager
async def desk(folder: Path, works: Callable[[Asked], Answer]) -> AsyncGenerator[Desk]:
    async with ncbi(RECORDS) as pubmed, stand_in() as crossref:
        crossref.answer = works
        addresses = {"idconv_base_url": f"{pubmed.url}/idconv"}
        settings = Settings(cache_dir=folder, ncbi_base_url=pubmed.url, crossref_base_url=crossref.url, **addresses)
        build = partial(build_services, sources=(PUBMED,), full_texts=(), lookups=(CROSSREF,))
        app = AppContext(settings, build=build)
        async with Client(DeepCriticalServer(app)) as client:
            ours = Desk(client, app, pubmed, crossref)
            _, found = await ours.call("pubmed_search", query="metals")
            ours.session_id = found["session_id"]
            yield ours
        await app.aclose()


async def test_an_export_tells_what_the_second_witness_says_and_keeps_it(tmp_path: Path):
    async with desk(tmp_path, library(RETRACTED, work(COPPER))) as ours:
        text, exported = await ours.call("export_evidence", format="markdown")
        assert "PMID 7 is marked RETRACTED by Retraction Watch, 2021-05-04 (Crossref), but not by PubMed." in text
        assert "RETRACTED" in exported["text"]
        assert ours.ncbi.utilities == ["esearch", "efetch"]
        assert len(ours.crossref.asked) == 1
        shown, _ = await ours.call("get_evidence", ids=["pubmed:7"])
        assert (
            "RETRACTED (notice: doi:10.5555/notice, Retraction Watch, 2021-05-04 (Crossref); PubMed does not say so)"
            in shown.replace("`", "")
        )
        again, _ = await ours.call("export_evidence", format="ris", ids=["pubmed:7"])
        assert "but not by PubMed" in again
        assert len(ours.crossref.asked) == 1


async def test_a_status_that_was_read_long_ago_is_read_again_before_an_export(tmp_path: Path):
    async with desk(tmp_path, library(work(ZINC), work(COPPER))) as ours:
        await ours.age()
        told = notice("RetractionIn", "J Made-up Res. 2022;10:1", "99")
        ours.ncbi.records["7"] = article("7", "Zinc, changed.", doi=ZINC, citation=told)
        text, exported = await ours.call("export_evidence", format="ris")
        assert "RETRACTED" in exported["text"]
        assert "Zinc in wound repair" in exported["text"]
        assert "PMID 7 is marked RETRACTED by PubMed, but not by Crossref." in text
        assert ours.ncbi.utilities == ["esearch", "efetch", "efetch"]
        store = await ours.store()
        held = await store.publications(["pubmed:7", "pubmed:8"])
        assert {one.status_checked for one in held.values()} == {current_date().isoformat()}
        await ours.call("export_evidence", format="ris")
        assert ours.ncbi.utilities == ["esearch", "efetch", "efetch"]


async def test_an_outage_of_both_is_told_and_the_export_made(tmp_path: Path):
    async with desk(tmp_path, lambda asked: Answer(403)) as ours:
        await ours.age()
        ours.ncbi.always["efetch"] = Answer(400, b"no", "text/plain")
        text, exported = await ours.call("export_evidence", format="ris")
        assert exported["count"] == 2
        assert "The status of PMID 7, PMID 8 could not be read again and may be out of date" in text
        assert (
            "Crossref, the second witness of retractions, could not be asked about 10.5555/zinc, 10.5555/copp" in text
        )


async def test_of_a_part_only_what_it_may_hold_is_checked(tmp_path: Path):
    async with desk(tmp_path, library(work(ZINC), work(COPPER))) as ours:
        await ours.call("export_evidence", format="ris", offset=1)
        (asked,) = ours.crossref.asked
        assert asked.query["filter"] == f"doi:{COPPER}"


async def test_a_record_that_is_fetched_by_its_number_is_laid_before_the_witness(tmp_path: Path):
    async with desk(tmp_path, library(RETRACTED)) as ours:
        text, _ = await ours.call("add_evidence", items=[{"pmid": "7"}], session_id="new")
        assert "PMID 7 is marked RETRACTED by Retraction Watch" in text
        assert "Item 0: its paper is marked RETRACTED." in text


async def test_a_call_that_needs_all_its_requests_leaves_the_witness_out(tmp_path: Path):
    numbers = [{"pmid": "7"}, {"pmcid": "PMC1234"}, {"doi": COPPER}, {"nct": "NCT00000001"}]
    async with desk(tmp_path, library(RETRACTED)) as ours:
        await ours.call("add_evidence", items=numbers, session_id="new")
        assert ours.crossref.asked == []


async def test_a_note_on_a_paper_has_the_status_that_the_witness_knows(tmp_path: Path):
    async with desk(tmp_path, library(RETRACTED)) as ours:
        await ours.call("add_evidence", items=[{"content": "My thoughts on zinc.", "pmid": "7"}])
        _, exported = await ours.call("export_evidence", format="jsonl")
        assert exported["text"].count('"retracted"') == 2


async def test_a_merged_paper_keeps_its_status_when_it_is_described_again(tmp_path: Path):
    async with desk(tmp_path, library(RETRACTED)) as ours:
        await ours.call("export_evidence", format="ris")
        ours.ncbi.records["7"] = article("7", "Zinc in wound repair.", doi=ZINC, data="<PublicationStatus/>")
        await ours.call("pubmed_search", query="zinc")
        store = await ours.store()
        (held,) = (await store.publications(["pubmed:7"])).values()
        assert held.status == "retracted"
        assert len(held.status_notices) == 1
