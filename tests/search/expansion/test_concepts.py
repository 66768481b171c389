"""What the words of a topic are called elsewhere, and the blocks that find it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest

from deepcritical_mcp.config import Settings
from deepcritical_mcp.models import Expansion
from deepcritical_mcp.search.expansion.abbreviations import meanings
from deepcritical_mcp.search.expansion.blocks import TopicConcept, written
from deepcritical_mcp.search.expansion.expander import QueryExpander
from deepcritical_mcp.sources.base import MeshDescriptor
from tests.search.expansion.ncbi_stand_in import ALZHEIMER, NcbiStandIn, Record
from tests.sources.ncbi import article, efetch

SCLEROSIS = Record(9103, ("Multiple Sclerosis", "Sclerosis, Multiple", "MS (Multiple Sclerosis)"), "C10", (0,))
FATIGUE = Record(5221, ("Fatigue", "Lassitude"), "C23", (0,))
LENGTH_OF_STAY = Record(7902, ("Length of Stay", "Hospital Stay"), "N02", (0,))


async def expanded(topic: str, ncbi: NcbiStandIn, folder: Path, *, count: int = 8) -> Expansion:
    return await QueryExpander(Settings(), ncbi.concepts(folder)).expand(topic, count=count, store=None)


def test_a_block_has_the_words_the_heading_and_its_names_in_both_spellings():
    record = MeshDescriptor(uid="1", mesh_id="D1", name="Leukemia", entry_terms=("Leukemias", "Leucocythaemia"))
    assert TopicConcept("childhood leukaemia", record=record).block == (
        '("childhood leukaemia"[tiab] OR "childhood leukemia"[tiab] OR "Leukemia"[MeSH Terms] OR "Leukemia"[tiab] OR '
        '"leukaemia"[tiab] OR "Leukemias"[tiab] OR "leukaemias"[tiab] OR "Leucocythaemia"[tiab] OR '
        '"leucocythemia"[tiab])'
    )


@pytest.mark.parametrize(
    ("name", "terms"),
    [
        ("proton pump inhibitor", ['"proton pump inhibitor*"[tiab]']),
        ("tumour", ['"tumour"[tiab]', '"tumor"[tiab]']),
        ("parent", ['"parent"[tiab]']),  # not "parenteral"
        ("nurse", ['"nurse"[tiab]']),  # not "nursery"
    ],
)
def test_only_what_stays_the_same_word_is_truncated(name: str, terms: list[str]):
    assert written(name, can_inflect=True) == terms


async def test_a_phrase_that_is_a_name_in_mesh_is_one_concept(tmp_path: Path):
    ncbi = NcbiStandIn(records=(LENGTH_OF_STAY, ALZHEIMER), mappings={"stay": '"fatigue"[MeSH Terms]'})
    expansion = await expanded("enhanced recovery length of stay", ncbi, tmp_path)
    assert [(one.term, one.mesh_term) for one in expansion.concepts] == [("length of stay", "Length of Stay")]
    assert expansion.queries[0].pubmed_query == f"(enhanced recovery) AND {expansion.concepts[0].pubmed_block}"


async def test_a_supplementary_concept_has_its_own_field(tmp_path: Path):
    drug = Record(508053, ("tirzepatide", "LY3298176"), "", (), kind="C")
    ncbi = NcbiStandIn(records=(drug,), mappings={"tirzepatide": '"tirzepatide"[Supplementary Concept]'}, spellings={})
    expansion = await expanded("tirzepatide adherence", ncbi, tmp_path)
    (concept,) = expansion.concepts
    assert (concept.kind, concept.mesh_id, concept.supplementary) == ("substance", "C508053", ("tirzepatide",))
    assert '"tirzepatide"[Supplementary Concept] OR "LY3298176"[tiab]' in concept.pubmed_block


def defining(short: str, **long_forms: int) -> list[str]:
    names = [name.replace("_", " ") for name, count in long_forms.items() for _ in range(count)]
    return [article(str(number), f"On {name} ({short}) number {number}.") for number, name in enumerate(names, start=1)]


def with_papers(papers: list[str], *records: Record) -> NcbiStandIn:
    """A PubMed whose searches find these papers."""

    def search(params: Mapping[str, str]) -> httpx.Response:
        ids = [str(number) for number in range(1, len(papers) + 1)] if params["retmax"] != "0" else []
        result = {"count": str(len(papers)), "retmax": "60", "retstart": "0", "idlist": ids, "translationset": []}
        return httpx.Response(200, json={"esearchresult": {**result, "querytranslation": ""}})

    def fetch(_: Mapping[str, str]) -> httpx.Response:
        return httpx.Response(200, content=efetch(*papers).body)

    return NcbiStandIn(records=records, faults={"esearch": search, "efetch": fetch})


async def test_an_abbreviation_is_what_the_papers_on_the_topic_define_it_as(tmp_path: Path):
    papers = defining("MS", multiple_sclerosis=7, mass_spectrometry=2)
    expansion = await expanded("MS fatigue", with_papers(papers, SCLEROSIS, FATIGUE), tmp_path)
    concept = expansion.concepts[0]
    assert (concept.term, concept.mesh_term) == ("MS", "Multiple Sclerosis")
    assert concept.abbreviation_of == (
        "multiple sclerosis: 78% of papers with the rest of your topic",
        "multiple sclerosis: 78% in PubMed",
        "mass spectrometry: 22% in PubMed",
    )
    assert '"MS"[tiab] OR "multiple sclerosis"[tiab]' in expansion.queries[0].pubmed_query


async def test_an_abbreviation_of_several_things_is_asked_for_in_each_of_its_meanings(tmp_path: Path):
    papers = defining("PE", pulmonary_embolism=4, preeclampsia=0, physical_education=4)
    expansion = await expanded("PE outcomes", with_papers(papers), tmp_path)
    both = '"PE"[tiab] OR "pulmonary embolism"[tiab] OR "physical education*"[tiab]'
    assert expansion.queries[0].pubmed_query == f"({both}) AND outcomes"
    offered = {query.query for query in expansion.queries if query.strategy == "specific"}
    assert {"PE outcomes pulmonary embolism", "PE outcomes physical education"} <= offered


def test_few_definitions_say_nothing_of_shares():
    assert meanings("MS", ["multiple sclerosis (MS)"] * 3) == ()
    (meaning,) = meanings("MS", ["multiple sclerosis (MS)"] * 4 + ["MS"])
    assert meaning == ("multiple sclerosis", 1.0)


async def test_the_queries_have_the_numbers_of_their_papers(tmp_path: Path):
    ncbi = NcbiStandIn()
    expansion = await expanded("metformin alzheimer", ncbi, tmp_path, count=3)
    assert [query.hits for query in expansion.queries] == [120, 120, 120]
    assert expansion.translation == expansion.queries[0].pubmed_query
    counted = [params["term"] for _, params in ncbi.requests if params.get("rettype") == "count"]
    assert sorted(counted) == sorted(query.pubmed_query for query in expansion.queries[1:])
    asked = len(ncbi.requests)
    assert (await expanded("metformin alzheimer", ncbi, tmp_path, count=3)) == expansion
    assert len(ncbi.requests) == asked


async def test_a_count_that_does_not_come_is_left_out_and_said_so(tmp_path: Path):
    ncbi = NcbiStandIn()

    def refuse_counts(params: Mapping[str, str]) -> httpx.Response:
        is_count = "rettype" in params or params["term"].startswith('("metformin"[tiab]')
        return httpx.Response(503) if is_count else ncbi._esearch(params)  # pyright: ignore[reportPrivateUsage]

    ncbi.faults["esearch"] = refuse_counts
    expansion = await expanded("metformin alzheimer", ncbi, tmp_path, count=3)
    assert [query.hits for query in expansion.queries] == [-1, -1, -1]
    assert expansion.warnings == ("Not counted: 3 queries, since PubMed did not answer in time.",)


async def test_a_correction_of_a_word_that_papers_use_is_not_believed(tmp_path: Path):
    ncbi = NcbiStandIn(spellings={"statin": "station"})
    ncbi.faults["esearch"] = lambda params: NcbiStandIn().answer(
        httpx.Request("GET", "https://x/esearch.fcgi", params=params)
    )  # pyright: ignore
    assert (await expanded("statin adherence", ncbi, tmp_path)).corrected_query == ""


async def test_each_of_two_questions_is_offered_alone_unless_it_points_to_the_other():
    expander = QueryExpander(Settings(), None)
    both = await expander.expand("Does vitamin D prevent falls and what does screening cost?", count=8, store=None)
    assert both.warnings[0].startswith("These are 2 questions: “Does vitamin D prevent falls”, “what does screening")
    assert "Does vitamin D prevent falls" in {query.query for query in both.queries if query.strategy == "broader"}
    pointing = await expander.expand("What causes preeclampsia and how is it treated?", count=8, store=None)
    assert "how is it treated" not in {query.query for query in pointing.queries}


async def test_the_outcome_of_a_pico_question_is_not_required_but_offered():
    topic = "P: adults with sepsis; I: balanced crystalloids; O: 90-day mortality"
    expansion = await QueryExpander(Settings(), None).expand(topic, count=8, store=None)
    direct, *others = expansion.queries
    core = "adults AND sepsis AND (balanced crystalloids)"
    assert direct.pubmed_query == f"({core}) AND ((90-day mortality) OR all[sb])"
    assert "“90-day mortality” only ranks the papers" in direct.rationale
    assert f"({core}) AND (90-day mortality)" in [query.pubmed_query for query in others]


def without_phrase(phrase: str) -> NcbiStandIn:
    """NCBI without this phrase in PubMed's index."""
    ncbi = NcbiStandIn()

    def esearch(params: Mapping[str, str]) -> httpx.Response:
        answer = ncbi._esearch(params)  # pyright: ignore[reportPrivateUsage]
        if f'"{phrase}"' not in params["term"] or "rettype" in params:
            return answer
        found = answer.json()
        found["esearchresult"]["warninglist"] = {"quotedphrasesnotfound": [f'"{phrase}"']}
        return httpx.Response(200, json=found)

    ncbi.faults["esearch"] = esearch
    return ncbi


