"""One ranking out of several."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import ProviderUnavailableError
from deepcritical_mcp.search.search_steps import Outcome, Ranking, depth, rank
from deepcritical_mcp.sources.base import Answer, Net, SearchRequest, Source
from deepcritical_mcp.sources.pubmed.request import PubMedRequest


class Library(Source):
    """A source in two steps, which these tests never ask."""

    name = "library"
    title = "Library"
    kind = "literature"
    cited_as = "pubmed"
    request = PubMedRequest
    two_step = True

    @classmethod
    def create(cls, settings: Settings, net: Net) -> Library:
        return cls()

    async def ask(self, variant: str, request: SearchRequest, *, offset: int, limit: int) -> Answer:
        raise NotImplementedError


SOURCE = Library()
FAILED = Outcome("other", error=ProviderUnavailableError("pubmed", "It is down."))


def asked(ids: list[str], depth: int) -> Outcome:
    return Outcome("q", Answer(tuple(ids[:depth]), len(ids)))


def ranking_of_all(outcomes: list[Outcome], offset: int, size: int, limit: int) -> Ranking:
    return rank(SOURCE, outcomes, offset=offset, start=0, size=size, limit=limit)


def test_depths_are_whole_blocks_up_to_pubmeds_end():
    assert [depth(SOURCE, last) for last in (1, 200, 201, 9_998)] == [200, 200, 400, 9_998]


PMIDS = st.lists(st.integers(1, 900).map(str), unique=True, max_size=700)


@settings(deadline=None, max_examples=40)
@given(PMIDS, PMIDS, st.integers(1, 100))
def test_pages_neither_repeat_nor_miss_a_record(direct: list[str], variant: list[str], size: int):
    paged: list[str] = []
    ends = False
    while not ends:
        limit = depth(SOURCE, len(paged) + size)
        both = [asked(direct, limit), asked(variant, limit)]
        window = ranking_of_all(both, len(paged), size, limit)
        paged += window.ids
        ends = window.ends
    assert len(paged) == len(set(paged))
    assert set(paged) == {*direct, *variant}
