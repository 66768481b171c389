"""What every paper must be about, and what only ranks."""

from __future__ import annotations

import re
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.search.expansion.conftest import Ask, offline
from tests.search.expansion.ncbi_stand_in import LIBRARY, Record
from tests.search.expansion.queries import finds, ranking, requires

MIGRAINE = ["migraine", "topiramate", "hepatoma"]
PERSONS_AND_PARTS = (
    Record(7668, ("Kidney", "Kidneys"), "A05.810"),
    Record(79902, ("Nonagenarians", "Nonagenarian"), "M01.060.116"),
    Record(36861, ("Pregnant Women", "Pregnant Woman"), "M01.975.807"),
    Record(16360, ("Clostridioides difficile", "Clostridium difficile"), "B03.300.390"),
    Record(11468, ("Prostatectomy", "Prostatectomies"), "E04.950"),
    Record(13211, ("Staphylococcus aureus",), "B03.300.390.800"),
)
WORDS = ("gout", "liquorice", "burnout", "febuxostat")


def joined(terms: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.tuples(terms, st.sampled_from(("AND", "OR", "NOT")), terms, st.booleans())
    return pairs.map(lambda one: f"({' '.join(one[:3])})" if one[3] else " ".join(one[:3]))


@pytest.mark.parametrize(
    ("topic", "subjects"),
    [
        ("does liquorice cause hyponatremia", ["liquorice", "hyponatremia"]),
        ("S aureus in gout", ["S aureus", "gout"]),
        ("central line infections and burnout", ["central line infections", "burnout"]),
        ("kidney function in gout", ["kidney function", "gout"]),
        ("allopurinol in nonagenarians", ["allopurinol", "nonagenarian"]),
        ("pregnant women with gout", ["pregnant women", "gout"]),
        ("gout and S. aureus", ["gout", "Staphylococcus aureus"]),
        ("gout in HPV", ["gout", "human papillomavirus"]),
        ("gout and (smartwatches or sirtuins)", ["gout", "smartwatches"]),
        ("ultrasound versus chest X-ray in anemia", ["ultrasound", "anemia"]),
        ("ovine anemia under penicillins", ["sheep", "anemia", "penicillins"]),
        ("robotic prostatectomy for hepatoma", ["robotic", "prostatectomies", "hepatoma"]),
        # Persons, places and outcomes where they are half of the topic.
        ("burnout in nurses", ["burnout", "nurses"]),
        ("anaemia in Kenya", ["anemia", "Kenya"]),
        ("mortality of gout", ["mortality", "gout"]),
        # No adverb or verb next to a name that no vocabulary has.
        ("effect of zilebesiran twice a day on chilblains", ["zilebesiran", "chilblains"]),
        ("does zilebesiran help chilblains more than bentracimab", ["zilebesiran", "chilblains"]),
        ("what happens when zilebesiran is stopped in chilblains", ["zilebesiran", "chilblains"]),
        # An outcome that is a disease.
        ("In adults with migraine, does topiramate compared with placebo prevent hepatoma?", MIGRAINE),
        ("P: adults with migraine; I: topiramate; C: placebo; O: incidence of hepatoma", MIGRAINE),
        ("burnout and gout: is topiramate the link", ["burnout", "gout", "topiramate"]),
        ("pulmonary rehab in anemia", ["pulmonary rehabilitation", "anemia"]),
        ("Double-blind study of febuxostat in gout", ["febuxostat", "gout"]),
        ("FEBUXOSTAT FOR GOUT IN THE OLDER ADULT", ["febuxostat", "gout"]),
        ("gout under febuxostat in nurses", ["gout", "febuxostat", "nurses"]),
        ("gout in men over 65 under febuxostat", ["gout", "febuxostat"]),
        ("is febuxostat harmful in gout?", ["febuxostat", "gout"]),
    ],
)
async def test_the_subjects_are_required_and_nothing_else(topic: str, subjects: list[str], ask: Ask):
    query = (await ask(topic, records=(*LIBRARY, *PERSONS_AND_PARTS))).queries[0].pubmed_query
    assert requires(query, subjects), query


@pytest.mark.parametrize(
    ("topic", "query"),
    [
        ("gout (febuxostat OR smartwatches)", "gout AND (febuxostat OR smartwatches)"),
        ("type 2 diabetes AND gout", "(type 2 diabetes) AND gout"),
        ("febuxostat OR smartwatches AND gout", "(febuxostat OR smartwatches) AND gout"),
        ("gout AND ((liquorice OR febuxostat) AND burnout)", "gout AND (liquorice OR febuxostat) AND burnout"),
        ("gout AND burnout NOT (liquorice OR febuxostat)", "(gout AND burnout) NOT ((liquorice) OR (febuxostat))"),
        ("gout NOT liquorice AND burnout", "(gout AND burnout) NOT (liquorice)"),
        ("GOUT OR BURNOUT", "(GOUT OR BURNOUT)"),
        ("gout AND not burnout AND", 'gout AND ("not burnout"[tiab] OR all[sb])'),
        ("gout AND (treatment OR management)", "gout AND (treatment OR management)"),
        ("gout AND liquorice AND outcomes", "(gout AND liquorice) AND (outcome[tiab] OR outcomes[tiab] OR all[sb])"),
        # Nested in another way, or with a field, it stays as it is.
        ("gout AND febuxostat OR burnout", "gout AND febuxostat OR burnout"),
        ("(gout AND febuxostat) OR burnout", "(gout AND febuxostat) OR burnout"),
        ("gout AND 2010:2020", "gout AND 2010:2020"),
        ("gout AND febuxostat[ti]", "gout AND febuxostat[ti]"),
        ("gout AND febuxo*", "gout AND febuxo*"),
    ],
)
async def test_what_is_joined_by_operators_is_required_as_it_is_joined(topic: str, query: str):
    direct = (await offline(topic)).queries[0].pubmed_query
    assert re.sub(r' NOT \("without [^()]+\)', "", direct) == query


@given(st.recursive(st.sampled_from(WORDS), joined, max_leaves=7))
async def test_joined_terms_find_what_they_say(topic: str):
    direct, *others = (await offline(topic)).queries
    query = next((one for one in others if "name all your terms" in one.rationale), direct).pubmed_query
    for number in range(len(WORDS) + 1):
        for words in combinations(WORDS, number):
            assert finds(query, " ; ".join(words)) == finds(topic, " ; ".join(words)), words


async def test_each_term_that_is_joined_by_operators_gets_all_its_names_and_whom_and_outcomes_only_rank(ask: Ask):
    topic = "anaemia of chronic gout AND (febuxostat OR S. aureus) AND nonagenarians AND mortality NOT migraine"
    papers = {"anemia ; gout ; febuxostat": 90, "anemia ; gout ; febuxostat ; nonagenarians ; mortality": 2}
    found = await ask(topic, records=(*LIBRARY, *PERSONS_AND_PARTS), papers=papers)
    direct, specific = (one for one in found.queries if one.strategy != "broader")
    assert all(finds(direct.pubmed_query, f"anemia gout {other}") for other in ("febuxostat", "staphylococcus aureus"))
    assert not finds(direct.pubmed_query, "anemia febuxostat nonagenarian mortality")
    assert not finds(direct.pubmed_query, "anemia gout febuxostat migraine")
    assert "“nonagenarians”, “mortality”, “chronic”: only to rank by" in direct.rationale
    assert not finds(specific.pubmed_query, "anemia gout febuxostat nonagenarian")
    assert finds(specific.pubmed_query, "anemia gout febuxostat mortality Aged, 80 and over")
    assert all(" NOT (migraine" in one.pubmed_query for one in found.queries)


async def test_what_users_give_other_words_for_is_required_as_phrases_and_an_absence_only_ranks(ask: Ask):
    topic = 'gout AND (loss of response OR nonresponse) AND costs AND (non-insulin OR "not using insulin")'
    found = await ask(topic, papers={"gout ; nonresponse": 90, "gout ; nonresponse ; cost ; non-insulin": 9})
    direct, specific = (one for one in found.queries if one.strategy != "broader")
    assert finds(direct.pubmed_query, "gout loss response")
    assert finds(direct.pubmed_query, "gout nonresponse")
    assert not finds(direct.pubmed_query, "gout response cost")
    assert finds(specific.pubmed_query, "gout nonresponse economics non-insulin")
    assert not finds(specific.pubmed_query, "gout nonresponse non-insulin")


async def test_what_or_joins_defines_its_abbreviations():
    found = await offline("(rapid gout attacks OR RGA OR PD-1 OR PD-L1) AND febuxostat")
    assert {one.term: one.entry_terms for one in found.concepts}["RGA"] == ("rapid gout attacks",)
    assert not {"PD-1", "PD-L1"} & {one.term for one in found.concepts}


async def test_the_filter_of_joined_terms_is_that_of_what_only_ranks(ask: Ask):
    filters = {
        "gout AND febuxostat": "Randomized trials, highly sensitive",
        "gout AND febuxostat AND (mortality OR survival)": "",
        "gout AND burnout AND risk": "Etiology, narrow",
    }
    for topic, name in filters.items():
        assert next((one.name for one in (await ask(topic)).filters if one.name in filters.values()), "") == name, topic


async def test_a_letter_that_is_a_name_stays_one_in_capitals():
    (direct, *_) = (await offline("FALLS IN OLDER ADULTS UNDER VITAMIN A")).queries
    assert "vitamin A" in direct.pubmed_query


@pytest.mark.parametrize(
    ("topic", "subjects", "ranks"),
    [
        ("propranolol 40 mg twice daily in migraine", ["propranolol", "migraine"], "40 mg twice daily"),
        ("febuxostat 80 mg versus allopurinol 300 mg in gout", ["febuxostat", "gout"], "300 mg"),
        ("mortality of gout under febuxostat", ["gout", "febuxostat"], "mortality"),
        ("women's migraine under topiramate", ["topiramate", "migraine"], "women[tiab]"),
        ("topiramate compared with placebo in migraine", ["topiramate", "migraine"], "placebo"),
    ],
)
async def test_doses_times_persons_places_outcomes_and_placebo_only_rank(
    topic: str, subjects: list[str], ranks: str, ask: Ask
):
    direct = (await ask(topic)).queries[0]
    assert requires(direct.pubmed_query, subjects), direct.pubmed_query
    assert ranks.casefold() in ranking(direct.pubmed_query).casefold()
    assert "only to rank by" in direct.rationale


async def test_of_more_than_three_subjects_three_are_required_and_the_user_is_asked_which(ask: Ask):
    found = await ask("smartwatches for hyponatremia in KCNQ1 under topiramate among ski patrollers")
    direct = found.queries[0].pubmed_query
    names = ["smartwatches", "hyponatremia", "KCNQ1", "topiramate", "ski patrollers"]
    assert finds(direct, " ; ".join(names))
    assert sum(not finds(direct, " ; ".join({*names} - {one})) for one in names) == 3
    (asked,) = [one for one in found.warnings if one.startswith("Which of these must every paper be about: ")]
    assert all(f"“{one}”" in asked for one in names[:-1])  # words that MeSH does not have only rank beside two names
    assert "The direct query requires" in asked


@pytest.mark.parametrize(
    "topic",
    [
        "allopurinol versus febuxostat for gout",
        "Is allopurinol better than febuxostat in gout?",
        "allopurinol or febuxostat for gout",
    ],
)
async def test_papers_on_both_sides_of_a_comparison_are_found_and_the_disease_is_never_lost(topic: str, ask: Ask):
    papers = {"allopurinol ; febuxostat ; gout": 30, "allopurinol ; gout": 40, "febuxostat ; gout": 50, "gout": 90}
    found = await ask(topic, papers=papers)
    wide = [one.pubmed_query for one in found.queries if one.strategy != "specific"]
    assert all(finds(one, "allopurinol ; febuxostat ; gout") for one in wide)
    assert not any(finds(one.pubmed_query, "allopurinol ; febuxostat") for one in found.queries)


@pytest.mark.parametrize(
    ("topic", "query"),
    [
        ("aspirin or warfarin after stroke", "(aspirin OR warfarin) AND stroke"),
        ("Please show me studies on yoga for asthma, ideally trials from the last 5 years", "yoga AND asthma"),
        ("blood lead levels and IQ", "(blood lead levels) AND IQ"),
        ("WHO checklist in surgery", "(WHO checklist) AND "),
        ("hospital at home for older people", '"hospital at home'),
        ('barriers to "shared decision making" in oncology', '"shared decision making"[tiab] AND oncology'),
        ("Can heat waves lead to kidney stones?", "(heat waves) AND (kidney stones)"),
        ("measles in children vaccinated against rubella", "(measles AND rubella) AND (children[tiab] OR "),
        ("smartwatches but not warfarin in gout", "(smartwatches AND gout) NOT (warfarin NOT "),
    ],
)
async def test_the_subject_of_a_sentence_is_neither_lost_nor_torn_apart(topic: str, query: str):
    assert query in (await offline(topic)).queries[0].pubmed_query


@pytest.mark.parametrize(
    ("topic", "studies"),
    [
        ("a cohort study of gout under febuxostat", "observational studies"),
        ("systematic reviews of febuxostat for gout", "systematic reviews"),
        ("does topiramate raise gout risk?", "etiology, narrow"),
    ],
)
async def test_a_question_is_narrowed_to_the_studies_it_asks_for(topic: str, studies: str, ask: Ask):
    (narrowed,) = [one for one in (await ask(topic)).queries if one.strategy == "specific"]
    assert narrowed.rationale.startswith(f"Only {studies} (")


@pytest.mark.parametrize(
    ("topic", "proposed"),
    [("topiramate for migraine", True), ("mechanism of topiramate in migraine", False), ("migraine in cats", False)],
)
async def test_a_narrowing_that_is_not_sure_to_fit_is_left_out(topic: str, proposed: bool, ask: Ask):
    found = await ask(topic)
    assert ("specific" in [one.strategy for one in found.queries]) == proposed
    assert proposed or any("surely fits" in one for one in found.warnings)


async def test_nothing_that_is_always_true_is_a_condition(ask: Ask):
    for topic in ("migraine and mortality at 12 months", "120 mg", "at 6 weeks", "treatment", "does it work"):
        for one in (await ask(topic, count=8)).queries:
            core = one.pubmed_query.removesuffix(f" AND ({ranking(one.pubmed_query)} OR all[sb])")
            assert not finds(core, "nothing of the kind"), (topic, one.pubmed_query)


@pytest.mark.parametrize(
    ("topic", "questions"),
    [
        ("What causes preeclampsia? How is it treated?", 2),
        ("Is aspirin safe and effective?", 0),
        ("causes of preeclampsia and how it is treated", 0),
    ],
)
async def test_two_questions_in_one_are_told(topic: str, questions: int):
    told = [one for one in (await offline(topic)).warnings if one.startswith(f"These are {questions} questions: ")]
    assert len(told) == bool(questions)


@pytest.mark.parametrize(
    ("topic", "demanded", "lacking"),
    [
        ("type 2 diabetes", "type 2 diabetes", "type 2"),
        ("statins over 75 in gout", "statins gout", "75 gout"),
        ("burnout in residents", "burnout residents", "burnout"),
    ],
)
async def test_only_names_are_demanded(topic: str, demanded: str, lacking: str, ask: Ask):
    for query in ((await ask(topic)).queries[0].pubmed_query, (await offline(topic)).queries[0].pubmed_query):
        assert finds(query, demanded), query
        assert not finds(query, lacking), query


@pytest.mark.parametrize(
    "topic", ["school-based asthma, excluding children", "school-based asthma but not in children"]
)
async def test_no_broader_query_loses_what_is_excluded(topic: str):
    for one in (await offline(topic)).queries:
        assert " NOT " in one.pubmed_query, one


async def test_what_is_labeled_as_tried_is_in_every_query(ask: Ask):
    topic = "P: stroke survivors I: mirror box training C: usual care O: arm function"
    for one in (await ask(topic, papers={"stroke survivors mirror box training arm function": 9})).queries:
        assert "mirror" in one.pubmed_query, one
