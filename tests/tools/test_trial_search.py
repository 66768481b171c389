"""`trial_search`, from the arguments to both forms of the result, over a registry on loopback."""

from pathlib import Path

import pytest

from tests.net.stand_in import Answer
from tests.sources.trials.registry import desk, trial


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
