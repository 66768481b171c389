"""Rounds of citation searching: many papers followed in both directions through all services in one call."""

from pathlib import Path

import pytest
from mcp.client import Client

from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.search.linking import Answers, Candidate, Identities, merged
from deepcritical_mcp.sources.lookup import Linked, PaperNames
from deepcritical_mcp.sources.pubmed.links import PubMedLinks
from tests.net.stand_in import Answer, as_json
from tests.sources.link_wire import HTML_404, SERVICES, World, connected, doi_of
from tests.wire import both, text_of

SEEDS = ["11", doi_of(12).upper()]
PLACE = {"journal-title": "J Z", "volume": "9", "first-page": "77", "year": "2001", "author": "Ruiz"}


def network(**more: object) -> World:
    """11 and 12 are seeds: 12 is cited by 11, both by 101 and 102, and both cite 9001, a book with a DOI."""
    return World({101: [11, 12], 102: [11, 12], 103: [12], 11: [12, 9001], 12: [5, 6, 9001]}, **more)  # pyright: ignore[reportArgumentType]


async def counts(client: Client, **arguments: object) -> dict[str, tuple[int, int, int]]:
    """Of each candidate, to how many seeds it is linked, how many it cites, and how many cite it."""
    _, found = await both(client, "pubmed_related", **{"ids": SEEDS, "kind": "citations", **arguments})
    return {one["id"]: (one["seeds"], one["cites_seeds"], one["cited_by_seeds"]) for one in found["evidence"]}


async def test_what_is_linked_to_most_seeds_comes_first_each_paper_once_whoever_names_it_and_how(
    tmp_path: Path,
) -> None:
    # Each link is known to one service only, by the name that this one has for it.
    knows = {"ncbi": {101}, "icite": {102}, "europepmc": {103}, "opencitations": {11}, "crossref": {12}}
    unstructured: list[dict[str, str]] = [PLACE, {"unstructured": f"See doi:{doi_of(6)}."}, {"unstructured": "A book."}]
    world = network(knows=knows | {"openalex": {12}}, unstructured={12: unstructured})
    async with connected(world, tmp_path) as client:
        text, found = await both(client, "pubmed_related", ids=SEEDS, kind="citations")
    linked = {one["id"]: (one["seeds"], one["cites_seeds"], one["cited_by_seeds"]) for one in found["evidence"]}
    assert linked == {
        "doi:10.5555/p9001": (2, 0, 2), "pubmed:102": (2, 2, 0), "pubmed:101": (2, 2, 0),
        "pubmed:6": (1, 0, 1), "pubmed:5": (1, 0, 1), "pubmed:103": (1, 1, 0), "pubmed:77": (1, 0, 1),
    }  # fmt: skip
    assert next(iter(linked)) == "doi:10.5555/p9001"  # three services know it
    assert "linked to 2 seeds: cites 2" in text
    assert "7 candidates, each counted once: 7 new to this session, 0 already in it." in text
    assert found["total_found"] == 7


async def test_one_request_asks_about_many_papers_where_a_service_allows_it_and_the_next_page_asks_nobody(
    tmp_path: Path,
) -> None:
    world = network()
    async with connected(world, tmp_path) as client:
        first = await counts(client, max_results=3)
        asked = {name: [one.path.rpartition("/")[2] for one in world.asked(name)] for name in SERVICES}
        before = len(world.server.asked)
        second = await counts(client, max_results=3, offset=3)
        again = [one.path.split("/")[1] for one in world.server.asked[before:]]
    assert len({*first, *second}) == 6
    assert asked["ncbi"].count("elink.fcgi") == 2
    assert asked["icite"] == ["pubs"] * 3  # the third counts citations
    assert len(asked["crossref"]) == 2  # the second fetches the record of the book
    assert (len(asked["openalex"]), len(asked["opencitations"])) == (2, 4)
    assert {*again} <= {"ncbi", "icite"}  # records of the page, and how often they have been cited
    assert again.count("icite") == 1


@pytest.mark.parametrize("fault", [Answer(401, b"no"), HTML_404])
async def test_an_outage_is_named_and_only_what_is_missing_is_asked_again(fault: Answer, tmp_path: Path) -> None:
    world = network(faults={"opencitations": fault})
    async with connected(world, tmp_path) as client:
        text, found = await both(client, "pubmed_related", ids=SEEDS, kind="citations")
        (query,) = (one for one in found["queries"] if one["status"] == "failed")
        assert query["query"] == "OpenCitations"
        (error,) = found["errors"]
        assert error.startswith("OpenCitations has not answered about 2 of 2 papers: OpenCitations ")
        assert "Call again in a minute" in found["next_step"]
        assert "ERROR: OpenCitations" in text
        world.faults.clear()
        before = len(world.server.asked)
        _, found = await both(client, "pubmed_related", ids=SEEDS, kind="citations")
        again = {one.path.split("/")[1] for one in world.server.asked[before:]}
    assert found["errors"] == []
    assert again == {"ncbi", "opencitations", "icite"}  # NCBI is asked for the DOI of a seed again


