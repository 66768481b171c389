from __future__ import annotations

from pathlib import Path

import anyio
import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import EvidenceStoreError, InvalidInputError
from deepcritical_mcp.models import QUERY_LIMIT, ExpandedQuery, Expansion
from deepcritical_mcp.search.expansion import pubmed_syntax
from deepcritical_mcp.search.expansion.expander import QueryExpander
from deepcritical_mcp.search.expansion.proposals import same_words_key
from tests.search.expansion.ncbi_stand_in import NcbiStandIn
from tests.search.expansion.queries import finds, is_well_formed
from tests.search.expansion.session_fakes import NEUROPROTECTION, FakeStore, page, paper

TOPICS = (
    "metformin alzheimer",
    "Does metformin slow cognitive decline in older adults with Alzheimer's disease?",
    "metformin",
    "p53",
    "5",
    "TNF-α and IL-6 in sepsis",
    "α-synuclein aggregation in Parkinson's disease (PD): role of the gut-brain axis?",
    '"brain fog" after COVID-19',
    '"metformin alzheimer',
    "metformin (alzheimer OR dementia",
    '("metformin"[mh] or metformin[tiab]) and alzheimer*[tiab] NOT review[pt]',
    "smith j[au] AND metformin[ti] AND 2010:2020[dp]",
    "metformina y enfermedad de Alzheimer en los ancianos",
    "Metformin bei der Behandlung von Demenz und Diabetes",
    "二甲双胍 阿尔茨海默病",
    "метформин и болезнь Альцгеймера",
    "metformin 🧠 alzheimer 😀",
    "systematic review clinical trial meta-analysis cohort study case report practice guideline mechanism signaling "
    "pathway adverse effects safety treatment outcome risk factors biomarkers diagnosis epidemiology prevalence in "
    "vitro animal model",
    "EFFECT OF METFORMIN ON DEMENTIA",
    "x-linked hypophosphatemia\n\tin\u202e children",
    ", ".join(f"gene{number}" for number in range(250)),
    "a" * 2_000,
    "the effect of metformin on amyloid plaques and tau tangles in the aging brain " * 25,
    "((((((((" * 200 + "metformin" + "))))" * 100,
)


def expander(ncbi: NcbiStandIn | None = None, folder: Path = Path("unused")) -> QueryExpander:
    return QueryExpander(Settings(), ncbi.concepts(folder) if ncbi else None)


def words(query: ExpandedQuery) -> set[str]:
    return {word.casefold() for word in query.query.split()}


def assert_sound(expansion: Expansion, count: int) -> None:
    queries = expansion.queries
    assert 1 <= len(queries) <= count
    assert queries[0].strategy == "direct"
    assert all(query.strategy != "direct" for query in queries[1:])
    assert len({same_words_key(query.query) for query in queries}) == len(queries)
    assert len({query.pubmed_query.casefold() for query in queries}) == len(queries)
    for query in queries:
        assert query.query.strip() == query.query != ""
        assert len(query.query) <= 400
        assert len(query.query.split()) <= 50
        assert is_well_formed(query.pubmed_query), query.pubmed_query
        assert query.rationale


@pytest.mark.parametrize("topic", TOPICS)
async def test_any_topic_gives_sound_queries(topic: str, tmp_path: Path):
    for count in (1, 3, 8):
        assert_sound(await expander(NcbiStandIn(), tmp_path).expand(topic, count=count, store=None), count)
        assert_sound(await expander().expand(topic, count=count, store=FakeStore(NEUROPROTECTION)), count)


@settings(deadline=None, max_examples=60)
@given(st.text(max_size=300), st.integers(1, 8))
def test_no_text_whatever_breaks_it(topic: str, count: int):
    async def run() -> None:
        try:
            expansion = await expander().expand(topic, count=count, store=FakeStore(NEUROPROTECTION))
        except InvalidInputError:
            return
        assert_sound(expansion, count)

    anyio.run(run)


OFFLINE = (
    "metformin alzheimer",
    "Does metformin slow cognitive decline in older adults with Alzheimer's disease?",
    "p53",
    "vitamin A",
    "use of force",
    "burnout in nurses",
    "do not resuscitate orders",
    "memory in mice",
    "SGLT2 inhibitors kidney function without diabetes",
    "P: adults with sepsis; I: balanced crystalloids; C: normal saline; O: 90-day mortality",
    "metformina y enfermedad de Alzheimer en los ancianos",
    "alzheimer[tiab] NOT mice[mh]",
    "metformin[tiab] AND alzheimer[tiab]",
)


