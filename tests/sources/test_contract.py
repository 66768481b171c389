"""The contract of every provider, over loopback: an outage never looks like "nothing found"."""

import dataclasses
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from deepcritical_mcp.errors import (
    AuthenticationError,
    BlockedError,
    ProviderError,
    ProviderResponseError,
    ProviderUnavailableError,
)
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.net.client import RetryPolicy
from deepcritical_mcp.sources.europepmc.preprint_request import PreprintRequest
from deepcritical_mcp.sources.lookup import CitedPlace, Wanted
from deepcritical_mcp.sources.trials.request import TrialRequest
from deepcritical_mcp.sources.trials.services import TrialRecords, Trials
from tests.net.stand_in import Answer, Asked, stand_in
from tests.sources import citing_wire, link_wire, ncbi
from tests.sources import full_text_wire as wire
from tests.sources.contestants import CONTESTANTS, KEY, Contestant
from tests.sources.contract import FAULTS, PATIENT, TRIES, Fault, found
from tests.sources.crossref import crossref_wire as crossref
from tests.sources.pubmed.test_lookups import citation_matcher, ecitmatch, matched, plain

HTML = "HTML instead of data"
Call = Callable[[Any], Awaitable[object]]


@dataclass(frozen=True)
class Provider:
    """What is under test: how it is made and asked; `faulty` says which of its requests gets the answer in question."""

    name: str
    make: Callable[[str, httpx.AsyncClient, RetryPolicy], Any]
    call: Call
    success: Answer
    faulty: str = ""
    before: Answer = field(default_factory=Answer)
    refusal: type[ProviderError] = BlockedError
    page_error: type[ProviderError] = ProviderResponseError

    async def ask(self, url: str, http: httpx.AsyncClient, retry: RetryPolicy = PATIENT) -> None:
        await self.call(self.make(url, http, retry))

    def play(self, answer: Answer) -> Callable[[Asked], Answer]:
        return lambda asked: answer if self.faulty in asked.path else self.before


def of_ncbi(name: str, make: Any, call: Call, success: Answer) -> Provider:
    """A service of NCBI, which answers with a web page while it is down."""
    return Provider(name, make, call, success, refusal=AuthenticationError, page_error=ProviderUnavailableError)