async def test_when_nobody_answers_that_is_an_outage_and_not_nothing_found(tmp_path: Path) -> None:
    world = network(faults={f"ncbi {one}": Answer(401, b"no") for one in ("elink.fcgi",)})
    world.faults |= dict.fromkeys(("icite", "opencitations", "openalex", "crossref", "europepmc"), Answer(401, b"no"))
    async with connected(world, tmp_path) as client:
        result = await client.call_tool("pubmed_related", {"ids": SEEDS, "kind": "citations"})
        log = await client.call_tool("export_evidence", {"format": "search-log"})
    assert result.is_error
    assert "iCite" in str(result.content)
    assert "FAILED" in str(log.content)


async def test_a_paper_that_openalex_does_not_have_is_no_outage_and_pubmed_is_asked_one_by_one_if_need_be(
    tmp_path: Path,
) -> None:
    knows = {name: set[int]() for name in SERVICES if name != "ncbi"}
    world = network(knows=knows, joint_links=True)
    async with connected(world, tmp_path) as client:
        text, _ = await both(client, "pubmed_related", ids=SEEDS, kind="citations")
    assert "ERROR" not in text
    assert len([one for one in world.asked("ncbi") if one.path.endswith("elink.fcgi")]) == 6
    assert "linked to 2 seeds: cites 2" in text


async def test_rounds_go_on_from_what_is_included_until_the_log_says_that_nothing_more_was(tmp_path: Path) -> None:
    world = World({101: [11], 201: [101], 202: [101]}, {name: set[int]() for name in SERVICES[1:]})
    async with connected(world, tmp_path) as client:
        await both(client, "add_evidence", items=[{"pmid": "11", "decision": "included"}])
        included = {"ids": ["marked:included"], "kind": "citations", "only_new": True}
        _, found = await both(client, "pubmed_related", **included)
        assert [one["id"] for one in found["evidence"]] == ["pubmed:101"]
        await both(client, "add_evidence", items=[{"pmid": "101", "decision": "included"}])
        text, found = await both(client, "pubmed_related", **included)
        assert [one["id"] for one in found["evidence"]] == ["pubmed:202", "pubmed:201"]
        assert "Round 1 of citation searching, from 1 paper, led to 1 record that no earlier search had found" in text
        log, _ = await both(client, "export_evidence", format="search-log")
        assert "saturation is open (2 without a decision)" in log
        assert "| 2 |" in log
        excluded = [{"pmid": one, "decision": "excluded"} for one in ("201", "202")]
        await both(client, "add_evidence", items=excluded)
        log, _ = await both(client, "export_evidence", format="search-log")
        text, _ = await both(client, "pubmed_related", **included)
    assert "Round 2 of citation searching, from 2 papers, led to 2 records" in log
    assert "Nothing of it was included: citation searching is saturated, according to PubMed, Europe PMC," in log
    assert "Identified: Citation searching (other methods) | 3 |" in log
    assert "There is nothing more here that is new." in text


async def test_saturation_is_open_while_anything_is_undecided_unseen_or_not_followed(tmp_path: Path) -> None:
    world = World({101: [11], 102: [11, 101], 103: [11], 104: [12], 105: [13]})
    round_ = {"ids": ["marked:included"], "kind": "citations"}

    async def log(client: Client) -> str:
        text, _ = await both(client, "export_evidence", format="search-log")
        return text.partition("| Round |")[0].rpartition("Round ")[2]

    async def decide(client: Client, decision: str, *pmids: str) -> None:
        await both(client, "add_evidence", items=[{"pmid": one, "decision": decision} for one in pmids])

    async with connected(world, tmp_path) as client:
        await decide(client, "included", "11")
        world.faults["opencitations"] = Answer(401, b"no")
        await both(client, "pubmed_related", max_results=1, **round_)
        world.faults.clear()
        _, found = await both(client, "pubmed_related", max_results=2, offset=1, **round_)
        await decide(client, "excluded", "101", "102", "103")
        assert "saturation is open (1 of 3 candidates not looked at, 1 included paper not followed" in await log(client)
        await both(client, "pubmed_related", max_results=1, **round_)
        assert "citation searching is saturated" in await log(client)
        await decide(client, "included", "101", "12")
        await decide(client, "undecided", "102")
        _, found = await both(client, "pubmed_related", ids=["11", "101"], kind="citations")
        assert {one["id"] for one in found["evidence"]} == {"pubmed:102", "pubmed:103"}
        assert "saturation is open (1 without a decision, 1 included paper not followed" in await log(client)
        await decide(client, "excluded", "102")
        await both(client, "pubmed_related", ids=["12"], kind="cited_by")
        assert "1 included paper not followed to the end in both directions" in await log(client)
        await both(client, "pubmed_related", ids=["12"], kind="citations")
        await decide(client, "cited", "104")
        assert "saturation is open (1 included paper not followed" in await log(client)
        await decide(client, "excluded", "104")
        assert "citation searching is saturated" in await log(client)
        world.faults |= dict.fromkeys(("ncbi efetch.fcgi", "europepmc search", "crossref"), Answer(401, b"no"))
        refused = await client.call_tool("pubmed_related", {"ids": ["13"], "kind": "citations"})
        assert "No record could be fetched (PMID 105): " in text_of(refused)