@pytest.mark.parametrize("count", [3, 4, 8])
@pytest.mark.parametrize("topic", OFFLINE)
async def test_offline_and_in_an_empty_session_there_are_as_many_as_asked_for_and_a_warning(topic: str, count: int):
    expansion = await expander().expand(topic, count=count, store=FakeStore())
    assert_sound(expansion, count)
    assert len(expansion.queries) == count
    direct = expansion.queries[0].pubmed_query.partition(" AND ((90-day mortality) OR all[sb])")[0]
    specific = [query.pubmed_query for query in expansion.queries if query.strategy == "specific"]
    assert specific
    assert all(query.startswith(f"{pubmed_syntax.grouped(direct)} AND ") for query in specific)
    assert all(query.hits == -1 for query in expansion.queries)
    assert "Without MeSH and numbers of hits" in expansion.warnings[-1]


@pytest.mark.parametrize(
    "topic", ["二甲双胍 阿尔茨海默病", "word " * 60, ", ".join(f"gene{one}" for one in range(250))]
)
async def test_what_no_filter_can_help_stands_alone_and_says_so(topic: str):
    expansion = await expander().expand(topic, count=8, store=FakeStore())
    assert [query.strategy for query in expansion.queries] == ["direct"]
    assert "Only 1 of 8 queries: nothing else fits this topic." in expansion.warnings


async def test_three_queries_show_all_three_strategies(tmp_path: Path):
    expansion = await expander(NcbiStandIn(), tmp_path).expand("metformin alzheimer", store=None)
    assert {query.strategy for query in expansion.queries} == {"direct", "broader", "specific"}


SESSION = (
    *NEUROPROTECTION,
    paper(
        300,
        "Metformin in type 1 diabetes and Alzheimer disease (AD)",
        "Mild cognitive impairment (MCI) in Alzheimer's disease (AD) under metformin.",
        mesh=["Metformin", "Early Onset Alzheimer Disease"],
    ),
)
RECORDS = (
    "metformin alzheimer",
    "metformin alzheimer neuroprotection autophagy",
    "metformin alzheimer disease",
    "metformin senile dementia",
    "dimethylbiguanidine alzheimer",
    "biguanides alzheimer",
    "metformin dementia",
    "metformin early onset alzheimer disease",
    "early onset alzheimer disease",
    "glucophage presenile dementia without diabetes",
    "metformin alzheimer without diabetes",
    "metformin alzheimer diabetes",
    "metfromin alzhiemer",
    "metformin alzheimer memory mice",
)


@pytest.mark.parametrize(
    "topic",
    [
        "metformin alzheimer",
        "metformin alzheimer without diabetes",
        "metfromin alzhiemer",
        "memory in mice: metformin for alzheimer",
        "metformin[tiab] AND alzheimer[tiab]",
        "alzheimer[tiab] NOT diabetes[tiab]",
    ],
)
async def test_a_specific_query_finds_a_part_of_what_the_direct_one_does_and_a_broader_one_more(
    topic: str, tmp_path: Path
):
    expansion = await expander(NcbiStandIn(), tmp_path).expand(topic, count=8, store=FakeStore(SESSION))
    assert expansion.queries[1:]
    direct = {record for record in RECORDS if finds(expansion.queries[0].pubmed_query, record)}
    for query in expansion.queries[1:]:
        found = {record for record in RECORDS if finds(query.pubmed_query, record)}
        assert found <= direct if query.strategy == "specific" else found >= direct, query.pubmed_query


@pytest.mark.parametrize(
    ("topic", "kept"),
    [
        ("metformin alzheimer without diabetes", '"without diabetes"'),
        ("do not resuscitate orders in alzheimer", '"do not resuscitate orders"'),
        ("lead and alzheimer", "lead"),
        ("side effects of metformin", "side effects"),
        ("near miss metformin", "near miss"),
    ],
)
async def test_no_query_loses_or_inverts_a_word(topic: str, kept: str, tmp_path: Path):
    expansion = await expander(NcbiStandIn(), tmp_path).expand(topic, count=8, store=FakeStore(SESSION))
    assert len(expansion.queries) > 1
    for query in expansion.queries:
        assert kept in query.pubmed_query
        assert query.strategy == "broader" or set(topic.split()) <= set(query.query.replace(",", "").split())


