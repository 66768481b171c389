from __future__ import annotations

from typing import Literal

import pytest

from deepcritical_mcp.config import Settings
from deepcritical_mcp.models import ExpandedQuery
from deepcritical_mcp.search.expansion import QueryExpander
from deepcritical_mcp.search.expansion.plan import Reformulation
from deepcritical_mcp.search.expansion.proposals import choose, same_words_key, semantic_count


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


async def proposed(topic: str) -> dict[str, ExpandedQuery]:
    """What is proposed for a topic without NCBI: rationale -> query."""
    expansion = await QueryExpander(Settings(), None).expand(topic, count=8, store=None)
    return {one.rationale: one for one in expansion.queries}


@pytest.mark.parametrize(
    ("topic", "others"),
    [
        ("psychosis in patients not taking antipsychotics", "antipsychotics AND (naive[tiab] OR untreated[tiab]"),
        ("gout in people unable to tolerate allopurinol", "allopurinol AND (intoleran*[tiab] OR contraindicat*[tiab])"),
        ("lung cancer in people who have never smoked", '"never smokers"[tiab] OR "never smoker"[tiab] OR nonsmok*'),
    ],
)
async def test_a_negation_is_searched_as_papers_word_it_too(topic: str, others: str):
    direct, *_ = (await proposed(topic)).values()
    assert others in direct.pubmed_query
    assert "as a phrase, or what papers say instead, must occur" in direct.rationale


async def test_never_events_are_a_thing_not_a_negated_verb():
    direct, *_ = (await proposed("never events in hospitals")).values()
    assert direct.pubmed_query == '"never events" AND hospitals'


@pytest.mark.parametrize(
    ("topic", "age"),
    [
        ("statins in adults aged 75 years and over", "aged[mh]"),
        ("TAVI in people over 80", '"aged, 80 and over"[mh]'),
        ("IVF in women over 40", '"middle aged"[mh] OR aged[mh]'),
    ],
)
async def test_an_age_is_searched_by_its_group(topic: str, age: str):
    direct, *_ = (await proposed(topic)).values()
    assert age in direct.pubmed_query
    assert "by MeSH's age group" in direct.rationale
    assert not {"75", "80", "40"} & {*direct.pubmed_query.replace('"', " ").split(" AND ")}


async def test_a_range_of_ages_stays_as_it_is_written():
    direct, *_ = (await proposed("asthma in people aged 20 to 40")).values()
    assert "[mh]" not in direct.pubmed_query


async def test_either_side_of_a_comparison_is_broader():
    queries = (await proposed("yoga versus physiotherapy in adolescents")).values()
    (wide,) = [one for one in queries if "need not compare" in one.rationale]
    assert (wide.strategy, wide.query) == ("broader", "studies of yoga or physiotherapy adolescents")
    assert wide.pubmed_query == "(yoga OR physiotherapy) AND adolescents"


async def test_a_pico_question_is_offered_without_its_comparison():
    topic = "P: adults with sepsis; I: balanced crystalloids; C: normal saline; O: mortality"
    (wide,) = [one for one in (await proposed(topic)).values() if "comparison" in one.rationale]
    assert wide.pubmed_query == "adults AND sepsis AND (balanced crystalloids)"


async def test_the_subjects_may_be_wanted_in_the_title():
    topic = "cranberry juice against bladder infections"
    (main,) = [one for one in (await proposed(topic)).values() if "in the title" in one.rationale]
    title = '("cranberry"[ti] AND "juice"[ti]) AND ("bladder"[ti] AND "infections"[ti])'
    assert main.pubmed_query == f"((cranberry juice) AND (bladder infections)) AND ({title})"
    assert main.query == f"studies on {topic}"


async def test_a_scrap_of_the_topic_is_not_wanted_in_the_title():
    assert not [one for one in await proposed("restraints in dementia") if "in the title" in one]


async def test_an_effect_of_something_is_the_something():
    direct, *_ = (await proposed("effect of music on anxiety")).values()
    assert direct.pubmed_query == "music AND anxiety"
    assert "“effect” left out" in direct.rationale


@pytest.mark.parametrize(
    ("topic", "query"),
    [
        ("I want to know if statins prevent dementia", "statins dementia"),
        ("I would like to find out whether yoga helps in terms of sleep", "yoga AND sleep"),
        ("hypertension except in pregnancy", "hypertension NOT pregnancy"),
        ("treatments other than surgery for sciatica", "treatments AND sciatica"),
        ("failure to rescue", '"failure to rescue"[tiab]'),
        ("hospital at home for older people", '"hospital at home"[tiab] AND (older people)'),
    ],
)
async def test_what_surrounds_the_subject_is_not_searched(topic: str, query: str):
    direct, *_ = (await proposed(topic)).values()
    assert direct.pubmed_query == query


async def test_no_filter_brings_back_what_the_topic_excludes():
    queries = (await proposed("lupus nephritis excluding children")).values()
    assert not [one for one in queries if "child[mh]" in one.pubmed_query]


async def test_a_comparison_with_nothing_is_left_out_whole():
    (wide,) = [
        one
        for one in (await proposed("P: nurses; I: nap; C: no nap; O: fatigue")).values()
        if "comparison" in one.rationale
    ]
    assert wide.pubmed_query == "nurses AND nap"


async def test_a_dose_is_left_out_before_the_disease():
    queries = (await proposed("vitamin C 1.5 g every 6 hours in septic shock")).values()
    assert "septic shock" in " ".join(one.pubmed_query for one in queries if one.strategy == "broader")


async def test_outcomes_are_alternatives_without_their_times():
    topic = "P: adults with sciatica; I: yoga; O: pain at 6 months, disability"
    (outcome,) = [one for one in (await proposed(topic)).values() if "required" in one.rationale]
    assert outcome.pubmed_query.endswith("AND (pain OR disability)")
