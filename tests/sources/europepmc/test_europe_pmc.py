"""Europe PMC as a provider of full texts and records, over loopback."""

from __future__ import annotations

from collections.abc import Mapping

import httpx
import pytest

from deepcritical_mcp.errors import ProviderError, ProviderRequestError, ProviderResponseError, ProviderUnavailableError
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.models import NO_ABSTRACT, AuthorName, Publication, StatusNotice
from deepcritical_mcp.net.client import ApiClient
from deepcritical_mcp.sources.europepmc.client import EuropePMCService
from deepcritical_mcp.sources.full_text import Copy, Wanted
from deepcritical_mcp.sources.json_api import JsonApi
from tests.net.stand_in import Answer, stand_in
from tests.sources.full_text_wire import as_json, epmc, fulltext, hit, jats, make_europe_pmc, no_text, preprint, results

PAPER = Wanted(RecordIds(pmid="31000001"))
PREPRINT = Wanted(RecordIds(doi="10.64898/2026.01.02.26300001"))


async def read(search: Answer, text: Answer | None, http: httpx.AsyncClient, wanted: Wanted = PAPER) -> Copy:
    async with stand_in() as server:
        server.answer = epmc(search, text)
        return await make_europe_pmc(server.url, http).read(wanted)


async def record(row: Mapping[str, object], http: httpx.AsyncClient, wanted: Wanted = PAPER) -> Publication:
    async with stand_in(results(row)) as server:
        found = await make_europe_pmc(server.url, http).record(wanted)
    assert found
    return found


async def test_an_open_article_comes_with_its_text(http: httpx.AsyncClient):
    async with stand_in() as server:
        server.answer = epmc(results(hit()), fulltext(jats()))
        copy = await make_europe_pmc(server.url, http).read(PAPER)
    assert (copy.status, copy.detail) == ("full_text", "")
    assert copy.url == "https://europepmc.org/articles/PMC9000001"
    assert copy.reading
    assert copy.reading.content.startswith("Zinc closed 12 of 20 wounds.")
    assert copy.reading.licence == "cc by"
    search, text = server.asked
    assert search.query["query"] == "(EXT_ID:31000001 AND SRC:MED)"
    assert search.query["resultType"] == "core"
    assert text.path == "/PMC9000001/fullTextXML"


async def test_all_identifiers_are_asked_for_at_once(http: httpx.AsyncClient):
    ids = RecordIds(pmid="31000001", pmcid="PMC9000001", doi='10.5555/ZI"NC')
    async with stand_in(results()) as server:
        await make_europe_pmc(server.url, http).read(Wanted(ids))
    assert server.asked[0].query["query"] == ('(EXT_ID:31000001 AND SRC:MED) OR PMCID:PMC9000001 OR DOI:"10.5555/zinc"')


async def test_a_preprint_is_found_by_the_address_of_its_page(http: httpx.AsyncClient):
    wanted = Wanted(RecordIds(), ("https://europepmc.org/article/PPR/PPR500001",))
    async with stand_in() as server:
        server.answer = epmc(results(preprint()), fulltext(jats("", doi="10.64898/2026.01.02.26300001")))
        copy = await make_europe_pmc(server.url, http).read(wanted)
    assert copy.status == "full_text"
    assert server.asked[0].query["query"] == "(EXT_ID:PPR500001 AND SRC:PPR)"
    assert server.asked[1].path == "/PPR500001/fullTextXML"


@pytest.mark.parametrize(
    ("row", "status", "said"),
    [
        (hit(isOpenAccess="N"), "not_allowed", "not open access"),
        (hit(inEPMC="N", pmcid=None), "abstract_only", "no text of its own"),
        (hit(), "abstract_only", "no open text"),
    ],
)
async def test_why_there_is_no_text(row: Mapping[str, object], status: str, said: str, http: httpx.AsyncClient):
    copy = await read(results(row), no_text(), http)
    assert copy.status == status
    assert said in copy.detail
    assert copy.reading
    assert copy.reading.content == ""
    assert copy.reading.abstract.startswith("Background: Zinc is cheap.")
    assert copy.reading.fields["title"] == "Zinc in wound repair."


