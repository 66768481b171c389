"""Europe PMC as a provider of full texts and records, over loopback."""

from collections.abc import Mapping, Sequence

import httpx
import pytest

from deepcritical_mcp.errors import ProviderResponseError, ProviderUnavailableError
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.models import Publication, StatusNotice
from deepcritical_mcp.sources.lookup import Copy, Linked, Wanted
from tests.net.stand_in import Answer, Asked, stand_in
from tests.sources.citing_wire import citations, citing, make_citations
from tests.sources.full_text_wire import (
    epmc,
    fulltext,
    hit,
    jats,
    make_europe_pmc,
    make_records,
    no_text,
    preprint,
    results,
)

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


BEAN = "<errorBean><errCode>{}</errCode><errMsg>{}</errMsg></errorBean>"


async def test_an_error_in_xml_with_status_200_says_what_it_is_and_another_article_is_refused(http: httpx.AsyncClient):
    closed = fulltext(BEAN.format(0, "Article with id PMC9000001 is not open access one"))
    assert (await read(results(hit()), closed, http)).status == "abstract_only"
    with pytest.raises(ProviderUnavailableError):
        await read(results(hit()), fulltext(BEAN.format(500, "No connection")), http)
    with pytest.raises(ProviderResponseError, match="asked for PMC9000001"):
        await read(results(hit()), fulltext(jats("PMC9000002")), http)


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


async def look_up(
    rows: Sequence[Mapping[str, object]], http: httpx.AsyncClient, *wanted: RecordIds
) -> tuple[Sequence[Publication | str], list[Asked]]:
    async with stand_in(results(*rows)) as server:
        return await make_records(server.url, http).records(wanted), server.asked


async def test_a_hundred_dois_are_sent_in_the_body(http: httpx.AsyncClient):
    rows = [hit(id=str(n), pmid=str(n), pmcid=None, doi=f"10.5555/zinc-{n:03}") for n in range(1, 101)]
    found, (asked,) = await look_up(rows, http, *(RecordIds(doi=f"10.5555/zinc-{n:03}") for n in range(1, 101)))
    assert [one.pmid for one in found if isinstance(one, Publication)] == [str(n) for n in range(1, 101)]
    assert asked.path == "/searchPOST"
    assert int(asked.form["pageSize"]) >= 100


@pytest.mark.parametrize(
    ("rows", "doi", "pmid"),
    [([preprint(doi="10.5555/zinc"), hit()], "10.5555/zinc", "31000001"), ([hit()], "10.5555/zinc.2", "")],
    ids=["its preprint too", "only similar"],
)
async def test_the_record_is_of_the_article_itself(
    rows: Sequence[Mapping[str, object]], doi: str, pmid: str, http: httpx.AsyncClient
):
    found, _ = await look_up(rows, http, RecordIds(doi=doi))
    assert [one if isinstance(one, str) else one.pmid for one in found] == [pmid]


async def test_nothing_is_asked_for_what_it_cannot_know(http: httpx.AsyncClient):
    found, asked = await look_up([], http, RecordIds(nct="NCT00000001"))
    assert (found, asked) == ([""], [])
    records = make_records("http://127.0.0.1:9", http)
    assert records.accepts(RecordIds(preprint_number="PPR1"))
    assert not records.accepts(RecordIds(nct="NCT00000001"))


async def test_what_cites_a_paper_is_named_by_every_number_that_it_has(http: httpx.AsyncClient):
    rows = citing("MED", "12"), citing("PMC", "PMC9000001"), citing("PPR", "PPR500001"), citing("ETH", "1")
    async with stand_in(citations(*rows)) as server:
        found = await make_citations(server.url, http).links([RecordIds("11")], "cited_by")
    named = ("pmid:12", "pmcid:PMC9000001", "ppr:PPR500001")
    assert found == [Linked(tuple(frozenset({one}) for one in named), 1)]


async def test_the_article_wins_over_its_preprint_where_both_match(http: httpx.AsyncClient):
    both = results(preprint(doi="10.5555/zinc"), hit())
    copy = await read(both, fulltext(jats()), http, Wanted(RecordIds(doi="10.5555/zinc")))
    assert copy.detail == "This is the published article; its preprint (PPR500001) has the same identifier."
    assert copy.url.endswith("PMC9000001")
