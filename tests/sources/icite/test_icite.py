"""iCite, over loopback."""

import os
from pathlib import Path

import httpx
import pytest

from deepcritical_mcp.errors import ProviderResponseError
from deepcritical_mcp.sources.lookup import CitingDocuments
from tests.net.stand_in import Answer, stand_in
from tests.sources.citing_wire import icite, icite_paper, make_icite

FOLDER = os.environ.get("DEEPCRITICAL_SOURCES_DIR")


@pytest.mark.parametrize("listed", [[21, 305, 40, 21], ["21", "305", "40"]])
async def test_citing_papers_are_listed_in_any_spelling_the_highest_first(listed: object, http: httpx.AsyncClient):
    async with stand_in(icite(icite_paper(11, 7, cited_by=listed))) as server:
        found = await make_icite(server.url, http).citing("11", 2)
    assert found == CitingDocuments(7, ("305", "40"))


@pytest.mark.parametrize("row", [icite_paper(12, 1), {"title": "no number"}])
async def test_papers_that_nobody_asked_for_are_an_error(row: dict[str, object], http: httpx.AsyncClient):
    async with stand_in(icite(row)) as server:
        with pytest.raises(ProviderResponseError):
            await make_icite(server.url, http).counts(["11"])


@pytest.mark.skipif(not FOLDER, reason="needs the recorded answers in DEEPCRITICAL_SOURCES_DIR")
async def test_the_recorded_answer_is_read(http: httpx.AsyncClient):
    body = (Path(FOLDER or "") / "icite" / "needle-pubs-32162448.json").read_bytes()
    async with stand_in(Answer(200, body)) as server:
        service = make_icite(server.url, http)
        found = await service.citing("32162448", 100)
        counts = await service.counts(["32162448"])
    assert found.total == len(found.ids) == counts["32162448"] == 17
    assert found.ids[0] == "40535648"


async def test_a_paper_that_nobody_cites_or_icite_does_not_know(http: httpx.AsyncClient):
    nobody = [icite(icite_paper(11, 0, cited_by=listed)) for listed in (None, "", list[int]())]
    async with stand_in(*nobody, icite()) as server:
        service = make_icite(server.url, http)
        assert await service.counts([]) == {}
        assert [await service.citing("11", 10) for _ in range(4)] == [CitingDocuments(0)] * 4
    assert len(server.asked) == 4
