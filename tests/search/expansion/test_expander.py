from __future__ import annotations

from pathlib import Path

import anyio
import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepcritical_mcp.config import Settings
from deepcritical_mcp.errors import EvidenceStoreError, InvalidInputError
from deepcritical_mcp.models import QUERY_LIMIT, Expansion
from deepcritical_mcp.search.expansion.expander import QueryExpander
from deepcritical_mcp.search.expansion.proposals import same_words_key
from tests.search.expansion.conftest import Ask, offline
from tests.search.expansion.ncbi_stand_in import NcbiStandIn
from tests.search.expansion.queries import finds, is_well_formed
from tests.search.expansion.session_fakes import NEUROPROTECTION, fake_store

TOPICS = (
    "metformin alzheimer",
    "Does metformin slow cognitive decline in older adults with Alzheimer's disease?",
    "α-synuclein aggregation in Parkinson's disease (PD): role of the gut-brain axis?",
    '("metformin"[mh] or metformin[tiab]) and alzheimer*[tiab] NOT review[pt]',
    "二甲双胍 阿尔茨海默病",
    "metformin 🧠 alzheimer 😀",
    "systematic review clinical trial meta-analysis cohort study case report practice guideline mechanism signaling "
    "pathway adverse effects safety treatment outcome risk factors biomarkers diagnosis epidemiology prevalence in "
    "vitro animal model",
    "x-linked hypophosphatemia\n\tin\u202e children",
    ", ".join(f"gene{number}" for number in range(250)),
    "a" * 2_000,
    "((((((((" * 200 + "metformin" + "))))" * 100,
)


def assert_sound(expansion: Expansion, count: int) -> None:
    queries = expansion.queries
    assert 1 <= len(queries) <= count
    assert queries[0].strategy == "direct"
    assert all(query.strategy != "direct" for query in queries[1:])
    assert len({same_words_key(query.query) for query in queries if query.strategy != "specific"}) == sum(
        query.strategy != "specific" for query in queries
    )
    assert len({query.pubmed_query.casefold() for query in queries}) == len(queries)
    for query in queries:
        assert query.query.strip() == query.query != ""
        assert len(query.query) <= 400
        assert len(query.query.split()) <= 50
        assert is_well_formed(query.pubmed_query), query.pubmed_query
        assert query.rationale


@pytest.mark.parametrize("topic", TOPICS)
async def test_any_topic_gives_sound_queries(topic: str, ask: Ask):
    for count in (1, 3, 8):
        assert_sound(await ask(topic, count=count), count)
        assert_sound(await offline(topic, count=count, store=fake_store(NEUROPROTECTION)), count)


@settings(deadline=None, max_examples=60)
@given(st.text(max_size=300), st.integers(1, 8))
def test_no_text_whatever_breaks_it(topic: str, count: int):
    async def run() -> None:
        try:
            expansion = await offline(topic, count=count, store=fake_store(NEUROPROTECTION))
        except InvalidInputError:
            return
        assert_sound(expansion, count)

    anyio.run(run)


@pytest.mark.parametrize(
    ("topic", "said"),
    [
        ("", "blank"),
        ("\u200b\x00", "blank"),
        ("what is the", "no word to search for"),
        ("😀 🧠", "no word to search for"),
        ('"" () ?', "no word to search for"),
        ("x" * (QUERY_LIMIT + 1), "the limit is 4,000"),
    ],
)
async def test_a_topic_that_cannot_be_searched_is_refused_with_the_reason(topic: str, said: str):
    with pytest.raises(InvalidInputError, match=said):
        await offline(topic)


@pytest.mark.parametrize(
    "topic", ["metformin alzheimer", "do not resuscitate orders", "metformin[tiab] AND alzheimer[tiab]"]
)
async def test_offline_there_are_queries_of_the_own_words_and_a_warning(topic: str):
    expansion = await offline(topic, store=fake_store())
    assert_sound(expansion, 8)
    assert {one.strategy for one in expansion.queries} >= {"direct", "specific"}
    assert "[" in topic or expansion.queries[0].query == topic
    assert all(query.hits == -1 for query in expansion.queries)
    assert "Without MeSH and numbers of hits" in expansion.warnings[-1]


async def test_pubmed_syntax_is_kept_and_repaired(ask: Ask):
    topic = '("metformin"[mh] or metformin[tiab]) and alzheimer*[tiab] AND review[pt]'
    kept = '("metformin"[mh] OR metformin[tiab]) AND alzheimer*[tiab] AND review[pt]'
    direct, *others = (await ask(topic, count=8)).queries
    assert (direct.query, direct.pubmed_query) == ("metformin, alzheimer", kept)
    assert all(one.pubmed_query.startswith(f"({kept}) AND ") for one in others if one.strategy == "specific")
    assert all("[" not in one.query for one in others)


async def test_syntax_in_narrow_fields_is_offered_in_wider_ones(ask: Ask):
    papers = {"metformin alzheimer": 30}
    found = await offline("metformin[ti] AND alzheimer[majr]")
    (wider,) = [one for one in found.queries if one.strategy == "broader"]
    assert wider.pubmed_query == "metformin[tiab] AND alzheimer[mh]"
    excluding = await ask("alzheimer[tiab] NOT mice[mh]", count=8, papers=papers)
    assert all(one.pubmed_query.startswith("(alzheimer[tiab] NOT mice[mh]) AND ") for one in excluding.queries[1:])