PAPER = Wanted(RecordIds(pmcid="PMC9000001", doi="10.5555/zinc"))
ZINC, TRIAL = PreprintRequest(query="zinc"), RecordIds(nct="NCT09000001")
READ: Call = lambda one: one.read(PAPER)  # noqa: E731
PAPERS = [RecordIds("11", doi="10.5555/p11")]
CITED: Call = lambda one: one.links(PAPERS, "references")  # noqa: E731
NAMES: Call = lambda one: one.names([f"{one.names_kind}:10.5555/W3"])  # noqa: E731
CONVERT: Call = lambda one: one.convert([RecordIds(pmid="31000001")])  # noqa: E731
BY_DOI: Call = lambda one: one.records([RecordIds(doi="10.5555/a,b")])  # noqa: E731
ASK_PREPRINTS: Call = lambda one: one.ask("zinc", ZINC, offset=0, limit=10)  # noqa: E731
ASK_TRIALS: Call = lambda one: Trials(one).ask("zinc", TrialRequest(query="zinc"), offset=0, limit=5)  # noqa: E731
SEARCH: Call = lambda tool: found(tool, "metformin", 10)  # noqa: E731
ROWS, PREPRINTS = wire.results(wire.hit()), wire.results(wire.preprint())
WORKS = crossref.listed(crossref.work())
LISTED = wire.as_json({"studies": [wire.study()], "totalCount": 1})
CONVERTED = wire.converted({"requested-id": "31000001", "pmid": 31000001, "pmcid": "PMC9000001", "doi": "10.5555/zinc"})
PLACE = CitedPlace("J Made-up Res", "2021", "9", "11", "Ruiz")
PROVIDERS = (
    of_ncbi("pmc", wire.make_pmc, READ, wire.article_set(wire.jats())),
    of_ncbi("pubmed", ncbi.eutilities, lambda one: one.esearch("zinc"), ncbi.esearch(["7"])),
    of_ncbi("pubmed", ncbi.pubmed, lambda one: one.fetch(["7"]), ncbi.efetch(ncbi.article("7"))),
    of_ncbi("pubmed", ecitmatch, lambda one: one.at_places([PLACE]), plain("J Made-up Res|2021|9|11|Ruiz|1|7\n")),
    of_ncbi("pubmed", link_wire.make_pubmed_links, CITED, ncbi.elink(["12"], "pubmed_pubmed_refs")),
    Provider("citmatch", citation_matcher, lambda one: one.match("Ruiz A. Zinc."), matched("7")),
    Provider("idconv", wire.make_converter, CONVERT, CONVERTED, refusal=AuthenticationError),
    Provider("europepmc", wire.make_europe_pmc, READ, wire.results(), "search"),
    Provider("europepmc", wire.make_europe_pmc, READ, wire.fulltext(wire.jats()), "fullTextXML", ROWS),
    Provider("europepmc", wire.make_preprints, ASK_PREPRINTS, PREPRINTS, "/search"),
    Provider("europepmc", wire.make_preprints, lambda one: one.fetch(["10.64898/1"]), PREPRINTS, "sear"),
    Provider("europepmc", wire.make_records, lambda one: one.records([PAPER.ids]), ROWS, "sea"),
    Provider("europepmc", citing_wire.make_citations, CITED, link_wire.EUROPE_PMC_REFERENCES, "references"),
    Provider("europepmc", citing_wire.make_citations, NAMES, ROWS, "search"),
    Provider("opencitations", link_wire.make_opencitations, CITED, link_wire.OPENCITATIONS_REFERENCES),
    Provider("openalex", link_wire.make_openalex, CITED, link_wire.OPENALEX_WORK),
    Provider("openalex", link_wire.make_openalex, NAMES, link_wire.OPENALEX_WORKS),
    Provider("trials", wire.make_trials, lambda one: one.read(Wanted(TRIAL)), wire.as_json(wire.study())),
    Provider("trials", wire.make_trials_client, ASK_TRIALS, LISTED, "studies"),
    Provider("trials", wire.make_trials_client, lambda one: Trials(one).fetch([TRIAL.nct]), LISTED, "/studies"),
    Provider("trials", wire.make_trials_client, lambda one: TrialRecords(one).records([TRIAL]), LISTED, "stud"),
    Provider("unpaywall", wire.make_unpaywall, READ, wire.as_json(wire.located())),
    Provider("icite", citing_wire.make_icite, CITED, citing_wire.icite(citing_wire.icite_paper(11, 1))),
    Provider("crossref", crossref.make_crossref, CITED, WORKS),
    Provider("crossref", crossref.make_crossref, lambda one: one.notices(["10.5555/zinc"]), WORKS),
    Provider("crossref", crossref.make_crossref, lambda one: one.match("Zinc in wound repair"), WORKS),
    Provider("crossref", crossref.make_crossref, BY_DOI, crossref.single(crossref.work("10.5555/a,b")), "/works/"),
    *(Provider(one.name, one.make, SEARCH, one.success, refusal=one.refusal) for one in CONTESTANTS),
)
each_provider = pytest.mark.parametrize("provider", PROVIDERS, ids=lambda one: f"{one.name}{one.faulty}")
but_html = pytest.mark.parametrize("provider", PROVIDERS[:-1], ids=lambda one: f"{one.name}{one.faulty}")
"""All but DuckDuckGo, whose pages have no end that could be missing."""


def assert_reads_well(error: ProviderError) -> None:
    """A sentence for a model: without addresses, keys and the names of other providers."""
    assert "http" not in error.message.replace("(HTTP", "")
    assert not any(secret in error.message for secret in (wire.EMAIL, KEY.get_secret_value(), ncbi.KEY))
    assert error.provider in ("pubmed", "citmatch") or "PubMed" not in error.message
    assert error.message.endswith(".")


