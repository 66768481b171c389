"""NCBI's ID converter, over loopback."""

from collections.abc import Mapping

import httpx
import pytest

from deepcritical_mcp.errors import ProviderRequestError, ProviderResponseError
from deepcritical_mcp.identifiers import RecordIds
from tests.net.stand_in import Answer, Asked, stand_in
from tests.sources.full_text_wire import as_json, converted, make_converter, refused, unknown_row


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
