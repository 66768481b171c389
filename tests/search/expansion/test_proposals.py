from __future__ import annotations

from typing import Literal

import pytest

from deepcritical_mcp.config import Settings
from deepcritical_mcp.models import ExpandedQuery
from deepcritical_mcp.search.expansion.expander import QueryExpander
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


@pytest.mark.parametrize(
    ("topic", "ages"),
    [
        ("asthma in people aged 20 to 40", '(adult[mh] OR "20-40"[tiab] OR "20 to 40"[tiab])'),
        ("FIT in people aged 45-75", '("middle aged"[mh] OR aged[mh] OR "45-75"[tiab] OR "45 to 75"[tiab])'),
        ("asthma in children aged 5 to 12", '("child, preschool"[mh] OR child[mh:noexp] OR "5-12"[tiab]'),
        ("croup in children aged 6 to 24 months", '(infant[mh] OR "child, preschool"[mh] OR "6-24"[tiab]'),
    ],
)
async def test_a_range_of_ages_is_searched_by_all_its_groups(topic: str, ages: str):
    direct, *_ = (await proposed(topic)).values()
    assert ages in direct.pubmed_query
    assert "by MeSH's age group" in direct.rationale


@pytest.mark.parametrize(
    ("topic", "query"),
    [
        ("heart failure without diabetes or gout", '(heart failure) AND "without diabetes" AND "without gout"'),
        ("stroke in people not on aspirin, warfarin or heparin", None),
        ("neither aspirin nor heparin after stroke", '"without aspirin" AND "without heparin" AND stroke'),
        ("asthma excluding children and pregnant women", "asthma NOT (children OR (pregnant women))"),
        ("lead poisoning not in children", "(lead poisoning) NOT children"),
        ("no antibiotics unless fever in otitis media", '"no antibiotics" AND (otitis media)'),
        ("stents in patients not previously known not to tolerate aspirin", "stents AND aspirin"),
        ("NO synthase or arginase in asthma", "((NO synthase) OR arginase) AND asthma"),
        ("stroke without gout and without dementia", 'stroke AND "without gout" AND "without dementia"'),
        (
            "stroke without a history of gout or dementia",
            '"without a history of gout" AND "without a history of dementia"',
        ),
        ("cardiac arrest not due to trauma or sepsis", '"not due to trauma" AND "not due to sepsis"'),
        ("gout without either allopurinol or febuxostat", 'gout AND "without allopurinol" AND "without febuxostat"'),
        ("stroke without (gout or dementia)", 'stroke AND "without gout" AND "without dementia"'),
        ("adults who don't have gout or dementia", '"do not have gout" AND "not have dementia"'),
        ("obesity w/o gout in men", 'obesity AND "without gout" AND men'),
        ("all anticoagulants but warfarin in stroke", "(anticoagulants AND stroke) NOT warfarin"),
        ("dapagliflozin in gout: patients with dementia were excluded", "(dapagliflozin AND gout) NOT dementia"),
        ("amlodipine (excluding pregnancy and children)", "amlodipine NOT (pregnancy OR children)"),
        ("stroke (not with warfarin or aspirin)", "stroke NOT (warfarin OR aspirin)"),
        ("WARFARIN IN STROKE, BUT NOT IN GOUT OR DEMENTIA", "(WARFARIN IN STROKE) NOT (GOUT OR DEMENTIA)"),
        ("SIDS and not back sleeping", "SIDS NOT (back sleeping)"),
        ("dysphagia, not dysphagia after stroke", "dysphagia NOT (dysphagia after stroke)"),
        ("patients who left without being seen", 'left AND "without being seen"'),
        ("stroke not anticoagulated despite fibrillation", 'stroke AND "not anticoagulated" AND fibrillation'),
        ("not only gout but also dementia in men", "gout AND dementia AND men"),
        ("dapagliflozin regardless of gout", "dapagliflozin"),
        ("D-dimer to exclude embolism", "D-dimer AND (exclude embolism)"),
        ("embolism can be excluded by D-dimer", "embolism AND excluded AND D-dimer"),
        ("bed rest or not for sciatica", "(bed rest) AND sciatica"),
        ("to treat or not to treat gout", "treat gout"),
        ("omitting radiotherapy in breast cancer", "(omitting radiotherapy) AND (breast cancer)"),
    ],
)
async def test_a_negation_covers_all_that_it_negates(topic: str, query: str | None):
    direct, *others = (await proposed(topic)).values()
    if query:
        assert direct.pubmed_query.endswith(query)
    for drug in ("aspirin", "warfarin", "heparin") if not query else ():
        assert f'"not on {drug}"' in direct.pubmed_query
        assert f" AND {drug} AND" not in "".join(one.pubmed_query for one in others)


async def test_what_no_query_can_say_is_left_out_and_named():
    direct, *_ = (await proposed("no antibiotics unless fever in otitis media")).values()
    assert "“unless fever” left out, since PubMed cannot search for it" in direct.rationale


