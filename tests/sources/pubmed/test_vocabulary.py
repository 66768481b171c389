from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from deepcritical_mcp.errors import ProviderError, ProviderResponseError, ProviderUnavailableError
from tests.search.expansion.ncbi_stand_in import ALZHEIMER, DEMENTIA, METFORMIN, NcbiStandIn


@pytest.mark.parametrize("terms", [[], None, "text", [{"a": 1}], 7])
async def test_a_record_that_cannot_be_read_is_left_out(terms: object, tmp_path: Path):
    def broken(_: object) -> httpx.Response:
        summaries = {"68000544": {"ds_meshterms": terms}, "68003704": DEMENTIA.summary()}
        return httpx.Response(200, json={"result": {"uids": list(summaries)} | summaries})

    found = await NcbiStandIn(faults={"esummary": broken}).concepts(tmp_path).by_uid(["68000544", "68003704"])
    assert list(found) == ["68003704"]


async def test_answers_are_kept_for_other_processes(tmp_path: Path):
    first, second = NcbiStandIn(), NcbiStandIn()
    for ncbi in (first, second):
        concepts = ncbi.concepts(tmp_path)
        assert await concepts.corrected("metfromin") == "metformin"
        assert len(await concepts.descriptors(["metformin"])) == 1
        assert list(await concepts.descriptors(["metformin"])) == ["metformin"]
        assert list(await concepts.by_uid([ALZHEIMER.uid, METFORMIN.uid])) == [ALZHEIMER.uid, METFORMIN.uid]
    assert len(first.requests) == 4
    assert second.requests == []


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (httpx.Response(503), ProviderUnavailableError),
        (httpx.Response(200, text='{"esearchresult": {"count": "1", "idl'), ProviderResponseError),
        (httpx.Response(200, text='{"esearchresult": {"ERROR": "Search Backend failed"}}'), ProviderError),
    ],
)
async def test_an_outage_is_an_error_and_is_not_kept(
    answer: httpx.Response, error: type[ProviderError], tmp_path: Path
):
    ncbi = NcbiStandIn(faults={"esearch": lambda _: answer, "esearch mesh": lambda _: answer})
    concepts = ncbi.concepts(tmp_path)
    with pytest.raises(error):
        await concepts.descriptors(["metformin"])
    with pytest.raises(error):
        await concepts.descriptors(["metformin"])
    ncbi.faults.clear()
    assert len(await concepts.descriptors(["metformin"])) == 1
    assert list(await concepts.descriptors(["metformin"])) == ["metformin"]
