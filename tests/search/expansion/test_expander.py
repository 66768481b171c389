from __future__ import annotations

from pathlib import Path

import anyio
import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import EvidenceStoreError, InvalidInputError
from deepcritical_mcp.models import ExpandedQuery, Expansion
from deepcritical_mcp.search.expansion import QueryExpander
from deepcritical_mcp.search.expansion.pubmed_syntax import LONGEST_QUERY
from deepcritical_mcp.search.expansion.selection import same_words_key, semantic_count
from deepcritical_mcp.search.expansion.topic import TOPIC_LIMIT
from tests.search.expansion.ncbi_stand_in import NcbiStandIn
from tests.search.expansion.queries import is_well_formed
from tests.search.expansion.session_fakes import NEUROPROTECTION, FakeStore, page

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
    assert len(queries) == count
    assert queries[0].strategy == "direct"
    assert all(query.strategy != "direct" for query in queries[1:])
    assert sum(query.reformulation == "semantic" for query in queries) == semantic_count(count)
    assert len({same_words_key(query.query) for query in queries}) == count
    for query in queries:
        assert query.query.strip() == query.query != ""
        assert len(query.query) <= 400
        assert len(query.query.split()) <= 50
        assert is_well_formed(query.pubmed_query), query.pubmed_query
        assert len(query.pubmed_query) <= LONGEST_QUERY + 200
        assert query.rationale


@pytest.mark.parametrize("topic", TOPICS)
async def test_any_topic_gives_exactly_as_many_sound_queries_as_asked(topic: str):
    for count in range(1, 9):
        assert_sound(await expander().expand(topic, count=count, store=None), count)


@settings(deadline=None, max_examples=60)
@given(st.text(max_size=300), st.integers(1, 8))
def test_no_text_whatever_breaks_it(topic: str, count: int):
    async def run() -> None:
        try:
            expansion = await expander().expand(topic, count=count, store=None)
        except InvalidInputError:
            return
        assert len({same_words_key(query.query) for query in expansion.queries}) == count
        assert all(is_well_formed(query.pubmed_query) for query in expansion.queries)

    anyio.run(run)


async def test_three_queries_show_all_three_strategies():
    expansion = await expander().expand("metformin alzheimer", store=None)
    assert {query.strategy for query in expansion.queries} == {"direct", "broader", "specific"}


@pytest.mark.parametrize(
    ("topic", "said"),
    [
        ("", "blank"),
        (" \n\t ", "blank"),
        ("\u200b\x00", "blank"),
        ("what is the", "no word to search for"),
        ("😀 🧠", "no word to search for"),
        ('"" () ?', "no word to search for"),
        ("x" * (TOPIC_LIMIT + 1), "at most 4,000"),
    ],
)
async def test_a_topic_that_cannot_be_searched_is_refused_with_the_reason(topic: str, said: str):
    with pytest.raises(InvalidInputError, match=said):
        await expander().expand(topic, store=None)


@pytest.mark.parametrize("count", [0, 9, -1])
async def test_a_count_out_of_bounds_is_refused(count: int):
    with pytest.raises(InvalidInputError, match="1 to 8"):
        await expander().expand("metformin", count=count, store=None)


async def test_the_direct_query_is_the_topic_as_given():
    topic = "Does metformin slow cognitive decline?"
    direct = (await expander().expand(topic, store=None)).queries[0]
    assert direct.query == topic
    assert direct.pubmed_query == "metformin slow cognitive decline"


async def test_pubmed_syntax_is_kept_and_mended():
    topic = '("metformin"[mh] or metformin[tiab]) and alzheimer*[tiab] NOT review[pt]'
    expansion = await expander().expand(topic, count=8, store=None)
    kept = '("metformin"[mh] OR metformin[tiab]) AND alzheimer*[tiab] NOT review[pt]'
    assert expansion.queries[0].query == expansion.queries[0].pubmed_query == kept
    limited = [query.pubmed_query for query in expansion.queries if query.pubmed_query.startswith(f"({kept})")]
    assert len(limited) >= 3
    assert all("[" not in query.query for query in expansion.queries[1:])


async def test_a_long_query_in_pubmed_syntax_is_kept_whole():
    topic = " OR ".join(f'"name number {number}"[tiab]' for number in range(100))
    direct = (await expander().expand(topic, store=None)).queries[0]
    assert direct.pubmed_query == topic
    assert len(direct.query) <= 400


async def test_a_topic_in_another_language_is_answered_with_a_hint():
    expansion = await expander().expand("metformina y enfermedad de Alzheimer en los ancianos", store=None)
    assert "Spanish" in expansion.warnings[0]
    assert "y" not in expansion.queries[1].query.split()


async def test_an_abbreviation_that_the_description_defines_is_written_out():
    expansion = await expander().expand(
        "TBI outcome", description="We look at traumatic brain injury (TBI) in athletes.", count=8, store=None
    )
    assert any("traumatic brain injury" in query.query for query in expansion.queries)
    concept = next(concept for concept in expansion.concepts if "TBI" in concept.term)
    assert expansion.queries[1].query != expansion.queries[0].query
    assert concept.term == "TBI outcome" or concept.synonyms[0] == "traumatic brain injury"


