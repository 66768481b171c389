from __future__ import annotations

import sqlite3
import time
from pathlib import Path

import httpx
import pytest

from deepcritical_mcp.errors import ProviderError, ProviderResponseError, ProviderUnavailableError
from deepcritical_mcp.sources.pubmed.vocabulary import CACHE_FILE, MappedTerm
from tests.search.expansion.ncbi_stand_in import ALZHEIMER, DEMENTIA, METFORMIN, NcbiStandIn, Record


async def test_a_descriptor_has_its_id_names_and_neighbours(tmp_path: Path):
    found = await NcbiStandIn().concepts(tmp_path).descriptors(["alzheimer disease", "nothing of the kind"])
    assert list(found) == ["alzheimer disease"]
    descriptor = found["alzheimer disease"]
    assert (descriptor.uid, descriptor.mesh_id, descriptor.name) == ("68000544", "D000544", "Alzheimer Disease")
    assert "Senile Dementia" in descriptor.entry_terms
    assert descriptor.parents == ("68003704", "68024801")
    assert descriptor.children == ("68099001",)
    assert descriptor.tree_numbers == ("C10.228.0", "C10.228.1")


async def test_several_headings_take_one_search_and_one_summary(tmp_path: Path):
    ncbi = NcbiStandIn()
    found = await ncbi.concepts(tmp_path).descriptors(["metformin", "alzheimer disease"])
    assert {heading: record.mesh_id for heading, record in found.items()} == {
        "metformin": "D008687",
        "alzheimer disease": "D000544",
    }
    (_, search), (_, summary) = ncbi.requests
    names = ('"metformin"[MeSH Terms]', '"metformin"[Substance Name]')
    names += ('"alzheimer disease"[MeSH Terms]', '"alzheimer disease"[Substance Name]')
    assert search["term"] == " OR ".join(names)
    assert search["db"] == summary["db"] == "mesh"


async def test_the_roots_of_the_tree_are_no_neighbours(tmp_path: Path):
    root = Record(5, ("Anatomy",), "A")
    found = await NcbiStandIn(records=(root,)).concepts(tmp_path).descriptors(["anatomy"])
    assert found["anatomy"].parents == ()


async def test_a_record_without_its_id_gets_it_from_its_number(tmp_path: Path):
    def old_form(_: object) -> httpx.Response:
        return httpx.Response(200, json={"result": {"uids": ["68000544"], "68000544": {"ds_meshterms": ["Alzheimer"]}}})

    found = await NcbiStandIn(faults={"esummary": old_form}).concepts(tmp_path).by_uid(["68000544"])
    assert found["68000544"].mesh_id == "D000544"


@pytest.mark.parametrize("terms", [[], None, "text", [{"a": 1}], 7])
async def test_a_record_that_cannot_be_read_is_left_out(terms: object, tmp_path: Path):
    def broken(_: object) -> httpx.Response:
        summaries = {"68000544": {"ds_meshterms": terms}, "68003704": DEMENTIA.summary()}
        return httpx.Response(200, json={"result": {"uids": list(summaries)} | summaries})

    found = await NcbiStandIn(faults={"esummary": broken}).concepts(tmp_path).by_uid(["68000544", "68003704"])
    assert list(found) == ["68003704"]


async def test_only_mesh_terms_of_the_translation_are_trusted(tmp_path: Path):
    mapped = await NcbiStandIn().concepts(tmp_path).mapped("metformin AND apc AND alzheimer")
    assert mapped == (
        MappedTerm(text="metformin", headings=("metformin",)),
        MappedTerm(text="apc", headings=("anaphase promoting complex",)),
        MappedTerm(text="alzheimer", headings=("alzheimer disease",)),
    )


async def test_a_better_spelling_is_suggested_only_where_there_is_one(tmp_path: Path):
    concepts = NcbiStandIn().concepts(tmp_path)
    assert await concepts.corrected("metfromin") == "metformin"
    assert await concepts.corrected("metformin") == ""


async def test_answers_are_kept_for_other_processes(tmp_path: Path):
    first, second = NcbiStandIn(), NcbiStandIn()
    for ncbi in (first, second):
        concepts = ncbi.concepts(tmp_path)
        assert await concepts.corrected("metfromin") == "metformin"
        assert len(await concepts.mapped("metformin")) == 1
        assert list(await concepts.descriptors(["metformin"])) == ["metformin"]
        assert list(await concepts.by_uid([ALZHEIMER.uid, METFORMIN.uid])) == [ALZHEIMER.uid, METFORMIN.uid]
    assert len(first.requests) == 5
    assert second.requests == []


async def test_a_cache_that_cannot_be_used_costs_nothing_but_time(tmp_path: Path):
    (tmp_path / "file").write_text("not a folder")
    (tmp_path / CACHE_FILE).write_text("not a database, but long enough to be taken for one" * 20)
    for folder in (tmp_path / "file" / "below", tmp_path):
        concepts = NcbiStandIn().concepts(folder)
        for _ in range(2):
            assert list(await concepts.descriptors(["metformin"])) == ["metformin"]


async def test_a_cached_answer_that_cannot_be_read_is_asked_for_again(tmp_path: Path):
    concepts = NcbiStandIn().concepts(tmp_path)
    await concepts.mapped("metformin")
    await concepts.descriptors(["metformin"])
    with sqlite3.connect(tmp_path / CACHE_FILE) as database:
        database.execute('UPDATE entries SET value = \'{"of": "another version"}\'')
    database.close()
    assert len(await concepts.mapped("metformin")) == 1
    assert list(await concepts.descriptors(["metformin"])) == ["metformin"]


async def test_an_answer_is_good_for_a_year(tmp_path: Path):
    await NcbiStandIn().concepts(tmp_path).mapped("metformin")
    later = NcbiStandIn()
    for days, requests in ((364, 0), (366, 1)):
        with sqlite3.connect(tmp_path / CACHE_FILE) as database:
            database.execute("UPDATE entries SET stored = ?", (time.time() - days * 86_400,))
        database.close()
        assert len(await later.concepts(tmp_path).mapped("metformin")) == 1
        assert len(later.requests) == requests


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (httpx.Response(503), ProviderUnavailableError),
        (httpx.Response(200, text="<!DOCTYPE html><html>maintenance</html>"), ProviderUnavailableError),
        (httpx.Response(200, text='{"esearchresult": {"count": "1", "idl'), ProviderResponseError),
        (httpx.Response(200, text='{"esearchresult": {"ERROR": "Search Backend failed"}}'), ProviderError),
    ],
)
async def test_an_outage_is_an_error_and_is_not_kept(
    answer: httpx.Response, error: type[ProviderError], tmp_path: Path
):
    ncbi = NcbiStandIn(faults={"esearch": lambda _: answer, "esearch mesh": lambda _: answer})
    concepts = ncbi.concepts(tmp_path)
    with pytest.raises(error):
        await concepts.mapped("metformin")
    with pytest.raises(error):
        await concepts.descriptors(["metformin"])
    ncbi.faults.clear()
    assert len(await concepts.mapped("metformin")) == 1
    assert list(await concepts.descriptors(["metformin"])) == ["metformin"]