async def test_syntax_that_has_a_filter_already_gets_no_second_one():
    found = await offline("metformin[tiab] AND systematic[sb] AND 2010:2020[dp] AND english[la]")
    added = [one.pubmed for one in found.filters]
    assert "review[pt]" in added
    assert not {"systematic[sb]", "English[la]"} & {*added}
    assert not any("[dp]" in condition for condition in added)


@pytest.mark.parametrize(
    ("topic", "language"),
    [
        ("metformina y enfermedad de Alzheimer en los ancianos", "Spanish"),
        ("effets de la metformine sur les patients et leur famille", "French"),
        ("Wirkung von Metformin auf die Demenz bei älteren Menschen", "German"),
        ("二甲双胍 阿尔茨海默病", "another script"),
        *((topic, "") for topic in ("role of de novo mutations in autism", "TNF-α and β-catenin", "ED men over 60")),
    ],
)
async def test_a_topic_in_another_language_is_answered_with_a_hint(topic: str, language: str):
    found = await offline(topic)
    told = "\n".join(found.warnings)
    assert f"The topic seems to be in {language}" in told if language else "seems to be in" not in told
    assert all(is_well_formed(f"metformin AND {one.pubmed}") for one in found.filters)
    assert not [one for one in found.filters if "another script" in one.pubmed]


async def test_an_abbreviation_that_the_description_defines_is_written_out():
    found = await offline("TBI in boxers", description="We look at traumatic brain injury (TBI) in athletes.")
    assert finds(found.queries[0].pubmed_query, "traumatic brain injury ; boxers")
    assert finds(found.queries[0].pubmed_query, "tbi ; boxers")
    (concept,) = found.concepts
    assert (concept.term, concept.entry_terms) == ("TBI", ("traumatic brain injury",))


async def test_a_session_that_cannot_be_read_is_a_warning():
    found = await offline("metformin alzheimer", store=fake_store(error=EvidenceStoreError("The disk is full.")))
    assert_sound(found, 8)
    assert "The session's evidence was not used: The disk is full." in found.warnings


async def test_a_misspelt_topic_is_searched_as_typed_and_as_corrected(ask: Ask):
    found = await ask("metfromin alzhiemer")
    direct, *others = found.queries
    assert found.corrected_query == "metformin alzheimer"
    assert direct.query == "metfromin alzhiemer"
    assert finds(direct.pubmed_query, "metfromin alzhiemer")
    assert finds(direct.pubmed_query, "metformin alzheimer")
    assert all("metfromin" not in query.query for query in others)
    assert [one.mesh_term for one in found.concepts] == ["Metformin", "Alzheimer Disease"]


@pytest.mark.parametrize("topic", ["AMPK metformin", "tirzepatinib safety", "statin adherence"])
async def test_a_correction_of_a_symbol_a_drug_or_a_word_that_papers_use_is_not_believed(topic: str, ask: Ask):
    spellings = {"ampk": "amok", "tirzepatinib": "tirzepatide", "statin": "station"}
    assert (await ask(topic, ncbi=NcbiStandIn(spellings=spellings, papers={topic: 900}))).corrected_query == ""


@pytest.mark.parametrize("utility", ["espell", "esearch mesh", "esummary"])
async def test_the_evidence_is_used_when_ncbi_is_down(utility: str, ask: Ask):
    ncbi = NcbiStandIn(faults={utility: lambda _: httpx.Response(503)})
    found = await ask("metformin alzheimer", ncbi=ncbi, store=fake_store(NEUROPROTECTION))
    assert_sound(found, 3)
    assert any(one.kind == "evidence" for one in found.concepts)
    assert "PubMed is unavailable (HTTP 503)." in found.warnings[0]


async def test_concepts_that_came_before_the_outage_are_used(ask: Ask):
    ncbi = NcbiStandIn()

    def fails_for_neighbors(params: object) -> httpx.Response:
        ncbi.faults["esummary"] = lambda _: httpx.Response(503)
        return NcbiStandIn().answer(httpx.Request("GET", "https://ncbi.test/esummary.fcgi", params=params))  # pyright: ignore[reportArgumentType]

    ncbi.faults["esummary"] = fails_for_neighbors
    found = await ask("metformin alzheimer", ncbi=ncbi)
    assert found.concepts[0].mesh_id == "D008687"
    assert any("PubMed is unavailable (HTTP 503)." in one for one in found.warnings)


async def test_a_slow_ncbi_is_left_behind_and_progress_is_told():
    class NeverAnswers(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            await anyio.sleep_forever()
            raise AssertionError

    told: list[float] = []

    async def progress(fraction: float, message: str) -> None:
        assert message
        told.append(fraction)

    concepts = NcbiStandIn().concepts(Path("unused"), transport=NeverAnswers())
    expander = QueryExpander(Settings(deadline=1), concepts)
    with anyio.fail_after(30):
        expansion = await expander.expand("metformin alzheimer", store=None, progress=progress)
    assert told == sorted(told)
    assert len(told) >= 3
    assert_sound(expansion, 3)
    assert any("did not answer" in one for one in expansion.warnings)
