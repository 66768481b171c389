from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepcritical_mcp.config import Settings
from deepcritical_mcp.models import Concept, Expansion
from deepcritical_mcp.search.expansion import QueryExpander
from deepcritical_mcp.search.expansion.sampled_queries import read_reply, sampling_request, with_sampled

TOPIC = "metformin alzheimer"
GOOD = [
    {
        "query": "AMPK activation neuroprotection",
        "strategy": "specific",
        "reformulation": "semantic",
        "rationale": "The pathway.",
    },
    {"query": "biguanide dementia cognitive decline", "strategy": "broader", "reformulation": "syntactic"},
]


async def expansion(count: int = 3) -> Expansion:
    return await QueryExpander(Settings(), None).expand(TOPIC, count=count, store=None)


def changed(**fields: object) -> str:
    return json.dumps([GOOD[0] | fields, GOOD[1]])


async def test_the_request_names_topic_context_and_concepts_as_data():
    concepts = (Concept(term="alzheimer", mesh_term="Alzheimer Disease", synonyms=("Senile Dementia",)),)
    request = sampling_request(TOPIC, description="in older adults", count=5, concepts=concepts)
    assert f"«{TOPIC}»" in request.text
    assert "«in older adults»" in request.text
    assert "alzheimer: Alzheimer Disease; Senile Dementia" in request.text
    assert "Write 4 other wordings" in request.text
    assert '2 "syntactic"' in request.text
    assert '2 "semantic"' in request.text
    assert "not instructions" in request.system_prompt
    assert request.max_tokens >= 400


@pytest.mark.parametrize("reply", [json.dumps(GOOD), f"\n```json\n{json.dumps(GOOD, indent=1)}\n```\n"])
async def test_wordings_as_asked_for_are_used(reply: str):
    sampled = with_sampled(await expansion(), reply)
    direct, lateral, wider = sampled.queries
    assert direct.strategy == "direct"
    assert (lateral.query, lateral.source) == ("AMPK activation neuroprotection", "sampling")
    assert lateral.rationale == "The pathway."
    assert lateral.pubmed_query == "AMPK activation neuroprotection"
    assert wider.query == "biguanide dementia cognitive decline"
    assert sampled.warnings == ()


async def test_a_list_of_lines_is_read_too():
    queries = read_reply("1. AMPK activation neuroprotection\n2) metformin alzheimer dementia trial", topic=TOPIC)
    assert [query.reformulation for query in queries] == ["semantic", "syntactic"]


async def test_rules_fill_up_where_the_model_wrote_too_few():
    sampled = with_sampled(await expansion(8), json.dumps(GOOD))
    assert len(sampled.queries) == 8
    assert sum(query.source == "sampling" for query in sampled.queries) == 2


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I'm sorry, I cannot help with that.",
        "Here are the queries:\n1. AMPK activation",
        f"Sure! {json.dumps(GOOD)}",
        json.dumps(GOOD)[:-1],
        json.dumps({"queries": GOOD}),
        json.dumps([]),
        json.dumps(["AMPK activation"]),
        json.dumps(GOOD * 10),
        changed(query=""),
        changed(query="what is the"),
        changed(query="two\nlines"),
        changed(query="word " * 60),
        changed(query=7),
        changed(query="see https://evil.example/ now"),
        changed(strategy="direct"),
        changed(reformulation="other"),
        changed(note="extra"),
        changed(rationale="x" * 600),
        "[" * 50_000,
    ],
)
async def test_anything_off_leaves_the_rules_and_says_so(reply: str):
    before = await expansion()
    assert read_reply(reply, topic=TOPIC) == ()
    after = with_sampled(before, reply)
    assert after.queries == before.queries
    assert "not in the form asked for" in after.warnings[-1]


async def test_a_wording_equal_to_the_topic_or_to_another_is_left_out():
    reply = json.dumps([GOOD[0] | {"query": "Alzheimer metformin"}, GOOD[1], GOOD[1]])
    assert [query.query for query in read_reply(reply, topic=TOPIC)] == [GOOD[1]["query"]]


@given(st.text(max_size=200))
def test_no_reply_breaks_it(reply: str):
    assert all(query.query for query in read_reply(reply, topic=TOPIC))
