"""Negations: nothing is lost, nothing is inverted."""

from __future__ import annotations

import pytest

from deepcritical_mcp.errors import InvalidInputError
from deepcritical_mcp.models import QUERY_LIMIT
from tests.search.expansion.conftest import Ask, offline
from tests.search.expansion.ncbi_stand_in import Record
from tests.search.expansion.queries import finds
from tests.search.expansion.session_fakes import NEUROPROTECTION, fake_store


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
        ("never exposed workers and mesothelioma", 'AND ("never exposed"[tiab] OR all[sb])'),
        ("people not attending screening", '"not attending screening"'),
        ("antidepressants other than SSRIs in gout", 'AND gout) AND ("other than SSRIs"[tiab] OR all[sb])'),
        ("vaccines do not cause autism", "vaccines AND autism"),
        ("metformin not in mice", "metformin NOT (mice NOT"),
        # In joined terms too, of which it is none.
        ("migraine AND not propranolol", "migraine NOT (propranolol NOT"),
        ("gout AND (excluding children)", "gout NOT ((infant[mh]"),
        ("asthma AND (with or without steroids)", "asthma AND (steroid[tiab] OR steroids[tiab] OR all[sb])"),
        ("asthma AND (NOT (gout OR anemia))", "asthma NOT ((gout NOT"),
        ('"do not resuscitate" AND gout', '"do not resuscitate"[tiab] AND gout' ),
        # What brackets, a colon and a comma say.
        ("gout and not (warfarin or aspirin) and anemia", "(gout AND anemia) NOT ((warfarin NOT"),
        ("gout AND anemia excluding (warfarin OR aspirin)", "(gout AND anemia) NOT ((warfarin NOT"),
        ("gout (exclude: warfarin)", "gout NOT (warfarin NOT"),
        ("febuxostat in gout, not anemia, and stroke", "NOT (anemia NOT"),
        ("why doesn't warfarin cause gout", "warfarin AND gout"),
        ("gout without anemia AND febuxostat", '(gout AND febuxostat) AND ("without anemia"[tiab] OR all[sb])'),
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
    found = await ask(topic, count=8, store=fake_store(NEUROPROTECTION))
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


@pytest.mark.parametrize("topic", ["NOT gout", "(NOT children) AND asthma", "NOT (children) asthma", "excluding gout"])
async def test_what_only_leaves_out_is_refused_rather_than_inverted(topic: str):
    with pytest.raises(InvalidInputError, match=r"what papers (are|must be) about"):
        await offline(topic)


async def test_long_joined_terms_fit_in_a_query(ask: Ask):
    names = tuple(f"disorder number {number} of the {'very ' * 8}long kind" for number in range(60))
    records = [Record(900 + number, (f"Disease{number}", *names), f"C10.2{number}.9") for number in range(5)]
    found = await ask(f"gout AND ({' OR '.join(f'disease{number}' for number in range(5))})", records=records)
    assert all(len(one.pubmed_query) <= QUERY_LIMIT for one in found.queries)
