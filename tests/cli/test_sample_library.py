"""The sample library: searched like the real sources, and clearly marked as made up."""

import pytest

from deepcritical_mcp.cli.sample_library import sample_server
from deepcritical_mcp.cli.sample_sources import SampleArticles, SamplePages, sample_records
from deepcritical_mcp.models import Evidence, is_marked
from deepcritical_mcp.search.pipeline import SourceSearch
from deepcritical_mcp.sources.pubmed.request import PubMedRequest
from deepcritical_mcp.sources.web.request import WebRequest
from tests.search.fake_session import FakeSession

MARK = "[sample data]"
FIRST_PMID = 900_000_001
EVERYTHING = "metformin OR parkinson OR sickle OR covid OR statins OR simvastatin OR editing"


async def articles(query: str, max_results: int = 5, **filters: object) -> tuple[Evidence, ...]:
    request = PubMedRequest.model_validate({"query": query, "max_results": max_results, **filters})
    return (await SourceSearch(SampleArticles()).search(request, FakeSession())).evidence


async def pages(query: str) -> tuple[Evidence, ...]:
    return (await SourceSearch(SamplePages()).search(WebRequest(query=query, max_results=20), FakeSession())).evidence


async def test_every_article_is_a_complete_record_and_marked_as_made_up():
    found = await articles(EVERYTHING, 100)
    assert len(found) == len(sample_records("pubmed"))
    for item in found:
        assert item.citation.title.endswith(MARK)
        assert item.citation.journal == "Sample data of deepcritical-mcp"
        assert int(item.citation.pmid) >= FIRST_PMID
        assert item.citation.doi.startswith("10.5555/deepcritical-sample")
    assert {item.citation.status for item in found} == {"unchecked", "retracted", "concern", "corrected"}
    assert all(bool(item.citation.status_notices) == is_marked(item.citation.status) for item in found)
    trial = next(item for item in found if item.id == f"pubmed:{FIRST_PMID}")
    assert trial.content.startswith("BACKGROUND: ")
    assert trial.citation.date == "2023-05-02"
    assert trial.citation.authors[0] == "Placeholder Ada"
    assert "Metformin" in trial.citation.mesh_terms


async def test_every_page_is_found_and_marked_as_made_up():
    found = {item.id: item for topic in EVERYTHING.split(" OR ") for item in await pages(topic)}
    assert len(found) == len(sample_records("web"))
    assert all(one.citation.title.endswith(MARK) and ".example/" in one.citation.url for one in found.values())


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
async def test_the_best_match_comes_first(query: str, first: str):
    assert (await articles(query))[0].citation.title.startswith(first)


async def test_its_server_ignores_settings_in_the_environment(monkeypatch: pytest.MonkeyPatch):
    for name, value in {"DEEPCRITICAL_DATA_DIR": "/x", "DEEPCRITICAL_DEADLINE": "7"}.items():
        monkeypatch.setenv(name, value)
    server = sample_server()
    assert list((await server.app.services()).searches) == ["pubmed", "preprints", "trials", "web"]
    assert (server.app.settings.data_dir, server.app.settings.deadline) == (None, 45)
    await server.app.aclose()