@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
@each_provider
async def test_a_fault_becomes_a_named_error(provider: Provider, fault: Fault, http: httpx.AsyncClient):
    async with stand_in() as server:
        server.answer = provider.play(fault.answer)
        with pytest.raises(ProviderError) as caught:
            await provider.ask(server.url, http, fault.retry)
    error = caught.value
    assert type(error) is (provider.page_error if fault.name == HTML else fault.error)
    assert error.provider == provider.name
    assert error.retry_after == fault.retry_after
    assert len([one for one in server.asked if provider.faulty in one.path]) == fault.tries
    assert_reads_well(error)


@each_provider
@pytest.mark.parametrize("status", [401, 403])
async def test_a_refusal_is_not_asked_again(provider: Provider, status: int, http: httpx.AsyncClient):
    async with stand_in() as server:
        server.answer = provider.play(Answer(status, b"no", "text/plain"))
        with pytest.raises(provider.refusal) as caught:
            await provider.ask(server.url, http)
    assert len([one for one in server.asked if provider.faulty in one.path]) == 1
    assert caught.value.provider == provider.name
    assert_reads_well(caught.value)


@but_html
async def test_an_answer_that_was_cut_off_on_the_way_is_none(provider: Provider, http: httpx.AsyncClient):
    whole = provider.success
    async with stand_in() as server:
        server.answer = provider.play(dataclasses.replace(whole, body=whole.body[: len(whole.body) * 2 // 3]))
        with pytest.raises(ProviderResponseError):
            await provider.ask(server.url, http)
    assert len([one for one in server.asked if provider.faulty in one.path]) == TRIES


@each_provider
async def test_an_outage_that_passes_is_waited_out(provider: Provider, http: httpx.AsyncClient):
    answers = [Answer(503), Answer(conduct="reset"), provider.success]
    async with stand_in() as server:
        server.answer = lambda asked: answers.pop(0) if provider.faulty in asked.path else provider.before
        await provider.ask(server.url, http)
    assert answers == []


@each_provider
async def test_a_web_page_with_status_404_is_not_an_answer(provider: Provider, http: httpx.AsyncClient):
    async with stand_in() as server:
        server.answer = provider.play(Answer(404, b"<!DOCTYPE html><html><body>Not here</body></html>", "text/html"))
        with pytest.raises(ProviderError):
            await provider.ask(server.url, http)


each_web_search = pytest.mark.parametrize("contestant", CONTESTANTS, ids=lambda contestant: contestant.name)
each_with_a_key = pytest.mark.parametrize("contestant", CONTESTANTS[:3], ids=lambda contestant: contestant.name)


@each_web_search
async def test_nothing_found_is_an_answer_and_no_more_comes_than_wanted(
    contestant: Contestant, http: httpx.AsyncClient
):
    async with stand_in(contestant.empty, contestant.success) as provider:
        tool = contestant.make(provider.url, http, PATIENT)
        assert await found(tool, "metformin cancer", 10) == []
        assert len(provider.asked) == 1
        assert len(await found(tool, "metformin cancer", 2)) == 2


@each_with_a_key
async def test_a_key_is_not_carried_to_where_a_redirect_leads(contestant: Contestant, http: httpx.AsyncClient):
    async with stand_in(contestant.success) as elsewhere, stand_in() as provider:
        provider.will(Answer(302, headers={"Location": elsewhere.url}))
        with pytest.raises(ProviderError):
            await found(contestant.make(provider.url, http, PATIENT), "metformin cancer", 10)
    assert elsewhere.asked == []


@each_with_a_key
async def test_the_pool_that_is_shared_keeps_no_key(contestant: Contestant, http: httpx.AsyncClient):
    async with stand_in(contestant.success) as provider:
        await found(contestant.make(provider.url, http, PATIENT), "metformin cancer", 10)
    assert KEY.get_secret_value() not in repr(http.headers) + str(http.base_url) + repr(http.params)
