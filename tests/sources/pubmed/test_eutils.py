"""E-utilities: what is sent, and what the answers mean."""

from __future__ import annotations

import anyio
import httpx
import pytest

from deepcritical_mcp.errors import (
    AuthenticationError,
    ProviderError,
    ProviderRequestError,
    ProviderResponseError,
    ProviderTimeoutError,
    ProviderUnavailableError,
)
from deepcritical_mcp.net.client import ApiClient
from deepcritical_mcp.net.fair_queue import turn_of
from deepcritical_mcp.net.pacing import MemoryPlace, Pacing
from deepcritical_mcp.sources.pubmed.eutils import EUtilities
from tests.net.stand_in import Answer, Asked
from tests.sources.contract import TRIES
from tests.sources.ncbi import KEY, as_json, as_xml, elink, esearch, eutilities, ncbi


async def test_every_request_says_who_asks(http: httpx.AsyncClient):
    async with ncbi() as played:
        eutils = eutilities(played.url, http, email="lab@example.org")
        await eutils.esearch("zinc", retstart=20, retmax=5, sort="pub_date")
    ((utility, params),) = played.asked
    assert utility == "esearch"
    assert params == {
        "db": "pubmed",
        "term": "zinc",
        "retstart": "20",
        "retmax": "5",
        "sort": "pub_date",
        "retmode": "json",
        "tool": "deepcritical-mcp",
        "email": "lab@example.org",
    }


async def test_no_address_is_made_up_where_none_is_known(http: httpx.AsyncClient):
    async with ncbi() as played:
        await eutilities(played.url, http).esearch("zinc")
    assert played.asked[0][1].keys().isdisjoint({"email", "api_key", "mindate", "maxdate", "datetype"})


async def test_one_date_is_open_at_the_other_end(http: httpx.AsyncClient):
    async with ncbi() as played:
        eutils = eutilities(played.url, http)
        await eutils.esearch("zinc", mindate="2020/05")
        await eutils.esearch("zinc", maxdate="2021")
    since, until = (params for _, params in played.asked)
    assert (since["datetype"], since["mindate"], since["maxdate"]) == ("pdat", "2020/05", "3000")
    assert (until["mindate"], until["maxdate"]) == ("1000", "2021")


async def test_a_key_travels_in_the_body_and_never_in_an_address(http: httpx.AsyncClient):
    async with ncbi({"7": ""}) as played:
        eutils = eutilities(played.url, http, key=KEY)
        await eutils.esearch("zinc")
        await eutils.efetch(["7"], bytes)
    for asked in played.server.asked:
        assert asked.method == "POST"
        assert asked.query == {}
        assert asked.form["api_key"] == KEY


async def test_many_ids_and_long_terms_travel_in_the_body(http: httpx.AsyncClient):
    async with ncbi() as played:
        eutils = eutilities(played.url, http)
        await eutils.efetch([str(number) for number in range(31_000_001, 31_000_202)], bytes)
        await eutils.efetch(["1", "2"], bytes)
        await eutils.esearch("zinc " * 500)
        await eutils.esearch("zinc")
    assert [asked.method for asked in played.server.asked] == ["POST", "GET", "POST", "GET"]
    assert len(played.asked[0][1]["id"].split(",")) == 201


async def test_what_pubmed_made_of_the_query_is_kept(http: httpx.AsyncClient):
    async with ncbi() as played:
        played.always["esearch"] = esearch(
            ["11", "12"],
            count=57,
            querytranslation='"zinc"[MeSH Terms] OR zinc[Text Word]',
            translationset=[{"from": "zinc", "to": '"zinc"[MeSH Terms] OR zinc[Text Word]'}],
            errorlist={"phrasesnotfound": ["zinccc"], "fieldsnotfound": ["[xyz]"]},
            warninglist={
                "phrasesignored": ["the"],
                "quotedphrasesnotfound": ['"zinc of zinc"'],
                "outputmessages": ["Some remark."],
            },
        )
        answer = await eutilities(played.url, http).esearch("zinc")
    assert (answer.count, answer.ids) == (57, ("11", "12"))
    assert answer.query_translation == '"zinc"[MeSH Terms] OR zinc[Text Word]'
    assert answer.translations == (("zinc", '"zinc"[MeSH Terms] OR zinc[Text Word]'),)
    assert (answer.phrases_not_found, answer.fields_not_found) == (("zinccc",), ("[xyz]",))
    assert (answer.phrases_ignored, answer.quoted_phrases_not_found) == (("the",), ('"zinc of zinc"',))
    assert answer.messages == ("Some remark.",)


