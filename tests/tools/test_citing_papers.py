"""Who cites a paper, and how often: PubMed, Europe PMC and iCite in one answer."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from mcp.client import Client

from deepcritical_mcp.config import Settings
from deepcritical_mcp.server import create_server
from tests.net.stand_in import Answer, Asked, StandIn, stand_in
from tests.sources.citing_wire import citations, citing, icite, icite_paper
from tests.sources.full_text_wire import preprint, results
from tests.sources.ncbi import QUICK_TO_ASK, Ncbi, article
from tests.wire import both


@dataclass
class World:
    """NCBI, Europe PMC and iCite at one address, and what each of them knows."""

    ncbi: Ncbi = field(
        default_factory=lambda: Ncbi({str(pmid): article(str(pmid), f"Paper {pmid}.") for pmid in range(11, 19)})
    )
    europe_pmc: Answer = field(default_factory=citations)
    preprints: Answer = field(default_factory=lambda: results(preprint()))
    icite: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    icite_fault: Answer | None = None
    server: StandIn = field(default_factory=lambda: StandIn("", lambda _: Answer()))

    def answer(self, asked: Asked) -> Answer:
        place = asked.path.split("/")[1]
        if place == "europepmc":
            return self.europe_pmc if asked.path.endswith("/citations") else self.preprints
        if place == "icite":
            known = [int(pmid) for pmid in asked.query["pmids"].split(",")]
            rows = (icite_paper(one, len(self.icite.get(one, [])), cited_by=self.icite.get(one, [])) for one in known)
            return self.icite_fault or icite(*rows)
        return self.ncbi.answer(asked)

    def asked(self, place: str) -> list[Asked]:
        return [one for one in self.server.asked if one.path.split("/")[1] == place]


@asynccontextmanager
async def connected(world: World, folder: Path, **settings: object) -> AsyncGenerator[Client]:
    async with stand_in() as server:
        world.server, server.answer = server, world.answer
        addresses = {
            "ncbi_base_url": f"{server.url}/eutils",
            "europepmc_base_url": f"{server.url}/europepmc",
            "icite_base_url": f"{server.url}/icite",
        }
        app = create_server(Settings(**(addresses | QUICK_TO_ASK | {"cache_dir": folder, "deadline": 20} | settings)))
        async with Client(app) as client:
            yield client
        await app.app.aclose()


async def test_where_pubmed_lists_enough_nobody_else_is_asked_who_cites_it(tmp_path: Path) -> None:
    world = World()
    world.ncbi.links["pubmed_pubmed_citedin"] = ["13", "12", "14"]
    async with connected(world, tmp_path) as client:
        text, found = await both(client, "pubmed_related", pmid="11", kind="cited_by", max_results=2)
    assert [one["id"] for one in found["evidence"]] == ["pubmed:13", "pubmed:12"]
    assert world.asked("europepmc") == []
    assert "These are 2 of 3." in text


@pytest.mark.parametrize(
    ("fault", "told"),
    [(Answer(401, b"no"), "Europe PMC"), (Answer(conduct="silent"), "Europe PMC did not answer in time.")],
)
async def test_an_outage_of_one_is_named_and_the_others_answer(fault: Answer, told: str, tmp_path: Path) -> None:
    world = World(icite={11: [12]}, europe_pmc=fault)
    async with connected(world, tmp_path, deadline=8) as client:
        text, found = await both(client, "pubmed_related", pmid="11", kind="cited_by")
    assert [one["id"] for one in found["evidence"]] == ["pubmed:12"]
    assert found["queries"][1]["status"] == "failed"
    (error,) = found["errors"]
    assert told in error
    assert f"ERROR: {error}" in text.replace("\\", "")


@pytest.mark.parametrize("counted", [None, 3])
async def test_pubmed_s_links_fail_and_nobody_else_lists_any_which_is_an_outage(
    counted: int | None, tmp_path: Path
) -> None:
    world = World(icite_fault=icite(icite_paper(11, counted)))
    world.ncbi.always["elink"] = Answer(401, b"no")
    async with connected(world, tmp_path) as client:
        result = await client.call_tool("pubmed_related", {"pmid": "11", "kind": "cited_by"})
    assert result.is_error
    assert "PubMed" in str(result.content)
    assert "lists no" not in str(result.content)


async def test_what_a_service_counts_and_does_not_list_is_said(tmp_path: Path) -> None:
    world = World(icite_fault=icite(icite_paper(11, 17, cited_by=[12, 13])))
    world.europe_pmc = citations(citing("MED", "12"), citing("CTX", "C12345"), citing("PPR", "PPR500001"), total=9)
    async with connected(world, tmp_path) as client:
        text, found = await both(client, "pubmed_related", pmid="11", kind="cited_by", max_results=20)
    assert (len(found["evidence"]), found["total_found"]) == (3, 3)
    why = "these are not listed: they have neither a PMID nor a record that can be fetched."
    assert found["warnings"][:2] == [f"Europe PMC counts 9; 7 of {why}", f"iCite counts 17; 15 of {why}"]
    assert "# 3 of 3 results" in text
    assert "max_results" not in found["next_step"]


async def test_records_that_fail_while_neighbours_are_held_are_an_outage_not_an_unknown_paper(tmp_path: Path) -> None:
    world = World()
    world.ncbi.links["pubmed_pubmed"] = ["12"]
    async with connected(world, tmp_path) as client:
        await both(client, "add_evidence", items=[{"pmid": "12"}])
        world.ncbi.always["efetch"] = Answer(401, b"no")
        result = await client.call_tool("pubmed_related", {"pmid": "11"})
    assert result.is_error
    assert "no record with PMID" not in str(result.content)


async def test_services_that_are_switched_off_are_not_asked(tmp_path: Path) -> None:
    world = World(icite={11: [12]})
    async with connected(world, tmp_path, off="icite, europepmc") as client:
        text, found = await both(client, "pubmed_related", pmid="11", kind="cited_by")
    assert found["evidence"] == []
    assert "PubMed lists no articles that cite PMID 11." in text
    assert world.asked("icite") == world.asked("europepmc") == []
