"""Europe PMC's citations, over loopback."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest

from deepcritical_mcp.errors import ProviderRequestError, ProviderResponseError
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.net.client import RetryPolicy
from tests.net.stand_in import Answer, Asked, stand_in
from tests.sources.citing_wire import citations, citing, make_citations
from tests.sources.full_text_wire import as_json, hit, results

ONCE = RetryPolicy(attempts=1)


def play(listed: Answer, found: Answer | None = None) -> Callable[[Asked], Answer]:
    """One answer to /citations, one to searches."""
    return lambda asked: listed if asked.path.endswith("/citations") else found or results()


async def test_papers_alone_cost_one_request(http: httpx.AsyncClient):
    async with stand_in(citations(citing("MED", "21"))) as server:
        found = await make_citations(server.url, http).citing("11", 5)
    assert found.ids == (RecordIds(pmid="21"),)
    assert [one.query["pageSize"] for one in server.asked] == ["5"]


async def test_a_document_of_another_source_that_has_a_pmid_is_known_by_it(http: httpx.AsyncClient):
    async with stand_in() as server:
        row = hit(source="PMC", id="PMC9000001", pmid="31000001")
        server.answer = play(citations(citing("PMC", "PMC9000001")), results(row))
        found = await make_citations(server.url, http).citing("11", 10)
    assert found.ids == (RecordIds(pmid="31000001"),)
    assert found.records == ()


async def test_a_document_without_an_id_does_not_cost_the_others(http: httpx.AsyncClient):
    async with stand_in(citations(citing("MED", "21"), citing("MED", ""), total=2)) as server:
        found = await make_citations(server.url, http).citing("11", 5)
    assert (found.total, found.ids) == (2, (RecordIds(pmid="21"),))


async def test_what_cannot_be_looked_up_is_left_out_of_the_query(http: httpx.AsyncClient):
    async with stand_in() as server:
        server.answer = play(citations(citing("ETH", "1) OR (SRC:MED"), citing("ETH", "442")))
        await make_citations(server.url, http).citing("11", 10)
    assert server.asked[1].query["query"] == "(EXT_ID:442 AND SRC:ETH)"


async def test_an_error_within_http_200_is_one(http: httpx.AsyncClient):
    async with stand_in(as_json({"errCode": 404, "errMsg": "Invalid page size provided."})) as server:
        with pytest.raises(ProviderRequestError, match="Invalid page size"):
            await make_citations(server.url, http).citing("11", 10)


@pytest.mark.parametrize("row", [{"source": "MED"}, {"id": "5"}])
async def test_rows_without_ids_are_an_error(row: dict[str, object], http: httpx.AsyncClient):
    async with stand_in(citations(row)) as server:
        with pytest.raises(ProviderResponseError):
            await make_citations(server.url, http, ONCE).citing("11", 10)
