"""NCBI's smaller services, over loopback: ecitmatch, the ID converter, and the vocabulary."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest

from deepcritical_mcp.errors import ProviderError, ProviderRequestError, ProviderResponseError, ProviderUnavailableError
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.net.client import ApiClient, JsonApi, RetryPolicy
from deepcritical_mcp.sources.lookup import CitedPlace
from deepcritical_mcp.sources.pubmed.citmatch import CITATION_MATCHER, CitationMatcher, ECitMatch
from tests.net.stand_in import Answer, Asked, stand_in
from tests.search.expansion.ncbi_stand_in import ALZHEIMER, DEMENTIA, METFORMIN, NcbiStandIn
from tests.sources.contract import PATIENT
from tests.sources.full_text_wire import as_json, converted, make_converter, refused, unknown_row
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
    return CitationMatcher(JsonApi(client, url))


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


@pytest.mark.parametrize(
    "body",
    [b'{"success": false, "error": "backend is down"}', b'{"success": true}', b"[]", b'{"success": true, "result": 7}'],
)
async def test_an_error_in_http_200_is_not_no_match(body: bytes, http: httpx.AsyncClient) -> None:
    async with stand_in(Answer(200, body)) as server:
        with pytest.raises(ProviderResponseError):
            await citation_matcher(server.url, http).match("Ruiz A. Zinc.")


def playing(asked: Asked) -> Answer:
    """Knows every article whose number is even; refuses a batch with a number that ends in 13."""
    rows: list[Mapping[str, object]] = []
    for one in asked.query["ids"].split(","):
        if one.endswith("13"):
            return refused()
        number = int("".join(filter(str.isdigit, one.rpartition("/")[2])))
        found = {"requested-id": one, "pmid": number, "pmcid": f"PMC{number}", "doi": f"10.5555/A{number}"}
        rows.append(unknown_row(one) if number % 2 else found)
    return converted(*rows)


async def test_a_bad_id_does_not_spoil_its_batch_and_is(http: httpx.AsyncClient):
    ids = [RecordIds(pmid=str(number)) for number in (10, 12, 13, 14, 16, 18, 20)]
    async with stand_in() as server:
        server.answer = playing
        found = await make_converter(server.url, http).convert(ids)
    assert [one.pmcid for one in found] == ["PMC10", "PMC12", "", "PMC14", "PMC16", "PMC18", "PMC20"]


async def test_too_many_bad_ids_are_an_error_and_not_lost(http: httpx.AsyncClient):
    ids = [RecordIds(pmid=f"{number}13") for number in range(1, 200)]
    async with stand_in() as server:
        server.answer = playing
        with pytest.raises(ProviderRequestError, match="too many"):
            await make_converter(server.url, http).convert(ids)
    assert len(server.asked) < 40


async def test_the_older_form_of_the_answer_is_read(http: httpx.AsyncClient):
    row = {"pmcid": "PMC20", "pmid": "20", "doi": "10.5555/a20", "versions": [{"pmcid": "PMC20.1", "current": "true"}]}
    async with stand_in(as_json({"status": "ok", "request": "ids=10.5555%2Fa20", "records": [row]})) as server:
        found = await make_converter(server.url, http).convert([RecordIds(doi="10.5555/a20")])
    assert found == [RecordIds(pmid="20", pmcid="PMC20", doi="10.5555/a20")]


async def test_what_belongs_to_another_number_is_not_taken_and_what_is_missing_not_for_unknown(http: httpx.AsyncClient):
    rows = [
        {"requested-id": "PMC60", "pmid": 333, "pmcid": "PMC777", "doi": "10.5555/a777"},
        {"requested-id": "PMC80", "pmid": 80, "pmcid": "PMC80.1", "doi": "10.5555/a80"},
    ]
    async with stand_in(converted(*rows)) as server:
        found = await make_converter(server.url, http).convert([RecordIds(pmcid="PMC60"), RecordIds(pmcid="PMC80")])
        assert found == [RecordIds(pmcid="PMC60"), RecordIds("80", "PMC80", "10.5555/a80")]
        with pytest.raises(ProviderResponseError, match="answered for 2 of 3 ids"):
            await make_converter(server.url, http).convert([RecordIds(pmcid=f"PMC{one}") for one in (60, 80, 22)])


@pytest.mark.parametrize("terms", [[], None, "text", [{"a": 1}], 7])
async def test_a_record_that_cannot_be_read_is_left_out(terms: object, tmp_path: Path):
    def broken(_: object) -> httpx.Response:
        summaries = {"68000544": {"ds_meshterms": terms}, "68003704": DEMENTIA.summary()}
        return httpx.Response(200, json={"result": {"uids": list(summaries)} | summaries})

    found = await NcbiStandIn(faults={"esummary": broken}).concepts(tmp_path).by_uid(["68000544", "68003704"])
    assert list(found) == ["68003704"]


async def test_answers_are_kept_for_other_processes(tmp_path: Path):
    first, second = NcbiStandIn(), NcbiStandIn()
    for ncbi in (first, second):
        concepts = ncbi.concepts(tmp_path)
        assert await concepts.corrected("metfromin") == "metformin"
        assert len(await concepts.descriptors(["metformin"])) == 1
        assert list(await concepts.descriptors(["metformin"])) == ["metformin"]
        assert list(await concepts.by_uid([ALZHEIMER.uid, METFORMIN.uid])) == [ALZHEIMER.uid, METFORMIN.uid]
    assert len(first.requests) == 4
    assert second.requests == []


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (httpx.Response(503), ProviderUnavailableError),
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
        await concepts.descriptors(["metformin"])
    with pytest.raises(error):
        await concepts.descriptors(["metformin"])
    ncbi.faults.clear()
    assert len(await concepts.descriptors(["metformin"])) == 1
    assert list(await concepts.descriptors(["metformin"])) == ["metformin"]