async def test_finding_nothing_is_an_answer(http: httpx.AsyncClient):
    async with ncbi() as played:
        answer = await eutilities(played.url, http).esearch("zinc")
    assert (answer.count, answer.ids) == (0, ())
    assert len(played.asked) == 1


BACKEND = "Search Backend failed: Database is not supported: pubmed"
PASSING = {
    "ERROR in the result": as_json({"header": {}, "esearchresult": {"ERROR": BACKEND}}),
    "error at the top": as_json({"error": "Search Backend failed: read timeout"}),
    "ERROR in XML": as_xml(f"<eSearchResult><ERROR>{BACKEND}</ERROR></eSearchResult>"),
    "400 of its proxy": as_xml("<eFetchResult><ERROR>proxy_stream(): 502 Bad Gateway</ERROR></eFetchResult>", 400),
}


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
async def test_an_error_with_status_200_is_an_outage(fault: Answer, http: httpx.AsyncClient):
    async with ncbi() as played:
        played.always["esearch"] = fault
        with pytest.raises(ProviderUnavailableError) as caught:
            await eutilities(played.url, http).esearch("zinc")
    assert len(played.asked) == TRIES
    assert "Try again" in caught.value.message
    assert "<" not in caught.value.message


REFUSALS = {
    "no such database": as_json({"esearchresult": {"ERROR": "Invalid db name specified: pubmad"}}),
    "too deep": as_json({"esearchresult": {"ERROR": "Search Backend failed: 'retstart' cannot be larger than 9998"}}),
    "400": Answer(400, b"Bad Request"),
}


@pytest.mark.parametrize("fault", REFUSALS.values(), ids=REFUSALS)
async def test_a_refused_request_is_not_asked_again(fault: Answer, http: httpx.AsyncClient):
    async with ncbi() as played:
        played.always["esearch"] = fault
        with pytest.raises(ProviderRequestError):
            await eutilities(played.url, http).esearch("zinc")
    assert len(played.asked) == 1


@pytest.mark.parametrize(
    "result",
    [
        {"count": "3", "idlist": []},
        {"idlist": ["1"]},
        {"count": "many", "idlist": ["1"]},
        {"count": "-1", "idlist": []},
        {"count": "1", "idlist": ["pm1"]},
        {"count": "1", "idlist": "1"},
        {"count": "1", "idlist": ["1"], "translationset": "none"},
        [],
        None,
    ],
)
async def test_an_answer_of_another_shape_is_no_result(result: object, http: httpx.AsyncClient):
    async with ncbi() as played:
        played.always["esearch"] = as_json({"header": {}, "esearchresult": result})
        with pytest.raises(ProviderResponseError):
            await eutilities(played.url, http).esearch("zinc")


ECHOES = {
    "429": as_json({"error": "API rate limit exceeded", "api-key": KEY, "count": "11", "limit": "10"}, 429),
    "400": as_json({"error": "API key invalid", "api-key": KEY, "type": "client"}, 400),
    "403": Answer(403, f"denied: {KEY}".encode()),
    "200": as_json({"esearchresult": {"ERROR": f"API key {KEY} is over its limit"}}),
    "200, another error": as_json({"esearchresult": {"ERROR": f"Cannot serve {KEY} now"}}),
    "junk": Answer(200, KEY.encode()),
}


