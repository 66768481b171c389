"""The search of literature and the neighbors of a paper: what a researcher gets, and what of it is told."""

from collections.abc import Sequence

import pytest

from deepcritical_mcp.errors import InvalidInputError, ProviderUnavailableError
from deepcritical_mcp.evidence.adding import AddOutcome
from deepcritical_mcp.models import CitationSource, Publication
from tests.publications import published
from tests.search.pubmed_library import library, request
from tests.sources.ncbi import Answer, article, as_json, efetch, notice

THREE = {"11": article("11", "First."), "12": article("12", "Second."), "13": article("13", "Third.")}


async def test_an_outage_is_never_an_empty_result():
    async with library(THREE) as lib:
        answered = lib.ncbi.answer
        lib.ncbi.hits["copper"] = []
        lib.ncbi.server.answer = lambda asked: Answer(503) if asked.query.get("term") == "zinc" else answered(asked)
        with pytest.raises(ProviderUnavailableError, match="could not be searched"):
            await lib.search.search(request(variants=("copper",)), lib.session)


async def test_what_pubmed_dropped_reaches_the_model():
    async with library(THREE) as lib:
        lib.ncbi.said["zinc"] = {
            "errorlist": {"phrasesnotfound": ["zinccc"], "fieldsnotfound": ["[xyz]"]},
            "warninglist": {
                "phrasesignored": ["the"],
                "quotedphrasesnotfound": ['"zinc of zinc"'],
                "outputmessages": ["No items found.", "Some remark."],
            },
        }
        lib.ncbi.said["copper"] = {"errorlist": {"phrasesnotfound": ["cu"], "fieldsnotfound": []}}
        result = await lib.search.search(request(variants=("copper",)), lib.session)
    told = " | ".join(result.warnings)
    for part in ("zinccc", "[xyz]", '"the"', '"zinc of zinc"', "Some remark."):
        assert part in told
    assert any(warning.startswith('Variant "copper":') and '"cu"' in warning for warning in result.warnings)
    assert "No items found" not in told


RETRACTED = article(
    "12", "Withdrawn claims.", types=("Retracted Publication",), citation=notice("RetractionIn", "J 1", "99")
)


async def test_retracted_papers_are_marked_or_left_out_and_counted():
    async with library(THREE | {"12": RETRACTED}) as lib:
        result = await lib.search.search(request(), lib.session)
        assert [item.citation.status for item in result.evidence] == ["ok", "retracted", "ok"]
        assert result.evidence[1].citation.status_notices[0].pmid == "99"
        result = await lib.search.search(request(include_retracted=False), lib.session)
    assert [item.id for item in result.evidence] == ["pubmed:11", "pubmed:13"]
    assert [warning for warning in result.warnings if "1 retracted paper" in warning and "PMID 12" in warning]
    assert result.total_found == 3
    assert "pubmed:12" in lib.session.unrelated


async def test_records_that_cannot_be_had_are_named_and_the_others_count():
    async with library() as lib:
        lib.ncbi.hits["zinc"] = ["11", "12", "13", "14"]
        deleted = "<DeleteCitation><PMID>13</PMID></DeleteCitation>"
        broken = "<PubmedArticle><MedlineCitation><PMID>12</PMID><Article/></MedlineCitation><b></PubmedArticle>"
        lib.ncbi.always["efetch"] = efetch(THREE["11"], broken, deleted)
        result = await lib.search.search(request(), lib.session)
    assert [item.id for item in result.evidence] == ["pubmed:11"]
    told = " | ".join(result.errors)
    assert "PMID 12 could not be read" in told
    assert "PMID 13 was withdrawn" in told
    assert "no record for PMID 14" in told


async def test_what_the_session_has_is_shown_when_the_rest_cannot_be_fetched():
    async with library(THREE) as lib:
        lib.ncbi.hits["copper"] = ["11"]
        await lib.search.search(request("copper"), lib.session)
        lib.ncbi.always["efetch"] = Answer(503)
        result = await lib.search.search(request(), lib.session)
    assert [item.id for item in result.evidence] == ["pubmed:11"]
    assert any("PMID 12, 13" in error for error in result.errors)


