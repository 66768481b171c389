"""E-utilities: what is sent, and what the answers mean."""

from collections.abc import Sequence

import anyio
import httpx
import pytest

from deepcritical_mcp.errors import (
    AuthenticationError,
    ProviderError,
    ProviderRequestError,
    ProviderResponseError,
    ProviderUnavailableError,
)
from deepcritical_mcp.net.client import ApiClient
from deepcritical_mcp.net.pacing import MemoryPlace, Pacing, turn_of
from deepcritical_mcp.sources.pubmed.eutils import EUtilities
from tests.net.stand_in import Answer
from tests.sources.contract import TRIES
from tests.sources.ncbi import KEY, as_json, as_xml, eutilities, ncbi


async def test_a_key_travels_in_the_body_and_never_in_an_address(http: httpx.AsyncClient):
    async with ncbi({"7": ""}) as played:
        eutils = eutilities(played.url, http, key=KEY)
        await eutils.esearch("zinc")
        await eutils.efetch(["7"], bytes)
    for asked in played.server.asked:
        assert asked.method == "POST"
        assert asked.query == {}
        assert asked.form["api_key"] == KEY


UNSUPPORTED = "Search Backend failed: Database is not supported: pubmed"
DEEP = {"ERROR": "Search Backend failed: 'retstart' cannot be larger than 9998"}
ODD: Sequence[object] = (
    *({"count": "3", "idlist": []}, {"idlist": ["1"]}, {"count": "1", "idlist": "1"}),
    *({"count": "many", "idlist": ["1"]}, []),
)
PROXY = as_xml("<eFetchResult><ERROR>proxy_stream(): 502 Bad Gateway</ERROR></eFetchResult>", 400)
TOP = as_json({"error": "Search Backend failed: read timeout"})
FAULTS: dict[str, tuple[Answer, type[ProviderError], int]] = {
    **{str(one): (as_json({"esearchresult": one}), ProviderResponseError, TRIES) for one in ODD},
    "no database": (as_json({"esearchresult": {"ERROR": "Invalid db name specified: x"}}), ProviderRequestError, 1),
    "too deep": (as_json({"esearchresult": DEEP}), ProviderRequestError, 1),
    "400": (Answer(400, b"Bad Request"), ProviderRequestError, 1),
    "ERROR": (as_json({"esearchresult": {"ERROR": UNSUPPORTED}}), ProviderUnavailableError, TRIES),
    "XML": (as_xml(f"<eSearchResult><ERROR>{UNSUPPORTED}</ERROR></eSearchResult>"), ProviderUnavailableError, TRIES),
    "error at the top": (TOP, ProviderUnavailableError, TRIES),
    "400 of its proxy": (PROXY, ProviderUnavailableError, TRIES),
}


@pytest.mark.parametrize("name", FAULTS)
async def test_an_error_with_status_200_is_an_outage_a_refusal_or_no_result(name: str, http: httpx.AsyncClient):
    fault, error, tries = FAULTS[name]
    async with ncbi() as played:
        played.always["esearch"] = fault
        with pytest.raises(error) as caught:
            await eutilities(played.url, http).esearch("zinc")
    assert len(played.asked) == tries
    assert error is not ProviderUnavailableError or "Try again" in caught.value.message
    assert "<" not in caught.value.message


ECHOES = {
    "429": as_json({"error": "API rate limit exceeded", "api-key": KEY, "count": "11", "limit": "10"}, 429),
    "400": as_json({"error": "API key invalid", "api-key": KEY, "type": "client"}, 400),
    "403": Answer(403, f"denied: {KEY}".encode()),
    "200": as_json({"esearchresult": {"ERROR": f"API key {KEY} is over its limit"}}),
    "200, another error": as_json({"esearchresult": {"ERROR": f"Cannot serve {KEY} now"}}),
    "junk": Answer(200, KEY.encode()),
}
"""`400` is of a wrong key."""


@pytest.mark.parametrize("name", ECHOES)
async def test_a_key_that_ncbi_echoes_is_not_told(name: str, http: httpx.AsyncClient, caplog: pytest.LogCaptureFixture):
    caplog.set_level("DEBUG")
    async with ncbi() as played:
        played.always["esearch"] = ECHOES[name]
        with pytest.raises(ProviderError) as caught:
            await eutilities(played.url, http, key=KEY).esearch("zinc")
    assert KEY not in f"{caught.value!r} {caught.value.message} {dict(caught.value.details)}"
    assert KEY not in caplog.text
    if name == "400":
        assert isinstance(caught.value, AuthenticationError)
        assert "NCBI_API_KEY" in caught.value.message
        assert len(played.asked) == 1


async def test_links_come_closest_first_without_the_paper_itself(http: httpx.AsyncClient):
    async with ncbi() as played:
        played.links["pubmed_pubmed"] = [
            {"id": "5", "score": 900},
            {"id": 8, "score": "300"},
            {"id": "9", "score": 700},
            {"id": "9", "score": 700},
        ]
        assert await eutilities(played.url, http).elinks(["5"], linkname="pubmed_pubmed") == {"5": ["9", "8"]}
    params = played.asked[0][1]
    assert (params["dbfrom"], params["db"], params["id"], params["cmd"]) == ("pubmed", "pubmed", "5", "neighbor_score")


async def test_summaries_come_by_id(http: httpx.AsyncClient):
    async with ncbi() as played:
        zinc = {"uid": "68015032", "ds_meshterms": ["Zinc", "Zn"]}
        refused = {"uid": "1", "error": "cannot get document summary"}
        played.always["esummary"] = as_json({"result": {"uids": ["68015032", "1"], "68015032": zinc, "1": refused}})
        eutils = eutilities(played.url, http)
        documents = await eutils.esummary_json(["68015032", "1"], db="mesh")
        played.always["esummary"] = as_json({"esummaryresult": ["Invalid db name specified: mash"]})
        with pytest.raises(ProviderRequestError):
            await eutils.esummary_json(["1"], db="mash")
    assert list(documents) == ["68015032"]
    assert documents["68015032"]["ds_meshterms"] == ["Zinc", "Zn"]


async def test_a_crowd_that_asks_the_same_sends_one_request(http: httpx.AsyncClient):
    async with ncbi({"7": ""}) as played:
        client = ApiClient(http, provider="pubmed", title="PubMed", limiter=Pacing(1.0, [MemoryPlace()]))
        eutils = EUtilities(client, base_url=played.url)
        counts: list[int] = []

        async def ask(caller: str) -> None:
            turn_of.set(caller)
            with anyio.fail_after(20):
                counts.append((await eutils.esearch("zinc")).count)

        await eutils.esearch("copper")  # the next moment is a second away
        async with anyio.create_task_group() as tasks:
            for number in range(60):
                tasks.start_soon(ask, str(number))
    assert counts == [1] * 60
    assert len(played.asked) == 2


async def test_spelling(http: httpx.AsyncClient):
    async with ncbi() as played:
        eutils = eutilities(played.url, http)
        assert await eutils.espell("zink") == ""
        played.corrected = "zinc & copper"
        assert await eutils.espell("zink & coper") == "zinc & copper"
        played.always["espell"] = as_xml('<!DOCTYPE a [<!ENTITY b "c">]><eSpellResult/>')
        with pytest.raises(ProviderResponseError):
            await eutils.espell("zink")
