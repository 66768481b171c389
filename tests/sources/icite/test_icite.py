"""iCite, over loopback."""

import os
from pathlib import Path

import httpx
import pytest

from deepcritical_mcp.errors import ProviderResponseError
from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.sources.lookup import Linked
from tests.net.stand_in import Answer, stand_in
from tests.sources.citing_wire import icite, icite_paper, make_icite

PAPER = RecordIds("11")
FOLDER = os.environ.get("DEEPCRITICAL_SOURCES_DIR")


@pytest.mark.parametrize("listed", [[21, 305, 40, 21], ["21", "305", "40"]])
async def test_citing_papers_are_listed_in_any_spelling_the_highest_first(listed: object, http: httpx.AsyncClient):
    async with stand_in(icite(icite_paper(11, 7, cited_by=listed))) as server:
        found = await make_icite(server.url, http).links([PAPER], "cited_by")
    assert found == [Linked((frozenset({"pmid:305"}), frozenset({"pmid:40"}), frozenset({"pmid:21"})), 4)]


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
        (found,) = await service.links([RecordIds("32162448")], "cited_by")
        counts = await service.counts(["32162448"])
    assert (len(found.papers), found.unnamed, counts["32162448"]) == (17, 0, 17)
    assert found.papers[0] == {"pmid:40535648"}


async def test_a_paper_that_nobody_cites_or_icite_does_not_know(http: httpx.AsyncClient):
    nobody = [icite(icite_paper(11, 0, cited_by=listed)) for listed in (None, "", list[int]())]
    async with stand_in(*nobody, icite()) as server:
        service = make_icite(server.url, http)
        assert [await service.links([PAPER], "cited_by") for _ in range(4)] == [[Linked()]] * 4
    assert len(server.asked) == 4