async def test_a_negation_that_pubmed_has_no_phrase_for_becomes_an_exclusion(tmp_path: Path):
    ncbi = without_phrase("without dementia")
    expansion = await expanded("metformin without dementia", ncbi, tmp_path, count=4)
    assert expansion.queries[0].pubmed_query.endswith(" NOT dementia")
    assert "Without papers that mention “dementia”" in expansion.queries[0].rationale
    assert any(one.startswith("PubMed has no phrase “without dementia” in its index: ") for one in expansion.warnings)
    assert not [query for query in expansion.queries if '"without dementia"' in query.pubmed_query]


async def test_a_negation_ends_before_a_drug(tmp_path: Path):
    expansion = await expanded("memory without alzheimer metformin", NcbiStandIn(), tmp_path, count=3)
    query = expansion.queries[0].pubmed_query
    assert '"without alzheimer"' in query
    assert '"Metformin"[MeSH Terms]' in query
    assert expansion.queries[0].query == "memory without alzheimer metformin"


async def test_a_phrase_in_quotes_stays_whole_around_a_concept(tmp_path: Path):
    expansion = await expanded('"fear of metformin" in alzheimer', NcbiStandIn(), tmp_path, count=3)
    query = expansion.queries[0].pubmed_query
    assert query.startswith('"fear of metformin"[tiab] AND ')
    assert "[MeSH Terms]" in query


async def test_a_state_that_pubmed_has_no_phrase_for_is_left_out(tmp_path: Path):
    ncbi = without_phrase("not caused by statins")
    expansion = await expanded("alzheimer not caused by statins", ncbi, tmp_path, count=3)
    assert not [query for query in expansion.queries if "statins" in query.pubmed_query]
    assert any("“not caused by statins”" in one and one.endswith("it is left out.") for one in expansion.warnings)
