"""What is linked to one paper: all services in one answer, and no round of citation searching."""

from pathlib import Path

import pytest

from tests.net.stand_in import Answer
from tests.sources.citing_wire import citations, citing, icite, icite_paper
from tests.sources.full_text_wire import preprint, results
from tests.sources.link_wire import SERVICES, World, connected, doi_of
from tests.wire import both

OTHERS = [one for one in SERVICES if one != "ncbi"]


async def test_one_paper_named_by_its_doi_is_followed_page_by_page_the_newest_first(tmp_path: Path) -> None:
    world = World(
        {one: [11] for one in (12, 13, 14, 9001)}, {"icite": {12}, "europepmc": {12}, "opencitations": {9001}}
    )
    async with connected(world, tmp_path) as client:
        text, found = await both(client, "pubmed_related", pmid=doi_of(11), kind="cited_by", max_results=2)
        assert [one["id"] for one in found["evidence"]] == ["pubmed:14", "pubmed:13"]
        assert "4 candidates, each counted once: 4 new to this session, 0 already in it." in text
        assert "linked to" not in text
        _, found = await both(client, "pubmed_related", pmid="11", kind="cited_by", offset=found["next_offset"])
        assert [one["id"] for one in found["evidence"]] == ["pubmed:12", "doi:10.5555/p9001"]
        log, _ = await both(client, "export_evidence", format="search-log")
    assert "articles that cite PMID 11" in log
    assert "Round 1" not in log


@pytest.mark.parametrize("fault", [Answer(401, b"no"), Answer(conduct="silent")])
@pytest.mark.parametrize(("service", "title"), [("europepmc", "Europe PMC"), ("ncbi elink.fcgi", "PubMed")])
async def test_an_outage_of_one_is_named_and_the_others_answer(
    service: str, title: str, fault: Answer, tmp_path: Path
) -> None:
    world = World({12: [11]}, faults={service: fault})
    async with connected(world, tmp_path, deadline=8) as client:
        text, found = await both(client, "pubmed_related", pmid="11", kind="cited_by")
    assert [one["id"] for one in found["evidence"]] == ["pubmed:12"]
    assert [one["query"] for one in found["queries"] if one["status"] == "failed"] == [title]
    (error,) = found["errors"]
    assert error.startswith(f"{title} has not answered: ")
    assert f"ERROR: {error}" in text.replace("\\", "")


async def test_what_a_service_counts_and_does_not_list_is_said(tmp_path: Path) -> None:
    rows = citing("MED", "12"), citing("CTX", "C12345"), citing("PPR", "PPR500001")
    faults = {"icite": icite(icite_paper(11, 17, cited_by=[12, 13])), "europepmc citations": citations(*rows, total=9)}
    world = World({}, faults=faults | {"europepmc search": results(preprint())})
    async with connected(world, tmp_path) as client:
        _, found = await both(client, "pubmed_related", pmid="11", kind="cited_by", max_results=20)
    assert (len(found["evidence"]), found["total_found"]) == (3, 3)
    told = [
        f"{one} more links than were read: to works without a number (theses, books), or past its limit."
        for one in (7, 15)
    ]
    assert {f"Europe PMC counts {told[0]}", f"iCite counts {told[1]}"} <= {*found["warnings"]}


async def test_services_that_are_switched_off_are_not_asked(tmp_path: Path) -> None:
    world = World({12: [11]}, {"ncbi": set()})
    async with connected(world, tmp_path, off=", ".join(OTHERS)) as client:
        text, found = await both(client, "pubmed_related", pmid="11", kind="cited_by")
    assert found["evidence"] == []
    assert "No articles that cite PMID 11 are listed by PubMed." in text
    assert not any(map(world.asked, OTHERS))
