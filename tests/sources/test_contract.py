"""The contract of all providers, over loopback."""

from __future__ import annotations

import httpx
import pytest

from deepcritical_mcp.errors import DeepCriticalError, ProviderError, ProviderUnavailableError
from tests.net.stand_in import Answer, stand_in
from tests.sources.contestants import CONTESTANTS, KEY
from tests.sources.contract import FAULTS, PATIENT, Contestant, Fault, found

each_provider = pytest.mark.parametrize("contestant", CONTESTANTS, ids=lambda contestant: contestant.name)
each_fault = pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)


@each_provider
async def test_nothing_found_is_an_answer(contestant: Contestant, http: httpx.AsyncClient):
    async with stand_in(contestant.empty) as provider:
        assert await found(contestant.make(provider.url, http, PATIENT), "metformin cancer", 10) == []
    assert len(provider.asked) == 1


@each_provider
async def test_no_more_results_than_wanted(contestant: Contestant, http: httpx.AsyncClient):
    async with stand_in(contestant.success) as provider:
        assert len(await found(contestant.make(provider.url, http, PATIENT), "metformin cancer", 2)) == 2


@each_fault
@each_provider
async def test_a_fault_becomes_a_named_error(contestant: Contestant, fault: Fault, http: httpx.AsyncClient):
    async with stand_in(fault.answer) as provider:
        with pytest.raises(ProviderError) as caught:
            await found(contestant.make(provider.url, http, fault.retry), "metformin cancer", 10)
    error = caught.value
    assert type(error) is fault.error
    assert error.provider == contestant.name
    assert error.retry_after == fault.retry_after
    assert len(provider.asked) == fault.tries
    assert_reads_well(error)


@each_provider
async def test_an_outage_that_passes_is_waited_out(contestant: Contestant, http: httpx.AsyncClient):
    async with stand_in(Answer(503), Answer(conduct="reset"), contestant.success) as provider:
        assert len(await found(contestant.make(provider.url, http, PATIENT), "metformin cancer", 10)) == 3


@each_provider
async def test_nobody_at_the_address_is_an_outage(contestant: Contestant, http: httpx.AsyncClient):
    async with stand_in() as provider:
        url = provider.url
    with pytest.raises(ProviderUnavailableError):
        await found(contestant.make(url, http, PATIENT), "metformin cancer", 10)


@pytest.mark.parametrize("contestant", CONTESTANTS[:3], ids=lambda contestant: contestant.name)
async def test_a_key_is_not_carried_to_where_a_redirect_leads(contestant: Contestant, http: httpx.AsyncClient):
    async with stand_in(contestant.success) as elsewhere, stand_in() as provider:
        provider.will(Answer(302, headers={"Location": elsewhere.url}))
        with pytest.raises(ProviderError):
            await found(contestant.make(provider.url, http, PATIENT), "metformin cancer", 10)
    assert elsewhere.asked == []


def assert_reads_well(error: DeepCriticalError) -> None:
    """A sentence for a model: without addresses, keys and foreign class names."""
    assert "http://" not in error.message
    assert KEY.get_secret_value() not in error.message
    assert error.message.endswith(".")


@pytest.mark.parametrize("contestant", CONTESTANTS[:3], ids=lambda contestant: contestant.name)
async def test_the_pool_that_is_shared_keeps_no_key(contestant: Contestant, http: httpx.AsyncClient):
    async with stand_in(contestant.success) as provider:
        await found(contestant.make(provider.url, http, PATIENT), "metformin cancer", 10)
    assert KEY.get_secret_value() not in repr(http.headers) + str(http.base_url) + repr(http.params)
