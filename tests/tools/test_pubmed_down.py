"""Records that come from elsewhere because PubMed could not be asked: kept, but not taken for checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp.client import Client

from deepcritical_mcp.models import Publication
from deepcritical_mcp.search.full_texts import FullTexts
from tests.fakes import fake_server
from tests.net.stand_in import Answer
from tests.search.lookup_fakes import FakeRecords
from tests.sources.crossref.crossref_wire import library, update, work
from tests.sources.ncbi import article, ncbi, notice, pubmed
from tests.tools.test_current_status import Desk, desk
from tests.wire import text_of, wire

IRON = "10.5555/iron"
RETRACTED = article("9", "Iron in the diet.", doi=IRON, citation=notice("RetractionIn", "J. 2022;1:2", "99"))
CROSSREF = library(work(IRON, title=["Iron in the diet"]))
DOWN = Answer(403)
MISSING = "PubMed could not be asked, so a retraction that only PubMed knows may be missing"
NEVER = f"The status of doi:{IRON} was never read from PubMed, so a retraction that only PubMed knows may be missing"


async def added_while_down(ours: Desk, utility: str, item: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    ours.ncbi.records["9"] = RETRACTED
    ours.ncbi.always[utility] = DOWN
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
    async with desk(tmp_path, CROSSREF) as ours:
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
    async with desk(tmp_path, CROSSREF) as ours:
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


async def test_a_pubmed_that_hangs_is_an_outage_for_dois_too():
    async with ncbi({}) as played, httpx.AsyncClient() as http:
        played.always["esearch"] = Answer(conduct="silent")
        known = FakeRecords("europepmc", {IRON: elsewhere()})
        texts = FullTexts((), pubmed(played.url, http), lookups=[known], seconds=0.5)
        async with Client(fake_server(full_texts=texts)) as client:
            items = [{"doi": IRON}, {"doi": "10.5555/none"}]
            answer = wire(await client.call_tool("add_evidence", {"items": items}))
    assert any(one.startswith(f"Item 0: {MISSING}") for one in answer["warnings"])
    assert [row["verdict"] for row in answer["rejected"]] == ["outage"]


async def test_pubmed_is_asked_after_all_for_a_pmid_that_another_one_names():
    async with ncbi({"9": RETRACTED}) as played, httpx.AsyncClient() as http:
        known = FakeRecords("europepmc", {"PMC7": elsewhere(pmcid="PMC7", pmid="9", doi="")}, takes="pmcid")
        texts = FullTexts((), pubmed(played.url, http), lookups=[known])
        async with Client(fake_server(full_texts=texts)) as client:
            played.always["efetch"] = DOWN
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
