"""Answers of the services that know who cites a paper, written for the tests in each one's wire format."""

from collections.abc import Mapping

import httpx

from deepcritical_mcp.net.client import ApiClient, JsonApi, RetryPolicy
from deepcritical_mcp.sources.europepmc.services import EuropePMCCitations
from deepcritical_mcp.sources.icite import ICite
from tests.net.stand_in import Answer
from tests.sources.contract import PATIENT
from tests.sources.full_text_wire import as_json, europe_pmc_client


def icite_paper(pmid: int, count: int | None, **fields: object) -> dict[str, object]:
    """A paper as iCite describes it."""
    row: dict[str, object] = {
        "pmid": pmid, "year": 2021, "title": "Zinc in wound repair.", "journal": "J Made-up Res", "doi": "10.5555/zinc",
        "citation_count": count, "relative_citation_ratio": None, "cited_by": [], "references": [11, 12],
    }  # fmt: skip
    return row | fields


def icite(*papers: Mapping[str, object]) -> Answer:
    return as_json({"meta": {"limit": 100}, "links": {}, "data": list(papers)})


def citing(source: str, id: str) -> dict[str, object]:
    """A row of Europe PMC's /citations."""
    return {
        "id": id, "source": source, "citationType": "preprint" if source == "PPR" else "journal article",
        "title": "Zinc and later work", "authorString": "Ruiz A.", "pubYear": 2024, "citedByCount": 0,
    }  # fmt: skip


def citations(*rows: Mapping[str, object], total: int = -1) -> Answer:
    count = len(rows) if total < 0 else total
    found = {"version": "6.9", "hitCount": count, "request": {}, "citationList": {"citation": list(rows)}}
    return as_json(found)


def make_icite(url: str, http: httpx.AsyncClient, retry: RetryPolicy = PATIENT) -> ICite:
    return ICite(JsonApi(ApiClient(http, provider="icite", title="iCite", retry=retry, keyless=True), url))


def make_citations(url: str, http: httpx.AsyncClient, retry: RetryPolicy = PATIENT) -> EuropePMCCitations:
    return EuropePMCCitations(europe_pmc_client(url, http, retry))