async def test_the_text_is_asked_for_only_where_it_is_open(http: httpx.AsyncClient):
    async with stand_in(results(hit(isOpenAccess="N"))) as server:
        await make_europe_pmc(server.url, http).read(PAPER)
    assert len(server.asked) == 1


async def test_an_unknown_identifier_is_not_found(http: httpx.AsyncClient):
    assert (await read(results(), None, http)).status == "not_found"


async def test_a_record_with_another_identifier_is_not_the_one_asked_for(http: httpx.AsyncClient):
    assert (
        await read(results(hit(id="1", pmid="1", pmcid="PMC1", doi="10.5555/other")), None, http)
    ).status == "not_found"


async def test_free_copies_are_named_pdfs_first(http: httpx.AsyncClient):
    urls = {
        "fullTextUrl": [
            {"availabilityCode": "S", "documentStyle": "pdf", "url": "https://journal.example.org/paid.pdf"},
            {"availabilityCode": "F", "documentStyle": "html", "url": "https://journal.example.org/free"},
            {"availabilityCode": "OA", "documentStyle": "pdf", "url": "https://repo.example.org/open.pdf"},
        ]
    }
    copy = await read(results(hit(fullTextUrlList=urls)), no_text(), http)
    assert copy.elsewhere == ("https://repo.example.org/open.pdf", "https://journal.example.org/free")


async def test_an_error_in_an_answer_with_status_200_is_an_error(http: httpx.AsyncClient):
    with pytest.raises(ProviderRequestError, match='refused the request: "Invalid page size provided"'):
        await read(as_json({"errCode": 404, "errMsg": "Invalid page size provided."}), None, http)
    with pytest.raises(ProviderUnavailableError, match="Search is down"):
        await read(as_json({"errCode": 500, "errMsg": "Search is down"}), None, http)


async def test_maintenance_is_an_outage(http: httpx.AsyncClient):
    with pytest.raises(ProviderUnavailableError):
        await read(Answer(503, b"Service is under maintenance", "text/plain"), None, http)


async def test_only_full_texts_may_be_down(http: httpx.AsyncClient):
    with pytest.raises(ProviderUnavailableError):
        await read(results(hit()), Answer(500), http)


BEAN = "<errorBean><errCode>{}</errCode><errMsg>{}</errMsg></errorBean>"


async def test_an_error_in_xml_with_status_200_says_what_it_is(http: httpx.AsyncClient):
    closed = fulltext(BEAN.format(0, "Article with id PMC9000001 is not open access one"))
    assert (await read(results(hit()), closed, http)).status == "abstract_only"
    with pytest.raises(ProviderUnavailableError):
        await read(results(hit()), fulltext(BEAN.format(500, "No connection")), http)


async def test_another_article_than_the_one_asked_for_is_refused(http: httpx.AsyncClient):
    with pytest.raises(ProviderResponseError, match="asked for PMC9000001"):
        await read(results(hit()), fulltext(jats("PMC9000002")), http)


async def test_a_record_becomes_a_citation(http: httpx.AsyncClient):
    found = await record(hit(), http)
    assert found.id == "pubmed:31000001"
    assert found.source == "pubmed"
    assert found.title == "Zinc in wound repair."
    assert found.authors == (AuthorName("Ruiz", "Ana"), AuthorName("ZINC Study Group"))
    assert (found.journal, found.journal_abbreviation) == ("Journal of made-up results", "J Made-up Res")
    assert (found.volume, found.issue, found.pages, found.date) == ("9", "2", "11-9", "2021-03")
    assert (found.doi, found.pmcid) == ("10.5555/zinc", "PMC9000001")
    assert found.text.content == "Background: Zinc is cheap.\nResults: Repair was faster (p<0.05)."


async def test_a_record_of_few_fields_is_a_record(http: httpx.AsyncClient):
    lite = {"id": "31000001", "source": "MED", "title": "Zinc", "authorString": "Ruiz A, Berg JA.", "pubYear": "2021"}
    found = await record(lite, http)
    assert found.pmid == "31000001"
    assert [author.short for author in found.authors] == ["Ruiz A", "Berg JA"]
    assert (found.date, found.text.content) == ("2021", NO_ABSTRACT)