@pytest.mark.parametrize(
    ("topic", "query"),
    [
        ("aspirin or warfarin after stroke", "(aspirin OR warfarin) AND stroke"),
        ("breast or ovarian cancer in young women", "((breast cancer) OR (ovarian cancer)) AND (young women)"),
        ("treatment of anxiety or depression", "treatment AND (anxiety OR depression)"),
        ("In AF, aspirin or warfarin", "AF AND (aspirin OR warfarin)"),
        ("gout, aspirin or warfarin, pregnancy", "gout AND (aspirin OR warfarin) AND pregnancy"),
        ("antibiotics instead of surgery for appendicitis", "antibiotics AND surgery AND appendicitis"),
        ("statins: rosuvastatin, simvastatin, lovastatin", "statins AND (rosuvastatin OR simvastatin OR lovastatin)"),
        ("breast, ovarian or colorectal cancer and gout", "(breast cancer) OR (ovarian cancer) OR (colorectal cancer)"),
        ("heart or lung transplant recipients", "((heart transplant recipients) OR (lung transplant recipients))"),
        ("does vitamin D or calcium reduce falls or fractures", "((vitamin D) OR calcium) AND (falls OR fractures)"),
        ("metformin/insulin in pregnancy", "(metformin OR insulin) AND pregnancy"),
    ],
)
async def test_one_of_several_alternatives_is_enough(topic: str, query: str):
    direct, *_ = (await proposed(topic)).values()
    assert query in direct.pubmed_query


async def test_a_type_of_study_in_a_request_is_not_lost():
    direct, *_ = (await proposed("find randomized trials of yoga for asthma")).values()
    assert "randomized" in direct.pubmed_query
    direct, *_ = (await proposed("I would like randomized trials of yoga for asthma")).values()
    assert "randomized" in direct.pubmed_query + direct.rationale


@pytest.mark.parametrize(
    ("topic", "query"),
    [
        ("I am a nurse and would like to find recent evidence on whether training helps asthma", "training AND asthma"),
        ("Can I give ceftriaxone to a patient with penicillin allergy?", "ceftriaxone AND (penicillin allergy)"),
        ("Please show me studies on yoga for asthma, ideally trials from the last 5 years", "yoga AND asthma"),
        ("vitamin D does not prevent falls in older people", "(vitamin D) AND falls AND (older people)"),
        ("Could you please find studies on yoga for asthma", "yoga AND asthma"),
        ("asthma and yoga. Thank you", "asthma AND yoga"),
    ],
)
async def test_what_asks_is_no_part_of_the_question(topic: str, query: str):
    direct, *_ = (await proposed(topic)).values()
    assert direct.pubmed_query == query


async def test_words_before_an_age_and_a_double_negation_are_read():
    direct, *_ = (await proposed("croup in children under 2 years")).values()
    assert '(infant[mh] OR "under 2"[tiab] OR "younger than 2"[tiab])' in direct.pubmed_query
    direct, *_ = (await proposed("not uncommon effects of statins")).values()
    assert "not" not in direct.pubmed_query.split()


async def test_a_phrase_in_quotes_stays_one():
    direct, *_ = (await proposed('barriers to "shared decision making" in oncology')).values()
    assert direct.pubmed_query == 'barriers AND "shared decision making"[tiab] AND oncology'


async def test_the_letters_of_pico_in_parentheses_are_no_words():
    topic = "In adults with gout (P), does allopurinol (I) compared with febuxostat (C) reduce flares (O)?"
    for one in (await proposed(topic)).values():
        assert not {"P", "I", "C", "O"} & {*one.pubmed_query.split()} & {*one.query.split()}


async def test_a_dose_is_a_phrase():
    direct, *_ = (await proposed("aspirin 81 mg vs 325 mg for preeclampsia")).values()
    dose = '("81 mg"[tiab] OR "81mg"[tiab])'
    assert dose in direct.pubmed_query
    assert '"325 mg"[tiab]' in direct.pubmed_query


async def test_who_asks_is_left_out_and_named():
    topic = "I am a midwife in a rural clinic and I would like to know whether delayed cord clamping helps"
    direct, *_ = (await proposed(topic)).values()
    assert "midwife" not in direct.pubmed_query
    assert "“I am a midwife in a rural clinic and I would like to know whether” left out" in direct.rationale


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


async def test_the_people_of_a_study_are_not_wanted_in_the_title():
    (main,) = [
        one for one in (await proposed("restraints for dementia in Sweden")).values() if "in the title" in one.rationale
    ]
    assert main.pubmed_query.endswith('("restraints"[ti] AND "dementia"[ti])')


async def test_an_effect_of_something_is_the_something():
    direct, *_ = (await proposed("effect of music on anxiety")).values()
    assert direct.pubmed_query == "music AND anxiety"
    assert "“effect” left out" in direct.rationale


@pytest.mark.parametrize(
    ("topic", "query"),
    [
        ("I want to know if statins prevent dementia", "statins AND dementia"),
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
