"""PubMed as a source: requests, its two steps, every way in which either can fail, and what is not asked again."""

import contextlib
import dataclasses
import datetime

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.errors import (
    InvalidInputError,
    ProviderError,
    ProviderResponseError,
    ProviderUnavailableError,
    RateLimitError,
)
from deepcritical_mcp.models import Publication
from deepcritical_mcp.search.pipeline import SourceSearch
from deepcritical_mcp.sources.pubmed.request import PubMedRequest
from deepcritical_mcp.sources.pubmed.source import RecentRecords
from tests.net.stand_in import Answer
from tests.publications import published
from tests.search.fake_session import FakeSession
from tests.search.pubmed_library import library, request
from tests.sources.contract import QUICK, TRIES
from tests.sources.ncbi import KEY, Ncbi, article, as_json, as_xml, efetch, ncbi, notice, pubmed

RECORDS = {"11": article("11", "First."), "12": article("12", "Second."), "13": article("13", "Third.")}
BOMB = '<!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;">]>'


BALANCER = as_json({"error": "/lbsm/eutils_lb -> Neg", "api-key": KEY, "type": "ip", "status": "ok"}, 429)
PAGE = b'<?xml version="1.0"?>\n<!DOCTYPE html>\n<html><head><title>NCBI - Maintenance</title></head></html>'
OUTAGE = as_xml("<eFetchResult><ERROR>Search Backend failed: cannot open connection</ERROR></eFetchResult>")
FAULTS: dict[str, tuple[Answer, type[ProviderError], int]] = {
    "429 of the balancer": (BALANCER, RateLimitError, TRIES),
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


def test_a_query_reaches_pubmed_untouched_and_filters_are_added_around_it():
    query = '("Zinc"[MeSH Terms] OR zn[ti]) AND wound*[tiab] NOT review[pt] AND 2020:2021[dp] & <β-carotene>'
    assert request(query).term(request(query).queries[0]) == query
    asked = request("zinc OR copper", publication_types=("review", "Meta analysis", "Review"), has_abstract=True)
    assert asked.term("zinc OR copper") == (
        '(zinc OR copper) AND ("Review"[Publication Type] OR "Meta-Analysis"[Publication Type]) AND hasabstract'
    )


REFUSED: dict[str, tuple[dict[str, object], str]] = {
    "blank": ({"query": "  \u200b"}, "blank"),
    "too long": ({"query": "z" * 10_000}, "4,000"),
    "too many variants": ({"variants": tuple("abcdefgh")}, "at most 7"),
    "no date": ({"min_date": "yesterday"}, "YYYY-MM-DD"),
    "a month too many": ({"max_date": "2020-13"}, "does not exist"),
    "a day too many": ({"max_date": "2021-02-29"}, "does not exist"),
    "reversed": ({"min_date": "2021", "max_date": "2020-12-31"}, "swap"),
    "no such type": ({"publication_types": ("Randomised Controlled Trial",)}, "Randomized Controlled Trial"),
    "nothing like it": ({"publication_types": ("xyzzy",)}, "Review"),
    "no results wanted": ({"max_results": 0}, "1 to 100"),
    "too many wanted": ({"max_results": 1_000}, "1 to 100"),
    "before the first": ({"offset": -1}, "0 or more"),
    "beyond the last": ({"offset": 9_999}, "min_date"),
    "over the end": ({"offset": 9_990, "max_results": 20}, "at most 8"),
}


@pytest.mark.parametrize(("refused", "told"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_right_is_named_with_what_would_be(refused: dict[str, object], told: str):
    with pytest.raises(InvalidInputError) as caught:
        PubMedRequest.model_validate({"query": "zinc", **refused})
    assert told in caught.value.message


@given(st.text(max_size=60), st.lists(st.text(max_size=12), max_size=3), st.text(max_size=12), st.text(max_size=12))
def test_whatever_is_asked_is_answered_or_refused(query: str, types: list[str], earliest: str, latest: str):
    with contextlib.suppress(InvalidInputError):
        asked = request(query, publication_types=tuple(types), min_date=earliest, max_date=latest)
        assert asked.queries[0] in asked.term(asked.queries[0])


THREE = {pmid: article(pmid, f"Zinc, part {pmid}.") for pmid in ("11", "12", "13")}


def fetched_by(played: Ncbi) -> list[str]:
    """The ids of each request for records."""
    return [params["id"] for utility, params in played.asked if utility == "efetch"]


async def test_a_record_that_pubmed_has_no_more_is_forgotten(http: httpx.AsyncClient):
    async with ncbi(THREE) as played:
        source = pubmed(played.url, http)
        await source.fetch(["11", "12"])
        played.always["efetch"] = efetch(THREE["12"], "<DeleteCitation><PMID>11</PMID></DeleteCitation>")
        await source.fetch(["11", "12"], within=0.0)
        found = await source.fetch(["11", "12"])
    assert list(found.records) == ["12"]
    assert found.losses == {"11": "PMID 11 was withdrawn from PubMed."}
    assert fetched_by(played) == ["11,12", "11,12", "11"]


async def test_what_was_read_from_a_damaged_answer_or_not_at_all_is_fetched_again(http: httpx.AsyncClient):
    broken = as_xml(f"<PubmedArticleSet>{THREE['11']}{THREE['12'].replace('</Article>', '')}</PubmedArticleSet>")
    async with ncbi(THREE) as played:
        source = pubmed(played.url, http)
        played.always["efetch"] = Answer(503)
        with pytest.raises(ProviderUnavailableError):
            await source.fetch(["11", "12"])
        played.always["efetch"] = broken
        assert list((await source.fetch(["11", "12"])).records) == ["11"]
        del played.always["efetch"]
        before = len(played.asked)
        assert list((await source.fetch(["11", "12"])).records) == ["11", "12"]
    assert fetched_by(played)[before:] == ["11,12"]


def record(pmid: str, day: str = "", **fields: str) -> Publication:
    checked = day or datetime.datetime.now(datetime.UTC).date().isoformat()
    return published("Zinc closed wounds.", pmid=pmid, source="pubmed", title="Zinc", status_checked=checked, **fields)


async def test_memory_is_bounded_and_what_was_wanted_last_stays():
    recent = RecentRecords(max_bytes=2_000)
    for number in range(1, 20):
        await recent.keep([str(number)], {str(number): record(str(number))})
        assert [*await recent.recent(["1"])] == ["1"]
    assert [*await recent.recent(["2", "19"])] == ["19"]


async def test_a_search_for_retracted_papers_gives_none_as_it_was_before():
    async with library(THREE) as lib:
        await lib.search.search(request(), lib.session)
        retracted = notice("RetractionIn", "J Made-up Res. 2026", "99")
        types = ("Journal Article", "Retracted Publication")
        lib.ncbi.records["11"] = article("11", types=types, citation=retracted)
        query = "zinc AND retracted publication[pt]"
        lib.ncbi.hits = {query: ["11"]}
        found = await lib.search.search(request(query), FakeSession())
    assert [one.citation.status for one in found.evidence] == ["retracted"]
    assert fetched_by(lib.ncbi) == ["11,12,13", "11"]
