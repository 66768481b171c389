"""What each service says about links between papers, read from its wire format."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from deepcritical_mcp.identifiers import RecordIds
from deepcritical_mcp.sources.lookup import Linked
from tests.net.stand_in import Answer, as_json, stand_in
from tests.sources import link_wire as wire
from tests.sources.citing_wire import icite, icite_paper, make_citations, make_icite
from tests.sources.crossref.crossref_wire import listed, make_crossref, work

FOLDER = os.environ.get("DEEPCRITICAL_SOURCES_DIR")
PAPER = RecordIds("11", doi="10.5555/p11")
TWELVE, ALL_OF_TWELVE = frozenset({"pmid:12"}), frozenset({"pmid:12", "doi:10.5555/p12", "openalex:W12"})
ARXIV = frozenset({"doi:10.48550/arxiv.2601.17238"})
REFERENCES = [
    {"key": "1", "DOI": "10.5555/P12", "doi-asserted-by": "crossref"},
    {"key": "2", "unstructured": "Ruiz A. Zinc. https://doi.org/10.5555/zinc."},
    {"key": "3", "journal-title": "J Zinc", "year": "2001", "volume": "9", "first-page": "77", "author": "Ruiz"},
    {"key": "4", "unstructured": "WHO. A report. Geneva, 1999."},
    {"key": "5", "journal-title": "J Zinc", "year": "2001"},
]


@pytest.mark.parametrize(
    ("make", "answer", "found"),
    [
        (make_citations, wire.EUROPE_PMC_REFERENCES, Linked((TWELVE, frozenset({"doi:10.5555/book"})), 1)),
        (make_icite, icite(icite_paper(11, 1, references=["12"])), Linked((TWELVE,))),
        (make_icite, icite(), Linked()),
        (wire.make_opencitations, wire.OPENCITATIONS_REFERENCES, Linked((ALL_OF_TWELVE, ARXIV), 1)),
        (wire.make_opencitations, as_json([]), Linked()),
        (wire.make_openalex, wire.OPENALEX_WORK, Linked((frozenset({"openalex:W12"}), frozenset({"openalex:W13"})))),
        (wire.make_openalex, wire.HTML_404, Linked()),
        (
            make_crossref,
            listed(work("10.5555/p11", reference=REFERENCES)),
            Linked(
                (
                    frozenset({"doi:10.5555/p12"}),
                    frozenset({"doi:10.5555/zinc"}),
                    frozenset({"place:J Zinc|2001|9|77|Ruiz"}),
                ),
                2,
            ),
        ),
    ],
)
async def test_references_are_read_by_every_number_that_comes_with_them(
    make: Callable[..., Any], answer: Answer, found: Linked, http: httpx.AsyncClient
) -> None:
    async with stand_in(answer) as server:
        assert await make(server.url, http).links([PAPER], "references") == [found]


async def test_openalex_is_asked_for_single_works_which_are_free_and_for_its_own_numbers_in_lists(
    http: httpx.AsyncClient,
) -> None:
    async with stand_in(wire.OPENALEX_WORK, wire.OPENALEX_WORKS) as server:
        service = wire.make_openalex(server.url, http)
        await service.links([PAPER], "references")
        assert await service.names(["openalex:W12", "openalex:W99"]) == {"openalex:W12": ALL_OF_TWELVE}
    single, several = server.asked
    assert single.path == "/works/pmid:11"
    assert several.query["filter"] == "openalex:W12|W99"


@pytest.mark.skipif(not FOLDER, reason="needs the recorded answers in DEEPCRITICAL_SOURCES_DIR")
@pytest.mark.parametrize(
    ("name", "count"),
    [("pygetpapers-10.1038_s41467-024-45254-7.json", 63), ("pygetpapers-10.1073_pnas.2307803120.json", 37)],
)
async def test_recorded_works_of_openalex_are_read(name: str, count: int, http: httpx.AsyncClient) -> None:
    async with stand_in(Answer(200, (Path(FOLDER or "") / "openalex" / name).read_bytes())) as server:
        (found,) = await wire.make_openalex(server.url, http).links([PAPER], "references")
    assert len(found.papers) == count
