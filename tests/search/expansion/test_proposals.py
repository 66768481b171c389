from __future__ import annotations

from typing import Literal

import pytest

from deepcritical_mcp.config import Settings
from deepcritical_mcp.models import ExpandedQuery
from deepcritical_mcp.search.expansion import QueryExpander
from deepcritical_mcp.search.expansion.proposals import Reformulation, choose, same_words_key, semantic_count


def query(text: str, strategy: Literal["direct", "broader", "specific"], reformulation: Reformulation) -> ExpandedQuery:
    return ExpandedQuery(
        query=text, strategy=strategy, reformulation=reformulation, rationale="", pubmed_query=text, source="rules"
    )


DIRECT = query("metformin dementia", "direct", "syntactic")


@pytest.mark.parametrize(("count", "semantic"), [(1, 0), (2, 1), (3, 1), (4, 1), (5, 2), (6, 2), (7, 3), (8, 3)])
def test_37_percent_are_semantic_rounded_to_the_nearest(count: int, semantic: int):
    assert semantic_count(count) == semantic
    pool = [query(f"a{number}", "broader", "syntactic") for number in range(8)]
    pool += [query(f"b{number}", "specific", "semantic") for number in range(8)]
    chosen = choose(DIRECT, pool, count=count)
    assert len(chosen) == count
    assert sum(one.reformulation == "semantic" for one in chosen) == semantic


def test_the_same_words_in_another_order_or_case_are_the_same_query():
    assert same_words_key("Dementia,  metformin") == same_words_key("metformin dementia")
    again = query("DEMENTIA metformin?", "broader", "syntactic")
    other = query("biguanides dementia", "broader", "semantic")
    assert choose(DIRECT, [again, other], count=2) == (DIRECT, other)


def test_a_missing_strategy_takes_the_place_of_the_last_that_can_be_spared():
    pool = [
        query("first", "specific", "syntactic"),
        query("wider", "broader", "syntactic"),
        query("how", "specific", "semantic"),
    ]
    assert [one.query for one in choose(DIRECT, pool, count=3)] == ["metformin dementia", "how", "wider"]


def test_a_kind_that_runs_out_is_replaced_by_the_other():
    pool = [query(f"a{number}", "broader", "syntactic") for number in range(4)]
    assert len(choose(DIRECT, pool, count=4)) == 4


def test_nothing_is_made_up_where_little_was_proposed():
    assert choose(DIRECT, [], count=8) == (DIRECT,)
    assert len(choose(DIRECT, [query("wider", "broader", "syntactic")], count=8)) == 2


def test_no_two_queries_ask_the_same_of_pubmed():
    first = query("metformin dementia biguanides", "broader", "syntactic").model_copy(update={"pubmed_query": "a OR b"})
    second = query("metformin dementia glucophage", "broader", "semantic").model_copy(update={"pubmed_query": "A or B"})
    assert choose(DIRECT, [first, second], count=3) == (DIRECT, first)


def test_a_negation_makes_another_query():
    assert same_words_key("kidney without diabetes") != same_words_key("kidney diabetes")


async def test_without_is_also_read_as_not_mentioned():
    expansion = await QueryExpander(Settings(), None).expand("kidney function without diabetes", count=8, store=None)
    (wider,) = [one for one in expansion.queries if one.strategy == "broader"]
    assert wider.pubmed_query == '((kidney function) AND "without diabetes") OR ((kidney function) NOT diabetes)'
    assert wider.query == "kidney function, no diabetes"