async def test_the_description_narrows_a_query():
    expansion = await expander().expand(
        "metformin alzheimer", description="Interested in mitochondrial biogenesis.", count=8, store=None
    )
    narrowed = next(query for query in expansion.queries if "mitochondrial" in query.query)
    assert narrowed.strategy == "specific"
    assert "biogenesis" in narrowed.query


async def test_metformin_alzheimer_leads_to_ampk_activation_and_neuroprotection_when_the_evidence_does():
    expansion = await expander().expand("metformin alzheimer", store=FakeStore(NEUROPROTECTION))
    found = next(query for query in expansion.queries if query.source == "evidence")
    assert {"ampk", "activation", "neuroprotection"} <= words(found)
    assert "neuroprotection" in found.pubmed_query.lower()
    assert "statins" not in found.query
    lateral = (await expander().expand("metformin alzheimer", count=8, store=FakeStore(NEUROPROTECTION))).queries
    assert any("alzheimer" not in words(query) and "ampk" in words(query) for query in lateral)


async def test_what_the_evidence_talks_about_is_told_with_its_source():
    expansion = await expander().expand("metformin alzheimer", store=FakeStore(NEUROPROTECTION))
    talked_of = {concept.term.casefold() for concept in expansion.concepts if concept.found_in == "evidence"}
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


async def test_an_empty_session_is_no_obstacle():
    expansion = await expander().expand("metformin alzheimer", store=FakeStore())
    assert expansion.session_id == "rs_test"
    assert expansion.warnings == ()
    assert {query.source for query in expansion.queries} == {"rules"}


async def test_a_session_that_cannot_be_read_is_a_warning():
    expansion = await expander().expand(
        "metformin alzheimer", store=FakeStore(error=EvidenceStoreError("The disk is full."))
    )
    assert_sound(expansion, 3)
    assert expansion.warnings == ("The session's evidence was not used: The disk is full.",)


async def test_mesh_concepts_bring_names_and_neighbours(tmp_path: Path):
    expansion = await expander(NcbiStandIn(), tmp_path).expand("metformin alzheimer", count=8, store=None)
    assert_sound(expansion, 8)
    drug, disease = expansion.concepts
    assert (drug.term, drug.mesh_id, drug.mesh_term) == ("metformin", "D008687", "Metformin")
    assert (disease.mesh_id, disease.mesh_term) == ("D000544", "Alzheimer Disease")
    assert "Senile Dementia" in disease.synonyms
    assert "Presenile Dementia" in disease.synonyms
    sources = dict(zip(disease.synonyms, disease.synonym_sources, strict=True))
    assert sources["Senile Dementia"] == "mesh"
    from_mesh = [query for query in expansion.queries if query.source == "mesh"]
    names = next(query for query in from_mesh if query.reformulation == "syntactic")
    assert '"Alzheimer Disease"[MeSH Terms]' in names.pubmed_query
    assert '"Senile Dementia"[tiab]' in names.pubmed_query
    assert any("Dementia" in query.query and query.strategy == "broader" for query in from_mesh)


async def test_mesh_and_evidence_together_fill_three_queries_with_the_best_of_each(tmp_path: Path):
    expansion = await expander(NcbiStandIn(), tmp_path).expand("metformin alzheimer", store=FakeStore(NEUROPROTECTION))
    assert_sound(expansion, 3)
    assert {query.source for query in expansion.queries} == {"rules", "mesh", "evidence"}


async def test_a_misspelt_topic_is_kept_and_the_other_queries_are_built_on_the_correction(tmp_path: Path):
    expansion = await expander(NcbiStandIn(), tmp_path).expand("metfromin alzhiemer", store=None)
    assert expansion.corrected_query == "metformin alzheimer"
    assert expansion.queries[0].query == "metfromin alzhiemer"
    assert all("metfromin" not in query.query for query in expansion.queries[1:])
    assert expansion.concepts[0].mesh_term == "Metformin"


@pytest.mark.parametrize("topic", ["AMPK metformin", "tirzepatinib safety"])
async def test_a_correction_that_touches_a_symbol_or_a_drug_is_not_believed(topic: str, tmp_path: Path):
    expansion = await expander(NcbiStandIn(), tmp_path).expand(topic, store=None)
    assert expansion.corrected_query == ""


async def test_a_mapping_to_a_journal_or_substance_is_not_trusted(tmp_path: Path):
    expansion = await expander(NcbiStandIn(), tmp_path).expand("APC mutations", store=None)
    assert all(not concept.mesh_id for concept in expansion.concepts)


@pytest.mark.parametrize("utility", ["espell", "esearch", "esearch mesh", "esummary"])
async def test_rules_and_evidence_go_on_when_ncbi_is_down(utility: str, tmp_path: Path):
    ncbi = NcbiStandIn(faults={utility: lambda _: httpx.Response(503)})
    expansion = await expander(ncbi, tmp_path).expand("metformin alzheimer", store=FakeStore(NEUROPROTECTION))
    assert_sound(expansion, 3)
    assert any(query.source == "evidence" for query in expansion.queries)
    assert "PubMed is out of order (HTTP 503)." in expansion.warnings[0]


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