@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES)
async def test_a_key_that_ncbi_echoes_is_not_told(
    echo: Answer, http: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
):
    caplog.set_level("DEBUG")
    async with ncbi() as played:
        played.always["esearch"] = echo
        with pytest.raises(ProviderError) as caught:
            await eutilities(played.url, http, key=KEY).esearch("zinc")
    assert KEY not in f"{caught.value!r} {caught.value.message} {dict(caught.value.details)}"
    assert KEY not in caplog.text


async def test_a_wrong_key_is_named_as_such(http: httpx.AsyncClient):
    async with ncbi() as played:
        played.always["esearch"] = ECHOES["400"]
        with pytest.raises(AuthenticationError, match="NCBI_API_KEY"):
            await eutilities(played.url, http, key=KEY).esearch("zinc")
    assert len(played.asked) == 1


async def test_links_come_closest_first_without_the_paper_itself(http: httpx.AsyncClient):
    async with ncbi() as played:
        played.links["pubmed_pubmed"] = [
            {"id": "5", "score": 900},
            {"id": 8, "score": "300"},
            {"id": "9", "score": 700},
            {"id": "9", "score": 700},
        ]
        assert await eutilities(played.url, http).elink("5", linkname="pubmed_pubmed") == ["9", "8"]
    params = played.asked[0][1]
    assert (params["dbfrom"], params["db"], params["id"], params["cmd"]) == ("pubmed", "pubmed", "5", "neighbor_score")


async def test_links_without_scores_keep_their_order(http: httpx.AsyncClient):
    async with ncbi() as played:
        played.links["pubmed_pubmed_citedin"] = ["30", "10", "20"]
        eutils = eutilities(played.url, http)
        assert await eutils.elink("5", linkname="pubmed_pubmed_citedin") == ["30", "10", "20"]
        played.always["elink"] = elink(["77"], "pubmed_pmc")
        assert await eutils.elink("5", linkname="pubmed_pubmed_citedin") == []


@pytest.mark.parametrize(
    "payload",
    [
        {"linksets": [{"dbfrom": "pubmed", "ids": ["5"], "ERROR": "Couldn't resolve #exLinkSrv2"}]},
        {"ERROR": "the address table is empty"},
        {"linksets": None},
        {},
    ],
)
async def test_links_that_ncbi_cannot_look_up_are_an_error(payload: object, http: httpx.AsyncClient):
    async with ncbi() as played:
        played.always["elink"] = as_json(payload)
        with pytest.raises(ProviderError):
            await eutilities(played.url, http).elink("5", linkname="pubmed_pubmed_refs")


async def test_spelling(http: httpx.AsyncClient):
    async with ncbi() as played:
        eutils = eutilities(played.url, http)
        assert await eutils.espell("zink") == ""
        played.corrected = "zinc & copper"
        assert await eutils.espell("zink & coper") == "zinc & copper"
        played.always["espell"] = as_xml('<!DOCTYPE a [<!ENTITY b "c">]><eSpellResult/>')
        with pytest.raises(ProviderResponseError):
            await eutils.espell("zink")


async def test_summaries_come_by_id(http: httpx.AsyncClient):
    async with ncbi() as played:
        played.always["esummary"] = as_json(
            {
                "result": {
                    "uids": ["68015032", "1"],
                    "68015032": {"uid": "68015032", "ds_meshterms": ["Zinc", "Zn"]},
                    "1": {"uid": "1", "error": "cannot get document summary"},
                }
            }
        )
        eutils = eutilities(played.url, http)
        documents = await eutils.esummary_json(["68015032", "1"], db="mesh")
        played.always["esummary"] = as_json({"esummaryresult": ["Invalid db name specified: mash"]})
        with pytest.raises(ProviderRequestError):
            await eutils.esummary_json(["1"], db="mash")
    assert list(documents) == ["68015032"]
    assert documents["68015032"]["ds_meshterms"] == ["Zinc", "Zn"]


