"""The next pages of a search with variants continue what the first page was told."""

from __future__ import annotations

from deepcritical_mcp.sources.pubmed.recent import KEPT_FOR_PAGES, Recent
from tests.net.stand_in import Answer
from tests.search.fake_session import FakeSession
from tests.search.pubmed_library import Library, library, request
from tests.sources.ncbi import article

MANY = {str(number): article(str(number), f"Zinc, part {number}.") for number in range(1, 31)}
VARIANTS = ("copper", "iron")


async def page(lib: Library, offset: int) -> list[str]:
    asked = request("zinc", variants=VARIANTS, max_results=10, offset=offset)
    found = await lib.search.search(asked, FakeSession())
    return [item.citation.pmid for item in found.evidence]


async def test_a_variant_that_failed_is_asked_again_for_the_next_page():
    async with library(MANY) as lib:
        answered = lib.ncbi.answer
        lib.ncbi.server.answer = lambda asked: Answer(400) if asked.query.get("term") == "iron" else answered(asked)
        await page(lib, 0)
        lib.ncbi.server.answer = answered
        before = len(lib.ncbi.asked)
        await page(lib, 10)
    assert [params["term"] for utility, params in lib.ncbi.asked[before:] if utility == "esearch"] == ["iron"]


def test_values_count_for_minutes_and_are_bounded():
    now = 100.0
    kept = Recent[int, str](1_000, KEPT_FOR_PAGES, clock=lambda: now)
    for number in range(20):
        kept.put(number, "answer", 220)
        kept.put(number, "answer", 220)
        assert kept.size <= 1_000
    assert kept.get(19) == "answer"
    assert kept.get(1) is None
    now += KEPT_FOR_PAGES
    assert kept.get(19) is None