async def test_a_term_of_the_evidence_does_not_contradict_a_negation():
    session = FakeStore(
        [
            paper(
                number,
                "Gliflozins and kidney function",
                "Kidney function.",
                mesh=["Type 2 Diabetes Mellitus", "Albuminuria"],
            )
            for number in range(1, 4)
        ]
    )
    queries = (await expander().expand("kidney function without diabetes", count=8, store=session)).queries
    (followed,) = [query for query in queries if query.source == "evidence"]
    assert followed.pubmed_query == '((kidney function) AND "without diabetes") AND (Albuminuria OR Gliflozins)'


async def test_what_is_negated_is_no_concept(tmp_path: Path):
    expansion = await expander(NcbiStandIn(), tmp_path).expand("metformin without alzheimer", store=None)
    assert [concept.mesh_term for concept in expansion.concepts] == ["Metformin"]


@pytest.mark.parametrize(
    ("topic", "said"),
    [
        ("", "blank"),
        (" \n\t ", "blank"),
        ("\u200b\x00", "blank"),
        ("what is the", "no word to search for"),
        ("😀 🧠", "no word to search for"),
        ('"" () ?', "no word to search for"),
        ("x" * (QUERY_LIMIT + 1), "the limit is 4,000"),
    ],
)
async def test_a_topic_that_cannot_be_searched_is_refused_with_the_reason(topic: str, said: str):
    with pytest.raises(InvalidInputError, match=said):
        await expander().expand(topic, store=None)


async def test_the_direct_query_is_the_topic_as_given():
    topic = "Does metformin slow cognitive decline?"
    direct = (await expander().expand(topic, store=None)).queries[0]
    assert direct.query == topic
    assert direct.pubmed_query == "metformin slow cognitive decline"


async def test_pubmed_syntax_is_kept_and_repaired(tmp_path: Path):
    topic = '("metformin"[mh] or metformin[tiab]) and alzheimer*[tiab] AND review[pt]'
    expansion = await expander(NcbiStandIn(), tmp_path).expand(topic, count=8, store=None)
    kept = '("metformin"[mh] OR metformin[tiab]) AND alzheimer*[tiab] AND review[pt]'
    direct, *others = expansion.queries
    assert (direct.query, direct.pubmed_query) == ("metformin, alzheimer", kept)
    assert others
    assert all(query.pubmed_query.startswith(f"({kept}) AND ") for query in others)
    assert all("[" not in query.query for query in others)


async def test_syntax_that_excludes_something_is_filtered_alone(tmp_path: Path):
    expansion = await expander(NcbiStandIn(), tmp_path).expand("alzheimer[tiab] NOT mice[mh]", count=8, store=None)
    _, *others = expansion.queries
    assert {(query.source, query.strategy) for query in others} == {("rules", "specific")}
    assert all(query.pubmed_query.startswith("(alzheimer[tiab] NOT mice[mh]) AND ") for query in others)
    assert all("cannot exclude what your NOT excludes" in query.rationale for query in others)


async def test_syntax_that_has_a_filter_already_gets_no_second_one():
    topic = "metformin[tiab] AND systematic[sb] AND 2010:2020[dp] AND english[la]"
    expansion = await expander().expand(topic, count=8, store=None)
    added = [query.pubmed_query.removeprefix(f"({topic}) AND ") for query in expansion.queries[1:]]
    assert "review[pt]" in added
    assert not {"systematic[sb]", "english[la]"} & set(added)
    assert not any("[dp]" in condition for condition in added)


async def test_a_long_query_in_pubmed_syntax_is_kept_whole():
    topic = " OR ".join(f'"name number {number}"[tiab]' for number in range(100))
    direct = (await expander().expand(topic, store=None)).queries[0]
    assert direct.pubmed_query == topic
    assert len(direct.query) <= 400


async def test_a_topic_in_another_language_is_answered_with_a_hint():
    expansion = await expander().expand("metformina y enfermedad de Alzheimer en los ancianos", store=None)
    assert "Spanish" in expansion.warnings[0]


async def test_a_topic_of_many_words_is_answered_with_a_hint():
    expansion = await expander().expand(" ".join(f"gene{number}" for number in range(20)), store=None)
    assert "The topic has 20 words" in expansion.warnings[0]
    assert expansion.queries[0].pubmed_query.endswith("gene19")