async def test_the_same_request_in_flight_is_asked_once(http: httpx.AsyncClient):
    async with ncbi({"7": "", "8": ""}) as played:
        eutils = eutilities(played.url, http)
        counts: list[int] = []

        async def ask(term: str) -> None:
            counts.append((await eutils.esearch(term)).count)

        async with anyio.create_task_group() as tasks:
            for term in ["zinc", "zinc", "zinc", "copper"]:
                tasks.start_soon(ask, term)
        assert counts == [2, 2, 2, 2]
        assert sorted(params["term"] for _, params in played.asked) == ["copper", "zinc"]
        await ask("zinc")
        assert len(played.asked) == 3


async def test_a_failure_is_shared_by_all_who_wait_for_it(http: httpx.AsyncClient):
    async with ncbi() as played:
        played.always["esearch"] = Answer(503)
        eutils = eutilities(played.url, http)
        errors: list[ProviderError] = []

        async def ask() -> None:
            with pytest.raises(ProviderUnavailableError) as caught:
                await eutils.esearch("zinc")
            errors.append(caught.value)

        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(ask)
    assert len(errors) == 4
    assert len(played.asked) == TRIES


async def test_when_the_one_who_asks_is_cancelled_another_goes_on(http: httpx.AsyncClient):
    async with ncbi({"7": ""}) as played:
        first_asked = anyio.Event()
        answered = played.answer

        def silent_once(asked: Asked) -> Answer:
            if first_asked.is_set():
                return answered(asked)
            first_asked.set()
            return Answer(conduct="silent")

        played.server.answer = silent_once
        eutils = eutilities(played.url, http)
        counts: list[int] = []

        async def ask(scope: anyio.CancelScope) -> None:
            with scope:
                counts.append((await eutils.esearch("zinc")).count)

        scopes = [anyio.CancelScope(), anyio.CancelScope(), anyio.CancelScope()]
        async with anyio.create_task_group() as tasks:
            for scope in scopes:
                tasks.start_soon(ask, scope)
            await first_asked.wait()
            scopes[0].cancel()
    assert counts == [1, 1]
    assert len(played.asked) == 2


async def test_who_asks_the_same_waits_in_a_line_of_its_own(http: httpx.AsyncClient):
    async with ncbi({"7": ""}) as played:
        client = ApiClient(http, provider="pubmed", title="PubMed", limiter=Pacing(0.3, [MemoryPlace()]))
        eutils = EUtilities(client, base_url=played.url)

        async def ask(caller: str, term: str) -> None:
            turn_of.set(caller)
            await eutils.esearch(term)
            if term == "zinc":
                answered.add(caller)
            if len(answered) == 2:
                both.set()

        answered, both = set[str](), anyio.Event()
        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(ask, "many", f"copper {number}")
            tasks.start_soon(ask, "many", "zinc")
            tasks.start_soon(ask, "one", "zinc")
            await both.wait()
            tasks.cancel_scope.cancel()
    terms = [params["term"] for _, params in played.asked]
    assert terms.count("zinc") == 1
    assert len(terms) < 10


async def test_who_has_more_time_asks_again_where_another_ran_out_of_it(http: httpx.AsyncClient):
    async with ncbi({"7": ""}) as played:
        first_asked = anyio.Event()
        answered = played.answer

        def silent_once(asked: Asked) -> Answer:
            if first_asked.is_set():
                return answered(asked)
            first_asked.set()
            return Answer(conduct="silent")

        played.server.answer = silent_once
        eutils = eutilities(played.url, http)
        counts: list[int] = []

        async def ask() -> None:
            counts.append((await eutils.esearch("zinc")).count)

        async def ask_in_a_hurry() -> None:
            with anyio.fail_after(0.5), pytest.raises(ProviderTimeoutError):
                await eutils.esearch("zinc")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask_in_a_hurry)
            await first_asked.wait()
            tasks.start_soon(ask)
    assert counts == [1]
    assert len(played.asked) == 2


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