async def test_a_preprint_names_its_server_and_version_and_what_became_of_it(http: httpx.AsyncClient):
    reference = "J Made-up Res. 2027. doi: 10.5555/z."
    link = {"id": "32000001", "source": "MED", "type": "Preprint of", "reference": reference}
    row = preprint(commentCorrectionList={"commentCorrection": [link]})
    found = await record(row, http, PREPRINT)
    assert (found.source, found.form, found.publisher, found.date) == ("preprint", "preprint", "medRxiv", "2026-01-02")
    assert found.id == "doi:10.64898/2026.01.02.26300001"
    assert found.status == "ok"
    assert found.status_notices == (
        StatusNotice(kind="published", pmid="32000001", doi="10.5555/z", reference=reference),
    )
    copy = await read(results(row), fulltext(jats("", doi=PREPRINT.ids.doi)), http, PREPRINT)
    assert copy.detail == "This is a preprint (medRxiv, version 2). It was published as PMID 32000001."
    assert copy.reading
    assert copy.reading.fields["status_notices"] == found.status_notices
    assert copy.reading.fields["publisher"] == "medRxiv"


async def test_an_article_names_its_preprint(http: httpx.AsyncClient):
    link = {"id": "PPR500001", "source": "PPR", "type": "Preprint in", "note": "Link created based on a title match"}
    found = await record(hit(commentCorrectionList={"commentCorrection": [link]}), http)
    (notice,) = found.status_notices
    assert (notice.kind, notice.pmid) == ("preprint", "")
    assert notice.reference == "Preprint PPR500001 in Europe PMC (matched by title and first author)"


async def test_the_article_wins_over_its_preprint_where_both_match(http: httpx.AsyncClient):
    both = results(preprint(doi="10.5555/zinc"), hit())
    copy = await read(both, fulltext(jats()), http, Wanted(RecordIds(doi="10.5555/zinc")))
    assert copy.detail == "This is the published article; its preprint (PPR500001) has the same identifier."
    assert copy.url.endswith("PMC9000001")


@pytest.mark.parametrize(
    ("types", "link", "status"),
    [
        (["Journal Article", "Retracted Publication"], "", "retracted"),
        (["preprint", "preprint-withdrawal"], "", "retracted"),
        ([], "Retraction in", "retracted"),
        ([], "Expression of concern in", "concern"),
        ([], "Erratum in", "corrected"),
        ([], "Retraction of", "notice"),
        ([], "Comment in", "ok"),
    ],
)
async def test_the_status_is_read(types: list[str], link: str, status: str, http: httpx.AsyncClient):
    links = {"commentCorrection": [{"id": "1", "source": "MED", "type": link}]}
    found = await record(hit(pubTypeList={"pubType": types}, commentCorrectionList=links), http)
    assert found.status == status


def client(url: str, http: httpx.AsyncClient) -> EuropePMCService:
    return EuropePMCService(JsonApi(ApiClient(http, provider="europepmc", title="Europe PMC"), url))


async def test_a_search_comes_in_pages(http: httpx.AsyncClient):
    async with stand_in(results(hit(), hitCount=40, nextCursorMark="abc")) as server:
        page = await client(server.url, http).search("zinc", page_size=1, sort="P_PDATE_D desc")
    assert (page.total, page.next_cursor, len(page.records)) == (40, "abc", 1)
    assert server.asked[0].query == {
        "query": "zinc",
        "resultType": "core",
        "pageSize": "1",
        "cursorMark": "*",
        "format": "json",
        "sort": "P_PDATE_D desc",
    }


async def test_the_last_page_repeats_the_cursor(http: httpx.AsyncClient):
    async with stand_in(results(hit(), nextCursorMark="abc")) as server:
        assert (await client(server.url, http).search("zinc", cursor="abc")).next_cursor == ""


async def test_a_long_query_is_sent_in_the_body(http: httpx.AsyncClient):
    async with stand_in(results()) as server:
        await client(server.url, http).search("zinc OR " * 400 + "iron")
    (asked,) = server.asked
    assert (asked.method, asked.path) == ("POST", "/searchPOST")
    assert asked.form["query"].endswith("iron")


async def test_records_without_ids_are_not_a_result(http: httpx.AsyncClient):
    async with stand_in(results({"title": "Zinc"})) as server:
        with pytest.raises(ProviderError):
            await client(server.url, http).search("zinc")