async def test_an_abbreviation_that_the_description_defines_is_written_out():
    expansion = await expander().expand(
        "TBI outcome", description="We look at traumatic brain injury (TBI) in athletes.", count=8, store=None
    )
    assert expansion.queries[0].pubmed_query == '("TBI"[tiab] OR "traumatic brain injury"[tiab]) AND outcome'
    (concept,) = expansion.concepts
    assert (concept.term, concept.entry_terms) == ("TBI", ("traumatic brain injury",))


async def test_an_abbreviation_means_what_the_session_says_and_not_what_pubmed_maps_it_to(tmp_path: Path):
    ncbi = NcbiStandIn(mappings={"ad": '"alzheimer disease"[MeSH Terms]', "als": '"biguanides"[MeSH Terms]'})
    session = FakeStore(
        [paper(1, "ALS and metformin", "In antilymphocyte serum (ALS) and Alzheimer disease (AD) metformin was given.")]
    )
    expansion = await expander(ncbi, tmp_path).expand("ALS AD", count=8, store=session)
    assert {concept.term: concept.mesh_term for concept in expansion.concepts if concept.kind != "evidence"} == {
        "AD": "Alzheimer Disease",
        "ALS": "",
    }
    assert any('"antilymphocyte serum"[tiab]' in query.pubmed_query for query in expansion.queries)


async def test_metformin_alzheimer_leads_to_ampk_activation_and_neuroprotection_when_the_evidence_does():
    expansion = await expander().expand("metformin alzheimer", store=FakeStore(NEUROPROTECTION))
    found = next(query for query in expansion.queries if query.source == "evidence")
    assert {"ampk", "activation", "neuroprotection"} <= words(found)
    assert "neuroprotection" in found.pubmed_query.lower()
    assert "statins" not in found.query
    assert found.pubmed_query.startswith("(metformin alzheimer) AND ")


async def test_what_the_evidence_talks_about_is_told_with_its_source():
    expansion = await expander().expand("metformin alzheimer", store=FakeStore(NEUROPROTECTION))
    talked_of = {concept.term.casefold() for concept in expansion.concepts if concept.kind == "evidence"}
    assert {"ampk activation", "neuroprotection"} <= talked_of
    assert not talked_of & {"metformin", "alzheimer disease", "humans", "animals", "mice"}


async def test_web_pages_without_keywords_are_read_for_their_words():
    pages = [
        page(f"https://example.org/{number}", "Long COVID and brain fog", f"Brain fog in long COVID: {text}")
        for number, text in enumerate(
            ["microglia activation seen in imaging", "microglia and cytokines", "sleep and microglia activation"]
        )
    ]
    others = [page(f"https://example.org/x{number}", "Knee surgery", "Meniscus repair.") for number in range(5)]
    expansion = await expander().expand("brain fog", store=FakeStore([*pages, *others]))
    assert any("microglia" in query.query for query in expansion.queries if query.source == "evidence")


async def test_a_session_that_cannot_be_read_is_a_warning():
    expansion = await expander().expand(
        "metformin alzheimer", store=FakeStore(error=EvidenceStoreError("The disk is full."))
    )
    assert_sound(expansion, 3)
    assert expansion.warnings[0] == "The session's evidence was not used: The disk is full."


async def test_mesh_concepts_bring_names_and_neighbours(tmp_path: Path):
    expansion = await expander(NcbiStandIn(), tmp_path).expand("metformin alzheimer", count=8, store=None)
    assert_sound(expansion, 8)
    assert expansion.warnings == ()
    drug, disease = expansion.concepts
    assert (drug.term, drug.mesh_id, drug.mesh_term) == ("metformin", "D008687", "Metformin")
    assert (disease.mesh_id, disease.mesh_term) == ("D000544", "Alzheimer Disease")
    assert {"Senile Dementia", "Presenile Dementia"} <= {*disease.entry_terms}
    assert (disease.broader, disease.narrower) == (("Dementia", "Tauopathies"), ("Early Onset Alzheimer Disease",))
    direct, *others = [query for query in expansion.queries if query.source == "mesh"]
    assert direct is expansion.queries[0]
    assert direct.pubmed_query == f"{drug.pubmed_block} AND {disease.pubmed_block}"
    assert drug.pubmed_block.startswith('("metformin"[tiab] OR "Metformin"[MeSH Terms] OR ')
    assert {'"Alzheimer Disease"[MeSH Terms]', '"Senile Dementia"[tiab]'} <= {*disease.pubmed_block[1:-1].split(" OR ")}
    assert any("dementia" in query.query and query.strategy == "broader" for query in others)
    assert all(query.hits == 120 for query in expansion.queries)


