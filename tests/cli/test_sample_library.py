"""The sample library, asked by the real providers: right in form, plain about being made up."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from deepcritical_mcp.cli.sample_library import SampleLibrary
from deepcritical_mcp.cli.sample_library.records import ARTICLES, FIRST_PMID, JOURNAL, MARK, PAGES
from deepcritical_mcp.models import Evidence
from deepcritical_mcp.net.client import ApiClient
from deepcritical_mcp.sources.pubmed.eutils import EUtilities
from deepcritical_mcp.sources.pubmed.mesh import MeshConcepts
from deepcritical_mcp.sources.pubmed.source import PubMedTool
from deepcritical_mcp.sources.web.duckduckgo import DuckDuckGoTool

EVERYTHING = "metformin OR parkinson OR sickle OR covid OR statins OR editing"


@pytest.fixture(scope="module")
def library() -> Iterator[SampleLibrary]:
    with SampleLibrary() as served:
        yield served


@pytest.fixture
async def eutils(library: SampleLibrary) -> AsyncIterator[EUtilities]:
    async with httpx.AsyncClient(trust_env=False) as http:
        client = ApiClient(http, provider="pubmed", title="PubMed")
        address = library.environment()["DEEPCRITICAL_NCBI_BASE_URL"]
        yield EUtilities(client, base_url=address, tool="test", email="", api_key=SecretStr(""))


@pytest.fixture
async def duckduckgo(library: SampleLibrary) -> AsyncIterator[DuckDuckGoTool]:
    async with httpx.AsyncClient(trust_env=False) as http:
        client = ApiClient(http, provider="duckduckgo", title="DuckDuckGo")
        yield DuckDuckGoTool(client, url=library.environment()["DEEPCRITICAL_DUCKDUCKGO_URL"])


def _assert_marked(piece: Evidence) -> None:
    assert piece.citation.title.endswith(MARK)
    if piece.citation.source == "pubmed":
        assert piece.citation.journal == JOURNAL
        assert int(piece.citation.pmid) >= FIRST_PMID
        assert piece.citation.doi.startswith("10.5555/deepcritical-sample")
    else:
        assert ".example/" in piece.citation.url


async def test_every_article_is_read_as_pubmed_records_are_and_marked_as_made_up(eutils: EUtilities):
    found = await PubMedTool(eutils).search(EVERYTHING, 100)
    assert len(found) == len(ARTICLES)
    for piece in found:
        _assert_marked(piece)
    by_status = {piece.citation.status for piece in found}
    assert by_status == {"ok", "retracted", "concern", "corrected"}
    trial = next(piece for piece in found if piece.id == f"pubmed:{FIRST_PMID}")
    assert trial.content.startswith("BACKGROUND: ")
    assert trial.citation.date == "2023-05-02"
    assert trial.citation.authors[0] == "Placeholder Ada"
    assert "Metformin" in trial.citation.mesh_terms


async def test_every_page_is_read_and_marked_as_made_up(duckduckgo: DuckDuckGoTool):
    found = {piece.id: piece for topic in EVERYTHING.split(" OR ") for piece in await duckduckgo.search(topic, 20)}
    assert len(found) == len(PAGES)
    for piece in found.values():
        _assert_marked(piece)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("Does metformin lower cardiovascular mortality in people with type 2 diabetes?", "Metformin and death"),
        ("gut bacteria and Parkinson's", "Gut microbiome in Parkinson's"),
        ('"crispr"[tiab] AND ("sickle cell disease"[MeSH Terms] OR haemoglobin) NOT metformin', "CRISPR editing"),
        ("statins muscle pain placebo", "Muscle pain on statins"),
        ("long COVID exercise", "Graded activity"),
    ],
)
async def test_a_question_finds_what_fits_first(eutils: EUtilities, query: str, first: str):
    found = await PubMedTool(eutils).search(query, 5)
    assert found[0].citation.title.startswith(first)


@pytest.mark.parametrize("query", ["creatine and cognition", "vitamin D and depression", ")", "the of and", "(((("])
async def test_a_question_about_something_else_finds_nothing(
    eutils: EUtilities, duckduckgo: DuckDuckGoTool, query: str
):
    assert await PubMedTool(eutils).search(query, 5) == []
    assert await duckduckgo.search(query, 5) == []


async def test_pages_of_results_go_on_where_the_last_one_ended(eutils: EUtilities):
    whole = await eutils.esearch("metformin", retmax=6)
    second = await eutils.esearch("metformin", retstart=3, retmax=3)
    assert second.count == whole.count
    assert second.ids == whole.ids[3:]


async def test_dates_narrow_the_search(eutils: EUtilities):
    found = await PubMedTool(eutils).search("metformin", 20, min_date="2023", max_date="2023")
    assert {piece.citation.date[:4] for piece in found} == {"2023"}


async def test_misspelled_words_concepts_and_links_are_answered(eutils: EUtilities, tmp_path: Path):
    concepts = MeshConcepts(eutils, cache_dir=tmp_path)
    assert await concepts.corrected("metfromin and parkinsn") == "metformin and parkinson"
    mapped = await concepts.mapped("metformin in type 2 diabetes")
    assert [term.headings for term in mapped] == [("metformin",), ("diabetes mellitus, type 2",)]
    known = await concepts.descriptors(["metformin", "diabetes mellitus, type 2"])
    assert known["metformin"].mesh_id == "D008687"
    assert "Type 2 Diabetes" in known["diabetes mellitus, type 2"].entry_terms
    assert len(await eutils.elink(str(FIRST_PMID), linkname="pubmed_pubmed")) == 5


async def test_other_addresses_are_not_served(library: SampleLibrary):
    async with httpx.AsyncClient(trust_env=False) as http:
        assert (await http.get(f"{library.address}/entrez/eutils/ecitmatch.cgi")).status_code == 404
        assert (await http.get(f"{library.address}/")).status_code == 404


def test_its_environment_leaves_out_keys_proxies_and_the_users_folders(
    library: SampleLibrary, monkeypatch: pytest.MonkeyPatch
):
    for name in ("TAVILY_API_KEY", "NCBI_API_KEY", "HTTPS_PROXY", "https_proxy", "DEEPCRITICAL_DATA_DIR"):
        monkeypatch.setenv(name, "x")
    environment = library.environment()
    assert not any(environment.get(name) for name in ("TAVILY_API_KEY", "NCBI_API_KEY", "DEEPCRITICAL_DATA_DIR"))
    assert "HTTPS_PROXY" not in environment
    assert "https_proxy" not in environment
