"""The contract of what delivers full texts or knows about documents: an outage never looks like "not found"."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

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
from deepcritical_mcp.sources.full_text import Wanted
from deepcritical_mcp.sources.trials.request import TrialRequest
from deepcritical_mcp.sources.trials.services import TrialRecords, Trials
from tests.net.stand_in import Answer, Asked, stand_in
from tests.sources import citing_wire
from tests.sources import full_text_wire as wire
from tests.sources.contract import FAULTS, PATIENT, TRIES, Fault
from tests.sources.crossref import crossref_wire as crossref
from tests.sources.crossref.crossref_wire import make_crossref

HTML = "HTML instead of data"


@dataclass(frozen=True)
class Provider:
    """What is under test: `ask` asks it; `faulty` says which of its requests gets the answer in question."""

    name: str
    ask: Callable[[str, httpx.AsyncClient, RetryPolicy], Awaitable[object]]
    success: Answer
    faulty: str = ""
    before: Answer = field(default_factory=Answer)
    refusal: type[ProviderError] = BlockedError
    page_error: type[ProviderError] = ProviderResponseError

    def play(self, answer: Answer) -> Callable[[Asked], Answer]:
        return lambda asked: answer if self.faulty in asked.path else self.before


PAPER = Wanted(RecordIds(pmcid="PMC9000001", doi="10.5555/zinc"))
ZINC = PreprintRequest(query="zinc")
TRIAL = RecordIds(nct="NCT09000001")
PROVIDERS = (
    Provider(
        "pmc",
        lambda url, http, retry: wire.make_pmc(url, http, retry).read(PAPER),
        wire.article_set(wire.jats()),
        refusal=AuthenticationError,
        page_error=ProviderUnavailableError,
    ),
    Provider(
        "europepmc",
        lambda url, http, retry: wire.make_europe_pmc(url, http, retry).read(PAPER),
        wire.results(),
        faulty="search",
    ),
    Provider(
        "europepmc",
        lambda url, http, retry: wire.make_europe_pmc(url, http, retry).read(PAPER),
        wire.fulltext(wire.jats()),
        faulty="fullTextXML",
        before=wire.results(wire.hit()),
    ),
    Provider(
        "europepmc",
        lambda url, http, retry: wire.make_preprints(url, http, retry).ask("zinc", ZINC, offset=0, limit=10),
        wire.results(wire.preprint()),
        faulty="/search",
    ),
    Provider(
        "europepmc",
        lambda url, http, retry: wire.make_preprints(url, http, retry).fetch(["10.64898/2026.01.02.26300001"]),
        wire.results(wire.preprint()),
        faulty="sear",
    ),
    Provider(
        "europepmc",
        lambda url, http, retry: wire.make_records(url, http, retry).records([PAPER.ids]),
        wire.results(wire.hit()),
        faulty="sea",
    ),
    Provider(
        "trials",
        lambda url, http, retry: wire.make_trials(url, http, retry).read(Wanted(RecordIds(nct="NCT09000001"))),
        wire.as_json(wire.study()),
    ),
    Provider(
        "trials",
        lambda url, http, retry: Trials(wire.make_trials_client(url, http, retry)).ask(
            "zinc", TrialRequest(query="zinc"), offset=0, limit=5
        ),
        wire.as_json({"studies": [wire.study()], "totalCount": 1}),
        faulty="studies",
    ),
    Provider(
        "trials",
        lambda url, http, retry: Trials(wire.make_trials_client(url, http, retry)).fetch(["NCT09000001"]),
        wire.as_json({"studies": [wire.study()]}),
        faulty="/studies",
    ),
    Provider(
        "trials",
        lambda url, http, retry: TrialRecords(wire.make_trials_client(url, http, retry)).records([TRIAL]),
        wire.as_json({"studies": [wire.study()]}),
        faulty="stud",
    ),
    Provider(
        "unpaywall",
        lambda url, http, retry: wire.make_unpaywall(url, http, retry).read(PAPER),
        wire.as_json(wire.located()),
    ),
    Provider(
        "idconv",
        lambda url, http, retry: wire.make_converter(url, http, retry).convert([RecordIds(pmid="31000001")]),
        wire.converted({"requested-id": "31000001", "pmid": 31000001, "pmcid": "PMC9000001", "doi": "10.5555/zinc"}),
        refusal=AuthenticationError,
    ),
    Provider(
        "icite",
        lambda url, http, retry: citing_wire.make_icite(url, http, retry).citing("11", 10),
        citing_wire.icite(citing_wire.icite_paper(11, 1, cited_by=[12])),
    ),
    Provider(
        "europepmc",
        lambda url, http, retry: citing_wire.make_citations(url, http, retry).citing("11", 10),
        citing_wire.citations(citing_wire.citing("MED", "12")),
        faulty="citations",
    ),
    Provider(
        "europepmc",
        lambda url, http, retry: citing_wire.make_citations(url, http, retry).citing("11", 10),
        wire.results(wire.preprint()),
        faulty="search",
        before=citing_wire.citations(citing_wire.citing("PPR", "PPR500001")),
    ),
    Provider(
        "crossref",
        lambda url, http, retry: make_crossref(url, http, retry).notices(["10.5555/zinc"]),
        crossref.listed(crossref.work()),
    ),
    Provider(
        "crossref",
        lambda url, http, retry: make_crossref(url, http, retry).match("Zinc in wound repair"),
        crossref.listed(crossref.work()),
    ),
    Provider(
        "crossref",
        lambda url, http, retry: make_crossref(url, http, retry).records([RecordIds(doi="10.5555/a,b")]),
        crossref.single(crossref.work("10.5555/a,b")),
        faulty="/works/",
    ),
)
each_provider = pytest.mark.parametrize("provider", PROVIDERS, ids=lambda one: f"{one.name}{one.faulty}")
each_fault = pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)


@pytest.mark.long
@each_fault
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
            await provider.ask(server.url, http, PATIENT)
    assert len([one for one in server.asked if provider.faulty in one.path]) == 1
    assert caught.value.provider == provider.name
    assert_reads_well(caught.value)


@each_provider
async def test_an_answer_that_was_cut_off_on_the_way_is_none(provider: Provider, http: httpx.AsyncClient):
    whole = provider.success
    async with stand_in() as server:
        server.answer = provider.play(dataclasses.replace(whole, body=whole.body[: len(whole.body) * 2 // 3]))
        with pytest.raises(ProviderResponseError):
            await provider.ask(server.url, http, PATIENT)
    assert len([one for one in server.asked if provider.faulty in one.path]) == TRIES


@each_provider
async def test_an_outage_that_passes_is_waited_out(provider: Provider, http: httpx.AsyncClient):
    answers = [Answer(503), Answer(conduct="reset"), provider.success]
    async with stand_in() as server:
        server.answer = lambda asked: answers.pop(0) if provider.faulty in asked.path else provider.before
        await provider.ask(server.url, http, PATIENT)
    assert answers == []


def assert_reads_well(error: ProviderError) -> None:
    """A sentence for a model: without addresses, keys and the names of other providers."""
    assert "http" not in error.message.replace("(HTTP", "")
    assert wire.EMAIL not in error.message
    assert "PubMed" not in error.message
    assert error.message.endswith(".")


@each_provider
async def test_a_web_page_with_status_404_is_not_an_answer(provider: Provider, http: httpx.AsyncClient):
    async with stand_in() as server:
        server.answer = provider.play(Answer(404, b"<!DOCTYPE html><html><body>Not here</body></html>", "text/html"))
        with pytest.raises(ProviderError):
            await provider.ask(server.url, http, PATIENT)
