"""What happened to kept papers: asked again before an export or report, and told by a second witness, over loopback."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client

from deepcritical_mcp.config import Settings
from deepcritical_mcp.context import AppContext
from deepcritical_mcp.dates import current_date
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.sources import CROSSREF, PUBMED
from tests.fakes import served
from tests.net.stand_in import Answer, Asked, StandIn, stand_in
from tests.sources.crossref.crossref_wire import library, update, work
from tests.sources.ncbi import QUICK_TO_ASK, Ncbi, article, ncbi, notice
from tests.wire import both

TODAY = current_date().isoformat()
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
        return await both(self.client, tool, **arguments)

    async def store(self) -> EvidenceStore:
        return await (await self.app.services()).sessions.get(self.session_id)

    async def age(self) -> None:
        """Let the status of everything in the session have been read long ago."""
        store = await self.store()
        held = await store.publications(await store.ids())
        await store.set_statuses([one.model_copy(update={"status_checked": "2020-01-01"}) for one in held.values()])


@asynccontextmanager
async def desk(
    folder: Path, works: Callable[[Asked], Answer], records: Mapping[str, str] = RECORDS
) -> AsyncGenerator[Desk]:
    async with ncbi(records) as pubmed, stand_in() as crossref:
        crossref.answer = works
        addresses = {"ncbi_base_url": pubmed.url, "crossref_base_url": crossref.url}
        settings = Settings(cache_dir=folder, idconv_base_url=f"{pubmed.url}/idconv", **addresses, **QUICK_TO_ASK)
        async with served(settings, sources=(PUBMED,), lookups=(CROSSREF,)) as (client, app):
            ours = Desk(client, app, pubmed, crossref)
            _, found = await ours.call("pubmed_search", query="metals")
            ours.session_id = found["session_id"]
            yield ours


async def test_a_merged_paper_keeps_its_status_when_it_is_described_again(tmp_path: Path):
    async with desk(tmp_path, library(RETRACTED)) as ours:
        await ours.call("export_evidence", format="ris")
        ours.ncbi.records["7"] = article("7", "Zinc in wound repair.", doi=ZINC, data="<PublicationStatus/>")
        await ours.call("pubmed_search", query="zinc")
        store = await ours.store()
        (held,) = (await store.publications(["pubmed:7"])).values()
        assert held.status == "retracted"
        assert len(held.status_notices) == 1


RETRACTED_NOW = article(
    "7",
    "Zinc in wound repair.",
    doi=ZINC,
    types=("Journal Article", "Retracted Publication"),
    citation=notice("RetractionIn", "J Made-up Res. 2026;10:1", "99"),
)
DOWN = Answer(400, b"no", "text/plain")
DRAFT = "Zinc helps [1].\n\n## References\n\n1. Ruiz A. Zinc in wound repair. J Made-up Res. 2021. PMID: 7.\n"
EXPORTS: tuple[tuple[dict[str, Any], str], ...] = (
    ({"format": "bibtex"}, "RETRACTED"),
    ({"format": "ris"}, "RETRACTED"),
    ({"format": "csl-json"}, "RETRACTED"),
    ({"format": "markdown"}, "RETRACTED"),
    ({"format": "jsonl"}, '"status":"retracted"'),
    ({"format": "bibliography"}, "RETRACTED"),
    ({"format": "table", "output": "csv"}, "retracted"),
    ({"format": "markdown", "fields": ["status", "status_checked"]}, "RETRACTED"),
    ({"format": "search-log"}, "Retracted among the records | 1 |"),
)
EACH = pytest.mark.parametrize(("arguments", "mark"), EXPORTS, ids=str)


@EACH
async def test_an_export_knows_of_a_retraction_of_the_same_minute(tmp_path: Path, arguments: dict[str, Any], mark: str):
    async with desk(tmp_path, library(work(ZINC), work(COPPER))) as ours:
        _, before = await ours.call("export_evidence", **arguments)
        assert mark not in before["text"]
        ours.ncbi.records["7"] = RETRACTED_NOW
        _, after = await ours.call("export_evidence", **arguments)
        assert mark in after["text"]
        assert ours.ncbi.utilities == ["esearch", "efetch", "efetch", "efetch"]
        assert len(ours.crossref.asked) == 2
        if arguments["format"] == "markdown":  # a further part asks nobody again
            await ours.call("export_evidence", **arguments, offset=1)
            assert (len(ours.ncbi.utilities), len(ours.crossref.asked)) == (4, 2)


@EACH
async def test_an_export_that_could_not_ask_names_the_records_and_the_day_on_which_their_status_was_last_asked(
    tmp_path: Path, arguments: dict[str, Any], mark: str
):
    async with desk(tmp_path, lambda asked: Answer(403)) as ours:
        ours.ncbi.always["efetch"] = DOWN
        text, exported = await ours.call("export_evidence", **arguments)
        pubmed, crossref = exported["warnings"]
        named = f"PMID 7, PMID 8 (status last asked {TODAY}) could not be asked again"
        assert (named in pubmed, named in text) == (True, True)
        assert f"{ZINC}, {COPPER} (status last asked {TODAY})" in crossref
        assert mark not in exported["text"]


async def test_a_check_knows_of_a_retraction_of_the_same_minute_and_says_when_it_asked(tmp_path: Path):
    async with desk(tmp_path, library(work(ZINC), work(COPPER))) as ours:
        _, before = await ours.call("check_citations", text=DRAFT)
        assert (before["counts"]["verified"], "retracted" in before["counts"]) == (1, False)
        assert before["records"] == f"status last asked {TODAY}"
        ours.ncbi.records["7"] = RETRACTED_NOW
        text, after = await ours.call("check_citations", text=DRAFT)
        assert after["references"][0]["record"]["status"] == "retracted"
        assert after["counts"]["retracted"] == 1
        assert f"Records: status last asked {TODAY}." in text
        assert ours.ncbi.utilities == ["esearch", "efetch", "efetch", "efetch"]


async def test_a_check_that_could_not_ask_says_when_the_status_was_last_asked(tmp_path: Path):
    async with desk(tmp_path, lambda asked: Answer(403)) as ours:
        ours.ncbi.always["efetch"] = DOWN
        _, report = await ours.call("check_citations", text=DRAFT)
        assert any(f"PMID 7 (status last asked {TODAY}) could not be asked again" in one for one in report["errors"])
        await ours.age()
        text, report = await ours.call("check_citations", text=DRAFT)
        assert report["records"] == "status last asked 2020-01-01"
        assert "Records: status last asked 2020-01-01." in text


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


async def test_what_nobody_is_asked_about_is_unchecked_and_all_else_has_its_day(tmp_path: Path):
    async with desk(tmp_path, library(work(ZINC), work(COPPER))) as ours:
        page = {
            "content": "Zinc is a metal.",
            "title": "Zinc facts",
            "url": "https://example.org/zinc",
            "source": "web",
        }
        await ours.call("add_evidence", items=[{"content": "A thought of mine."}, page])
        _, listed = await ours.call("list_evidence")
        days = {(one["source"], one["status"], one.get("status_checked", "")) for one in listed["items"]}
        assert days == {("pubmed", "ok", ""), ("user", "ok", ""), ("web", "unchecked", "")}
        for status, count in (("ok", 2), ("unchecked", 2)):
            _, filtered = await ours.call("list_evidence", status=status)
            assert filtered["matching"] == count
        text, shown = await ours.call("get_evidence", ids=["pubmed:7"])
        assert shown["evidence"][0]["citation"]["status_checked"] == TODAY
        assert f"status last asked {TODAY}" in text
