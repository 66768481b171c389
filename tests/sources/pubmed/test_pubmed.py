"""PubMed as a source: its two steps, and every way in which either can fail."""

import dataclasses

import httpx
import pytest

from deepcritical_mcp.errors import ProviderError, ProviderResponseError, ProviderUnavailableError, RateLimitError
from deepcritical_mcp.search.pipeline import SourceSearch
from deepcritical_mcp.sources.pubmed.request import PubMedRequest
from tests.net.stand_in import Answer
from tests.search.fake_session import FakeSession
from tests.sources.contract import QUICK, TRIES
from tests.sources.ncbi import KEY, Ncbi, article, as_json, as_xml, efetch, ncbi, pubmed

RECORDS = {"11": article("11", "First."), "12": article("12", "Second."), "13": article("13", "Third.")}
BOMB = '<!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;">]>'


BALANCER = as_json({"error": "/lbsm/eutils_lb -> Neg", "api-key": KEY, "type": "ip", "status": "ok"}, 429)
PAGE = b'<?xml version="1.0"?>\n<!DOCTYPE html>\n<html><head><title>NCBI - Maintenance</title></head></html>'
OUTAGE = as_xml("<eFetchResult><ERROR>Search Backend failed: cannot open connection</ERROR></eFetchResult>")
FAULTS: dict[str, tuple[Answer, type[ProviderError], int]] = {
    "429 of the balancer": (BALANCER, RateLimitError, TRIES),
    "429 with a short Retry-After": (
        dataclasses.replace(BALANCER, headers={"Retry-After": "0"}),
        RateLimitError,
        TRIES,
    ),
    "a web page in XML": (Answer(200, PAGE, "text/html"), ProviderUnavailableError, TRIES),
    "an outage with status 200": (OUTAGE, ProviderUnavailableError, TRIES),
}
"""The answers of its own; `tests/sources/test_contract.py` has those of every provider."""


@pytest.mark.parametrize("step", ["esearch", "efetch"])
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_that_stays_becomes_a_named_error(fault: str, step: str, http: httpx.AsyncClient):
    answer, error, tries = FAULTS[fault]
    async with ncbi(RECORDS) as played:
        played.always[step] = answer
        assert type(await _failure(played, http)) is error
    assert played.utilities.count(step) == tries


WHOLE = efetch(*RECORDS.values())
BROKEN_XML = {
    "half of it": dataclasses.replace(WHOLE, body=WHOLE.body[: len(WHOLE.body) * 2 // 3]),
    "half of it, by its length": dataclasses.replace(WHOLE, conduct="half"),
    "no valid XML": dataclasses.replace(WHOLE, body=WHOLE.body.replace(b"</Article>", b"<Article>")),
    "an entity bomb": as_xml(f"{BOMB}<PubmedArticleSet>{RECORDS['11'].replace('First.', '&c;')}</PubmedArticleSet>"),
    "an outside entity": as_xml(
        '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hostname">]>'
        f"<PubmedArticleSet>{RECORDS['11'].replace('First.', '&x;')}</PubmedArticleSet>"
    ),
    "another document": as_xml("<eInfoResult><DbList/></eInfoResult>"),
    "JSON": as_json({"result": {}}),
}


@pytest.mark.parametrize("answer", BROKEN_XML.values(), ids=BROKEN_XML)
async def test_records_that_cannot_be_read_at_all_are_an_error(answer: Answer, http: httpx.AsyncClient):
    async with ncbi(RECORDS) as played:
        played.always["efetch"] = answer
        error = await _failure(played, http)
    assert type(error) in (ProviderResponseError, ProviderUnavailableError)
    assert played.utilities.count("efetch") == TRIES


async def test_unknown_ids_are_missing(http: httpx.AsyncClient):
    async with ncbi(RECORDS) as played:
        tool = pubmed(played.url, http)
        assert list((await tool.fetch(["11", "99999999"])).records) == ["11"]
        assert not (await tool.fetch(["99999999"])).records
        played.always["efetch"] = as_xml("<ERROR>ID list is empty! Possibly it has no correct IDs.</ERROR>", 400)
        assert not (await tool.fetch(["0"])).records


async def test_more_than_can_be_read_at_once_is_refused(http: httpx.AsyncClient):
    async with ncbi(RECORDS) as played:
        small = dataclasses.replace(QUICK, max_response_bytes=500)
        with pytest.raises(ProviderResponseError):
            await pubmed(played.url, http, retry=small).fetch(["11", "12"])


async def _failure(played: Ncbi, http: httpx.AsyncClient) -> ProviderError:
    """The error of a search: a sentence for a model, without addresses, keys and markup."""
    with pytest.raises(ProviderError) as caught:
        await SourceSearch(pubmed(played.url, http, key=KEY)).search(PubMedRequest(query="zinc"), FakeSession())
    error = caught.value
    assert error.provider == "pubmed"
    assert error.message.endswith(".")
    assert not any(part in error.message for part in (KEY, "http://", "127.0.0.1", "</"))
    return error