async def test_what_nobody_has_a_record_of_keeps_nothing_open_and_a_wrong_doi_is_told(tmp_path: Path) -> None:
    listed = [f"pmid:101 doi:{doi_of(102)}", "doi:10.5555/none", f"pmid:11 doi:{doi_of(9777)}"]
    rows = as_json([{"oci": one, "citing": one, "cited": one} for one in listed])
    world = World({101: [11]}, faults={"opencitations": rows})
    round_ = {"ids": ["marked:included"], "kind": "citations", "only_new": True}
    async with connected(world, tmp_path) as client:
        await both(client, "add_evidence", items=[{"pmid": "11", "decision": "included"}])
        for _ in range(2):
            text, found = await both(client, "pubmed_related", **round_)
            assert not found["errors"]
            assert f"PMID 11 is listed with a DOI that is not its own ({doi_of(9777)})" in text
            assert f"PMID 101 is listed with a DOI that is not its own ({doi_of(102)})" in text
            await both(client, "add_evidence", items=[{"pmid": "101", "decision": "excluded"}])
        log, _ = await both(client, "export_evidence", format="search-log")
    assert "citation searching is saturated, according to PubMed" in log


async def test_candidates_that_turn_out_to_be_one_count_together_and_who_was_not_asked_is_said(tmp_path: Path) -> None:
    knows = {"ncbi": {11}, "crossref": {12}} | {name: set[int]() for name in ("europepmc", "icite", "opencitations")}
    world = World({11: [5], 12: [5]}, knows | {"openalex": set()}, {"europepmc search": Answer(401, b"no")})
    async with connected(world, tmp_path) as client:
        text, found = await both(client, "pubmed_related", ids=["11", "12"], kind="references")
        assert [(one["id"], one["seeds"]) for one in found["evidence"]] == [("pubmed:5", 2)]
        assert found["errors"][0].startswith("Europe PMC could not say what some papers are called elsewhere")
        world.faults.clear()
        text, _ = await both(client, "pubmed_related", ids=[doi_of(9300)], kind="citations")
    assert "PubMed could not be asked about 1 of the papers" in text


async def test_papers_that_nobody_knows_are_left_out_and_what_is_no_paper_is_refused(tmp_path: Path) -> None:
    world = network()
    async with connected(world, tmp_path) as client:
        text, _ = await both(client, "pubmed_related", ids=["11", "9500"], kind="citations")
        assert "PMID 9500 was left out: nobody has a record of it." in text
        for ids in (["9500"], ["marked:included"], ["zinc in wounds"], ["NCT09000001"], []):
            refused = await client.call_tool("pubmed_related", {"ids": ids, "kind": "both"})
            assert refused.is_error
            assert "invalid_input): " in text_of(refused)
            assert len(text_of(refused)) > len("pubmed_related failed (invalid_input): .")


def said(*names: str) -> PaperNames:
    return frozenset(names)


def test_names_mean_one_paper_only_where_its_pmid_is_certain() -> None:
    known = [said("pmid:1", "doi:10.1/a"), said("openalex:W1", "doi:10.1/a"), said("pmid:2", "doi:10.1/book")]
    known += [said("pmid:3", "doi:10.1/book"), said("ppr:PPR1", "doi:10.1101/x")]
    for some in (known, known[::-1]):
        identities = Identities(some)
        assert identities.of(said("openalex:W1")) == identities.of(said("doi:10.1/a")) == "pmid:1"
        assert identities.of(said("doi:10.1/book")) == "doi:10.1/book"
        assert identities.of(said("pmid:2")) == "pmid:2"
        assert identities.of(said("ppr:PPR1")) == "doi:10.1101/x"
        assert identities.of(said("place:J|1")) == "place:J|1"


def test_similar_papers_keep_the_order_of_the_service_among_those_that_are_like_as_many() -> None:
    service = PubMedLinks.__new__(PubMedLinks)
    links = {0: Linked((said("pmid:5"), said("pmid:9"))), 1: Linked((said("pmid:7"), said("pmid:9")))}
    found = merged([Answers(service, "similar", [0, 1], links)], [], [RecordIds("1"), RecordIds("2")])
    assert [one.name for one in found] == ["pmid:9", "pmid:7", "pmid:5"]
    assert Candidate("pmid:1", {"doi:10.1/a"}).ids == RecordIds("1", doi="10.1/a")
