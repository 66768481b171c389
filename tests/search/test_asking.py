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


def test_the_query_weighs_three_times_a_variant():
    direct = asked(["1", "2"], 200)
    variants = [asked(["9", "8"], 200), asked(["9", "7"], 200)]
    assert ranking_of_all([direct, *variants], 0, 10, 200).ids == ("1", "2", "9", "8", "7")


def test_what_several_variants_find_comes_before_what_one_finds():
    direct = asked(["1", "2", "3"], 200)
    assert ranking_of_all([direct, asked(["3", "4"], 200)], 0, 10, 200).ids == ("3", "1", "2", "4")


def test_a_variant_that_failed_does_not_count():
    window = ranking_of_all([asked(["1", "2"], 200), FAILED], 0, 10, 200)
    assert (window.ids, window.total, window.ends) == (("1", "2"), 2, True)


def test_the_total_counts_what_is_known_to_exist():
    many = Outcome("q", Answer(tuple(map(str, range(200))), 5_000))
    window = ranking_of_all([many, asked(["x"], 200)], 0, 10, 200)
    assert (window.total, window.ends) == (5_000, False)
    window = ranking_of_all([asked(["1", "2"], 200), asked(["2", "3"], 200)], 0, 10, 200)
    assert (window.total, window.ends) == (3, True)


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
