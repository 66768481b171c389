"""What happened to kept papers: asked again before an export or report, and told by a second witness, over loopback."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp.client import Client

from deepcritical_mcp.config import Settings
from deepcritical_mcp.context import AppContext
from deepcritical_mcp.dates import current_date
from deepcritical_mcp.evidence.store import EvidenceStore
from deepcritical_mcp.models import Publication
from deepcritical_mcp.search.full_texts import FullTexts
from deepcritical_mcp.sources import CROSSREF, PUBMED
from tests.fakes import fake_server, served
from tests.net.stand_in import Answer, Asked, StandIn, stand_in
from tests.search.lookup_fakes import FakeRecords
from tests.sources.crossref.crossref_wire import library, update, work
from tests.sources.ncbi import QUICK_TO_ASK, Ncbi, article, ncbi, notice, pubmed
from tests.wire import both, text_of

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


IRON = "10.5555/iron"
IRON_RETRACTED = article("9", "Iron in the diet.", doi=IRON, citation=notice("RetractionIn", "J. 2022;1:2", "99"))
KNOWS_IRON = library(work(IRON, title=["Iron in the diet"]))
REFUSED = Answer(403)
MISSING = "PubMed could not be asked, so a retraction that only PubMed knows may be missing"
NEVER = f"The status of doi:{IRON} was never read from PubMed, so a retraction that only PubMed knows may be missing"


async def added_while_down(ours: Desk, utility: str, item: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    ours.ncbi.records["9"] = IRON_RETRACTED
    ours.ncbi.always[utility] = REFUSED
    _, opened = await ours.call("add_evidence", items=[item], session_id="new")
    ours.session_id = opened["session_id"]
    return await ours.call("add_evidence", items=[item], session_id=ours.session_id)


async def held_by(ours: Desk) -> Publication:
    store = await ours.store()
    (held,) = (await store.publications(await store.ids())).values()
    return held


@pytest.mark.long
@pytest.mark.parametrize("utility", ["esearch", "efetch"])
@pytest.mark.parametrize("item", [{"doi": IRON}, {"reference": f"Ruiz A. Iron in the diet. doi:{IRON}"}])
async def test_a_retraction_that_only_pubmed_knows_is_found_as_soon_as_it_answers(
    tmp_path: Path, utility: str, item: dict[str, Any]
):
    async with desk(tmp_path, KNOWS_IRON) as ours:
        text, answer = await added_while_down(ours, utility, item)
        assert f"Item 0: {MISSING}" in text
        assert answer["rejected"] == []
        held = await held_by(ours)
        assert (held.id, held.status_checked, held.status) == (f"doi:{IRON}", "", "unchecked")
        text, _ = await ours.call("export_evidence", format="ris", session_id=ours.session_id)
        assert NEVER in text
        assert (await held_by(ours)).status == "unchecked"
        del ours.ncbi.always[utility]
        text, _ = await ours.call("add_evidence", items=[item], session_id=ours.session_id)
        assert "Item 0: its paper is marked RETRACTED." in text
        assert MISSING not in text
        held = await held_by(ours)
        assert (held.pmid, held.status, held.awaits_pubmed) == ("9", "retracted", False)
        text, exported = await ours.call("export_evidence", format="ris", session_id=ours.session_id)
        assert "RETRACTED" in exported["text"]
        assert NEVER not in text


async def test_records_that_await_pubmed_are_not_ok(tmp_path: Path):
    async with desk(tmp_path, KNOWS_IRON) as ours:
        await added_while_down(ours, "esearch", {"doi": IRON})
        text, listed = await ours.call("list_evidence", status="ok", session_id=ours.session_id)
        assert listed["matching"] == 0
        assert "Left out, since their status was not read from PubMed: 1 record." in text
        _, listed = await ours.call("list_evidence", status="retracted", session_id=ours.session_id)
        assert listed["next_step"] == (
            'No evidence here has the status "retracted". export_evidence also asks Crossref, the second witness of '
            "retractions. The status of 1 item was never checked."
        )


async def test_what_crossref_says_does_not_stand_for_pubmed(tmp_path: Path):
    corrected = work(IRON, title=["Iron in the diet"], **{"updated-by": [update("10.5555/fix", "erratum")]})
    async with desk(tmp_path, library(corrected)) as ours:
        await added_while_down(ours, "esearch", {"doi": IRON})
        held = await held_by(ours)
        assert (held.status, held.status_checked, len(held.status_notices)) == ("corrected", "", 1)


def elsewhere(**fields: Any) -> Publication:
    known: dict[str, Any] = {"status_checked": "2026-11-20", "source": "pubmed", "title": "Iron", "doi": IRON} | fields
    return Publication.of("abstract", "Iron is a metal.", provider="europepmc", **known)


async def test_pubmed_switched_off_is_said_of_each_item(tmp_path: Path):
    known = {IRON: elsewhere(), "PMC7": elsewhere(doi="10.5555/tin", pmcid="PMC7", title="Tin cans")}
    texts = FullTexts((), None, lookups=[FakeRecords("europepmc", known)])
    async with Client(fake_server(full_texts=texts)) as client:
        items = [{"doi": IRON}, {"content": "A note."}, {"pmcid": "PMC7"}]
        text = text_of(await client.call_tool("add_evidence", {"items": items}))
        export = text_of(await client.call_tool("export_evidence", {"format": "ris"}))
    assert f"Items 0, 2: {MISSING}: PubMed is switched off on this server.\n" in text
    assert f"The status of doi:{IRON}, " in export
    assert "may be missing. PubMed is switched off on this server.\n" in export


async def test_pubmed_is_asked_after_all_for_a_pmid_that_another_one_names():
    async with ncbi({"9": IRON_RETRACTED}) as played, httpx.AsyncClient() as http:
        known = FakeRecords("europepmc", {"PMC7": elsewhere(pmcid="PMC7", pmid="9", doi="")}, takes="pmcid")
        texts = FullTexts((), pubmed(played.url, http), lookups=[known])
        async with Client(fake_server(full_texts=texts)) as client:
            played.always["efetch"] = REFUSED
            down = text_of(await client.call_tool("add_evidence", {"items": [{"pmcid": "PMC7"}]}))
            del played.always["efetch"]
            up = text_of(await client.call_tool("add_evidence", {"items": [{"pmcid": "PMC7"}]}))
    assert MISSING in down
    assert MISSING not in up
    assert "its paper is marked RETRACTED" in up


async def test_a_mixed_batch_says_that_crossref_was_not_asked_and_who_asks_it(tmp_path: Path):
    retracted = library(work("10.5555/zinc", **{"updated-by": [update("10.5555/notice")]}))
    numbers = [{"pmid": "7"}, {"pmcid": "PMC1234"}, {"doi": "10.5555/copper"}, {"nct": "NCT00000001"}]
    async with desk(tmp_path, retracted) as ours:
        text, answer = await ours.call("add_evidence", items=numbers, session_id="new")
        assert (
            "Crossref, the second witness of retractions, was not asked about 2 of these records, because looking them "
            "up took 4 requests: export_evidence asks it."
        ) in text
        _, exported = await ours.call("export_evidence", format="ris", session_id=answer["session_id"])
        assert "RETRACTED" in exported["text"]


async def test_a_partial_retraction_is_called_so(tmp_path: Path):
    partial = library(work("10.5555/zinc", **{"updated-by": [update("10.5555/part", "partial_retraction")]}))
    async with desk(tmp_path, partial) as ours:
        await ours.call("export_evidence", format="ris")
        _, exported = await ours.call("export_evidence", format="ris", ids=["pubmed:7"])
        assert "Partial retraction: " in exported["text"]
        assert "Erratum" not in exported["text"]
        shown, _ = await ours.call("get_evidence", ids=["pubmed:7"])
        assert "CORRECTED (notice: partial retraction, doi:10.5555/part" in shown.replace("`", "")
