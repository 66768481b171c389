"""preprint_search and trial_search through the tool: what is shown, kept and refused."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client

from deepcritical_mcp.config import Settings
from deepcritical_mcp.sources import PREPRINTS
from tests.fakes import served
from tests.net.stand_in import Answer, StandIn, stand_in
from tests.sources.europepmc.test_preprints import TO_ARTICLE
from tests.sources.full_text_wire import preprint, results
from tests.sources.trials.registry import desk, trial
from tests.wire import wire

OTHER = preprint(id="PPR2", doi="10.1101/2020.01.02.000002", title="Iron in blood", versionNumber=None)


@asynccontextmanager
async def library(folder: Path, *answers: Answer, **more: object) -> AsyncGenerator[tuple[Client, StandIn]]:
    """A client of a server whose only source is Europe PMC, which gives these answers; `more` are settings."""
    async with stand_in(*answers) as europe_pmc:
        settings = Settings(**{"cache_dir": folder, "europepmc_base_url": europe_pmc.url} | more)
        async with served(settings, sources=(PREPRINTS,)) as (client, _):
            yield client, europe_pmc


async def call(client: Client, tool: str = "preprint_search", **arguments: object) -> tuple[str, dict[str, Any], bool]:
    result = await client.call_tool(tool, arguments)
    text = "".join(getattr(block, "text", "") for block in result.content)
    return text, wire(result), bool(result.is_error)


async def test_the_article_comes_first_in_what_a_reader_sees(tmp_path: Path):
    async with library(tmp_path, results(preprint(**TO_ARTICLE), OTHER)) as (client, _):
        text, found, failed = await call(client, query="zinc")
    assert not failed
    entry = text[text.index("## 1.") : text.index("## 2.")].splitlines()
    assert entry[:3] == [
        "## 1. Zinc in wound repair.",
        "Published as PMID 32000001 `https://pubmed.ncbi.nlm.nih.gov/32000001/` (J Made-up Res. 2027;1:2.)",
        "Reference: Ruiz A; ZINC Study Group, WHO Team. Version 2. medRxiv [Preprint]. 2026 Jan 2. "
        "doi: 10.64898/2026.01.02.26300001.",
    ]
    assert "`https://doi.org/10.64898/2026.01.02.26300001`" in entry
    assert text.count("32000001") == 3
    assert "Version 2." in found["evidence"][0]["citation"]["reference"]
    assert found["evidence"][0]["citation"]["status_notices"][0]["pmid"] == "32000001"
    assert found["next_step"].startswith(
        'Where an article was published, cite that: add_evidence items=[{"pmid": "32000001"}].'
    )


async def test_a_call_as_models_write_it_is_understood(tmp_path: Path):
    async with library(tmp_path, results(OTHER)) as (client, europe_pmc):
        _, found, failed = await call(
            client, q="iron?", server="medrxiv, biorxiv", since="2020", limit=5, exclude_published=True
        )
    assert not failed
    (asked,) = europe_pmc.asked
    assert asked.query["query"] == (
        '(iron) AND SRC:PPR AND (PUBLISHER:"medRxiv" OR PUBLISHER:"bioRxiv") AND FIRST_PDATE:[2020-01-01 TO 3000-12-31]'
    )
    assert asked.query["pageSize"] == "5"
    assert len(found["evidence"]) == 1


async def test_all_that_was_published_leaves_the_way_on(tmp_path: Path):
    async with library(tmp_path, results(preprint(**TO_ARTICLE))) as (client, _):
        _, found, _ = await call(client, query="zinc", unpublished_only=True)
        assert found["evidence"] == []
        assert found["next_step"].startswith("All results were omitted (see the warnings)")
        _, beyond, _ = await call(client, query="zinc", offset=5)
    assert beyond["next_step"] == "There are no results at this offset: use a smaller one."


async def test_it_is_kept_listed_found_again_and_exported(tmp_path: Path):
    async with library(tmp_path, results(preprint(license="cc by", **TO_ARTICLE), OTHER)) as (client, _):
        await call(client, query="zinc")
        _, listed, _ = await call(client, "list_evidence")
        assert listed["sources"] == {"preprint": 2}
        _, again, _ = await call(client, "semantic_search", query="zinc wound repair", source="preprint")
        assert again["evidence"][0]["id"] == "doi:10.64898/2026.01.02.26300001"
        shown, _, _ = await call(client, "get_evidence", ids=["doi:10.64898/2026.01.02.26300001"])
        assert "- Licence: cc by" in shown
        assert "- Preprint number: PPR500001" in shown
        for format, parts in EXPORTED.items():
            _, exported, _ = await call(client, "export_evidence", format=format)
            assert [part for part in parts if part not in exported["text"]] == [], format


EXPORTED = {
    "ris": ["TY  - UNPB", "M3  - Preprint", "PB  - medRxiv", "ET  - 2", "DO  - 10.64898/", "PMID 32000001"],
    "bibtex": ["@misc{", "howpublished = {medRxiv [Preprint]}", "version = {2}", "doi = {10.64898/", "PMID 32000001"],
    "csl-json": ['"genre": "Preprint"', '"publisher": "medRxiv"', '"version": "2"', '"DOI": "10.64898/'],
    "markdown": ["Version 2. medRxiv \\[Preprint\\]. 2026 Jan 2.", "Published as"],
}


@pytest.mark.parametrize(
    "link",
    [
        {"id": "32000009", "source": "MED", "type": "Retraction in", "reference": "J Made-up Res. 2027;1:9."},
        {"id": "PPR2", "source": "PPR", "type": "Preprint of", "reference": "medRxiv. 2026."},
    ],
)
async def test_a_withdrawal_or_another_preprint_is_not_an_article_to_cite(tmp_path: Path, link: dict[str, str]):
    row = preprint(commentCorrectionList={"commentCorrection": [link]})
    async with library(tmp_path, results(row, preprint(id=None))) as (client, _):
        text, found, _ = await call(client, query="zinc", unpublished_only=link["source"] == "PPR")
        listed, _, _ = await call(client, "list_evidence")
    assert len(found["evidence"]) == 1
    assert "cite that" not in found["next_step"]
    assert "published as" not in f"{text}{listed}".lower()
    assert "Europe PMC sent 1 record without an id, which cannot be shown." in found["warnings"]


async def test_a_long_query_is_said_once(tmp_path: Path):
    query = " OR ".join(f"zinc{n}" for n in range(350))
    async with library(tmp_path, results(OTHER)) as (client, _):
        text, found, _ = await call(client, query=query)
    assert text.count("zinc349") == 0
    assert len(text) < 3_000
    assert found["query"] == query
    assert str(found).count("zinc349") == 1


async def test_counted_results_that_do_not_come_are_an_outage(tmp_path: Path):
    async with library(tmp_path, results(hitCount=5)) as (client, _):
        text, _, failed = await call(client, query="zinc")
    assert failed
    assert "Europe PMC counts 5 results, but delivers none. Try again in a minute." in text


async def test_nothing_found_says_how_to_search(tmp_path: Path):
    async with library(tmp_path, results()) as (client, _):
        _, found, failed = await call(client, query="zinc wounds adults")
    assert not failed
    assert found["next_step"].startswith("Nothing found: a preprint must have all words of the query")


async def test_pages_that_end_early_are_not_said_to_be_filtered(tmp_path: Path):
    same = results(*[OTHER] * 8, hitCount=500, nextCursorMark="same")  # whatever was asked for
    async with library(tmp_path, same, same) as (client, _):
        _, found, _ = await call(client, query="zinc", offset=9, max_results=5)
    assert found["evidence"] == []
    assert found["next_step"] == (
        "Europe PMC sent no results from this offset on: try again in a minute, or use a smaller offset."
    )


async def test_the_filters_reach_the_registry_in_its_language(tmp_path: Path):
    async with desk(tmp_path, trial(1)) as ours:
        _, found = await ours.call(
            "trial_search",
            condition="wounds",
            intervention="zinc",
            status=["recruiting", "completed"],
            phase=["phase2", "phase3"],
            study_type="interventional",
            has_results=True,
            country="South Korea",
        )
    sent = ours.registry.asked[0].query
    assert "query.term" not in sent
    assert (sent["query.cond"], sent["query.intr"]) == ("wounds", "zinc")
    assert sent["filter.overallStatus"] == "RECRUITING,COMPLETED"
    assert sent["aggFilters"] == "results:with"
    assert sent["filter.advanced"] == (
        "(AREA[Phase]PHASE2 OR AREA[Phase]PHASE3) AND AREA[StudyType]INTERVENTIONAL AND "
        '(AREA[LocationCountry]COVERAGE[FullMatch]"South Korea" OR '
        'AREA[LocationCountry]COVERAGE[FullMatch]"Korea, Republic of")'
    )
    assert found["query"] == "wounds zinc"
    assert found["query_translation"].startswith("query.cond=wounds; query.intr=zinc; filter.overallStatus=RECRUITING")


@pytest.mark.parametrize(
    "written", [{"phase": "phase 7"}, {"phase": ["x"]}, {"status": "open,completed"}, {"phases": "0.5"}]
)
async def test_a_filter_that_cannot_be_read_is_an_error_that_names_the_values(
    tmp_path: Path, written: dict[str, object]
):
    async with desk(tmp_path, trial(1)) as ours:
        text, found = await ours.refused("trial_search", query="zinc", **written)
        said, nothing = await ours.refused("trial_search", status=["recruiting"])
    assert "one of query, condition and intervention" in said
    assert found["error"]["code"] == nothing["error"]["code"] == "invalid_input"
    assert ("phase4" if "status" not in written else "enrolling_by_invitation") in text
    assert ours.registry.asked == []


async def test_syntax_that_it_cannot_read_is_a_sentence_that_names_the_characters(tmp_path: Path):
    async with desk(tmp_path) as ours:
        text, found = await ours.refused("trial_search", query="zinc [ti]")
    assert found["error"]["code"] == "provider_refused"
    assert not found["error"]["retryable"]
    assert "Remove [ ] from it" in text
    assert "PubMed's tags" in text
    assert "expecting" not in text
    assert len(ours.registry.asked) == 1


async def test_of_many_papers_the_rest_is_a_call_away(tmp_path: Path):
    numbers = range(35_000_001, 35_000_061)
    rows = [{"pmid": str(one), "type": "DERIVED", "citation": f"Berg J. Paper {one}."} for one in numbers]
    async with desk(tmp_path, trial(1, referencesModule={"references": rows})) as ours:
        text, found = await ours.call("trial_search", query="zinc")
        assert len(found["evidence"][0]["citation"]["status_notices"]) == 20
        assert 'All of its papers: get_full_text(id="NCT09000001", sections=["References"])' in text
        assert "60 found by NLM's matching" in text
        whole, _ = await ours.call("get_full_text", id="NCT09000001", sections=["References"])
    assert "PMID 35000060" in whole


async def test_the_record_stays_when_the_whole_registration_is_read(tmp_path: Path):
    async with desk(tmp_path, trial(1)) as ours:
        await ours.call("trial_search", query="zinc")
        await ours.call("get_full_text", id="NCT09000001")
        text, found = await ours.call("trial_search", query="zinc")
        _, held = await ours.call("get_evidence", ids=["nct:NCT09000001"])
    assert found["evidence"][0]["id"] == "nct:NCT09000001"
    assert found["evidence"][0]["content"].startswith("Status: Completed.")
    assert held["evidence"][0]["content"] == found["evidence"][0]["content"]
    assert "nct:NCT09000001~2" in held["evidence"][0]["details"][-1]
    # The second search finds the numbers again; the record is in the session.
    assert [asked.path.rpartition("/")[2] for asked in ours.registry.asked] == [
        "studies",
        "studies",
        "NCT09000001",
        "studies",
    ]
    assert "of the session" not in text


async def test_only_new_leaves_out_what_the_session_has(tmp_path: Path):
    async with desk(tmp_path, trial(1), trial(2)) as ours:
        await ours.call("trial_search", query="zinc", max_results=1)
        _, found = await ours.call("trial_search", query="zinc", only_new=True)
    assert [item["id"] for item in found["evidence"]] == ["nct:NCT09000002"]
    assert found["already_known"] == 1


async def test_nothing_found_is_not_an_outage_nor_the_other_way_round(tmp_path: Path):
    async with desk(tmp_path) as ours:
        text, found = await ours.call("trial_search", query="zinc", country="Swizerland")
        ours.registry.answer = lambda _: Answer(503)
        _, failed = await ours.refused("trial_search", query="copper")
    assert found["evidence"] == []
    assert "Nothing found" in text
    assert (failed["error"]["code"], failed["error"]["retryable"]) == ("provider_unavailable", True)
    assert 'Did you mean "Switzerland"?' in text
