"""Neighbours of a paper: similar ones, those that cite it, its references."""

from __future__ import annotations

import pytest

from deepcritical_mcp.errors import InvalidInputError, ProviderUnavailableError
from tests.search.pubmed_library import library
from tests.sources.ncbi import Answer, article, as_json, efetch

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
    assert (result.total_found, result.next_offset, result.sources_searched) == (2, -1, ("pubmed",))
    assert lib.ncbi.utilities == ["elink", "efetch"]
    assert lib.ncbi.asked[0][1]["linkname"] == linkname


async def test_what_the_session_has_is_not_fetched_again():
    async with library(RECORDS) as lib:
        lib.ncbi.links["pubmed_pubmed"] = ["12", "13"]
        await lib.search.related("11", "similar", 5, lib.session)
        await lib.search.related("12", "similar", 5, lib.session)
    assert [params["id"] for utility, params in lib.ncbi.asked if utility == "efetch"] == ["12,13,11"]


@pytest.mark.parametrize("pmid", ["", "zinc", "10.1/zinc", "-5", "0", "1234567890123", "1,2"])
async def test_what_is_no_pmid_is_not_asked_for(pmid: str):
    async with library(RECORDS) as lib:
        with pytest.raises(InvalidInputError, match="number"):
            await lib.search.related(pmid, "similar", 5, lib.session)
    assert lib.ncbi.asked == []


async def test_a_retracted_paper_is_named_as_such_with_its_neighbours():
    retracted = article("11", types=("Retracted Publication",))
    async with library(RECORDS | {"11": retracted}) as lib:
        lib.ncbi.links["pubmed_pubmed"] = ["12"]
        result = await lib.search.related("11", "similar", 5, lib.session)
    assert any("RETRACTED" in warning for warning in result.warnings)


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
