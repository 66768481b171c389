"""One ranking out of several."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from deepcritical_mcp.errors import ProviderUnavailableError
from deepcritical_mcp.search.literature_ranking import Asked, depth_for, window_of_all
from deepcritical_mcp.sources.pubmed.eutils import ESearchAnswer

FAILED = Asked("other", is_direct=False, error=ProviderUnavailableError("pubmed", "It is down."))


def asked(ids: list[str], depth: int, *, is_direct: bool = False) -> Asked:
    return Asked("q", is_direct, ESearchAnswer(count=len(ids), ids=tuple(ids[:depth])))


def test_the_query_weighs_three_times_a_variant():
    direct = asked(["1", "2"], 200, is_direct=True)
    variants = [asked(["9", "8"], 200), asked(["9", "7"], 200)]
    assert window_of_all([direct, *variants], 0, 10, 200).pmids == ("1", "2", "9", "8", "7")


def test_what_several_wordings_find_comes_before_what_one_finds():
    direct = asked(["1", "2", "3"], 200, is_direct=True)
    assert window_of_all([direct, asked(["3", "4"], 200)], 0, 10, 200).pmids == ("3", "1", "2", "4")


def test_a_wording_that_failed_does_not_count():
    window = window_of_all([asked(["1", "2"], 200, is_direct=True), FAILED], 0, 10, 200)
    assert (window.pmids, window.total, window.ends) == (("1", "2"), 2, True)


def test_the_total_counts_what_is_known_to_exist():
    many = Asked("q", True, ESearchAnswer(count=5_000, ids=tuple(map(str, range(200)))))
    window = window_of_all([many, asked(["x"], 200)], 0, 10, 200)
    assert (window.total, window.ends) == (5_000, False)
    window = window_of_all([asked(["1", "2"], 200, is_direct=True), asked(["2", "3"], 200)], 0, 10, 200)
    assert (window.total, window.ends) == (3, True)


def test_depths_are_whole_blocks_up_to_pubmeds_end():
    assert [depth_for(last) for last in (1, 200, 201, 9_998)] == [200, 200, 400, 9_998]


PMIDS = st.lists(st.integers(1, 900).map(str), unique=True, max_size=700)


@settings(deadline=None, max_examples=40)
@given(PMIDS, PMIDS, st.integers(1, 100))
def test_pages_neither_repeat_nor_miss_a_record(direct: list[str], variant: list[str], size: int):
    paged: list[str] = []
    ends = False
    while not ends:
        depth = depth_for(len(paged) + size)
        both = [asked(direct, depth, is_direct=True), asked(variant, depth)]
        window = window_of_all(both, len(paged), size, depth)
        paged += window.pmids
        ends = window.ends
    assert len(paged) == len(set(paged))
    assert set(paged) == {*direct, *variant}
