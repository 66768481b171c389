"""The search of literature and the neighbors of a paper: what a researcher gets, and what of it is told."""

from collections.abc import Sequence

import pytest

from deepcritical_mcp.errors import AllProvidersFailedError, InvalidInputError, ProviderUnavailableError
from deepcritical_mcp.evidence.adding import AddOutcome
from deepcritical_mcp.models import CitationSource, Publication
from deepcritical_mcp.search.documents import LinkKind
from deepcritical_mcp.search.news import gather_news
from deepcritical_mcp.search.snowballing import follow
from deepcritical_mcp.search.witness import Witness
from tests.publications import published
from tests.search.pubmed_library import library, linked_to, request
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
NAMES: dict[LinkKind, str] = {
    "similar": "pubmed_pubmed", "cited_by": "pubmed_pubmed_citedin", "references": "pubmed_pubmed_refs"
}  # fmt: skip


@pytest.mark.parametrize(("kind", "linkname"), NAMES.items())
async def test_neighbours_are_evidence_like_any_other_and_similar_ones_in_the_order_of_pubmed(
    kind: LinkKind, linkname: str
):
    async with library(RECORDS) as lib:
        lib.ncbi.links[linkname] = ["11", "12", "14"]
        lib.session.relevances = {"Paper 14.": 0.8}
        result = await follow(lib.search, linked_to("11", kind), lib.session)
    order = ["12", "14"] if kind == "similar" else ["14", "12"]
    assert [(one.citation.pmid, one.seeds) for one in result.evidence] == [(one, 0) for one in order]
    assert {one.id: one.relevance for one in result.evidence}["pubmed:14"] == 0.8
    assert {item.found_by for item in result.evidence} == {(1,)}
    assert "PMID 11" in result.query
    assert set(lib.session.kept) == {"pubmed:14", "pubmed:12"}
    assert lib.session.compared_with == ["Paper 11."]
    assert (result.total_found, result.next_offset) == (2, -1)
    assert lib.ncbi.utilities == ["efetch", "elink", "efetch"]
    assert lib.ncbi.asked[1][1]["linkname"] == linkname


async def test_what_the_session_has_is_not_fetched_again_and_a_retracted_paper_is_named():
    async with library(RECORDS | {"11": article("11", types=("Retracted Publication",))}) as lib:
        lib.ncbi.links["pubmed_pubmed"] = ["12", "13", "14"]
        result = await follow(lib.search, linked_to("11", "similar", 2), lib.session)
        await follow(lib.search, linked_to("12", "similar", 2), lib.session)
    assert "PMID 11 itself is marked RETRACTED." in result.warnings
    assert [params["id"] for utility, params in lib.ncbi.asked if utility == "efetch"] == ["11", "12,13", "14"]


async def test_an_outage_is_told_at_either_step():
    async with library(RECORDS) as lib:
        lib.ncbi.always["elink"] = as_json({"linksets": [{"ERROR": "Couldn't resolve #exLinkSrv2"}]})
        with pytest.raises(AllProvidersFailedError, match="PubMed has not answered: "):
            await follow(lib.search, linked_to("11", "similar"), lib.session)
        del lib.ncbi.always["elink"]
        lib.ncbi.links["pubmed_pubmed"] = ["12", "13"]
        lib.ncbi.always["efetch"] = Answer(401)
        with pytest.raises(AllProvidersFailedError, match=r"No record could be fetched \(PMID 12, PMID 13\): "):
            await follow(lib.search, linked_to("14", "similar"), lib.session)


async def test_a_neighbour_that_cannot_be_had_is_named():
    async with library(RECORDS) as lib:
        lib.ncbi.links["pubmed_pubmed"] = ["12", "77"]
        result = await follow(lib.search, linked_to("11", "similar"), lib.session)
        assert any("PMID 77 could not be fetched: nobody has a record of it." in told for told in result.warnings)
        with pytest.raises(InvalidInputError, match="PMID 99 was left out: nobody has a record of it"):
            await follow(lib.search, linked_to("99", "similar"), lib.session)


async def test_what_is_linked_to_one_paper_is_looked_for_again_and_told_if_it_is_new():
    async with library(RECORDS) as lib:
        lib.ncbi.links["pubmed_pubmed_citedin"] = ["12"]
        await follow(lib.search, linked_to("11", "cited_by"), lib.session)
        lib.ncbi.links["pubmed_pubmed_citedin"] = ["14", "12"]
        first, second = [await gather_news(lib.session, {"pubmed": lib.search}, Witness()) for _ in range(2)]
    assert [(one.id, one.search) for one in first.items] == [("pubmed:14", "PubMed: papers that cite PMID 11")]
    assert (first.repeated, second.items) == (1, ())