async def test_a_search_does_not_bring_back_an_earlier_decision():
    async with library(THREE) as lib:
        await lib.search.search(request(), lib.session)
        decided = {"screening": "included", "tags": ("early",), "screened": "2026-11-24T01:36:32Z"}
        lib.session.kept["pubmed:11"] = lib.session.kept["pubmed:11"].model_copy(update=decided)
        given, add = list[Publication](), lib.session.add_evidence

        async def adding(publications: Sequence[Publication], *, embed: bool = True) -> tuple[AddOutcome, ...]:
            given.extend(publications)
            return await add(publications, embed=embed)

        lib.session.add_evidence = adding
        await lib.search.search(request(), lib.session)
    assert (given[0].id, given[0].screening, given[0].tags) == ("pubmed:11", "", ())


@pytest.mark.parametrize("source", ["user", "pubmed"])
async def test_a_note_with_a_pmid_does_not_stand_for_the_record(source: CitationSource):
    async with library(THREE) as lib:
        note = published("Read this.", provider="user", source=source, title="My note", pmid="11")
        lib.session.kept[note.id] = note
        result = await lib.search.search(request(), lib.session)
    assert result.evidence[0].citation.title == "First."
    assert lib.ncbi.asked[1][1]["id"] == "11,12,13"


RECORDS = {str(number): article(str(number), f"Paper {number}.") for number in range(11, 16)}
NAMES = {"similar": "pubmed_pubmed", "cited_by": "pubmed_pubmed_citedin", "references": "pubmed_pubmed_refs"}


@pytest.mark.parametrize(("kind", "linkname"), NAMES.items())
async def test_neighbours_are_evidence_like_any_other(kind: str, linkname: str):
    async with library(RECORDS) as lib:
        lib.ncbi.links[linkname] = ["11", "14", "12"]
        lib.session.relevances = {"Paper 14.": 0.8}
        result = await lib.search.related("11", kind, 10, lib.session)
    assert [item.id for item in result.evidence] == ["pubmed:14", "pubmed:12"]
    assert result.evidence[0].relevance == 0.8
    assert {item.found_by for item in result.evidence} == {(1,)}
    assert "11" in result.query
    assert set(lib.session.kept) == {"pubmed:14", "pubmed:12"}
    assert lib.session.compared_with == ["Paper 11."]
    assert (result.total_found, result.next_offset) == (2, -1)
    assert lib.ncbi.utilities == ["elink", "efetch"]
    assert lib.ncbi.asked[0][1]["linkname"] == linkname


async def test_what_the_session_has_is_not_fetched_again_and_a_retracted_paper_is_named():
    async with library(RECORDS | {"11": article("11", types=("Retracted Publication",))}) as lib:
        lib.ncbi.links["pubmed_pubmed"] = ["12", "13"]
        result = await lib.search.related("11", "similar", 5, lib.session)
        await lib.search.related("12", "similar", 5, lib.session)
    assert any("RETRACTED" in warning for warning in result.warnings)
    assert [params["id"] for utility, params in lib.ncbi.asked if utility == "efetch"] == ["12,13,11"]


@pytest.mark.parametrize("pmid", ["", "zinc", "10.1/zinc", "-5", "0", "1234567890123", "1,2"])
async def test_what_is_no_pmid_is_not_asked_for(pmid: str):
    async with library(RECORDS) as lib:
        with pytest.raises(InvalidInputError, match="number"):
            await lib.search.related(pmid, "similar", 5, lib.session)
    assert lib.ncbi.asked == []


async def test_an_outage_is_told_at_either_step():
    async with library(RECORDS) as lib:
        lib.ncbi.always["elink"] = as_json({"linksets": [{"ERROR": "Couldn't resolve #exLinkSrv2"}]})
        with pytest.raises(ProviderUnavailableError):
            await lib.search.related("11", "similar", 5, lib.session)
        del lib.ncbi.always["elink"]
        lib.ncbi.links["pubmed_pubmed"] = ["12", "13"]
        lib.ncbi.always["efetch"] = Answer(503)
        with pytest.raises(ProviderUnavailableError) as caught:
            await lib.search.related("11", "similar", 5, lib.session)
    assert caught.value.details["pmids"] == ["12", "13"]


async def test_a_neighbour_that_cannot_be_had_is_named():
    async with library(RECORDS) as lib:
        lib.ncbi.links["pubmed_pubmed"] = ["12", "77"]
        result = await lib.search.related("11", "similar", 5, lib.session)
        assert any("PMID 77" in error for error in result.errors)
        lib.ncbi.always["efetch"] = efetch(RECORDS["13"])
        lib.ncbi.links["pubmed_pubmed"] = ["13"]
        with pytest.raises(InvalidInputError):
            await lib.search.related("15", "similar", 5, lib.session)