async def test_mesh_and_evidence_together_fill_the_queries_with_the_best_of_each(tmp_path: Path):
    session = FakeStore(NEUROPROTECTION)
    expansion = await expander(NcbiStandIn(), tmp_path).expand("metformin alzheimer", count=5, store=session)
    assert_sound(expansion, 5)
    assert {query.source for query in expansion.queries} == {"rules", "mesh", "evidence"}


async def test_a_misspelt_topic_is_kept_and_the_other_queries_are_built_on_the_correction(tmp_path: Path):
    expansion = await expander(NcbiStandIn(), tmp_path).expand("metfromin alzhiemer", store=None)
    assert expansion.corrected_query == "metformin alzheimer"
    assert expansion.queries[0].query == "metfromin alzhiemer"
    assert expansion.queries[0].pubmed_query.endswith(" OR (metfromin alzhiemer)")
    assert '"Metformin"[MeSH Terms]' in expansion.queries[0].pubmed_query
    assert all("metfromin" not in query.query for query in expansion.queries[1:])
    assert expansion.concepts[0].mesh_term == "Metformin"


@pytest.mark.parametrize("topic", ["AMPK metformin", "tirzepatinib safety"])
async def test_a_correction_that_touches_a_symbol_or_a_drug_is_not_believed(topic: str, tmp_path: Path):
    expansion = await expander(NcbiStandIn(), tmp_path).expand(topic, store=None)
    assert expansion.corrected_query == ""


async def test_a_mapping_to_a_journal_or_an_unknown_substance_is_not_trusted(tmp_path: Path):
    expansion = await expander(NcbiStandIn(), tmp_path).expand("APC mutations", store=None)
    assert all(not concept.mesh_id for concept in expansion.concepts)
    assert "MeSH has none of the topic's words" in expansion.warnings[0]


@pytest.mark.parametrize("utility", ["espell", "esearch", "esearch mesh", "esummary"])
async def test_the_evidence_is_used_when_ncbi_is_down(utility: str, tmp_path: Path):
    ncbi = NcbiStandIn(faults={utility: lambda _: httpx.Response(503)})
    expansion = await expander(ncbi, tmp_path).expand("metformin alzheimer", store=FakeStore(NEUROPROTECTION))
    assert_sound(expansion, 3)
    assert any(query.source == "evidence" for query in expansion.queries)
    assert "PubMed is unavailable (HTTP 503)." in expansion.warnings[0]


async def test_concepts_that_came_before_the_outage_are_used(tmp_path: Path):
    ncbi = NcbiStandIn()

    def fails_for_neighbours(params: object) -> httpx.Response:
        ncbi.faults["esummary"] = lambda _: httpx.Response(503)
        return NcbiStandIn().answer(httpx.Request("GET", "https://ncbi.test/esummary.fcgi", params=params))  # pyright: ignore[reportArgumentType]

    ncbi.faults["esummary"] = fails_for_neighbours
    expansion = await expander(ncbi, tmp_path).expand("metformin alzheimer", store=None)
    assert expansion.concepts[0].mesh_id == "D008687"
    assert len(expansion.warnings) == 1


async def test_a_slow_ncbi_is_left_behind():
    class NeverAnswers(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            await anyio.sleep_forever()
            raise AssertionError

    ncbi = NcbiStandIn()
    concepts = ncbi.concepts(Path("unused"), transport=NeverAnswers())
    with anyio.fail_after(30):
        expansion = await QueryExpander(Settings(deadline=1), concepts).expand("metformin alzheimer", store=None)
    assert_sound(expansion, 3)
    assert "did not answer" in expansion.warnings[0]


async def test_progress_is_told():
    told: list[float] = []

    async def progress(fraction: float, message: str) -> None:
        assert message
        told.append(fraction)

    await expander().expand("metformin", store=None, progress=progress)
    assert told == sorted(told)
    assert len(told) >= 3
