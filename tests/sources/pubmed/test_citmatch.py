"""ecitmatch and PubMed's citation matcher, over loopback."""

import json
import os
from pathlib import Path

import httpx
import pytest

from deepcritical_mcp.errors import ProviderResponseError
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.net.client import ApiClient, RetryPolicy
from deepcritical_mcp.sources.lookup import CitedPlace
from deepcritical_mcp.sources.pubmed.citmatch import CITATION_MATCHER, CitationMatcher, ECitMatch
from tests.net.stand_in import Answer, stand_in
from tests.sources.contract import PATIENT
from tests.sources.ncbi import eutilities

PLACES = (
    CitedPlace("J Made-up Res", "2021", "9", "11", "Ruiz"),
    CitedPlace("Wound|Care\r", "1999", "3", "e7"),
    CitedPlace("No Such Journal", "1999"),
)


def plain(text: str, status: int = 200) -> Answer:
    return Answer(status, text.encode(), "text/plain; charset=UTF-8")


def matched(*pmids: str, **more: object) -> Answer:
    """What the citation matcher sends."""
    result = {"count": len(pmids), "type": "uids", "uids": [{"pubmed": pmid} for pmid in pmids]}
    return Answer(200, json.dumps({"version": "1.0", "success": True, "result": result, **more}).encode())


def ecitmatch(url: str, http: httpx.AsyncClient, retry: RetryPolicy = PATIENT) -> ECitMatch:
    return ECitMatch(eutilities(url, http, retry=retry))


def citation_matcher(url: str, http: httpx.AsyncClient, retry: RetryPolicy = PATIENT) -> CitationMatcher:
    client = ApiClient(http, provider="citmatch", title=CITATION_MATCHER, retry=retry, keyless=True)
    return CitationMatcher(client, base_url=url)


async def test_places_are_asked_for_in_one_request_and_answered_in_order(http: httpx.AsyncClient) -> None:
    answer = (
        "J Made-up Res|2021|9|11|Ruiz|1|7\n"
        "Wound Care|1999|3|e7||2|AMBIGUOUS (7 citations)\n"
        "No Such Journal|1999||||3|NOT_FOUND;INVALID_JOURNAL\n"
    )
    async with stand_in(plain(answer)) as server:
        found = await ecitmatch(server.url, http).at_places(PLACES)
    assert list(found) == ["7", "", ""]
    (asked,) = server.asked
    assert asked.path == "/ecitmatch.cgi"
    rows = asked.query["bdata"].split("\r")
    assert rows == ["J Made-up Res|2021|9|11|Ruiz|1|", "Wound Care|1999|3|e7||2|", "No Such Journal|1999||||3|"]


async def test_the_citation_matcher_gets_the_text_and_gives_candidates(http: httpx.AsyncClient) -> None:
    async with stand_in(matched("7", "8", "7")) as server:
        found = await citation_matcher(server.url, http).match("Ruiz A.\n Zinc in wound repair.")
    assert list(found) == [RecordIds(pmid="7"), RecordIds(pmid="8")]
    assert server.asked[0].query == {"method": "heuristic", "raw-text": "Ruiz A. Zinc in wound repair."}


async def test_a_recorded_answer_is_read(http: httpx.AsyncClient) -> None:
    folder = os.environ.get("DEEPCRITICAL_SOURCES_DIR", "")
    if not folder:
        pytest.skip("DEEPCRITICAL_SOURCES_DIR is not set")
    recorded = (Path(folder) / "ecitmatch" / "biopython-test_ecitmatch.txt").read_text()
    async with stand_in(plain(recorded.replace("citation_1", "1"))) as server:
        place = CitedPlace("proc natl acad sci u s a", "1991", "88", "3248", "mann bj")
        assert await ecitmatch(server.url, http).at_places([place]) == ["2014248"]


@pytest.mark.parametrize(
    "body",
    [b'{"success": false, "error": "backend is down"}', b'{"success": true}', b"[]", b'{"success": true, "result": 7}'],
)
async def test_an_error_in_http_200_is_not_no_match(body: bytes, http: httpx.AsyncClient) -> None:
    async with stand_in(Answer(200, body)) as server:
        with pytest.raises(ProviderResponseError):
            await citation_matcher(server.url, http).match("Ruiz A. Zinc.")
