"""Negations: nothing is lost, nothing is inverted."""

from __future__ import annotations

import pytest

from tests.search.expansion.conftest import Ask, offline
from tests.search.expansion.queries import finds
from tests.search.expansion.session_fakes import NEUROPROTECTION, FakeStore


@pytest.mark.parametrize(
    ("topic", "query"),
    [
        ("asthma without diabetes or gout", 'asthma AND ("without diabetes"[tiab] OR "without gout"[tiab] OR all[sb])'),
        ("neither aspirin nor heparin after stroke", 'stroke AND ("without aspirin"[tiab] OR "without heparin"[tiab]'),
        ("asthma excluding children and pregnant women", 'OR "middle aged"[mh])) OR ((pregnant women) NOT ("'),
        ("no antibiotics unless fever in otitis media", '(otitis media) AND ("no antibiotics"[tiab] OR '),
        ("NO synthase or arginase in asthma", '("NO synthase"[tiab] OR arginase) AND asthma'),
        ("stroke without a history of gout or dementia", '"without a history of dementia"'),
        ("cardiac arrest not due to trauma or sepsis", '("not due to trauma"[tiab] OR "not due to sepsis"[tiab] OR '),
        ("all anticoagulants but warfarin in stroke", '(anticoagulants AND stroke) NOT (warfarin NOT ("'),
        ("dapagliflozin in gout: patients with dementia were excluded", "(dapagliflozin AND gout) NOT (dementia NOT ("),
        ("stroke but not treated with warfarin or aspirin", '"not treated with aspirin"'),
        ("stroke, not treated with warfarin", '"not treated with warfarin"'),
        ("stroke (not with warfarin or aspirin)", "stroke NOT ((warfarin NOT ("),
        ("metformin with or without insulin", "metformin AND (insulin[tiab] OR insulins[tiab] OR all[sb])"),
        ("not only gout but also dementia in men", "gout AND dementia"),
        ("stroke in the absence of dementia", 'stroke AND ("absence of dementia"[tiab] OR all[sb])'),
        ("music without sedatives helps sleep", '(music AND sleep) AND ("without sedatives"[tiab]'),
    ],
)  # fmt: skip
async def test_a_negation_covers_all_that_it_negates(topic: str, query: str):
    assert query in (await offline(topic)).queries[0].pubmed_query


@pytest.mark.parametrize(
    ("topic", "kept"),
    [
        ("metformin alzheimer without diabetes", '"without diabetes"'),
        ("lead and alzheimer", "lead"),
        ("near miss metformin", "near miss"),
        ("memory without alzheimer metformin", '"Metformin"[MeSH Terms]'),
    ],
)
async def test_no_query_loses_or_inverts_a_word(topic: str, kept: str, ask: Ask):
    found = await ask(topic, count=8, store=FakeStore(NEUROPROTECTION))
    assert kept in found.queries[0].pubmed_query


async def test_what_is_not_there_only_ranks_in_every_query():
    direct, *others = (await offline("kidney failure without diabetes")).queries
    assert direct.pubmed_query == '(kidney failure) AND ("without diabetes"[tiab] OR all[sb])'
    assert all(finds(one.pubmed_query, "kidney failure") for one in others if one.strategy == "broader")
    assert not any(one.pubmed_query.endswith('AND "without diabetes"') for one in others)


async def test_a_drug_that_is_not_meant_is_excluded():
    direct = (await offline("betablockers not propranolol for migraine")).queries[0].pubmed_query
    assert finds(direct, "betablockers migraine")
    assert not finds(direct, "betablockers migraine propranolol")


async def test_negations_leave_room_for_the_subjects(ask: Ask):
    direct = (await ask("gout with neither allopurinol nor febuxostat but topiramate")).queries[0].pubmed_query
    assert not finds(direct, "gout ; without allopurinol ; without febuxostat")


async def test_a_negation_that_pubmed_has_no_phrase_for_only_ranks(ask: Ask):
    direct = (await ask("alzheimer not caused by statins", unknown=["not caused by statins"])).queries[0]
    assert finds(direct.pubmed_query, "alzheimer")
    assert "“not caused by statins”: only to rank by" in direct.rationale
